/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_trace - one record for each call, however its bytes arrive.
 *
 * The records of real peers are played through a session, whole and in pieces;
 * the trace must not show any difference.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

enum { EXCHANGES_MAX = 512, LARGE = 300000 };

/* A call and its reply, as records with marks; one of them may be missing. */
struct exchange {
	char name[64];
	struct stream call, reply;
	bool is_callback;
};

static struct exchange exchanges[EXCHANGES_MAX];
static size_t exchange_count;

static struct exchange *find_exchange(const char *path)
{
	size_t len = (size_t)(strchr(path, '.') - path);
	struct exchange *x;

	for (size_t i = 0; i < exchange_count; i++)
		if (strlen(exchanges[i].name) == len &&
		    strncmp(exchanges[i].name, path, len) == 0)
			return &exchanges[i];
	assert_true(exchange_count < EXCHANGES_MAX && len < 64);
	x = &exchanges[exchange_count++];
	memcpy(x->name, path, len);
	return x;
}

static void add_record(struct stream *s, struct gfp_span record)
{
	stream_add_mark(s, (uint32_t)record.len, true);
	stream_add(s, record);
}

static void take_fixture(const struct fixture *f)
{
	struct exchange *x = find_exchange(f->path);

	x->is_callback = strncmp(f->path, "callback/", 9) == 0;
	add_record(f->is_call ? &x->call : &x->reply, f->record);
}

/* Records larger than a block: a payload each way, and neither. */
static void add_large(void)
{
	static struct bytes b;
	struct exchange *x = &exchanges[exchange_count++];
	struct stream payload = { 0 };

	strcpy(x->name, "large/write");
	b.len = 0;
	put_plain_head(&b, 70, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_WRITE);
	put_fill(&b, 16, 7);
	put_u64(&b, 3);
	put_u64(&b, 4096);
	put_u32(&b, LARGE);
	put_u32(&b, 0);
	put_dictx_null(&b);
	stream_add(&payload, span_of(&b));
	stream_add_body(&payload, LARGE, 1);
	add_record(&x->call, stream_span(&payload));
	b.len = 0;
	put_bad_fd(&b, 0, gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400,
					GFP_FOP_WRITE));
	stream_add(&x->reply, span_of(&b));

	x = &exchanges[exchange_count++];
	strcpy(x->name, "large/read");
	b.len = 0;
	put_plain_head(&b, 71, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_READ);
	put_fill(&b, 40, 0);
	put_dictx_null(&b);
	add_record(&x->call, span_of(&b));
	b.len = payload.len = 0;
	put_reply_head(&b, 0);
	put_u32(&b, LARGE);
	put_u32(&b, 0);
	put_fill(&b, GFP_IATTX_SIZE, 0x11);
	put_u32(&b, LARGE);
	put_dictx_null(&b);
	stream_add(&payload, span_of(&b));
	stream_add_body(&payload, LARGE, 2);
	add_record(&x->reply, stream_span(&payload));
	stream_free(&payload);

	x = &exchanges[exchange_count++];
	strcpy(x->name, "large/unknown");
	rig_add_call(&x->call, 72, LARGE);
	rig_add_reply(&x->reply, 0, LARGE);
}

static int load_exchanges(void **state)
{
	(void)state;
	assert_true(fixture_each(take_fixture) > 100);
	add_large();
	return 0;
}

static int free_exchanges(void **state)
{
	(void)state;
	for (size_t i = 0; i < exchange_count; i++) {
		stream_free(&exchanges[i].call);
		stream_free(&exchanges[i].reply);
	}
	return 0;
}

static void send_in_steps(struct rig *rig, struct peer *p, struct gfp_span out,
			  size_t step)
{
	for (size_t at = 0; at < out.len; at += step) {
		size_t n = out.len - at < step ? out.len - at : step;

		rig_send(rig, p, (struct gfp_span){ out.ptr + at, n });
		rig_pass(rig);
	}
}

/* What cannot be sent in tiny steps in no time is sent in larger ones. */
static size_t bearable(size_t step, size_t len)
{
	return step < len / 2000 ? len / 2000 : step;
}

static void receive(struct rig *rig, struct peer *p, size_t len)
{
	rig_until_received(rig, p, len);
	assert_int_equal(p->len, len);
	peer_forget(p, len);
}

