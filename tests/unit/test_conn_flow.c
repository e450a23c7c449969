/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conn_flow - what waits to be sent, who is not read, and how it ends.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/record.h"
#include "tests/unit/conn_rig.h"
#include "tests/unit/test.h"

/* ---- records made here ---- */

static void assert_sent(struct side *side, uint32_t size, uint32_t seed)
{
	struct stream record = { 0 };

	stream_add_record(&record, size, seed);
	assert_true(conn_send(&side->conn, stream_span(&record)));
	stream_free(&record);
}

static void a_record_made_here_does_not_cut_into_a_passing_one(void **state)
{
	struct conn_rig *f = *state;
	struct peer *from = &f->left.peer, *to = &f->right.peer;
	size_t at = 0;

	stream_add_record(&f->in, 100000, 1);
	for (uint32_t i = 0; i < 5; i++) {
		struct gfp_span part = { f->in.at + at, 7000 };

		assert_int_equal(peer_write(from, part), part.len);
		at += part.len;
		loop_idle(f->base);
		assert_sent(&f->right, 20 + i, 100 + i);
	}
	loop_idle(f->base);
	peer_read(to, SIZE_MAX);
	assert_int_equal(to->len, at);
	assert_int_equal(peer_write(from, gfp_span_from(stream_span(&f->in),
							at)),
			 f->in.len - at);
	stream_add(&f->want, stream_span(&f->in));
	for (uint32_t i = 0; i < 5; i++)
		stream_add_record(&f->want, 20 + i, 100 + i);
	loop_idle(f->base);
	peer_read(to, SIZE_MAX);
	assert_received(to, &f->want);
	assert_int_equal(f->right.conn.out.bytes, 0);
}

static enum record_fate answer(struct side *side, struct record *r)
{
	side->answer.len = 0;
	stream_add_record(&side->answer, 1000, gfp_be32(r->bytes));
	assert_true(conn_send(&side->conn, stream_span(&side->answer)));
	return RECORD_DROP;
}

/* A client whose calls are all answered here, and that does not read. */
static void answers_that_nobody_reads_are_bounded(void **state)
{
	struct conn_rig *f = *state;
	struct conn *c = &f->left.conn;
	size_t sent = 0;

	f->left.decide = answer;
	for (uint32_t i = 0; i < 10000; i++) {
		stream_add_record(&f->in, 100, i);
		stream_add_record(&f->want, 1000, i);
	}
	for (int i = 0; i < 1000; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
	}
	assert_true(sent < f->in.len);
	assert_true(c->blocks & CONN_BLOCK_QUEUE);
	/* a block of calls, with ten times its size in answers */
	assert_in_range(c->out.bytes, MAX_QUEUE,
			MAX_QUEUE + 10 * BUF_POOLED_SIZE);
	for (int i = 0; i < PASSES_MAX && f->left.peer.len < f->want.len; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
		peer_read(&f->left.peer, SIZE_MAX);
	}
	assert_received(&f->left.peer, &f->want);
	assert_int_equal(c->blocks, 0);
}

/* ---- backpressure ---- */

static void a_peer_that_does_not_read_stops_the_reading(void **state)
{
	struct conn_rig *f = *state;
	struct conn *from = &f->left.conn, *to = &f->right.conn;
	size_t sent = 0;

	for (uint32_t i = 0; i < 300; i++)
		stream_add_record(&f->in, 20 + i * 113 % 30000, i);
	stream_add(&f->want, stream_span(&f->in));
	assert_true(f->in.len > 8 * MAX_QUEUE);
	for (int i = 0; i < 1000; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
		assert_true(to->out.bytes <= MAX_QUEUE + BUF_POOLED_SIZE);
	}
	assert_int_equal(from->blocks, CONN_BLOCK_QUEUE);
	assert_true(to->out.bytes > MAX_QUEUE);
	assert_true(sent < f->in.len);
	for (int i = 0; i < PASSES_MAX && f->right.peer.len < f->want.len;
	     i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
		assert_true(to->out.bytes <= MAX_QUEUE + BUF_POOLED_SIZE);
		peer_read(&f->right.peer, 5000);
	}
	assert_received(&f->right.peer, &f->want);
	assert_int_equal(from->blocks, 0);
	assert_int_equal(f->pool.live, 0);
}

