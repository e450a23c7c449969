/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_join - fragments of any shape become one record, or are refused.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/join.h"
#include "proto/record.h"
#include "tests/unit/bytes.h"
#include "tests/unit/test.h"

enum { LIMIT = 4096, BODY = 61 };

static void put_fragment(struct bytes *b, size_t from, size_t len, bool is_last)
{
	put_u32(b, (is_last ? 0x80000000u : 0) | (uint32_t)len);
	for (size_t i = 0; i < len; i++)
		put_u8(b, (unsigned int)((from + i) * 31 & 255));
}

static void assert_whole(struct buf *whole, size_t len)
{
	static struct bytes want;

	want.len = 0;
	put_fragment(&want, 0, len, true);
	assert_non_null(whole);
	assert_int_equal(whole->cap, want.len);
	assert_memory_equal(whole->bytes, want.at, want.len);
	buf_put(whole);
}

/* Feed in steps of at most step bytes; the record must come at the end. */
static void join_in_steps(const struct bytes *b, size_t step, size_t body)
{
	struct join *j = join_new();
	struct buf *whole = NULL;
	enum gfp_status st = GFP_SHORT;
	size_t at = 0;

	assert_non_null(j);
	while (at < b->len) {
		size_t n = b->len - at < step ? b->len - at : step, used;
		struct gfp_span in = view_of(gfp_span_from(span_of(b), at), n);

		assert_int_equal(st, GFP_SHORT);
		st = join_add(j, in, LIMIT, &used, &whole);
		drop(in);
		assert_int_equal(used, n);
		at += n;
	}
	assert_int_equal(st, GFP_OK);
	assert_whole(whole, body);
	join_free(j);
}

static void a_record_cut_anywhere_becomes_one(void **state)
{
	static struct bytes b;

	(void)state;
	for (size_t cut = 0; cut <= BODY; cut++) {
		b.len = 0;
		put_fragment(&b, 0, cut, false);
		put_fragment(&b, cut, BODY - cut, true);
		for (size_t step = 1; step <= b.len; step++)
			join_in_steps(&b, step, BODY);
	}
}

static void a_fragment_for_each_byte_is_taken(void **state)
{
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < BODY; i++)
		put_fragment(&b, i, 1, i + 1 == BODY);
	for (size_t step = 1; step <= b.len; step++)
		join_in_steps(&b, step, BODY);
}

static void some_empty_fragments_are_taken(void **state)
{
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_fragment(&b, 0, 0, false);
		put_fragment(&b, i * 10, 10, false);
	}
	put_fragment(&b, 0, 0, false);
	put_fragment(&b, 0, 0, true);
	for (size_t step = 1; step <= b.len; step++)
		join_in_steps(&b, step, 40);
}

static enum gfp_status feed(struct join *j, struct gfp_span in)
{
	struct buf *whole = NULL;
	size_t used;
	enum gfp_status st = join_add(j, in, LIMIT, &used, &whole);

	assert_null(whole);
	assert_true(used <= in.len);
	return st;
}

static void endless_empty_fragments_are_refused(void **state)
{
	static const uint8_t empty[GFP_MARK_SIZE];
	struct join *j = join_new();
	enum gfp_status st = GFP_SHORT;
	int count = 0;

	(void)state;
	while (st == GFP_SHORT && ++count < 1000)
		st = feed(j, (struct gfp_span){ empty, sizeof(empty) });
	assert_int_equal(st, GFP_BAD);
	assert_in_range(count, 2, 100);
	join_free(j);
}

static void endless_tiny_fragments_are_refused(void **state)
{
	static const uint8_t one[] = { 0, 0, 0, 1, 0x55 };
	struct join *j = join_new();
	struct buf *whole = NULL;
	enum gfp_status st = GFP_SHORT;
	size_t count = 0, used;

	(void)state;
	while (st == GFP_SHORT && ++count < 100000)
		st = join_add(j, (struct gfp_span){ one, sizeof(one) },
			      UINT32_MAX, &used, &whole);
	assert_int_equal(st, GFP_BAD);
	assert_in_range(count, 2000, 50000);
	join_free(j);
}

/* One that gives room to a record of just the limit, in two fragments. */
static void the_limit_is_of_the_sum(void **state)
{
	static struct bytes b;

	(void)state;
	put_fragment(&b, 0, LIMIT - 30, false);
	put_fragment(&b, LIMIT - 30, 30, true);
	join_in_steps(&b, SIZE_MAX, LIMIT);
	join_in_steps(&b, 7, LIMIT);
}

