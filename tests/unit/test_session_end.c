/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_end - whoever ends a session: nothing is lost or left.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 */
#include "config.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

/* ---- the client ends ---- */

static void a_client_that_leaves_takes_the_brick_with_it(void **state)
{
	struct rig *rig = *state;

	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
	rig_restart(rig, 0);
	rig_mount(rig);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
	rig_until_ended(rig, &rig->brick);
}

static void a_half_closed_client_gets_every_reply(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[10];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 10);
	shutdown(rig->client.fd, SHUT_WR);
	for (uint32_t i = 0; i < 10; i++) {
		rig_idle(rig);
		assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
		assert_true(rig_session(rig)->deadline_us <=
			    clock_mono_us() + 750000);
		rig_reply(rig, at_brick[i], 60 + i * 10000);
		rig_expect_reply(rig, i, at_brick[i], 60 + i * 10000);
	}
	rig_until_ended(rig, &rig->client);
	rig_until_ended(rig, &rig->brick);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
	assert_int_equal(rig->client.error, 0);
}

static void a_half_close_with_the_first_call_is_no_hurry(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick;

	rig_call(rig, 1, 100);
	shutdown(rig->client.fd, SHUT_WR);
	at_brick = rig_expect_call(rig, 1, 100);
	rig_idle(rig);
	rig_reply(rig, at_brick, 60);
	rig_expect_reply(rig, 1, at_brick, 60);
	rig_until_ended(rig, &rig->client);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
}

/* Answered by the brick, but still in the queue to a slow reader. */
static void queued_replies_survive_a_half_close(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[3];

	rig_restart(rig, 1);
	rig_mount(rig);
	rig_make_calls(rig, at_brick, 3);
	rig_client_reads = 0;
	for (uint32_t i = 0; i < 3; i++)
		rig_reply(rig, at_brick[i], 15000);
	while (rig_session(rig)->calls.live > 0)
		rig_pass(rig);
	rig_idle(rig);
	assert_true(rig_session(rig)->client.out.bytes > 0);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	rig_client_reads = 1000;
	for (uint32_t i = 0; i < 3; i++)
		rig_expect_reply(rig, i, at_brick[i], 15000);
	rig_until_ended(rig, &rig->client);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
}

static void a_reply_under_way_survives_a_half_close(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	rig_make_calls(rig, &at_brick, 1);
	rig_add_reply(&reply, at_brick, 30000);
	rig_send(rig, &rig->brick, (struct gfp_span){ reply.at, 20000 });
	rig_until_received(rig, &rig->client, 20000);
	assert_int_equal(rig_session(rig)->calls.live, 0);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	rig_send(rig, &rig->brick, gfp_span_from(stream_span(&reply), 20000));
	rig_expect_reply(rig, 0, at_brick, 30000);
	rig_until_ended(rig, &rig->client);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
	stream_free(&reply);
}

/* A call that is answered here, over and over. */
static void add_refused(struct stream *s)
{
	size_t at = s->len;

	rig_add_call(s, 7, 500);
	gfp_put_be32(s->at + at + 4 + 28, 401);
}

static void queued_answers_survive_a_half_close(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	struct bytes answer = { .len = 0 };

	rig_restart(rig, 1);
	rig_client_reads = 0;
	for (int i = 0; i < 300; i++)
		add_refused(&calls);
	put_denied(&answer, 7);
	rig_send_stream(rig, &rig->client, &calls);
	rig_idle(rig);
	assert_true(rig_session(rig)->client.out.bytes > 0);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	rig_client_reads = 100;
	rig_until_ended(rig, &rig->client);
	assert_int_equal(rig->client.len, 300 * answer.len);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
}

static void a_half_closed_client_is_not_kept_for_ever(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 2);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	session_host_expire(&rig->host);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	assert_true(session_host_has_deadlines(&rig->host));
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
	rig_until_ended(rig, &rig->client);
	rig_until_ended(rig, &rig->brick);
}