static void play(struct rig *rig, struct exchange *x, size_t step)
{
	uint32_t at_brick;

	if (x->is_callback) {
		send_in_steps(rig, &rig->brick, stream_span(&x->call), step);
		receive(rig, &rig->client, x->call.len);
		return;
	}
	if (x->call.len == 0)
		return;
	send_in_steps(rig, &rig->client, stream_span(&x->call),
		      bearable(step, x->call.len));
	rig_idle(rig);
	if (rig->client.len > 0) {		/* answered by the proxy */
		assert_int_equal(rig->brick.len, 0);
		peer_forget(&rig->client, rig->client.len);
		return;
	}
	rig_until_received(rig, &rig->brick, x->call.len);
	at_brick = gfp_be32(rig->brick.got + 4);
	receive(rig, &rig->brick, x->call.len);
	if (x->reply.len == 0)
		return;
	gfp_put_be32(x->reply.at + 4, at_brick);
	send_in_steps(rig, &rig->brick, stream_span(&x->reply),
		      bearable(step, x->reply.len));
	receive(rig, &rig->client, x->reply.len);
}

/* Take the value of a member out, up to the comma behind it. */
static void cut_member(char *line, const char *name)
{
	char *at = strstr(line, name), *end;

	assert_non_null(at);
	end = strchr(at, ',');
	assert_non_null(end);
	memmove(at, end + 1, strlen(end + 1) + 1);
}

/* The trace, without what differs from one run to the next. */
static char *read_trace(const struct rig *rig, size_t *lines)
{
	FILE *f = fopen(rig->trace_path, "r");
	char *line = NULL, *all = NULL;
	size_t cap = 0, len = 0;

	assert_non_null(f);
	*lines = 0;
	while (getline(&line, &cap, f) > 0) {
		cut_member(line, "\"time\":");
		cut_member(line, "\"brick\":");
		cut_member(line, "\"latency_us\":");
		all = realloc(all, len + strlen(line) + 1);
		assert_non_null(all);
		strcpy(all + len, line);
		len += strlen(line);
		(*lines)++;
	}
	free(line);
	fclose(f);
	return all;
}

static void open_traced(struct rig *rig)
{
	rig_init(rig, false);
	rig_option(rig, "trace_file", "");
	rig_option(rig, "trace_format", "json");
	rig_option(rig, "trace_payload", "64");
	rig_open(rig);
	rig_connect(rig);
}

/* All exchanges, in steps of so many bytes; the trace comes back. */
static char *trace_of(size_t step, size_t *lines)
{
	struct rig rig;
	char *trace;

	open_traced(&rig);
	rig_mount(&rig);
	for (size_t i = 0; i < exchange_count; i++)
		play(&rig, &exchanges[i], step);
	rig_disconnect(&rig);
	rig_stop_trace(&rig);
	trace = read_trace(&rig, lines);
	rig_close(&rig);
	return trace;
}

static void assert_same_lines(const char *a, const char *b)
{
	while (*a != '\0') {
		size_t len = strcspn(a, "\n"), len_b = strcspn(b, "\n");

		if (len != len_b || memcmp(a, b, len) != 0)
			fail_msg("%.*s\n\tis not\n%.*s", (int)len, a,
				 (int)len_b, b);
		a += len + 1;
		b += len_b + 1;
	}
	assert_int_equal(*b, '\0');
}

static void pieces_of_any_size_are_traced_alike(void **state)
{
	static const size_t steps[] = { 1, 100, 700, 5000 };
	size_t lines, want_lines = 1;		/* the mount */
	char *want;

	(void)state;
	for (size_t i = 0; i < exchange_count; i++)
		want_lines += exchanges[i].call.len > 0;
	want = trace_of(SIZE_MAX / 2, &lines);
	assert_int_equal(lines, want_lines);
	/* Everything that real peers sent decodes, and whole. */
	assert_null(strstr(want, "\"undecoded\""));
	assert_null(strstr(want, "\"truncated\""));
	for (size_t i = 0; i < COUNT(steps); i++) {
		char *got = trace_of(steps[i], &lines);

		assert_same_lines(got, want);
		assert_int_equal(lines, want_lines);
		free(got);
	}
	free(want);
}

/* How often a text occurs. */
static size_t count_of(const char *in, const char *text)
{
	size_t count = 0;

	while ((in = strstr(in, text)) != NULL) {
		count++;
		in += strlen(text);
	}
	return count;
}

static void what_is_unanswered_is_traced_as_such(void **state)
{
	struct rig rig;
	size_t lines;
	char *trace;

	(void)state;
	open_traced(&rig);
	rig_mount(&rig);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t at_brick;

		rig_call(&rig, 900 + i, 200 + i);
		at_brick = rig_expect_call(&rig, 900 + i, 200 + i);
		if (i % 5 == 0)
			rig_reply(&rig, at_brick, 100);
	}
	rig_idle(&rig);
	rig_disconnect(&rig);
	rig_stop_trace(&rig);
	trace = read_trace(&rig, &lines);
	assert_int_equal(lines, 51);
	assert_int_equal(count_of(trace, "\"unanswered\""), 40);
	assert_int_equal(count_of(trace, "\"forwarded\""), 11);
	assert_int_equal(count_of(trace, "\"reply\":null"), 40);
	free(trace);
	rig_close(&rig);
}