/* The memory behind the queue is not many times what is in it. */
static void slow_peers_do_not_pin_whole_blocks(void **state)
{
	struct conn_rig *f = *state;
	size_t sent = 0;

	for (uint32_t i = 0; i < 20000; i++)
		stream_add_record(&f->in, 200, i);
	while (sent < f->in.len) {
		size_t n = f->in.len - sent < 4080 ? f->in.len - sent : 4080;

		n = peer_write(&f->left.peer,
			       (struct gfp_span){ f->in.at + sent, n });
		sent += n;
		loop_pass(f->base);
		if (n == 0)
			break;
	}
	assert_true(f->right.conn.out.bytes > MAX_QUEUE);
	assert_in_range(f->pool.live, 0, 2);
}

/*
 * Each of two that answers a record only when it has sent its own, and does not
 * read before, hangs if one direction waits for the other.
 */
static void one_direction_does_not_wait_for_the_other(void **state)
{
	struct conn_rig *f = *state;
	struct stream back = { 0 };
	size_t sent = 0, sent_back = 0;

	for (uint32_t i = 0; i < 100; i++) {
		stream_add_record(&f->in, 30000, i);
		stream_add_record(&back, 20000, i);
	}
	for (int i = 0; i < 1000; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
	}
	assert_int_equal(f->left.conn.blocks, CONN_BLOCK_QUEUE);
	for (int i = 0; i < PASSES_MAX && f->left.peer.len < back.len; i++) {
		sent_back += peer_write(&f->right.peer,
					gfp_span_from(stream_span(&back),
						      sent_back));
		loop_pass(f->base);
		peer_read(&f->left.peer, SIZE_MAX);
	}
	assert_received(&f->left.peer, &back);
	stream_free(&back);
}

static void a_blocked_connection_is_not_read(void **state)
{
	struct conn_rig *f = *state;
	struct conn *c = &f->left.conn;

	stream_add_record(&f->in, 100, 1);
	conn_block(c, CONN_BLOCK_CALLS);
	conn_block(c, CONN_BLOCK_END);
	peer_write(&f->left.peer, stream_span(&f->in));
	loop_idle(f->base);
	conn_unblock(c, CONN_BLOCK_CALLS);
	conn_unblock(c, CONN_BLOCK_CALLS);
	loop_idle(f->base);
	assert_int_equal(f->left.records, 0);
	conn_unblock(c, CONN_BLOCK_END);
	loop_idle(f->base);
	assert_int_equal(f->left.records, 1);
}

/* ---- the end ---- */

static void an_end_between_records_is_clean(void **state)
{
	struct conn_rig *f = *state;

	stream_add_record(&f->in, 100, 1);
	for (size_t len = 0; len <= f->in.len; len++) {
		conn_rig_restart(f, 0);
		stream_add_record(&f->in, 100, 1);
		peer_write(&f->left.peer,
			   (struct gfp_span){ f->in.at, len });
		shutdown(f->left.peer.fd, SHUT_WR);
		loop_idle(f->base);
		assert_int_equal(f->left.ends, 1);
		assert_true(f->left.conn.has_ended);
		assert_int_equal(f->left.was_clean,
				 len == 0 || len == f->in.len);
	}
}

