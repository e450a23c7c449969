/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_time - dialling, mounting and draining, and their times.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 * Deadlines are moved, not waited for.
 */
#include "config.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

/* ---- dialling ---- */

/* An address where nobody listens. */
static struct addr refusing_address(struct rig *rig)
{
	struct addr at = rig->listen_at;
	int fd;

	if (rig->is_unix) {
		struct sockaddr_un *un = (struct sockaddr_un *)&at.ss;

		un->sun_path[strlen(un->sun_path) - 1] = '-';
		return at;
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	((struct sockaddr_in *)&at.ss)->sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&at.ss, at.len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at.ss, &at.len),
			 0);
	close(fd);
	return at;
}

static void the_next_address_is_tried_when_one_refuses(void **state)
{
	struct rig *rig = *state;
	struct route *route = rig->route;

	for (size_t refusing = 1; refusing < ADDR_RESOLVED_MAX; refusing++) {
		for (size_t i = 0; i < refusing; i++)
			route->bricks[i] = refusing_address(rig);
		route->bricks[refusing] = rig->listen_at;
		route->brick_count = refusing + 1;
		rig_restart(rig, 0);
		rig_mount(rig);
		assert_int_equal(rig_session(rig)->brick_tried, refusing + 1);
	}
}

static void a_brick_that_refuses_everywhere_ends_the_session(void **state)
{
	struct rig *rig = *state;
	struct route *route = rig->route;

	for (size_t count = 1; count <= 3; count++) {
		rig_restart(rig, 0);
		for (size_t i = 0; i < count; i++)
			route->bricks[i] = refusing_address(rig);
		route->brick_count = count;
		rig_call(rig, 1, 100);
		rig_until_ended(rig, &rig->client);
		rig_assert_dead(rig, CLOSE_CONNECT_FAILED);
	}
}

/* A listener whose queue is full; SYNs to it are dropped. */
static int listen_and_let_hang(struct addr *at, int *fillers, int count)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	((struct sockaddr_in *)&at->ss)->sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&at->ss, at->len), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at->ss, &at->len),
			 0);
	for (int i = 0; i < count; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&at->ss, at->len);
	}
	return fd;
}

static void a_connect_has_its_own_time(void **state)
{
	struct rig *rig = *state;
	struct session *s;
	int fillers[4], fd;

	if (rig->is_unix)
		return;		/* connects at once or not at all */
	fd = listen_and_let_hang(&rig->route->bricks[0], fillers, 4);
	rig_call(rig, 1, 100);
	rig_idle(rig);
	s = rig_session(rig);
	assert_true(s->brick.is_connecting);
	assert_true(s->deadline_us <=
		    clock_mono_us() + rig->route->listener->connect_timeout_us);
	session_host_expire(&rig->host);
	assert_non_null(rig_session(rig));
	rig_expire(rig);
	rig_until_ended(rig, &rig->client);
	rig_assert_dead(rig, CLOSE_CONNECT_TIMEOUT);
	/* Draining does not wait for it either. */
	rig_restart(rig, 0);
	rig_call(rig, 1, 100);
	rig_idle(rig);
	assert_true(rig_session(rig)->brick.is_connecting);
	session_drain(rig_session(rig), UINT64_MAX);
	rig_assert_dead(rig, CLOSE_DRAINED);
	for (int i = 0; i < 4; i++)
		close(fillers[i]);
	close(fd);
}

/* The first address never answers; the second one is the brick. */
static void the_next_address_is_tried_when_one_hangs(void **state)
{
	struct rig *rig = *state;
	int fillers[4], fd;

	if (rig->is_unix)
		return;
	fd = listen_and_let_hang(&rig->route->bricks[0], fillers, 4);
	rig->route->bricks[1] = rig->listen_at;
	rig->route->brick_count = 2;
	rig_call(rig, 1, 100);
	rig_idle(rig);
	assert_true(rig_session(rig)->brick.is_connecting);
	rig_expire(rig);
	rig_until_accepted(rig);
	assert_int_equal(rig_session(rig)->brick_tried, 2);
	rig_expect_call(rig, 1, 100);
	for (int i = 0; i < 4; i++)
		close(fillers[i]);
	close(fd);
}