/* The end in the middle of a call, and of a reply. */
static void what_is_cut_off_is_traced_as_far_as_it_came(void **state)
{
	struct rig rig;
	struct stream s = { 0 };
	uint32_t at_brick;
	size_t lines;
	char *trace;

	(void)state;
	open_traced(&rig);
	rig_mount(&rig);
	rig_call(&rig, 1, 100);
	at_brick = rig_expect_call(&rig, 1, 100);
	rig_add_reply(&s, at_brick, 100000);
	rig_send(&rig, &rig.brick, (struct gfp_span){ s.at, 50000 });
	rig_until_received(&rig, &rig.client, 50000);
	s.len = 0;
	rig_add_call(&s, 2, 100000);
	rig_send(&rig, &rig.client, (struct gfp_span){ s.at, 50000 });
	rig_until_received(&rig, &rig.brick, 50000);
	rig_disconnect(&rig);
	rig_stop_trace(&rig);
	trace = read_trace(&rig, &lines);
	assert_int_equal(lines, 3);
	assert_int_equal(count_of(trace, "\"forwarded\""), 2);
	assert_int_equal(count_of(trace, "\"unanswered\""), 1);
	free(trace);
	rig_close(&rig);
	stream_free(&s);
}

/* One that has seen enough of a call before all of it is there. */
static void a_hasty_brick_confuses_nobody(void **state)
{
	struct rig rig;
	struct stream s = { 0 };
	uint32_t at_brick;
	size_t lines;
	char *trace;

	(void)state;
	open_traced(&rig);
	rig_mount(&rig);
	for (uint32_t i = 0; i < 3; i++) {
		s.len = 0;
		rig_add_call(&s, i, 30000);
		rig_send(&rig, &rig.client, (struct gfp_span){ s.at, 10000 });
		rig_until_received(&rig, &rig.brick, 10000);
		at_brick = gfp_be32(rig.brick.got + 4);
		rig_reply(&rig, at_brick, 20000);
		rig_expect_reply(&rig, i, at_brick, 20000);
		rig_send(&rig, &rig.client,
			 gfp_span_from(stream_span(&s), 10000));
		receive(&rig, &rig.brick, s.len);
	}
	rig_disconnect(&rig);
	rig_stop_trace(&rig);
	trace = read_trace(&rig, &lines);
	assert_int_equal(lines, 4);
	assert_int_equal(count_of(trace, "\"forwarded\""), 4);
	free(trace);
	rig_close(&rig);
	stream_free(&s);
}

static void refusals_and_callbacks_say_what_they_are(void **state)
{
	struct rig rig;
	struct bytes b = { .len = 0 };
	struct stream s = { 0 };
	size_t lines, at = begin_record(&b);
	char *trace;

	(void)state;
	open_traced(&rig);
	rig_mount(&rig);
	put_plain_head(&b, 5, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_NAMELINK);
	put_fill(&b, 1000, 0);
	end_record(&b, at);
	rig_send(&rig, &rig.client, span_of(&b));
	rig_until_received(&rig, &rig.client, 28);
	peer_forget(&rig.client, rig.client.len);
	rig_add_callback(&s, 6, LARGE);
	send_in_steps(&rig, &rig.brick, stream_span(&s), 30000);
	receive(&rig, &rig.client, s.len);
	rig_disconnect(&rig);
	rig_stop_trace(&rig);
	trace = read_trace(&rig, &lines);
	assert_int_equal(lines, 3);
	assert_int_equal(count_of(trace, "\"refused\""), 1);
	/* the outcome, and the program */
	assert_int_equal(count_of(trace, "\"callback\""), 2);
	assert_int_equal(count_of(trace, "\"by\":\"brick\""), 1);
	free(trace);
	rig_close(&rig);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_any_size_are_traced_alike),
		cmocka_unit_test(what_is_unanswered_is_traced_as_such),
		cmocka_unit_test(what_is_cut_off_is_traced_as_far_as_it_came),
		cmocka_unit_test(a_hasty_brick_confuses_nobody),
		cmocka_unit_test(refusals_and_callbacks_say_what_they_are),
	};

	return cmocka_run_group_tests(tests, load_exchanges, free_exchanges);
}
