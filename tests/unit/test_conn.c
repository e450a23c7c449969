/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conn - two connections that pass records to each other.
 *
 * "left" and "right" are under test, each with a peer at the other end of its
 * socket. What the handler does with a record is each test's own.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/conn.h"
#include "proto/record.h"
#include "tests/unit/peer.h"
#include "tests/unit/test.h"

enum {
	MAX_RECORD = 4 << 20,
	MAX_REASSEMBLY = 64 * 1024,
	MAX_QUEUE = 256 * 1024,
	SMALL_BUFFER = 1,	/* the system makes the smallest of it */
};

struct side;
typedef enum record_fate (*decide_fn)(struct side *side, struct record *r);

/* One of the two, with what its handler saw. */
struct side {
	struct fixture *f;
	struct conn conn;
	struct peer peer;
	decide_fn decide;
	size_t records, ends, errors, bads, connects, sents;
	bool was_clean;
	int error;
	enum gfp_status why;
	uint64_t number;
	uint32_t last_seed, last_size;
	size_t last_have;
	size_t rest;		/* bytes that came to on_rest */
	size_t waits;		/* how often a test still says WAIT */
	struct stream answer;	/* what a test answers with */
};

struct fixture {
	struct event_base *base;
	struct buf_pool pool;
	struct conn_limits limits;
	struct side left, right;
	struct stream in, want;
};

static enum record_fate pass_all(struct side *side, struct record *r)
{
	(void)side;
	(void)r;
	return RECORD_PASS;
}

static enum record_fate on_record(struct conn *c, struct record *r)
{
	struct side *side = c->owner;

	assert_true(r->size >= GFP_RECORD_MIN);
	assert_true(r->have <= r->size);
	assert_true(r->have == r->size || r->have >= CONN_HEAD_MAX);
	side->last_seed = gfp_be32(r->bytes);
	side->last_size = r->size;
	side->last_have = r->have;
	side->records++;
	return side->decide(side, r);
}

static void on_rest(struct conn *c, struct gfp_span bytes, bool is_last)
{
	struct side *side = c->owner;

	(void)is_last;
	side->rest += bytes.len;
}

static void on_end(struct conn *c, bool is_clean)
{
	struct side *side = c->owner;

	side->ends++;
	side->was_clean = is_clean;
}

static void on_error(struct conn *c, int error)
{
	struct side *side = c->owner;

	side->errors++;
	side->error = error;
}

static void close_both(struct side *side)
{
	conn_close(&side->f->left.conn);
	conn_close(&side->f->right.conn);
}

static void on_bad_record(struct conn *c, enum gfp_status why, uint64_t number)
{
	struct side *side = c->owner;

	side->bads++;
	side->why = why;
	side->number = number;
	close_both(side);
}

static void on_connect(struct conn *c, int error)
{
	struct side *side = c->owner;

	side->connects++;
	side->error = error;
}

static void on_sent(struct conn *c)
{
	struct side *side = c->owner;

	assert_int_equal(c->out.bytes, 0);
	side->sents++;
}

static const struct conn_handler handler = {
	.on_record = on_record,
	.on_rest = on_rest,
	.on_end = on_end,
	.on_error = on_error,
	.on_bad_record = on_bad_record,
	.on_connect = on_connect,
	.on_sent = on_sent,
};

static void open_side(struct fixture *f, struct side *side, struct side *other,
		      int sndbuf)
{
	int fds[2];

	pair_open(fds, sndbuf);
	*side = (struct side){ .f = f, .decide = pass_all };
	peer_start(&side->peer, fds[1]);
	conn_init(&side->conn, &handler, side, &f->limits, &f->pool,
		  &other->conn);
	conn_start(&side->conn, f->base, &conn_ops_plain, fds[0]);
}

static void open_pair(struct fixture *f, int sndbuf)
{
	open_side(f, &f->left, &f->right, sndbuf);
	open_side(f, &f->right, &f->left, sndbuf);
	conn_unblock(&f->left.conn, CONN_BLOCK_START);
	conn_unblock(&f->right.conn, CONN_BLOCK_START);
}

