/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_random - everything at once, in an order that a seed decides.
 *
 * Calls of all sizes, whole, in fragments and such as are refused, go out while
 * replies and callbacks come in; both sides write and read as much as they like
 * at a time. Each record must arrive once, as it is, calls in order. A failure
 * names its seed; FOREBRICK_TEST_SEED plays that one, FOREBRICK_TEST_SEEDS so
 * many.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

enum { CALLS = 120, CALLBACKS = 20, SEEDS = 20 };

/* One call: what is sent for it, and what must come back. */
struct exchange {
	uint32_t call_size, reply_size, at_brick;
	bool is_refused, is_answered;
};

struct play {
	struct rig *rig;
	uint32_t state;		/* of the random numbers */
	struct exchange calls[CALLS];
	size_t forwarded, arrived;	/* calls at the brick: to come, come */
	uint32_t order[CALLS];		/* their numbers, in order */
	uint32_t waiting[CALLS];	/* at the brick, not yet answered */
	size_t waiting_count;
	size_t answered;		/* calls of which the client knows */
	uint32_t callbacks_out, callbacks_in;
	struct stream from_client, from_brick;
	size_t client_sent, brick_sent;
};

static uint32_t random_below(struct play *p, uint32_t limit)
{
	p->state = p->state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)p->state * limit) >> 32);
}

/* Mostly small, sometimes large, and often around a bound. */
static uint32_t random_size(struct play *p)
{
	static const uint32_t bounds[] = {
		CONN_HEAD_MAX, CONN_WHOLE_MAX, BUF_POOLED_SIZE,
		BUF_POOLED_SIZE / 2, 131072 + 196,
	};
	uint32_t kind = random_below(p, 10);

	if (kind < 6)
		return 92 + random_below(p, 500);
	if (kind < 8)
		return 92 + random_below(p, 200000);
	return bounds[random_below(p, COUNT(bounds))] - 8 + random_below(p, 16);
}

static void append(struct play *p, struct stream *to, struct stream *record)
{
	if (record->len < 64 * 1024 && random_below(p, 5) == 0)
		rig_add_fragments(to, record);
	else
		stream_add(to, stream_span(record));
	stream_free(record);
}

static void plan_calls(struct play *p)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		struct exchange *x = &p->calls[i];
		struct stream record = { 0 };

		x->call_size = random_size(p);
		x->reply_size = random_size(p);
		x->is_refused = random_below(p, 6) == 0;
		rig_add_call(&record, i, x->call_size);
		if (x->is_refused)
			gfp_put_be32(record.at + 4 + 28, 401);
		else
			p->order[p->forwarded++] = i;
		append(p, &p->from_client, &record);
	}
}

/* Send some of what is left; how much, chance decides. */
static void write_some(struct play *p, struct peer *to,
		       const struct stream *from, size_t *sent)
{
	struct gfp_span left = gfp_span_from(stream_span(from), *sent);
	size_t most = 1 + random_below(p, random_below(p, 2) ? 300 : 300000);

	if (left.len > most)
		left.len = most;
	*sent += peer_write(to, left);
}

/* The first whole record of what a peer has, or nothing. */
static struct gfp_span first_record(const struct peer *peer)
{
	struct gfp_span all = { peer->got, peer->len };
	uint32_t mark;

	if (!gfp_span_u32(all, 0, &mark))
		return (struct gfp_span){ 0 };
	assert_true(mark >> 31);
	if (all.len - 4 < (mark & 0x7fffffff))
		return (struct gfp_span){ 0 };
	return (struct gfp_span){ all.ptr, 4 + (mark & 0x7fffffff) };
}

static void assert_equal(struct gfp_span got, struct stream *want)
{
	assert_int_equal(got.len, want->len);
	assert_memory_equal(got.ptr, want->at, want->len);
	stream_free(want);
}

static void take_calls(struct play *p)
{
	struct peer *brick = &p->rig->brick;
	struct gfp_span got;

	if (brick->fd < 0)
		return;
	while ((got = first_record(brick)).len > 0) {
		struct stream want = { 0 };
		uint32_t i = p->order[p->arrived++];

		assert_true(p->arrived <= p->forwarded);
		rig_add_call(&want, i, p->calls[i].call_size);
		p->calls[i].at_brick = gfp_be32(got.ptr + 4);
		gfp_put_be32(want.at + 4, p->calls[i].at_brick);
		assert_equal(got, &want);
		peer_forget(brick, got.len);
		p->waiting[p->waiting_count++] = i;
	}
}

/* One that waits, chosen by chance, and now and then a call back. */
static void answer_some(struct play *p)
{
	struct stream record = { 0 };
	uint32_t k, i;

	if (p->rig->brick.fd < 0 ||
	    p->from_brick.len - p->brick_sent > 1000000)
		return;
	if (p->callbacks_out < CALLBACKS && random_below(p, 8) == 0) {
		k = p->callbacks_out++;
		rig_add_callback(&record, k, 40 + k * 5000);
		append(p, &p->from_brick, &record);
	}
	if (p->waiting_count == 0 || random_below(p, 3) == 0)
		return;
	k = random_below(p, (uint32_t)p->waiting_count);
	i = p->waiting[k];
	p->waiting[k] = p->waiting[--p->waiting_count];
	rig_add_reply(&record, p->calls[i].at_brick, p->calls[i].reply_size);
	append(p, &p->from_brick, &record);
}

