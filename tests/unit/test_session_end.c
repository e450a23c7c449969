/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_end - how sessions end, and that nothing is lost or left then.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 * Deadlines are moved, not waited for.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

static bool is_unix;

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (rig == NULL)
		return -1;
	rig_init(rig, is_unix);
	rig_option(rig, "max_queue", "64KiB");
	rig_option(rig, "max_reassembly", "64KiB");
	rig_open(rig);
	rig_connect(rig);
	rig->reason = CLOSE_REASON_LIMIT;
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	rig_close(*state);
	free(*state);
	return 0;
}

static void restart(struct rig *rig, int client_buffer)
{
	rig_disconnect(rig);
	rig->client_buffer = client_buffer;
	rig_connect(rig);
	rig->reason = CLOSE_REASON_LIMIT;
}

/* The session is dead and its memory is back. */
static void assert_dead(struct rig *rig, enum close_reason reason)
{
	rig_until_dead(rig);
	rig_pass(rig);
	assert_int_equal(rig->reason, reason);
	assert_int_equal(rig->live, 0);
	assert_int_equal(rig->host.pool.live, 0);
}

/* Time has come for whoever has a deadline. */
static void let_deadline_pass(struct rig *rig)
{
	rig_session(rig)->deadline_us = clock_mono_us();
	session_host_expire(&rig->host);
	rig_pass(rig);
}

static void send_stream(struct rig *rig, struct peer *p, struct stream *s)
{
	rig_send(rig, p, stream_span(s));
	stream_free(s);
}

/* ---- the client ends ---- */

static void a_client_that_leaves_takes_the_brick_with_it(void **state)
{
	struct rig *rig = *state;

	peer_close(&rig->client);
	assert_dead(rig, CLOSE_CLIENT_ENDED);
	restart(rig, 0);
	rig_mount(rig);
	peer_close(&rig->client);
	assert_dead(rig, CLOSE_CLIENT_ENDED);
	rig_until_ended(rig, &rig->brick);
}

/* Calls out to the brick, of which none is answered yet. */
static void make_calls(struct rig *rig, uint32_t *at_brick, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
	}
}

static void a_half_closed_client_gets_every_reply(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[10];

	rig_mount(rig);
	make_calls(rig, at_brick, 10);
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
	assert_dead(rig, CLOSE_CLIENT_ENDED);
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
	assert_dead(rig, CLOSE_CLIENT_ENDED);
}

/* Answered by the brick, but still in the queue to a slow reader. */
static void queued_replies_survive_a_half_close(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[3];

	restart(rig, 1);
	rig_mount(rig);
	make_calls(rig, at_brick, 3);
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
	assert_dead(rig, CLOSE_CLIENT_ENDED);
}

static void a_reply_under_way_survives_a_half_close(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	make_calls(rig, &at_brick, 1);
	rig_add_reply(&reply, at_brick, 30000);
	rig_send(rig, &rig->brick, (struct gfp_span){ reply.at, 20000 });
	rig_until_received(rig, &rig->client, 20000);
	assert_int_equal(rig_session(rig)->calls.live, 0);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	rig_send(rig, &rig->brick, gfp_span_from(stream_span(&reply), 20000));
	rig_expect_reply(rig, 0, at_brick, 30000);
	rig_until_ended(rig, &rig->client);
	assert_dead(rig, CLOSE_CLIENT_ENDED);
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

	restart(rig, 1);
	rig_client_reads = 0;
	for (int i = 0; i < 300; i++)
		add_refused(&calls);
	put_denied(&answer, 7);
	send_stream(rig, &rig->client, &calls);
	rig_idle(rig);
	assert_true(rig_session(rig)->client.out.bytes > 0);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	rig_client_reads = 100;
	rig_until_ended(rig, &rig->client);
	assert_int_equal(rig->client.len, 300 * answer.len);
	assert_dead(rig, CLOSE_CLIENT_ENDED);
}

static void a_half_closed_client_is_not_kept_for_ever(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	make_calls(rig, at_brick, 2);
	shutdown(rig->client.fd, SHUT_WR);
	rig_idle(rig);
	session_host_expire(&rig->host);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	assert_true(session_host_has_deadlines(&rig->host));
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_CLIENT_ENDED);
	rig_until_ended(rig, &rig->client);
	rig_until_ended(rig, &rig->brick);
}

