/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_outq - what is queued is what is sent, whole record by whole record.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/outq.h"
#include "tests/unit/test.h"

enum { MODEL_MAX = 1 << 20 };

/* A queue and the bytes that it must give out. */
struct fixture {
	struct buf_pool pool;
	struct outq q;
	uint8_t want[MODEL_MAX];
	size_t want_len;
	uint8_t got[MODEL_MAX];
	size_t got_len;
	uint8_t next;		/* the next byte that is queued */
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state == NULL;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	outq_clear(&f->q);
	assert_int_equal(f->q.bytes, 0);
	assert_null(f->q.ready.segs);
	assert_null(f->q.behind.segs);
	assert_int_equal(f->pool.live, 0);
	buf_pool_clear(&f->pool);
	free(f);
	return 0;
}

/* Fill bytes of a block, counted up over the whole test. */
static void fill(struct fixture *f, uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = f->next++;
}

static void expect(struct fixture *f, const uint8_t *at, size_t len)
{
	memcpy(f->want + f->want_len, at, len);
	f->want_len += len;
}

static void pass(struct fixture *f, struct buf *b, size_t off, size_t len,
		 bool is_last)
{
	fill(f, b->bytes + off, len);
	expect(f, b->bytes + off, len);
	assert_true(outq_pass(&f->q, b, b->bytes + off, len, is_last));
}

static void add(struct fixture *f, uint8_t with, size_t len, bool is_expected)
{
	uint8_t record[64];

	assert_true(len <= sizeof(record));
	memset(record, with, len);
	assert_true(outq_add(&f->q, (struct gfp_span){ record, len }));
	if (is_expected)
		expect(f, record, len);
	memset(record, 0, len);		/* the queue has its own copy */
}

/* Take up to n bytes from the queue's front. */
static void send_some(struct fixture *f, size_t n)
{
	struct iovec iov[64];
	int count = outq_iov(&f->q, iov, COUNT(iov));
	size_t sent = 0;

	for (int i = 0; i < count && sent < n; i++) {
		size_t len = iov[i].iov_len;

		if (len > n - sent)
			len = n - sent;
		memcpy(f->got + f->got_len, iov[i].iov_base, len);
		f->got_len += len;
		sent += len;
	}
	outq_sent(&f->q, sent);
}

static void send_all(struct fixture *f)
{
	while (f->q.ready.count > 0)
		send_some(f, SIZE_MAX);
}

static void check(struct fixture *f)
{
	assert_int_equal(f->got_len, f->want_len);
	assert_memory_equal(f->got, f->want, f->want_len);
	assert_int_equal(f->q.bytes, 0);
}

static void pieces_leave_in_order(void **state)
{
	struct fixture *f = *state;
	struct buf *a = buf_new(&f->pool), *b = buf_new(&f->pool);

	pass(f, a, 0, 10, false);
	pass(f, b, 100, 20, false);
	pass(f, a, 50, 30, true);
	assert_int_equal(f->q.bytes, 60);
	assert_int_equal(f->q.ready.count, 3);
	buf_put(a);
	buf_put(b);
	assert_int_equal(f->pool.live, 2);
	send_all(f);
	assert_int_equal(f->pool.live, 0);
	check(f);
}

static void neighbours_become_one_piece(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	for (size_t i = 0; i < 50; i++)
		pass(f, b, i * 7, 7, i % 3 == 0);
	assert_int_equal(f->q.ready.count, 1);
	assert_int_equal(b->refs, 2);
	send_some(f, 13);
	pass(f, b, 350, 1, true);
	assert_int_equal(f->q.ready.count, 1);
	buf_put(b);
	send_all(f);
	check(f);
}

static void a_record_made_here_waits_behind_an_open_one(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	pass(f, b, 0, 10, false);
	add(f, 0xaa, 20, false);
	add(f, 0xbb, 8, false);
	assert_true(f->q.is_open);
	assert_int_equal(f->q.bytes, 38);
	send_all(f);
	assert_int_equal(f->got_len, 10);
	assert_int_equal(f->q.bytes, 28);
	pass(f, b, 10, 10, false);
	send_all(f);
	assert_int_equal(f->got_len, 20);
	pass(f, b, 20, 5, true);
	assert_false(f->q.is_open);
	memset(f->want + f->want_len, 0xaa, 20);
	memset(f->want + f->want_len + 20, 0xbb, 8);
	f->want_len += 28;
	buf_put(b);
	add(f, 0xcc, 4, true);
	send_all(f);
	check(f);
}

static void what_waited_goes_before_what_comes_later(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	pass(f, b, 0, 10, false);
	for (int i = 0; i < 100; i++)
		add(f, (uint8_t)i, 4, false);
	pass(f, b, 10, 10, true);
	for (int i = 0; i < 100; i++) {
		memset(f->want + f->want_len, i, 4);
		f->want_len += 4;
	}
	pass(f, b, 20, 10, true);
	buf_put(b);
	send_all(f);
	check(f);
}

