/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_memory - without memory a session ends, and nothing else does.
 *
 * The allocations of a dialogue fail one after the other: in each run another
 * one. Linked with --wrap, so that those of the code under test come by here.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

enum { RUNS_MAX = 5000 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);

/* On this thread, while the code under test runs. */
static _Thread_local bool is_armed;
static size_t allocations, fails_at, failed;
static bool fails_on;		/* all that follow fail as well */

static bool must_fail(void)
{
	if (!is_armed)
		return false;
	allocations++;
	if (allocations != fails_at && !(fails_on && allocations > fails_at))
		return false;
	failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return must_fail() ? NULL : __real_realloc(at, size);
}

/* What happens in the loop happens with little memory. */
static void pass(struct rig *rig)
{
	is_armed = true;
	for (int i = 0; i < 4; i++)
		loop_pass(rig->base);
	is_armed = false;
	rig_pass(rig);
}

/* Send what can be sent; whoever is gone gets nothing. */
static void send_to(struct rig *rig, struct peer *p, struct stream *s)
{
	size_t sent = 0;

	for (int i = 0; i < 20 && p->fd >= 0 && sent < s->len; i++) {
		sent += peer_write(p, gfp_span_from(stream_span(s), sent));
		pass(rig);
	}
	s->len = 0;
}

/* Answer the calls that have come, with more than a slow client takes. */
static void answer_calls(struct rig *rig, uint32_t size)
{
	struct peer *brick = &rig->brick;
	struct stream replies = { 0 };
	size_t at = 0;

	while (brick->fd >= 0 && brick->len >= at + 12) {
		size_t len = 4 + (gfp_be32(brick->got + at) & 0x7fffffff);

		if (brick->len - at < len)
			break;
		if (at == 0)
			rig_add_setvolume_reply(&replies,
						gfp_be32(brick->got + at + 4),
						0);
		else
			rig_add_reply(&replies, gfp_be32(brick->got + at + 4),
				      size);
		at += len;
	}
	peer_forget(brick, at);
	send_to(rig, brick, &replies);
	stream_free(&replies);
}

static void add_refused(struct stream *s)
{
	size_t at = s->len;

	rig_add_call(s, 7, 500);
	gfp_put_be32(s->at + at + 4 + 28, 401);
}

/* A bit of everything that takes memory. */
static void play(struct rig *rig)
{
	struct stream s = { 0 }, record = { 0 };

	rig->client_buffer = 1;
	is_armed = true;
	rig_connect(rig);
	is_armed = false;
	rig_add_setvolume(&s, 1);
	send_to(rig, &rig->client, &s);
	answer_calls(rig, 0);
	rig_client_reads = 0;
	for (uint32_t i = 0; i < 12; i++)
		rig_add_call(&s, i, 300);
	rig_add_call(&record, 20, 20000);
	rig_add_fragments(&s, &record);
	send_to(rig, &rig->client, &s);
	answer_calls(rig, 40000);
	for (int i = 0; i < 30; i++)
		add_refused(&s);
	send_to(rig, &rig->client, &s);
	rig_add_call(&s, 30, 90000);
	s.len -= 100;
	send_to(rig, &rig->client, &s);
	rig_client_reads = 30000;
	for (int i = 0; i < 60; i++)
		pass(rig);
	rig_add_callback(&s, 9, 100000);
	send_to(rig, &rig->brick, &s);
	stream_free(&s);
	stream_free(&record);
}

static void run(struct rig *rig, size_t nth, bool and_on)
{
	allocations = failed = 0;
	fails_at = nth;
	fails_on = and_on;
	play(rig);
	rig_disconnect(rig);
	assert_int_equal(rig->live, 0);
	assert_int_equal(rig->host.pool.live, 0);
	buf_pool_clear(&rig->host.pool);	/* so that each run needs all */
}

static void any_allocation_may_fail(void **state)
{
	struct rig *rig = *state;
	size_t nth = 0;

	rig_disconnect(rig);
	do {
		nth++;
		run(rig, nth, false);
		assert_true(failed <= 1 && nth < RUNS_MAX);
	} while (failed > 0);
	assert_true(nth > 50);		/* it did come by here */
	/* and when all goes well, it does */
	rig_connect(rig);
	rig_mount(rig);
}

static void all_that_follow_may_fail_as_well(void **state)
{
	struct rig *rig = *state;
	size_t nth = 0;

	rig_disconnect(rig);
	do {
		nth++;
		run(rig, nth, true);
		assert_true(nth < RUNS_MAX);
	} while (failed > 0);
	rig_connect(rig);
	rig_mount(rig);
}

/* The trace takes memory as well, and may lose records, but nothing else. */
static int set_up_traced(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig_init(rig, rig_on_unix);
	rig_option(rig, "max_queue", "64KiB");
	rig_option(rig, "max_calls", "16");
	rig_option(rig, "trace_file", "");
	rig_open(rig);
	rig_connect(rig);
	*state = rig;
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_traced, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(any_allocation_may_fail),
		TEST(all_that_follow_may_fail_as_well),
	};
	int bad = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return bad + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