static void without_a_descriptor_the_session_ends(void **state)
{
	struct rig *rig = *state;
	struct rlimit old, none;
	int fd = dup(0);

	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rig_call(rig, 1, 100);
	loop_idle(rig->base);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	rig_pass(rig);
	rig_assert_dead(rig, CLOSE_NO_DESCRIPTORS);
}

/* ---- the handshake's time ---- */

static void a_client_that_does_not_mount_is_put_out(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };
	uint64_t limit = rig->route->listener->handshake_timeout_us;
	uint32_t at_brick;

	/* one that says nothing */
	assert_true(rig_session(rig)->deadline_us <= clock_mono_us() + limit);
	session_host_expire(&rig->host);
	assert_non_null(rig_session(rig));
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
	/* one that says something else */
	rig_restart(rig, 0);
	rig_make_calls(rig, &at_brick, 1);
	rig_reply(rig, at_brick, 100);
	rig_expect_reply(rig, 0, at_brick, 100);
	assert_true(rig_session(rig)->deadline_us <= clock_mono_us() + limit);
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
	/* one that the brick turns down */
	rig_restart(rig, 0);
	rig_add_setvolume(&s, 1);
	rig_send(rig, &rig->client, stream_span(&s));
	rig_until_accepted(rig);
	rig_until_received(rig, &rig->brick, s.len);
	at_brick = gfp_be32(rig->brick.got + 4);
	stream_free(&s);
	rig_add_setvolume_reply(&s, at_brick, UINT32_MAX);
	rig_until_received(rig, &rig->client, 0);
	rig_send_stream(rig, &rig->brick, &s);
	rig_until_received(rig, &rig->client, 40);
	assert_int_equal(rig_session(rig)->state, SESSION_YOUNG);
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
}

static void a_mounted_client_is_never_put_out(void **state)
{
	struct rig *rig = *state;
	struct session *s;

	rig_mount(rig);
	s = rig_session(rig);
	s->handshake_us = 0;
	assert_int_equal(s->deadline_us, UINT64_MAX);
	assert_false(session_host_has_deadlines(&rig->host));
	session_host_expire(&rig->host);
	rig_idle(rig);
	assert_ptr_equal(rig_session(rig), s);
	assert_int_equal(s->state, SESSION_MOUNTED);
	s->deadline_us = 0;		/* nor would anything make it so */
	session_host_expire(&rig->host);
	assert_int_equal(s->state, SESSION_MOUNTED);
}

static void only_those_whose_time_has_come_are_put_out(void **state)
{
	struct rig *rig = *state;
	struct session *s[3];
	struct peer clients[3];

	for (int i = 0; i < 3; i++) {
		if (i > 0)
			rig_connect(rig);
		clients[i] = rig->client;
		s[i] = rig_session(rig);
	}
	s[0]->deadline_us = s[2]->deadline_us = 0;
	session_host_expire(&rig->host);
	rig_pass(rig);
	assert_int_equal(rig->live, 1);
	assert_ptr_equal(rig_session(rig), s[1]);
	for (int i = 0; i < 3; i++)
		peer_close(&clients[i]);
	rig->client.fd = -1;
	rig_assert_dead(rig, CLOSE_CLIENT_ENDED);
}

/* ---- draining ---- */

static const uint64_t later_us = UINT64_MAX - 1;

static void a_drained_session_answers_what_is_out_and_ends(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[4];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 4);
	session_drain(rig_session(rig), later_us);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	rig_call(rig, 99, 100);		/* too late */
	for (uint32_t i = 0; i < 4; i++) {
		rig_idle(rig);
		assert_int_equal(rig->brick.len, 0);
		rig_reply(rig, at_brick[i], 20000);
		rig_expect_reply(rig, i, at_brick[i], 20000);
	}
	rig_until_ended(rig, &rig->client);
	rig_until_ended(rig, &rig->brick);
	assert_int_equal(rig->client.len + rig->brick.len, 0);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
}

static void an_idle_session_drains_at_once(void **state)
{
	struct rig *rig = *state;

	rig_mount(rig);
	session_drain(rig_session(rig), later_us);
	rig_until_ended(rig, &rig->client);
	rig_until_ended(rig, &rig->brick);
	/* A client that does not go is put out in a second, not ever. */
	assert_true(rig_session(rig)->deadline_us <= clock_mono_us() + 1000000);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
	rig_restart(rig, 0);		/* without a brick, too */
	session_drain(rig_session(rig), later_us);
	rig_until_ended(rig, &rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
}

static void a_drained_session_has_a_deadline(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), clock_mono_us() + 1000000000);
	rig_idle(rig);
	session_host_expire(&rig->host);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	rig_expire(rig);
	rig_assert_dead(rig, CLOSE_DRAINED);
	rig_until_ended(rig, &rig->client);
}