static void close_pair(struct fixture *f)
{
	conn_close(&f->left.conn);
	conn_close(&f->right.conn);
	conn_close(&f->right.conn);
	peer_close(&f->left.peer);
	peer_close(&f->right.peer);
	stream_free(&f->left.answer);
	stream_free(&f->right.answer);
	assert_int_equal(f->pool.live, 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -1;
	f->base = event_base_new();
	f->limits = (struct conn_limits){ MAX_RECORD, MAX_REASSEMBLY,
					  MAX_QUEUE };
	open_pair(f, 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_pair(f);
	stream_free(&f->in);
	stream_free(&f->want);
	buf_pool_clear(&f->pool);
	event_base_free(f->base);
	free(f);
	return 0;
}

/* Begin again with fresh connections and empty streams. */
static void restart(struct fixture *f, int sndbuf)
{
	close_pair(f);
	f->in.len = f->want.len = 0;
	open_pair(f, sndbuf);
}

/* Send f->in at from in steps; read at to until all of f->want is there. */
static void transfer(struct fixture *f, struct side *from, struct side *to,
		     size_t write_step, size_t read_step)
{
	size_t sent = 0;

	for (int i = 0; i < PASSES_MAX; i++) {
		size_t n = f->in.len - sent;

		if (n > write_step)
			n = write_step;
		sent += peer_write(&from->peer, (struct gfp_span){
					   f->in.at + sent, n });
		loop_pass(f->base);
		peer_read(&to->peer, read_step);
		if (sent == f->in.len && to->peer.len >= f->want.len)
			break;
	}
	loop_idle(f->base);
	peer_read(&to->peer, SIZE_MAX);
	assert_int_equal(sent, f->in.len);
	assert_received(&to->peer, &f->want);
	assert_int_equal(f->left.conn.out.bytes, 0);
	assert_int_equal(f->right.conn.out.bytes, 0);
	assert_int_equal(from->bads, 0);
	assert_int_equal(f->pool.live, 0);
}

/* A record that is to pass as it is. */
static void add_whole(struct fixture *f, uint32_t size, uint32_t seed)
{
	stream_add_record(&f->in, size, seed);
	stream_add_record(&f->want, size, seed);
}

/* Records of every size class: around each bound of the code. */
static const uint32_t sizes[] = {
	20, 21, 24, 27, 100, CONN_HEAD_MAX - 1, CONN_HEAD_MAX,
	CONN_HEAD_MAX + 1, 4096, 20, 20, 20, 20, CONN_WHOLE_MAX - 1,
	CONN_WHOLE_MAX, CONN_WHOLE_MAX + 1, 131072 + 196,
	BUF_POOLED_SIZE / 2 - 4, BUF_POOLED_SIZE / 2, BUF_POOLED_SIZE - 5,
	BUF_POOLED_SIZE - 4, BUF_POOLED_SIZE - 3, BUF_POOLED_SIZE,
	BUF_POOLED_SIZE + 1, 3 * BUF_POOLED_SIZE, 1 << 20, 44, MAX_RECORD, 20,
};

static void add_all_sizes(struct fixture *f)
{
	for (uint32_t i = 0; i < COUNT(sizes); i++)
		stream_add_record(&f->in, sizes[i], i + 1);
	stream_add(&f->want, stream_span(&f->in));
}

static void records_of_every_size_pass_unchanged(void **state)
{
	struct fixture *f = *state;

	for (int tiny = 0; tiny < 2; tiny++) {
		restart(f, tiny ? SMALL_BUFFER : 0);
		add_all_sizes(f);
		transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
		assert_int_equal(f->left.records, COUNT(sizes));
		assert_int_equal(f->left.last_size, 20);
		restart(f, tiny ? SMALL_BUFFER : 0);
		add_all_sizes(f);
		transfer(f, &f->right, &f->left, SIZE_MAX, SIZE_MAX);
	}
}

static void each_size_alone_passes_unchanged(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		restart(f, SMALL_BUFFER);
		add_whole(f, sizes[i], i);
		transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	}
}

/* Both at once, and slow readers: sends are partial all the time. */
static void slow_readers_get_every_byte(void **state)
{
	struct fixture *f = *state;
	static const size_t steps[] = { 997, 4096, 70000 };

	for (size_t i = 0; i < COUNT(steps); i++) {
		restart(f, SMALL_BUFFER);
		for (uint32_t n = 1; n <= 200; n++)
			stream_add_record(&f->in, 20 + n * n % 7919, n);
		stream_add(&f->want, stream_span(&f->in));
		transfer(f, &f->left, &f->right, SIZE_MAX, steps[i]);
	}
}

/* One record in fragments that end at each of the cuts, in rising order. */
static void add_split(struct fixture *f, uint32_t size, uint32_t seed,
		      const uint32_t *cuts, size_t count)
{
	struct stream body = { 0 };
	uint32_t from = 0;

	stream_add_body(&body, size, seed);
	for (size_t i = 0; i <= count; i++) {
		uint32_t to = i < count ? cuts[i] : size;

		stream_add_mark(&f->in, to - from, i == count);
		stream_add(&f->in, (struct gfp_span){ body.at + from,
						      to - from });
		from = to;
	}
	stream_free(&body);
	stream_add_record(&f->want, size, seed);
}

/* A few records with each feature in them, 1,000 bytes in all. */
static void add_small_stream(struct fixture *f)
{
	static const uint32_t thirds[] = { 10, 10, 25 };

	add_whole(f, 20, 1);
	add_whole(f, 33, 2);
	add_whole(f, CONN_HEAD_MAX + 200, 3);
	add_whole(f, 24, 4);
	add_split(f, 41, 5, thirds, COUNT(thirds));
	add_split(f, 20, 6, thirds, 1);
	add_whole(f, 28, 7);
}

static void one_byte_at_a_time_is_the_same(void **state)
{
	struct fixture *f = *state;

	add_small_stream(f);
	transfer(f, &f->left, &f->right, 1, SIZE_MAX);
	assert_int_equal(f->left.records, 7);
}

/* The stream in two parts, with passes in between. */
static void send_cut(struct fixture *f, size_t cut)
{
	struct peer *p = &f->left.peer;

	assert_int_equal(peer_write(p, (struct gfp_span){ f->in.at, cut }),
			 cut);
	loop_pass(f->base);
	loop_pass(f->base);
	assert_int_equal(peer_write(p, gfp_span_from(stream_span(&f->in), cut)),
			 f->in.len - cut);
	loop_pass(f->base);
	loop_pass(f->base);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_received(&f->right.peer, &f->want);
}

static void a_cut_anywhere_is_the_same(void **state)
{
	struct fixture *f = *state;

	add_small_stream(f);
	for (size_t cut = 0; cut <= f->in.len; cut++) {
		send_cut(f, cut);
		assert_int_equal(f->pool.live, 0);
		peer_forget(&f->right.peer, f->right.peer.len);
	}
	assert_int_equal(f->left.bads + f->left.errors, 0);
}

/* ---- what a handler says ---- */

static enum record_fate drop_even(struct side *side, struct record *r)
{
	(void)side;
	return gfp_be32(r->bytes) % 2 == 0 ? RECORD_DROP : RECORD_PASS;
}

static void dropped_records_leave_no_byte(void **state)
{
	struct fixture *f = *state;
	size_t rest = 0;

	f->left.decide = drop_even;
	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		stream_add_record(&f->in, sizes[i], i);
		if (i % 2 != 0)
			stream_add_record(&f->want, sizes[i], i);
		rest += sizes[i];
	}
	transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	assert_true(f->left.rest > rest / 2 && f->left.rest < rest);
}