static void an_end_inside_a_fragmented_record_is_not_clean(void **state)
{
	struct conn_rig *f = *state;

	for (size_t len = 1; len < 60; len++) {
		static const uint32_t cuts[] = { 0, 20 };

		conn_rig_restart(f, 0);
		conn_rig_add_split(f, 40, 1, cuts, 2);
		assert_true(len <= f->in.len);
		peer_write(&f->left.peer,
			   (struct gfp_span){ f->in.at, len });
		shutdown(f->left.peer.fd, SHUT_WR);
		loop_idle(f->base);
		assert_int_equal(f->left.ends, 1);
		assert_int_equal(f->left.was_clean, len == f->in.len);
		if (len == f->in.len)
			break;
	}
}

static void what_was_sent_before_the_end_arrives(void **state)
{
	struct conn_rig *f = *state;
	size_t sent;

	conn_rig_restart(f, 0);
	for (uint32_t i = 0; i < 100; i++)
		stream_add_record(&f->in, 1000, i);
	stream_add(&f->want, stream_span(&f->in));
	sent = peer_write(&f->left.peer, stream_span(&f->in));
	assert_int_equal(sent, f->in.len);
	peer_close(&f->left.peer);
	for (int i = 0; i < 100; i++)
		loop_pass(f->base);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_received(&f->right.peer, &f->want);
	assert_int_equal(f->left.ends, 1);
	assert_true(f->left.was_clean);
}

static void a_failed_send_is_told_once_and_reading_goes_on(void **state)
{
	struct conn_rig *f = *state;
	struct conn *c = &f->right.conn;

	/* The right peer has sent a record, and then reads no more. */
	stream_add_record(&f->want, 5000, 7);
	assert_int_equal(peer_write(&f->right.peer, stream_span(&f->want)),
			 f->want.len);
	conn_block(c, CONN_BLOCK_CALLS);
	shutdown(f->right.peer.fd, SHUT_RD);
	stream_add_record(&f->in, 100000, 1);
	stream_add_record(&f->in, 100000, 2);
	peer_write(&f->left.peer, stream_span(&f->in));
	loop_idle(f->base);
	assert_true(c->has_send_failed);
	assert_int_equal(f->right.errors, 1);
	assert_int_equal(f->right.error, EPIPE);
	assert_int_equal(c->out.bytes, 0);
	conn_unblock(c, CONN_BLOCK_CALLS);
	loop_idle(f->base);
	peer_read(&f->left.peer, SIZE_MAX);
	assert_received(&f->left.peer, &f->want);
	assert_int_equal(f->right.errors, 1);
}

static void a_shut_down_connection_still_reads(void **state)
{
	struct conn_rig *f = *state;

	conn_shutdown_send(&f->right.conn);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_true(f->right.peer.has_ended);
	conn_rig_add(f, 100, 1);
	peer_write(&f->right.peer, stream_span(&f->in));
	loop_idle(f->base);
	peer_read(&f->left.peer, SIZE_MAX);
	assert_received(&f->left.peer, &f->want);
}

static void dropped_input_is_read_to_its_end(void **state)
{
	struct conn_rig *f = *state;
	size_t sent = 0;

	stream_add_mark(&f->in, 1 << 30, true);
	stream_add_body(&f->in, 1 << 20, 1);
	conn_drop_input(&f->left.conn);
	for (int i = 0; i < PASSES_MAX && sent < f->in.len; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
	}
	assert_int_equal(sent, f->in.len);
	shutdown(f->left.peer.fd, SHUT_WR);
	loop_idle(f->base);
	for (int i = 0; i < 100; i++)
		loop_pass(f->base);
	assert_int_equal(f->left.ends, 1);
	assert_int_equal(f->left.records + f->left.bads, 0);
	assert_int_equal(f->pool.live, 0);
}

/* A handler that gives up on the input in the middle of a read. */
static void drop_the_left(struct conn *c, int error)
{
	struct side *side = c->owner;

	conn_rig_handler.on_error(c, error);
	conn_drop_input(&side->f->left.conn);
}

