/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_flow - who is not read when somebody does not read.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 */
#include "config.h"

#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

static void a_client_that_does_not_read_stops_the_brick(void **state)
{
	struct rig *rig = *state;
	struct stream replies = { 0 };
	uint32_t at_brick[10];
	size_t sent = 0;
	struct session *s;

	rig_restart(rig, 1);
	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
		rig_add_reply(&replies, at_brick[i], 2000000);
	}
	rig_client_reads = 0;
	for (int i = 0; i < 3000; i++) {
		sent += peer_write(&rig->brick,
				   gfp_span_from(stream_span(&replies), sent));
		rig_pass(rig);
		assert_true(s->client.out.bytes <=
			    s->limits.max_queue + BUF_POOLED_SIZE);
		assert_true(rig->host.pool.live <= 8);
	}
	assert_true(sent < replies.len);
	assert_int_equal(s->brick.blocks, CONN_BLOCK_QUEUE);
	rig_client_reads = 100000;
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		while (rig->client.len < 2000004) {
			sent += peer_write(&rig->brick, gfp_span_from(
						   stream_span(&replies),
						   sent));
			rig_pass(rig);
			assert_true(s->client.out.bytes <=
				    s->limits.max_queue + BUF_POOLED_SIZE);
		}
		rig_expect_reply(rig, i, at_brick[i], 2000000);
	}
	assert_int_equal(s->brick.blocks, 0);
	stream_free(&replies);
}

static void a_brick_that_does_not_read_stops_the_client(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	struct session *s;
	size_t sent = 0;

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < 10; i++)
		rig_add_call(&calls, i, 2000000);
	rig_brick_reads = 0;
	for (int i = 0; i < 3000; i++) {
		sent += peer_write(&rig->client,
				   gfp_span_from(stream_span(&calls), sent));
		rig_pass(rig);
		assert_true(s->brick.out.bytes <=
			    s->limits.max_queue + BUF_POOLED_SIZE);
	}
	assert_true(sent < calls.len);
	assert_int_equal(s->client.blocks, CONN_BLOCK_QUEUE);
	rig_brick_reads = 100000;
	for (uint32_t i = 0; i < 10; i++) {
		while (rig->brick.len < 2000004) {
			sent += peer_write(&rig->client, gfp_span_from(
						   stream_span(&calls), sent));
			rig_pass(rig);
			assert_true(s->brick.out.bytes <=
				    s->limits.max_queue + BUF_POOLED_SIZE);
		}
		rig_expect_call(rig, i, 2000000);
	}
	assert_int_equal(s->client.blocks, 0);
	stream_free(&calls);
}

/* A brick that reads its next call only when its reply has been taken. */
static void a_brick_that_waits_to_be_read_is_read(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	uint32_t at_brick;
	struct session *s;
	size_t sent = 0;

	rig_mount(rig);
	s = rig_session(rig);
	rig_call(rig, 1, 100);
	at_brick = rig_expect_call(rig, 1, 100);
	for (uint32_t i = 2; i < 12; i++)
		rig_add_call(&calls, i, 1000000);
	rig_brick_reads = 0;
	for (int i = 0; i < 1000; i++) {
		sent += peer_write(&rig->client,
				   gfp_span_from(stream_span(&calls), sent));
		rig_pass(rig);
	}
	assert_true(s->brick.out.bytes > s->limits.max_queue);
	rig_reply(rig, at_brick, 2000000);
	rig_expect_reply(rig, 1, at_brick, 2000000);
	stream_free(&calls);
}

static void too_many_calls_stop_the_client(void **state)
{
	struct rig *rig = *state;
	struct session *s;
	uint32_t at_brick[17];

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 1; i <= 16; i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
	}
	assert_int_equal(s->client.blocks, CONN_BLOCK_CALLS);
	rig_call(rig, 17, 100);
	rig_idle(rig);
	assert_int_equal(rig->brick.len, 0);
	for (uint32_t i = 1; i <= 8; i++) {
		assert_int_equal(s->calls.live, 17 - i);
		rig_reply(rig, at_brick[i], 60);
		rig_expect_reply(rig, i, at_brick[i], 60);
	}
	rig_expect_call(rig, 17, 100);
	assert_int_equal(s->client.blocks, 0);
}

static void a_burst_above_the_limit_is_one_block_at_most(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	struct session *s;

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < 4000; i++)
		rig_add_call(&calls, i, 96);
	rig_send(rig, &rig->client,
		 (struct gfp_span){ calls.at, calls.len / 8 });
	rig_idle(rig);
	assert_in_range(s->calls.live, 16, BUF_POOLED_SIZE / 100);
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t at_brick = rig_expect_call(rig, i, 96);

		rig_reply(rig, at_brick, 40);
		rig_expect_reply(rig, i, at_brick, 40);
	}
	assert_int_equal(s->client.blocks, 0);
	assert_int_equal(s->calls.live, 0);
	stream_free(&calls);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_client_that_does_not_read_stops_the_brick),
		TEST(a_brick_that_does_not_read_stops_the_client),
		TEST(a_brick_that_waits_to_be_read_is_read),
		TEST(too_many_calls_stop_the_client),
		TEST(a_burst_above_the_limit_is_one_block_at_most),
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
