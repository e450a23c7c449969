/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_conn - records pass as they are, however their bytes arrive.
 */
#include "config.h"

#include <string.h>

#include "proto/record.h"
#include "tests/unit/conn_rig.h"
#include "tests/unit/test.h"

/* Records of every size class: around each bound of the code. */
static const uint32_t sizes[] = {
	20, 21, 24, 27, 100, CONN_HEAD_MAX - 1, CONN_HEAD_MAX,
	CONN_HEAD_MAX + 1, 4096, 20, 20, 20, 20, CONN_WHOLE_MAX - 1,
	CONN_WHOLE_MAX, CONN_WHOLE_MAX + 1, 131072 + 196,
	BUF_POOLED_SIZE / 2 - 4, BUF_POOLED_SIZE / 2, BUF_POOLED_SIZE - 5,
	BUF_POOLED_SIZE - 4, BUF_POOLED_SIZE - 3, BUF_POOLED_SIZE,
	BUF_POOLED_SIZE + 1, 3 * BUF_POOLED_SIZE, 1 << 20, 44, MAX_RECORD, 20,
};

static void add_all_sizes(struct conn_rig *f)
{
	for (uint32_t i = 0; i < COUNT(sizes); i++)
		stream_add_record(&f->in, sizes[i], i + 1);
	stream_add(&f->want, stream_span(&f->in));
}

static void records_of_every_size_pass_unchanged(void **state)
{
	struct conn_rig *f = *state;

	for (int tiny = 0; tiny < 2; tiny++) {
		conn_rig_restart(f, tiny ? SMALL_BUFFER : 0);
		add_all_sizes(f);
		conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
		assert_int_equal(f->left.records, COUNT(sizes));
		assert_int_equal(f->left.last_size, 20);
		conn_rig_restart(f, tiny ? SMALL_BUFFER : 0);
		add_all_sizes(f);
		conn_rig_transfer(f, &f->right, &f->left, SIZE_MAX, SIZE_MAX);
	}
}

static void each_size_alone_passes_unchanged(void **state)
{
	struct conn_rig *f = *state;

	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		conn_rig_restart(f, SMALL_BUFFER);
		conn_rig_add(f, sizes[i], i);
		conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	}
}

/* Both at once, and slow readers: sends are partial all the time. */
static void slow_readers_get_every_byte(void **state)
{
	struct conn_rig *f = *state;
	static const size_t steps[] = { 997, 4096, 70000 };

	for (size_t i = 0; i < COUNT(steps); i++) {
		conn_rig_restart(f, SMALL_BUFFER);
		for (uint32_t n = 1; n <= 200; n++)
			stream_add_record(&f->in, 20 + n * n % 7919, n);
		stream_add(&f->want, stream_span(&f->in));
		conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, steps[i]);
	}
}

static void one_byte_at_a_time_is_the_same(void **state)
{
	struct conn_rig *f = *state;

	conn_rig_add_mixed(f);
	conn_rig_transfer(f, &f->left, &f->right, 1, SIZE_MAX);
	assert_int_equal(f->left.records, 7);
}