/* A call that has begun to be forwarded is forwarded, and answered. */
static void draining_lets_a_begun_call_through(void **state)
{
	struct rig *rig = *state;
	struct stream call = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	rig_add_call(&call, 5, 30000);
	rig_send(rig, &rig->client, (struct gfp_span){ call.at, 10000 });
	rig_idle(rig);
	session_drain(rig_session(rig), later_us);
	rig_idle(rig);
	assert_false(rig->client.has_ended);
	rig_send(rig, &rig->client, gfp_span_from(stream_span(&call), 10000));
	rig_call(rig, 6, 100);		/* too late */
	at_brick = rig_expect_call(rig, 5, 30000);
	rig_idle(rig);
	assert_int_equal(rig->brick.len, 0);
	rig_reply(rig, at_brick, 100);
	rig_expect_reply(rig, 5, at_brick, 100);
	rig_until_ended(rig, &rig->client);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
	stream_free(&call);
}

static void draining_delivers_what_is_queued(void **state)
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
	session_drain(rig_session(rig), later_us);
	rig_idle(rig);
	rig_client_reads = 1000;
	for (uint32_t i = 0; i < 3; i++)
		rig_expect_reply(rig, i, at_brick[i], 15000);
	rig_until_ended(rig, &rig->client);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
}

static void draining_with_half_a_head_or_fragment_ends(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick;

	for (int is_fragment = 0; is_fragment < 2; is_fragment++) {
		struct stream s = { 0 };

		rig_restart(rig, 0);
		rig_mount(rig);
		rig_make_calls(rig, &at_brick, 1);
		rig_add_call(&s, 1, 400);
		if (is_fragment)
			s.at[0] = 0;
		s.len = 300;
		rig_send_stream(rig, &rig->client, &s);
		rig_idle(rig);
		session_drain(rig_session(rig), later_us);
		rig_idle(rig);
		rig_reply(rig, at_brick, 100);
		rig_expect_reply(rig, 0, at_brick, 100);
		rig_until_ended(rig, &rig->client);
		peer_close(&rig->client);
		rig_assert_dead(rig, CLOSE_DRAINED);
	}
}

static void a_client_may_leave_while_it_is_drained(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick[2];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), later_us);
	peer_close(&rig->client);
	rig_idle(rig);
	for (int i = 0; i < 2; i++) {
		rig_add_reply(&reply, at_brick[i], 100);
		peer_write(&rig->brick, stream_span(&reply));
		rig_idle(rig);
		stream_free(&reply);
	}
	rig_assert_dead(rig, CLOSE_DRAINED);
}

static void a_brick_may_end_while_it_is_drained(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	rig_make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), later_us);
	rig_reply(rig, at_brick[0], 100);
	rig_idle(rig);
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_expect_reply(rig, 0, at_brick[0], 100);
	rig_until_ended(rig, &rig->client);
	peer_close(&rig->client);
	rig_assert_dead(rig, CLOSE_DRAINED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_next_address_is_tried_when_one_refuses),
		TEST(a_brick_that_refuses_everywhere_ends_the_session),
		TEST(a_connect_has_its_own_time),
		TEST(the_next_address_is_tried_when_one_hangs),
		TEST(without_a_descriptor_the_session_ends),
		TEST(a_client_that_does_not_mount_is_put_out),
		TEST(a_mounted_client_is_never_put_out),
		TEST(only_those_whose_time_has_come_are_put_out),
		TEST(a_drained_session_answers_what_is_out_and_ends),
		TEST(an_idle_session_drains_at_once),
		TEST(a_drained_session_has_a_deadline),
		TEST(draining_lets_a_begun_call_through),
		TEST(draining_delivers_what_is_queued),
		TEST(draining_with_half_a_head_or_fragment_ends),
		TEST(a_client_may_leave_while_it_is_drained),
		TEST(a_brick_may_end_while_it_is_drained),
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