static void take_callback(struct play *p, struct gfp_span got)
{
	struct stream want = { 0 };
	uint32_t k = p->callbacks_in++;

	assert_true(k < p->callbacks_out);
	rig_add_callback(&want, k, 40 + k * 5000);
	assert_equal(got, &want);
}

static void take_reply(struct play *p, struct gfp_span got)
{
	uint32_t i = gfp_be32(got.ptr + 4);
	struct stream want = { 0 };
	struct bytes denied = { .len = 0 };
	struct exchange *x = &p->calls[i];

	assert_true(i < CALLS && !x->is_answered);
	if (x->is_refused) {
		put_denied(&denied, i);
		stream_add(&want, span_of(&denied));
	} else {
		rig_add_reply(&want, x->at_brick, x->reply_size);
		gfp_put_be32(want.at + 4, i);
	}
	assert_equal(got, &want);
	x->is_answered = true;
	p->answered++;
}

static void take_replies(struct play *p)
{
	struct peer *client = &p->rig->client;
	struct gfp_span got;

	while ((got = first_record(client)).len > 0) {
		if (gfp_be32(got.ptr + 8) == GFP_CALL)
			take_callback(p, got);
		else
			take_reply(p, got);
		peer_forget(client, got.len);
	}
}

static void assert_bounded(const struct play *p)
{
	const struct session *s = rig_session(p->rig);
	const size_t joined = 64 * 1024;

	assert_non_null(s);
	assert_true(s->brick.out.bytes <=
		    s->limits.max_queue + BUF_POOLED_SIZE + joined);
	/* Answers to the refused calls of a block may come on top. */
	assert_true(s->client.out.bytes <=
		    s->limits.max_queue + 2 * BUF_POOLED_SIZE + joined);
	assert_true(p->rig->host.pool.live < 16);
}

static void pass(struct play *p)
{
	rig_client_reads = random_below(p, 4) ? random_below(p, 100000) : 0;
	rig_brick_reads = random_below(p, 4) ? random_below(p, 100000) : 0;
	if (random_below(p, 3))
		write_some(p, &p->rig->client, &p->from_client,
			   &p->client_sent);
	if (p->rig->brick.fd >= 0 && random_below(p, 3))
		write_some(p, &p->rig->brick, &p->from_brick, &p->brick_sent);
	rig_pass(p->rig);
	take_calls(p);
	answer_some(p);
	take_replies(p);
	assert_bounded(p);
}

static bool is_over(const struct play *p)
{
	return p->answered == CALLS &&
	       p->callbacks_in == p->callbacks_out &&
	       p->brick_sent == p->from_brick.len;
}

/* It ends by chance, too: in one of the ways there are, at any moment. */
static void play(struct rig *rig, uint32_t seed)
{
	struct play *p = calloc(1, sizeof(*p));
	bool is_cut_short;
	int passes;

	assert_non_null(p);
	p->rig = rig;
	p->state = seed;
	for (int i = 0; i < 10; i++)
		random_below(p, 2);
	plan_calls(p);
	rig_restart(rig, random_below(p, 2) ? 1 : 0);
	is_cut_short = random_below(p, 4) == 0;
	passes = is_cut_short ? (int)random_below(p, 2000) : 1000000;
	for (int i = 0; i < passes && !is_over(p); i++)
		pass(p);
	if (!is_cut_short) {
		assert_true(is_over(p));
		assert_int_equal(rig_session(rig)->calls.live, 0);
		assert_int_equal(rig_session(rig)->client.blocks, 0);
		assert_int_equal(rig_session(rig)->brick.blocks, 0);
		assert_int_equal(rig->host.pool.live, 0);
	} else if (random_below(p, 2)) {
		shutdown(rig->client.fd, SHUT_WR);
	} else if (random_below(p, 2)) {
		session_drain(rig_session(rig), UINT64_MAX);
	}
	rig_idle(rig);
	rig_disconnect(rig);
	assert_int_equal(rig->host.pool.live, 0);
	assert_int_equal(rig->live, 0);
	stream_free(&p->from_client);
	stream_free(&p->from_brick);
	free(p);
}

static uint32_t number_from(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void every_record_arrives_once_whatever_happens(void **state)
{
	uint32_t only = number_from("FOREBRICK_TEST_SEED", 0);
	uint32_t count = number_from("FOREBRICK_TEST_SEEDS", SEEDS);

	for (uint32_t seed = 1; seed <= count; seed++) {
		if (only != 0)
			seed = only;
		/* Shown with the failure, if there is one. */
		fprintf(stderr, "\rseed %u ", seed);
		play(*state, seed);
		if (only != 0)
			break;
	}
	fprintf(stderr, "\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_record_arrives_once_whatever_happens),
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