static void dropping_in_the_middle_of_a_read_drops_all(void **state)
{
	struct conn_handler dropping = conn_rig_handler;
	struct conn_rig *f = *state;

	dropping.on_error = drop_the_left;
	f->right.conn.handler = &dropping;
	shutdown(f->right.peer.fd, SHUT_RD);
	/* More than one read takes, in one wake-up. */
	stream_add_record(&f->in, BUF_POOLED_SIZE + 50000, 1);
	peer_write(&f->left.peer, stream_span(&f->in));
	loop_idle(f->base);
	assert_int_equal(f->right.errors, 1);
	assert_int_equal(f->left.records, 1);
	assert_int_equal(f->left.bads, 0);
	assert_true(conn_is_open(&f->left.conn));
	assert_int_equal(f->pool.live, 0);
}

static void it_stops_at_the_next_record_if_told_to(void **state)
{
	struct conn_rig *f = *state;
	struct conn *c = &f->left.conn;

	stream_add_record(&f->in, 3000, 1);
	stream_add(&f->want, stream_span(&f->in));
	stream_add_record(&f->in, 100, 2);
	peer_write(&f->left.peer, (struct gfp_span){ f->in.at, 2000 });
	loop_idle(f->base);
	assert_true(conn_is_inside_record(c));
	c->stops_at_record = true;
	peer_write(&f->left.peer, gfp_span_from(stream_span(&f->in), 2000));
	loop_idle(f->base);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_received(&f->right.peer, &f->want);
	assert_int_equal(f->left.records, 1);
	assert_true(c->blocks & CONN_BLOCK_END);
}

static void between_wakes_no_block_is_kept(void **state)
{
	struct conn_rig *f = *state;
	struct conn *c = &f->left.conn;

	stream_add_record(&f->in, 5000, 1);
	peer_write(&f->left.peer, (struct gfp_span){ f->in.at, 100 });
	loop_idle(f->base);
	assert_int_equal(f->pool.live, 0);
	assert_non_null(c->in);
	assert_int_equal(c->in->cap, 100);
	peer_write(&f->left.peer, gfp_span_from(stream_span(&f->in), 100));
	loop_idle(f->base);
	assert_null(c->in);
	assert_null(c->out.ready.segs);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_received(&f->right.peer, &f->in);
}

static enum record_fate drop_all(struct side *side, struct record *r)
{
	(void)side;
	(void)r;
	return RECORD_DROP;
}