static enum record_fate edit(struct side *side, struct record *r)
{
	(void)side;
	gfp_put_be32(r->bytes, gfp_be32(r->bytes) + 1000);
	return RECORD_PASS;
}

static void an_edited_head_passes_as_edited(void **state)
{
	struct fixture *f = *state;

	f->left.decide = edit;
	for (uint32_t i = 0; i < 20; i++) {
		size_t at;

		stream_add_record(&f->in, 100 * (i + 1), i);
		at = f->want.len;
		stream_add_record(&f->want, 100 * (i + 1), i);
		gfp_put_be32(f->want.at + at + 4, i + 1000);
	}
	transfer(f, &f->left, &f->right, 313, SIZE_MAX);
}

static enum record_fate wait_some(struct side *side, struct record *r)
{
	(void)r;
	if (side->waits == 0)
		return RECORD_PASS;
	side->waits--;
	conn_block(&side->conn, CONN_BLOCK_START);
	return RECORD_WAIT;
}

static void a_record_that_waits_is_asked_for_again(void **state)
{
	struct fixture *f = *state;
	static const uint32_t cut = 10;
	struct conn *c = &f->left.conn;

	for (int is_split = 0; is_split < 2; is_split++) {
		restart(f, 0);
		f->left.decide = wait_some;
		f->left.waits = 3;
		if (is_split)
			add_split(f, 30, 1, &cut, 1);
		else
			add_whole(f, 5000, 1);
		add_whole(f, 20, 2);
		peer_write(&f->left.peer, stream_span(&f->in));
		for (size_t i = 1; i <= 3; i++) {
			loop_idle(f->base);
			assert_int_equal(f->left.records, i);
			assert_int_equal(f->left.last_seed, 1);
			assert_true(conn_is_inside_record(c));
			conn_unblock(c, CONN_BLOCK_START);
		}
		loop_idle(f->base);
		peer_read(&f->right.peer, SIZE_MAX);
		assert_received(&f->right.peer, &f->want);
		assert_int_equal(f->left.records, 5);
		assert_false(conn_is_inside_record(c));
	}
}