static void any_part_may_be_sent(void **state)
{
	struct fixture *f = *state;

	for (size_t n = 1; n < 70; n++) {
		struct buf *b = buf_new(&f->pool);

		pass(f, b, 0, 25, false);
		pass(f, b, 30, 25, true);
		add(f, 0x11, 15, true);
		buf_put(b);
		while (f->q.ready.count > 0)
			send_some(f, n);
		assert_int_equal(f->pool.live, 0);
	}
	check(f);
}

static void iov_gives_no_more_than_asked(void **state)
{
	struct fixture *f = *state;
	struct iovec iov[3];

	assert_int_equal(outq_iov(&f->q, iov, 3), 0);
	for (int i = 0; i < 5; i++)
		add(f, (uint8_t)i, 4, true);
	assert_int_equal(outq_iov(&f->q, iov, 3), 3);
	assert_int_equal(outq_iov(&f->q, iov, 1), 1);
	send_all(f);
	check(f);
}

static void an_empty_queue_keeps_no_burst(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 1000; i++)
		add(f, (uint8_t)i, 4, true);
	assert_true(f->q.ready.cap >= 1000);
	send_all(f);
	assert_true(f->q.ready.cap <= 8);
	check(f);
}

/* The part of a reply that a slow peer has not taken yet. */
static void a_small_rest_is_copied_off_its_block(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	pass(f, b, 0, 100, true);
	pass(f, b, 200, 100, true);
	pass(f, b, 400, 100, false);
	send_some(f, 30);
	assert_int_equal(b->refs, 4);
	outq_unpin(&f->q, b);
	assert_int_equal(b->refs, 1);
	assert_int_equal(f->q.ready.count, 1);
	assert_int_equal(f->q.bytes, 270);
	assert_true(f->q.is_open);
	memset(b->bytes, 0, BUF_POOLED_SIZE);
	pass(f, b, 1000, 10, true);
	buf_put(b);
	send_all(f);
	check(f);
}

static void a_large_rest_stays_on_its_block(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	pass(f, b, 0, BUF_POOLED_SIZE / 2, true);
	outq_unpin(&f->q, b);
	assert_int_equal(b->refs, 2);
	buf_put(b);
	send_all(f);
	check(f);
}

static void only_the_end_of_the_queue_is_copied(void **state)
{
	struct fixture *f = *state;
	struct buf *a = buf_new(&f->pool), *b = buf_new(&f->pool);

	pass(f, b, 0, 10, true);
	pass(f, a, 0, 10, true);
	outq_unpin(&f->q, b);		/* not at the end */
	assert_int_equal(b->refs, 2);
	pass(f, b, 10, 10, true);
	outq_unpin(&f->q, b);
	assert_int_equal(b->refs, 2);	/* the first piece holds it still */
	assert_int_equal(f->q.ready.count, 3);
	outq_unpin(&f->q, a);
	assert_int_equal(a->refs, 2);
	buf_put(a);
	buf_put(b);
	send_all(f);
	check(f);
}

static void a_copied_rest_survives_a_turn_of_the_ring(void **state)
{
	struct fixture *f = *state;

	for (int round = 0; round < 40; round++) {
		struct buf *b = buf_new(&f->pool);

		for (size_t i = 0; i < 6; i++)
			pass(f, b, i * 20, 10, true);
		send_some(f, 27);
		outq_unpin(&f->q, b);
		assert_int_equal(b->refs, 1);
		buf_put(b);
		while (f->q.bytes > 33)
			send_some(f, 11);
	}
	send_all(f);
	check(f);
}

static void clearing_forgets_an_open_record(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_new(&f->pool);

	assert_true(outq_pass(&f->q, b, b->bytes, 10, false));
	assert_true(outq_add(&f->q, (struct gfp_span){ b->bytes, 10 }));
	buf_put(b);
	outq_clear(&f->q);
	assert_int_equal(f->pool.live, 0);
	assert_false(f->q.is_open);
	add(f, 0x22, 10, true);
	send_all(f);
	check(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(pieces_leave_in_order),
		TEST(neighbours_become_one_piece),
		TEST(a_record_made_here_waits_behind_an_open_one),
		TEST(what_waited_goes_before_what_comes_later),
		TEST(any_part_may_be_sent),
		TEST(iov_gives_no_more_than_asked),
		TEST(an_empty_queue_keeps_no_burst),
		TEST(a_small_rest_is_copied_off_its_block),
		TEST(a_large_rest_stays_on_its_block),
		TEST(only_the_end_of_the_queue_is_copied),
		TEST(a_copied_rest_survives_a_turn_of_the_ring),
		TEST(clearing_forgets_an_open_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