/* Its time begins anew as long as it takes what it is owed. */
static void a_half_closed_client_that_reads_is_given_time(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_restart(rig, 1);
	rig_mount(rig);
	rig_make_calls(rig, at_brick, 2);
	rig_client_reads = 0;
	for (uint32_t i = 0; i < 2; i++)
		rig_reply(rig, at_brick[i], 30000);
	while (rig_session(rig)->calls.live > 0)
		rig_pass(rig);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	rig_client_reads = 1000;
	rig_until_received(rig, &rig->client, 10000);
	rig_client_reads = 0;
	rig_expire(rig);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	assert_true(rig_session(rig)->deadline_us > clock_mono_us());
	rig_expire(rig);	/* nothing was taken since */
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
}

static void an_end_inside_a_call_closes_both(void **state)
{
	struct rig *rig = *state;

	for (size_t len = 1; len < 804; len += 73) {
		struct stream s = { 0 };

		rig_restart(rig, 0);
		rig_mount(rig);
		rig_add_call(&s, 1, 800);
		s.len = len;
		rig_send_stream(rig, &rig->client, &s);
		shutdown(rig->client.fd, SHUT_WR);
		rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
		rig_until_ended(rig, &rig->brick);
	}
}

/* ---- the brick ends ---- */

static void what_the_brick_answered_before_its_end_arrives(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[5];

	for (int is_slow = 0; is_slow < 2; is_slow++) {
		rig_restart(rig, is_slow);
		rig_mount(rig);
		rig_make_calls(rig, at_brick, 5);
		for (uint32_t i = 0; i < 3; i++)
			rig_reply(rig, at_brick[i], 20000);
		rig_client_reads = is_slow ? 700 : SIZE_MAX;
		close(rig->brick.fd);
		rig->brick.fd = -1;
		for (uint32_t i = 0; i < 3; i++)
			rig_expect_reply(rig, i, at_brick[i], 20000);
		rig_until_ended(rig, &rig->client);
		assert_int_equal(rig->client.error, 0);
		assert_int_equal(rig->client.len, 0);
		assert_int_equal(rig_session(rig)->ending, CLOSE_BRICK_ENDED);
		/* The client sees it, and leaves too. */
		peer_close(&rig->client);
		rig_assert_dead(rig, CLOSE_BRICK_ENDED);
	}
}

/* In the middle of a reply: as much as there was, and then the end. */
static void a_brick_that_ends_inside_a_reply_cuts_it_there(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	rig_make_calls(rig, &at_brick, 1);
	rig_add_reply(&reply, at_brick, 30000);
	rig_send(rig, &rig->brick, (struct gfp_span){ reply.at, 20000 });
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_until_ended(rig, &rig->client);
	assert_int_equal(rig->client.len, 20000);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_BRICK_ENDED);
	stream_free(&reply);
}

/* It answers and is gone, with calls that it has not read. */
static void a_last_reply_arrives_though_calls_cannot_be_sent(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	rig_make_calls(rig, &at_brick, 1);
	rig_brick_reads = 0;
	for (uint32_t i = 0; i < 20; i++)
		rig_add_call(&calls, 100 + i, 100000);
	peer_write(&rig->client, stream_span(&calls));
	rig_idle(rig);
	rig_reply(rig, at_brick, 5000);
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_expect_reply(rig, 0, at_brick, 5000);
	rig_until_ended(rig, &rig->client);
	peer_close(&rig->client);
	rig_until_dead(rig);
	assert_int_equal(rig->host.pool.live, 0);
	stream_free(&calls);
}