static void what_waits_is_freed_when_it_never_goes(void **state)
{
	struct fixture *f = *state;
	static const uint32_t cut = 10;

	f->left.decide = wait_some;
	f->left.waits = SIZE_MAX;
	add_split(f, 30, 1, &cut, 1);
	stream_add_record(&f->in, 100000, 2);
	peer_write(&f->left.peer, stream_span(&f->in));
	loop_idle(f->base);
	assert_int_equal(f->left.records, 1);
	conn_close(&f->left.conn);
	assert_int_equal(f->pool.live, 0);
}

static enum record_fate want_whole(struct side *side, struct record *r)
{
	size_t enough = r->size < CONN_WHOLE_MAX ? r->size : CONN_WHOLE_MAX;

	if (r->have < enough)
		return RECORD_WHOLE;
	side->answer.len = 0;
	stream_add(&side->answer, (struct gfp_span){ r->bytes, r->have });
	return RECORD_PASS;
}

static void a_record_wanted_whole_is_shown_whole(void **state)
{
	struct fixture *f = *state;

	for (size_t step = 1; step < SIZE_MAX / 8000; step *= 8000) {
		for (uint32_t i = 0; i < COUNT(sizes); i++) {
			if (step == 1 && sizes[i] > 10000)
				continue;
			restart(f, 0);
			f->left.decide = want_whole;
			stream_add_record(&f->in, 21, 1);
			stream_add_record(&f->in, sizes[i], i);
			stream_add(&f->want, stream_span(&f->in));
			transfer(f, &f->left, &f->right, step, SIZE_MAX);
			assert_true(f->left.answer.len >= CONN_WHOLE_MAX ||
				    f->left.answer.len == sizes[i]);
			assert_memory_equal(f->left.answer.at, f->in.at + 29,
					    f->left.answer.len);
		}
	}
}

static enum record_fate close_now(struct side *side, struct record *r)
{
	(void)r;
	close_both(side);
	return RECORD_DEAD;
}

static void a_handler_may_close_at_a_record(void **state)
{
	struct fixture *f = *state;
	static const uint32_t cut = 10;

	for (int shape = 0; shape < 3; shape++) {
		restart(f, 0);
		f->left.decide = close_now;
		if (shape == 0)
			add_split(f, 30, 1, &cut, 1);
		stream_add_record(&f->in, shape == 1 ? 20 : 200000, 1);
		stream_add_record(&f->in, 20, 2);
		peer_write(&f->left.peer, stream_span(&f->in));
		loop_idle(f->base);
		assert_int_equal(f->left.records, 1);
		assert_false(conn_is_open(&f->left.conn));
		assert_int_equal(f->pool.live, 0);
	}
}