static void one_byte_above_the_limit_is_refused_by_its_mark(void **state)
{
	static struct bytes b;
	struct join *j = join_new();

	(void)state;
	put_fragment(&b, 0, LIMIT - 30, false);
	put_u32(&b, 0x80000000u | 31);
	assert_int_equal(feed(j, span_of(&b)), GFP_TOO_BIG);
	assert_int_equal(join_size(j), LIMIT + 1 + GFP_MARK_SIZE);
	join_free(j);
}

static void a_promise_takes_no_memory(void **state)
{
	static const uint8_t marks[][4] = { { 0x7f, 0xff, 0xff, 0xff },
					    { 0xff, 0xff, 0xff, 0xff },
					    { 0, 0, 0x10, 1 } };

	(void)state;
	for (size_t i = 0; i < COUNT(marks); i++) {
		struct join *j = join_new();

		assert_int_equal(feed(j, (struct gfp_span){ marks[i], 4 }),
				 GFP_TOO_BIG);
		join_free(j);
	}
}

static void a_joined_record_that_is_too_short_is_bad(void **state)
{
	static struct bytes b;
	struct join *j = join_new();

	(void)state;
	put_fragment(&b, 0, 10, false);
	put_fragment(&b, 10, 9, true);
	assert_int_equal(feed(j, span_of(&b)), GFP_BAD);
	join_free(j);
}

static void bytes_behind_the_record_are_left(void **state)
{
	static struct bytes b;
	struct join *j = join_new();
	struct buf *whole;
	size_t used, len;

	(void)state;
	put_fragment(&b, 0, 20, false);
	put_fragment(&b, 20, 20, true);
	len = b.len;
	put_fill(&b, 100, 0xff);
	assert_int_equal(join_add(j, span_of(&b), LIMIT, &used, &whole),
			 GFP_OK);
	assert_int_equal(used, len);
	assert_whole(whole, 40);
	join_free(j);
}

/* Asked again while nothing has come: nothing happens, wherever it stands. */
static void no_bytes_change_nothing(void **state)
{
	static struct bytes b;
	struct join *j = join_new();
	struct buf *whole = NULL;
	size_t used;

	(void)state;
	put_fragment(&b, 0, 20, false);
	put_fragment(&b, 20, 20, true);
	for (size_t i = 0; i + 1 < b.len; i++) {
		assert_int_equal(feed(j, (struct gfp_span){ NULL, 0 }),
				 GFP_SHORT);
		assert_int_equal(feed(j, (struct gfp_span){ b.at + i, 1 }),
				 GFP_SHORT);
		assert_int_equal(feed(j, (struct gfp_span){ NULL, 0 }),
				 GFP_SHORT);
	}
	assert_int_equal(join_add(j, (struct gfp_span){ b.at + b.len - 1, 1 },
				  LIMIT, &used, &whole), GFP_OK);
	assert_whole(whole, 40);
	join_free(j);
}

static void a_record_handed_back_comes_again(void **state)
{
	static struct bytes b;
	struct join *j = join_new();
	struct buf *whole;
	size_t used;

	(void)state;
	put_fragment(&b, 0, 20, false);
	put_fragment(&b, 20, 20, true);
	assert_int_equal(join_add(j, span_of(&b), LIMIT, &used, &whole),
			 GFP_OK);
	join_keep(j, whole);
	whole = NULL;
	assert_int_equal(join_add(j, span_of(&b), LIMIT, &used, &whole),
			 GFP_OK);
	assert_int_equal(used, 0);
	join_keep(j, whole);
	join_free(j);		/* and is freed with the rest if it stays */
	join_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_cut_anywhere_becomes_one),
		cmocka_unit_test(a_fragment_for_each_byte_is_taken),
		cmocka_unit_test(some_empty_fragments_are_taken),
		cmocka_unit_test(endless_empty_fragments_are_refused),
		cmocka_unit_test(endless_tiny_fragments_are_refused),
		cmocka_unit_test(the_limit_is_of_the_sum),
		cmocka_unit_test(
			one_byte_above_the_limit_is_refused_by_its_mark),
		cmocka_unit_test(a_promise_takes_no_memory),
		cmocka_unit_test(a_joined_record_that_is_too_short_is_bad),
		cmocka_unit_test(bytes_behind_the_record_are_left),
		cmocka_unit_test(no_bytes_change_nothing),
		cmocka_unit_test(a_record_handed_back_comes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