/* The same while the client does not take what there is already. */
static void slow_clients_get_the_last_replies_as_well(void **state)
{
	struct rig *rig = *state;
	struct stream replies = { 0 };
	uint32_t at_brick[4];
	size_t sent = 0, owed;
	int arrived = 0;

	rig_restart(rig, 1);
	rig_mount(rig);
	rig_make_calls(rig, at_brick, 4);
	for (int i = 0; i < 4; i++)
		rig_add_reply(&replies, at_brick[i], 500000);
	rig_client_reads = rig_brick_reads = 0;
	for (int i = 0; i < 2000; i++) {
		sent += peer_write(&rig->brick,
				   gfp_span_from(stream_span(&replies), sent));
		rig_pass(rig);
	}
	assert_int_equal(rig_session(rig)->brick.blocks, CONN_BLOCK_QUEUE);
	rig_call(rig, 9, 100);		/* it does not read this one */
	rig_idle(rig);
	/* A reset takes back what had not arrived; that is all it may. */
	assert_int_equal(ioctl(rig_session(rig)->brick.fd, FIONREAD, &arrived),
			 0);
	owed = rig_session(rig)->client.out.bytes + (size_t)arrived;
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_call(rig, 10, 100);
	rig_idle(rig);
	rig_client_reads = 100000;
	rig_until_ended(rig, &rig->client);
	assert_in_range(rig->client.len, owed, sent);
	peer_close(&rig->client);
	rig_until_dead(rig);
	stream_free(&replies);
}

static void a_client_that_stays_after_the_end_is_put_out(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };

	rig_mount(rig);
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_until_ended(rig, &rig->client);
	/* What it still says is read, and goes nowhere. */
	rig_add_call(&s, 1, 1 << 20);
	rig_send_stream(rig, &rig->client, &s);
	rig_idle(rig);
	assert_int_equal(rig->brick.fd, -1);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_BRICK_ENDED);
}

/* ---- at every step ---- */

static void nothing(struct rig *rig)
{
	(void)rig;
}

static void half_a_head(struct rig *rig)
{
	struct stream s = { 0 };

	rig_add_call(&s, 1, 400);
	s.len = 200;
	rig_send_stream(rig, &rig->client, &s);
}

static void a_first_call(struct rig *rig)
{
	rig_call(rig, 1, 100);
}

static void a_call_at_the_brick(struct rig *rig)
{
	rig_call(rig, 1, 100);
	rig_expect_call(rig, 1, 100);
}

static void half_a_reply(struct rig *rig)
{
	struct stream s = { 0 };

	rig_call(rig, 1, 100);
	rig_add_reply(&s, rig_expect_call(rig, 1, 100), 300000);
	s.len = 200000;
	rig_client_reads = 0;
	peer_write(&rig->brick, stream_span(&s));
	stream_free(&s);
}

static void a_whole_reply(struct rig *rig)
{
	rig_call(rig, 1, 100);
	rig_reply(rig, rig_expect_call(rig, 1, 100), 100);
}

static void half_a_call(struct rig *rig)
{
	struct stream s = { 0 };

	rig_mount(rig);
	rig_add_call(&s, 1, 2000000);
	rig_brick_reads = 0;
	peer_write(&rig->client, (struct gfp_span){ s.at, 1000000 });
	stream_free(&s);
}

static void half_of_the_fragments(struct rig *rig)
{
	struct stream s = { 0 };

	rig_mount(rig);
	stream_add_mark(&s, 30000, false);
	stream_add_body(&s, 20000, 1);
	rig_send_stream(rig, &rig->client, &s);
	stream_add_mark(&s, 30000, false);
	stream_add_body(&s, 20000, 1);
	rig_send_stream(rig, &rig->brick, &s);
}

static void answers_in_the_queue(struct rig *rig)
{
	struct stream s = { 0 };

	rig_mount(rig);
	for (int i = 0; i < 5000; i++)
		add_refused(&s);
	rig_client_reads = 0;
	peer_write(&rig->client, stream_span(&s));
	stream_free(&s);
}

static void a_draining_session(struct rig *rig)
{
	a_call_at_the_brick(rig);
	session_drain(rig_session(rig), UINT64_MAX);
}

static void a_half_closed_session(struct rig *rig)
{
	a_call_at_the_brick(rig);
	shutdown(rig->client.fd, SHUT_WR);
}