/* ---- fragments ---- */

static void fragments_leave_as_one(void **state)
{
	struct fixture *f = *state;

	for (uint32_t cut = 0; cut <= 40; cut++) {
		const uint32_t cuts[] = { cut, cut, cut };

		for (size_t count = 1; count <= 3; count++)
			add_split(f, 40, cut, cuts, count);
	}
	transfer(f, &f->left, &f->right, 11, SIZE_MAX);
	restart(f, SMALL_BUFFER);
	for (uint32_t cut = 0; cut <= MAX_REASSEMBLY; cut += 4096)
		add_split(f, MAX_REASSEMBLY, cut, &cut, 1);
	transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
}

static void a_fragment_for_each_byte_is_joined(void **state)
{
	struct fixture *f = *state;
	uint32_t cuts[399];

	for (uint32_t i = 0; i < COUNT(cuts); i++)
		cuts[i] = i + 1;
	add_split(f, 400, 9, cuts, COUNT(cuts));
	transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	assert_int_equal(f->left.last_have, 400);
}

/* Send f->in; the connection must be closed for it. */
static void assert_bad(struct fixture *f, enum gfp_status why, uint64_t number)
{
	size_t sent = 0;

	for (int i = 0; i < PASSES_MAX && f->left.bads == 0; i++) {
		sent += peer_write(&f->left.peer,
				   gfp_span_from(stream_span(&f->in), sent));
		loop_pass(f->base);
	}
	assert_int_equal(f->left.bads, 1);
	assert_int_equal(f->left.why, why);
	assert_int_equal(f->left.number, number);
	loop_idle(f->base);
	assert_int_equal(f->left.bads, 1);
	assert_int_equal(f->pool.live, 0);
}

static void what_is_no_record_is_refused(void **state)
{
	static const struct {
		uint32_t mark;
		enum gfp_status why;
		uint64_t number;
	} rows[] = {
		{ 0xffffffff, GFP_TOO_BIG, 0x7fffffff },
		{ 0x80000000, GFP_BAD, 0 },
		{ 0x80000013, GFP_BAD, 19 },
		{ 0x80000000u | (MAX_RECORD + 1), GFP_TOO_BIG, MAX_RECORD + 1 },
		{ 0x7fffffff, GFP_TOO_BIG, 0x7fffffffull + 4 },
		{ MAX_REASSEMBLY + 1, GFP_TOO_BIG, MAX_REASSEMBLY + 1 + 4 },
		{ 0x47455420, GFP_TOO_BIG, 0x47455420ull + 4 },	/* "GET " */
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		restart(f, 0);
		stream_add_mark(&f->in, rows[i].mark & 0x7fffffff,
				rows[i].mark >> 31);
		assert_bad(f, rows[i].why, rows[i].number);
		/* also behind a good one, and byte by byte */
		restart(f, 0);
		stream_add_record(&f->in, 600, 1);
		stream_add_mark(&f->in, rows[i].mark & 0x7fffffff,
				rows[i].mark >> 31);
		stream_add_body(&f->in, 100, 1);
		assert_bad(f, rows[i].why, rows[i].number);
		assert_int_equal(f->left.records, 1);
	}
}

static void a_flood_of_empty_fragments_is_refused(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100000; i++)
		stream_add_mark(&f->in, 0, false);
	assert_bad(f, GFP_BAD, GFP_MARK_SIZE);
}