static void an_end_inside_a_call_closes_both(void **state)
{
	struct rig *rig = *state;

	for (size_t len = 1; len < 804; len += 73) {
		struct stream s = { 0 };

		restart(rig, 0);
		rig_mount(rig);
		rig_add_call(&s, 1, 800);
		s.len = len;
		send_stream(rig, &rig->client, &s);
		shutdown(rig->client.fd, SHUT_WR);
		assert_dead(rig, CLOSE_CLIENT_ENDED);
		rig_until_ended(rig, &rig->brick);
	}
}

/* ---- the brick ends ---- */

static void what_the_brick_answered_before_its_end_arrives(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[5];

	for (int is_slow = 0; is_slow < 2; is_slow++) {
		restart(rig, is_slow);
		rig_mount(rig);
		make_calls(rig, at_brick, 5);
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
		assert_dead(rig, CLOSE_BRICK_ENDED);
	}
}

/* In the middle of a reply: as much as there was, and then the end. */
static void a_brick_that_ends_inside_a_reply_cuts_it_there(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	make_calls(rig, &at_brick, 1);
	rig_add_reply(&reply, at_brick, 30000);
	rig_send(rig, &rig->brick, (struct gfp_span){ reply.at, 20000 });
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_until_ended(rig, &rig->client);
	assert_int_equal(rig->client.len, 20000);
	peer_close(&rig->client);
	assert_dead(rig, CLOSE_BRICK_ENDED);
	stream_free(&reply);
}

/* It answers and is gone, with calls that it has not read. */
static void a_last_reply_arrives_though_calls_cannot_be_sent(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	make_calls(rig, &at_brick, 1);
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
	send_stream(rig, &rig->client, &s);
	rig_idle(rig);
	assert_int_equal(rig->brick.fd, -1);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_BRICK_ENDED);
}

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
		restart(rig, 0);
		rig_mount(rig);
		assert_int_equal(rig_session(rig)->brick_tried, refusing + 1);
	}
}

static void a_brick_that_refuses_everywhere_ends_the_session(void **state)
{
	struct rig *rig = *state;
	struct route *route = rig->route;

	for (size_t count = 1; count <= 3; count++) {
		restart(rig, 0);
		for (size_t i = 0; i < count; i++)
			route->bricks[i] = refusing_address(rig);
		route->brick_count = count;
		rig_call(rig, 1, 100);
		rig_until_ended(rig, &rig->client);
		assert_dead(rig, CLOSE_CONNECT_FAILED);
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
	let_deadline_pass(rig);
	rig_until_ended(rig, &rig->client);
	assert_dead(rig, CLOSE_CONNECT_TIMEOUT);
	/* Draining does not wait for it either. */
	restart(rig, 0);
	rig_call(rig, 1, 100);
	rig_idle(rig);
	assert_true(rig_session(rig)->brick.is_connecting);
	session_drain(rig_session(rig), UINT64_MAX);
	assert_dead(rig, CLOSE_DRAINED);
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
	assert_dead(rig, CLOSE_NO_DESCRIPTORS);
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
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
	/* one that says something else */
	restart(rig, 0);
	make_calls(rig, &at_brick, 1);
	rig_reply(rig, at_brick, 100);
	rig_expect_reply(rig, 0, at_brick, 100);
	assert_true(rig_session(rig)->deadline_us <= clock_mono_us() + limit);
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
	/* one that the brick turns down */
	restart(rig, 0);
	rig_add_setvolume(&s, 1);
	rig_send(rig, &rig->client, stream_span(&s));
	rig_until_accepted(rig);
	rig_until_received(rig, &rig->brick, s.len);
	at_brick = gfp_be32(rig->brick.got + 4);
	stream_free(&s);
	rig_add_setvolume_reply(&s, at_brick, UINT32_MAX);
	rig_until_received(rig, &rig->client, 0);
	send_stream(rig, &rig->brick, &s);
	rig_until_received(rig, &rig->client, 40);
	assert_int_equal(rig_session(rig)->state, SESSION_YOUNG);
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_HANDSHAKE_TIMEOUT);
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
	assert_dead(rig, CLOSE_CLIENT_ENDED);
}

/* ---- draining ---- */

static const uint64_t later_us = UINT64_MAX - 1;