static void (*const steps[])(struct rig *rig) = {
	nothing, half_a_head, a_first_call, a_call_at_the_brick, half_a_reply,
	a_whole_reply, rig_mount, half_a_call, half_of_the_fragments,
	answers_in_the_queue, a_draining_session, a_half_closed_session,
};

/* So that the other side sees an error and no end. */
static void reset(struct peer *p)
{
	struct linger now = { 1, 0 };

	if (p->fd < 0)
		return;
	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	peer_close(p);
}

static void end_client(struct rig *rig)
{
	peer_close(&rig->client);
}

static void end_brick(struct rig *rig)
{
	peer_close(&rig->brick);
}

static void reset_brick(struct rig *rig)
{
	reset(&rig->brick);
}

static void end_both(struct rig *rig)
{
	peer_close(&rig->brick);
	peer_close(&rig->client);
}

static void stop(struct rig *rig)
{
	session_close(rig_session(rig), CLOSE_STOPPED, NULL);
}

static void drain(struct rig *rig)
{
	if (rig_session(rig)->state < SESSION_ENDING)
		session_drain(rig_session(rig), clock_mono_us());
}

static void (*const ends[])(struct rig *rig) = {
	end_client, end_brick, reset_brick, end_both, stop, drain,
};

/*
 * Whatever the step and whoever ends it: within a second or with its deadline
 * the session is dead, and nothing of it is left.
 */
static void nothing_is_left_whenever_it_ends(void **state)
{
	struct rig *rig = *state;
	size_t before;

	rig_disconnect(rig);
	before = count_descriptors();
	for (size_t step = 0; step < COUNT(steps); step++) {
		for (size_t end = 0; end < COUNT(ends); end++) {
			for (int passes = 0; passes < 3; passes++) {
				rig->client_buffer = 1;
				rig_client_reads = rig_brick_reads = SIZE_MAX;
				rig_connect(rig);
				steps[step](rig);
				for (int i = 0; i < passes * 5; i++)
					rig_pass(rig);
				ends[end](rig);
				rig_idle(rig);
				rig_client_reads = SIZE_MAX;
				rig_disconnect(rig);
				assert_int_equal(rig->live, 0);
				assert_int_equal(rig->host.pool.live, 0);
				assert_int_equal(count_descriptors(), before);
			}
		}
	}
}

/* The same, but the brick must see it soon without a deadline. */
static void a_brick_learns_that_its_client_has_ended(void **state)
{
	struct rig *rig = *state;

	for (size_t step = 3; step < COUNT(steps); step++) {
		if (steps[step] == half_a_call ||
		    steps[step] == a_draining_session ||
		    steps[step] == a_half_closed_session ||
		    steps[step] == a_call_at_the_brick)
			continue;	/* replies are still awaited there */
		rig_restart(rig, 0);
		rig_client_reads = rig_brick_reads = SIZE_MAX;
		steps[step](rig);
		rig_idle(rig);
		peer_close(&rig->client);
		rig_until_ended(rig, &rig->brick);
		rig_until_dead(rig);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_client_that_leaves_takes_the_brick_with_it),
		TEST(a_half_closed_client_gets_every_reply),
		TEST(a_half_close_with_the_first_call_is_no_hurry),
		TEST(queued_replies_survive_a_half_close),
		TEST(a_reply_under_way_survives_a_half_close),
		TEST(queued_answers_survive_a_half_close),
		TEST(a_half_closed_client_is_not_kept_for_ever),
		TEST(a_half_closed_client_that_reads_is_given_time),
		TEST(an_end_inside_a_call_closes_both),
		TEST(what_the_brick_answered_before_its_end_arrives),
		TEST(a_brick_that_ends_inside_a_reply_cuts_it_there),
		TEST(a_last_reply_arrives_though_calls_cannot_be_sent),
		TEST(slow_clients_get_the_last_replies_as_well),
		TEST(a_client_that_stays_after_the_end_is_put_out),
		TEST(nothing_is_left_whenever_it_ends),
		TEST(a_brick_learns_that_its_client_has_ended),
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