static void fragments_above_the_limit_are_refused(void **state)
{
	struct fixture *f = *state;

	stream_add_mark(&f->in, MAX_REASSEMBLY - 10, false);
	stream_add_body(&f->in, MAX_REASSEMBLY - 10, 1);
	stream_add_mark(&f->in, 11, true);
	assert_bad(f, GFP_TOO_BIG, MAX_REASSEMBLY + 1 + 4);
}

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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;

	stream_add_record(&f->in, 100, 1);
	for (size_t len = 0; len <= f->in.len; len++) {
		restart(f, 0);
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
	struct fixture *f = *state;

	for (size_t len = 1; len < 60; len++) {
		static const uint32_t cuts[] = { 0, 20 };

		restart(f, 0);
		add_split(f, 40, 1, cuts, 2);
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
	struct fixture *f = *state;
	size_t sent;

	restart(f, 0);
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;

	conn_shutdown_send(&f->right.conn);
	peer_read(&f->right.peer, SIZE_MAX);
	assert_true(f->right.peer.has_ended);
	add_whole(f, 100, 1);
	peer_write(&f->right.peer, stream_span(&f->in));
	loop_idle(f->base);
	peer_read(&f->left.peer, SIZE_MAX);
	assert_received(&f->left.peer, &f->want);
}

static void dropped_input_is_read_to_its_end(void **state)
{
	struct fixture *f = *state;
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

	on_error(c, error);
	conn_drop_input(&side->f->left.conn);
}

static void dropping_in_the_middle_of_a_read_drops_all(void **state)
{
	struct conn_handler dropping = handler;
	struct fixture *f = *state;

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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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

/* One that never rests does not keep the others from their turn. */
static void a_wake_has_an_end(void **state)
{
	struct fixture *f = *state;
	size_t sent = 0;
	int size = 4 << 20;

	setsockopt(f->left.peer.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(f->left.conn.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	f->left.decide = drop_even;
	for (uint32_t i = 0; i < 300; i++)
		stream_add_record(&f->in, 4000, i * 2);
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
	struct fixture *f = *state;
	struct conn_ops grudging = conn_ops_plain;

	grudging.recv = grudging_recv;
	grudging.sendv = grudging_sendv;
	f->left.conn.ops = &grudging;
	f->right.conn.ops = &grudging;
	for (int i = 0; i < 3; i++)
		add_small_stream(f);
	transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
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
static void connect_right(struct fixture *f, const struct sockaddr_in *to)
{
	struct conn *c = &f->right.conn;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	conn_close(c);
	conn_init(c, &handler, &f->right, &f->limits, &f->pool, &f->left.conn);
	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)),
			 -1);
	assert_int_equal(errno, EINPROGRESS);
	conn_start_connecting(c, f->base, &conn_ops_plain, fd);
	for (int i = 0; i < PASSES_MAX && f->right.connects == 0; i++)
		loop_pass(f->base);
	assert_int_equal(f->right.connects, 1);
	assert_false(c->is_connecting);
}

static void a_connect_that_succeeds_is_told(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in at;
	int fd = listen_tcp(&at);

	connect_right(f, &at);
	assert_int_equal(f->right.error, 0);
	peer_close(&f->right.peer);
	peer_start(&f->right.peer, accept(fd, NULL, NULL));
	close(fd);
	conn_unblock(&f->right.conn, CONN_BLOCK_START);
	add_whole(f, 100, 1);
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
	struct fixture *f = *state;
	struct sockaddr_in at;
	int fd = listen_tcp(&at);

	close(fd);
	connect_right(f, &at);
	assert_int_equal(f->right.error, ECONNREFUSED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(records_of_every_size_pass_unchanged),
		TEST(each_size_alone_passes_unchanged),
		TEST(slow_readers_get_every_byte),
		TEST(one_byte_at_a_time_is_the_same),
		TEST(a_cut_anywhere_is_the_same),
		TEST(dropped_records_leave_no_byte),
		TEST(an_edited_head_passes_as_edited),
		TEST(a_record_that_waits_is_asked_for_again),
		TEST(what_waits_is_freed_when_it_never_goes),
		TEST(a_record_wanted_whole_is_shown_whole),
		TEST(a_handler_may_close_at_a_record),
		TEST(fragments_leave_as_one),
		TEST(a_fragment_for_each_byte_is_joined),
		TEST(what_is_no_record_is_refused),
		TEST(a_flood_of_empty_fragments_is_refused),
		TEST(fragments_above_the_limit_are_refused),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