static void a_drained_session_answers_what_is_out_and_ends(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[4];

	rig_mount(rig);
	make_calls(rig, at_brick, 4);
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
	assert_dead(rig, CLOSE_DRAINED);
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
	assert_dead(rig, CLOSE_DRAINED);
	restart(rig, 0);		/* without a brick, too */
	session_drain(rig_session(rig), later_us);
	rig_until_ended(rig, &rig->client);
	assert_dead(rig, CLOSE_DRAINED);
}

static void a_drained_session_has_a_deadline(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), clock_mono_us() + 1000000000);
	rig_idle(rig);
	session_host_expire(&rig->host);
	assert_int_equal(rig_session(rig)->state, SESSION_ENDING);
	let_deadline_pass(rig);
	assert_dead(rig, CLOSE_DRAINED);
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
	assert_dead(rig, CLOSE_DRAINED);
	stream_free(&call);
}

static void draining_delivers_what_is_queued(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[3];

	restart(rig, 1);
	rig_mount(rig);
	make_calls(rig, at_brick, 3);
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
	assert_dead(rig, CLOSE_DRAINED);
}

static void draining_with_half_a_head_or_fragment_ends(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick;

	for (int is_fragment = 0; is_fragment < 2; is_fragment++) {
		struct stream s = { 0 };

		restart(rig, 0);
		rig_mount(rig);
		make_calls(rig, &at_brick, 1);
		rig_add_call(&s, 1, 400);
		if (is_fragment)
			s.at[0] = 0;
		s.len = 300;
		send_stream(rig, &rig->client, &s);
		rig_idle(rig);
		session_drain(rig_session(rig), later_us);
		rig_idle(rig);
		rig_reply(rig, at_brick, 100);
		rig_expect_reply(rig, 0, at_brick, 100);
		rig_until_ended(rig, &rig->client);
		peer_close(&rig->client);
		assert_dead(rig, CLOSE_DRAINED);
	}
}

static void a_client_may_leave_while_it_is_drained(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	uint32_t at_brick[2];

	rig_mount(rig);
	make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), later_us);
	peer_close(&rig->client);
	rig_idle(rig);
	for (int i = 0; i < 2; i++) {
		rig_add_reply(&reply, at_brick[i], 100);
		peer_write(&rig->brick, stream_span(&reply));
		rig_idle(rig);
		stream_free(&reply);
	}
	assert_dead(rig, CLOSE_DRAINED);
}

static void a_brick_may_end_while_it_is_drained(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[2];

	rig_mount(rig);
	make_calls(rig, at_brick, 2);
	session_drain(rig_session(rig), later_us);
	rig_reply(rig, at_brick[0], 100);
	rig_idle(rig);
	close(rig->brick.fd);
	rig->brick.fd = -1;
	rig_expect_reply(rig, 0, at_brick[0], 100);
	rig_until_ended(rig, &rig->client);
	peer_close(&rig->client);
	assert_dead(rig, CLOSE_DRAINED);
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
	send_stream(rig, &rig->client, &s);
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
	send_stream(rig, &rig->client, &s);
	stream_add_mark(&s, 30000, false);
	stream_add_body(&s, 20000, 1);
	send_stream(rig, &rig->brick, &s);
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
	session_drain(rig_session(rig), later_us);
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
		restart(rig, 0);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_client_that_leaves_takes_the_brick_with_it),
		TEST(a_half_closed_client_gets_every_reply),
		TEST(a_half_close_with_the_first_call_is_no_hurry),
		TEST(queued_replies_survive_a_half_close),
		TEST(a_reply_under_way_survives_a_half_close),
		TEST(queued_answers_survive_a_half_close),
		TEST(a_half_closed_client_is_not_kept_for_ever),
		TEST(an_end_inside_a_call_closes_both),
		TEST(what_the_brick_answered_before_its_end_arrives),
		TEST(a_brick_that_ends_inside_a_reply_cuts_it_there),
		TEST(a_last_reply_arrives_though_calls_cannot_be_sent),
		TEST(a_client_that_stays_after_the_end_is_put_out),
		TEST(the_next_address_is_tried_when_one_refuses),
		TEST(a_brick_that_refuses_everywhere_ends_the_session),
		TEST(a_connect_has_its_own_time),
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
		TEST(nothing_is_left_whenever_it_ends),
		TEST(a_brick_learns_that_its_client_has_ended),
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	is_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