/* The stream in two parts, with passes in between. */
static void send_cut(struct conn_rig *f, size_t cut)
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
	struct conn_rig *f = *state;

	conn_rig_add_mixed(f);
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
	struct conn_rig *f = *state;
	size_t rest = 0;

	f->left.decide = drop_even;
	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		stream_add_record(&f->in, sizes[i], i);
		if (i % 2 != 0)
			stream_add_record(&f->want, sizes[i], i);
		rest += sizes[i];
	}
	conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
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
	struct conn_rig *f = *state;

	f->left.decide = edit;
	for (uint32_t i = 0; i < 20; i++) {
		size_t at;

		stream_add_record(&f->in, 100 * (i + 1), i);
		at = f->want.len;
		stream_add_record(&f->want, 100 * (i + 1), i);
		gfp_put_be32(f->want.at + at + 4, i + 1000);
	}
	conn_rig_transfer(f, &f->left, &f->right, 313, SIZE_MAX);
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
	struct conn_rig *f = *state;
	static const uint32_t cut = 10;
	struct conn *c = &f->left.conn;

	for (int is_split = 0; is_split < 2; is_split++) {
		conn_rig_restart(f, 0);
		f->left.decide = wait_some;
		f->left.waits = 3;
		if (is_split)
			conn_rig_add_split(f, 30, 1, &cut, 1);
		else
			conn_rig_add(f, 5000, 1);
		conn_rig_add(f, 20, 2);
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
	struct conn_rig *f = *state;
	static const uint32_t cut = 10;

	f->left.decide = wait_some;
	f->left.waits = SIZE_MAX;
	conn_rig_add_split(f, 30, 1, &cut, 1);
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
	struct conn_rig *f = *state;

	for (size_t step = 1; step < SIZE_MAX / 8000; step *= 8000) {
		for (uint32_t i = 0; i < COUNT(sizes); i++) {
			if (step == 1 && sizes[i] > 10000)
				continue;
			conn_rig_restart(f, 0);
			f->left.decide = want_whole;
			stream_add_record(&f->in, 21, 1);
			stream_add_record(&f->in, sizes[i], i);
			stream_add(&f->want, stream_span(&f->in));
			conn_rig_transfer(f, &f->left, &f->right, step,
					  SIZE_MAX);
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
	conn_rig_close_both(side);
	return RECORD_DEAD;
}

static void a_handler_may_close_at_a_record(void **state)
{
	struct conn_rig *f = *state;
	static const uint32_t cut = 10;

	for (int shape = 0; shape < 3; shape++) {
		conn_rig_restart(f, 0);
		f->left.decide = close_now;
		if (shape == 0)
			conn_rig_add_split(f, 30, 1, &cut, 1);
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
	struct conn_rig *f = *state;

	for (uint32_t cut = 0; cut <= 40; cut++) {
		const uint32_t cuts[] = { cut, cut, cut };

		for (size_t count = 1; count <= 3; count++)
			conn_rig_add_split(f, 40, cut, cuts, count);
	}
	conn_rig_transfer(f, &f->left, &f->right, 11, SIZE_MAX);
	conn_rig_restart(f, SMALL_BUFFER);
	for (uint32_t cut = 0; cut <= MAX_REASSEMBLY; cut += 4096)
		conn_rig_add_split(f, MAX_REASSEMBLY, cut, &cut, 1);
	conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
}

static void a_fragment_for_each_byte_is_joined(void **state)
{
	struct conn_rig *f = *state;
	uint32_t cuts[399];

	for (uint32_t i = 0; i < COUNT(cuts); i++)
		cuts[i] = i + 1;
	conn_rig_add_split(f, 400, 9, cuts, COUNT(cuts));
	conn_rig_transfer(f, &f->left, &f->right, SIZE_MAX, SIZE_MAX);
	assert_int_equal(f->left.last_have, 400);
}

/* Send f->in; the connection must be closed for it. */
static void assert_bad(struct conn_rig *f, enum gfp_status why, uint64_t number)
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
		/* "GET " */
		{ 0x47455420, GFP_TOO_BIG, 0x47455420ull + 4 },
	};
	struct conn_rig *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		conn_rig_restart(f, 0);
		stream_add_mark(&f->in, rows[i].mark & 0x7fffffff,
				rows[i].mark >> 31);
		assert_bad(f, rows[i].why, rows[i].number);
		/* also behind a good one, and byte by byte */
		conn_rig_restart(f, 0);
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
	struct conn_rig *f = *state;

	for (int i = 0; i < 100000; i++)
		stream_add_mark(&f->in, 0, false);
	assert_bad(f, GFP_BAD, GFP_MARK_SIZE);
}

static void fragments_above_the_limit_are_refused(void **state)
{
	struct conn_rig *f = *state;

	stream_add_mark(&f->in, MAX_REASSEMBLY - 10, false);
	stream_add_body(&f->in, MAX_REASSEMBLY - 10, 1);
	stream_add_mark(&f->in, 11, true);
	assert_bad(f, GFP_TOO_BIG, MAX_REASSEMBLY + 1 + 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, \
	conn_rig_set_up, conn_rig_tear_down)
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