/* One that never rests does not keep the others from their turn. */
static void a_wake_has_an_end(void **state)
{
	struct conn_rig *f = *state;
	size_t sent = 0;
	int size = 4 << 20;

	setsockopt(f->left.peer.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(f->left.conn.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	f->left.decide = drop_all;
	for (uint32_t i = 0; i < 300; i++)
		stream_add_record(&f->in, 4000, i);
	sent = peer_write(&f->left.peer, stream_span(&f->in));
	loop_pass(f->base);
	assert_true(f->left.records > 0);
	assert_true(f->left.records * 4004 <= 4 * BUF_POOLED_SIZE + 4004);
	for (int i = 0; i < 20; i++)
		loop_pass(f->base);
	assert_int_equal(f->left.records, sent / 4004);
}

/* ---- transports ---- */

/* One that moves little, and says "not now" each second time. */
static unsigned turn;

static ssize_t grudging_recv(struct conn *c, void *to, size_t cap)
{
	if (turn++ % 2 == 0)
		return -EAGAIN;
	return conn_ops_plain.recv(c, to, cap < 7 ? cap : 7);
}

static ssize_t grudging_sendv(struct conn *c, const struct iovec *iov,
			      int count)
{
	struct iovec little = iov[0];

	assert_true(count > 0 && little.iov_len > 0);
	if (turn++ % 2 == 0)
		return -EAGAIN;
	if (little.iov_len > 5)
		little.iov_len = 5;
	return conn_ops_plain.sendv(c, &little, 1);
}

static void a_grudging_transport_moves_every_byte(void **state)
{
	struct conn_rig *f = *state;
	struct conn_ops grudging = conn_ops_plain;

	grudging.recv = grudging_recv;
	grudging.sendv = grudging_sendv;
	f->left.conn.ops = &grudging;
	f->right.conn.ops = &grudging;
	for (int i = 0; i < 3; i++)
		conn_rig_add_mixed(f);
	conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	f->left.conn.ops = f->right.conn.ops = &conn_ops_plain;
}

static int listen_tcp(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)at, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

/* Instead of the right side's socket pair: a connect() under way. */
static void connect_right(struct conn_rig *f, int fd,
			  const struct sockaddr_in *to)
{
	struct conn *c = &f->right.conn;

	conn_close(c);
	conn_init(c, &conn_rig_handler, &f->right, &f->limits, &f->pool,
		  &f->left.conn);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	conn_start_connecting(c, f->base, &conn_ops_plain, fd);
	for (int i = 0; i < PASSES_MAX && f->right.connects == 0; i++)
		loop_pass(f->base);
	assert_int_equal(f->right.connects, 1);
	assert_false(c->is_connecting);
}

static int tcp_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void a_connect_that_succeeds_is_told(void **state)
{
	struct conn_rig *f = *state;
	struct sockaddr_in at;
	int fd = listen_tcp(&at);

	connect_right(f, tcp_socket(), &at);
	assert_int_equal(f->right.error, 0);
	peer_close(&f->right.peer);
	peer_start(&f->right.peer, accept(fd, NULL, NULL));
	close(fd);
	conn_unblock(&f->right.conn, CONN_BLOCK_START);
	conn_rig_add(f, 100, 1);
	for (int i = 0; i < 100 && f->right.peer.len < f->want.len; i++) {
		if (i == 0)
			peer_write(&f->left.peer, stream_span(&f->in));
		loop_pass(f->base);
		peer_read(&f->right.peer, SIZE_MAX);
	}
	assert_received(&f->right.peer, &f->want);
}

static void a_connect_that_is_refused_is_told(void **state)
{
	struct conn_rig *f = *state;
	struct sockaddr_in at;
	int fd = listen_tcp(&at);

	close(fd);
	connect_right(f, tcp_socket(), &at);
	assert_int_equal(f->right.error, ECONNREFUSED);
}

static void a_connect_to_itself_is_refused(void **state)
{
	struct conn_rig *f = *state;
	struct sockaddr_in at;
	int fd = tcp_socket();

	close(listen_tcp(&at));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	connect_right(f, fd, &at);
	assert_int_equal(f->right.error, ECONNREFUSED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, \
	conn_rig_set_up, conn_rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_record_made_here_does_not_cut_into_a_passing_one),
		TEST(answers_that_nobody_reads_are_bounded),
		TEST(a_peer_that_does_not_read_stops_the_reading),
		TEST(slow_peers_do_not_pin_whole_blocks),
		TEST(one_direction_does_not_wait_for_the_other),
		TEST(a_blocked_connection_is_not_read),
		TEST(an_end_between_records_is_clean),
		TEST(an_end_inside_a_fragmented_record_is_not_clean),
		TEST(what_was_sent_before_the_end_arrives),
		TEST(a_failed_send_is_told_once_and_reading_goes_on),
		TEST(a_shut_down_connection_still_reads),
		TEST(dropped_input_is_read_to_its_end),
		TEST(dropping_in_the_middle_of_a_read_drops_all),
		TEST(it_stops_at_the_next_record_if_told_to),
		TEST(between_wakes_no_block_is_kept),
		TEST(a_wake_has_an_end),
		TEST(a_grudging_transport_moves_every_byte),
		TEST(a_connect_that_succeeds_is_told),
		TEST(a_connect_that_is_refused_is_told),
		TEST(a_connect_to_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
