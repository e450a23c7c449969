/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record - record marks and the search for the next record.
 */
#include "config.h"

#include "proto/record.h"
#include "tests/unit/bytes.h"
#include "tests/unit/test.h"

enum { LIMIT = 1000 };

static void put_mark(struct bytes *b, uint32_t len, int is_last)
{
	put_u32(b, len | (is_last ? 0x80000000u : 0));
}

static enum gfp_status next_of(const struct bytes *b, struct gfp_span *body)
{
	struct gfp_span view = view_of(span_of(b), b->len);
	enum gfp_status status = gfp_record_next(view, LIMIT, body);

	if (status == GFP_OK)
		body->ptr = b->at + (body->ptr - view.ptr);
	drop(view);
	return status;
}

static void a_mark_survives_writing_and_reading(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 24, 65536, 0x7fffffff };
	uint8_t at[GFP_MARK_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		gfp_mark_write(at, lengths[i]);
		assert_int_equal(gfp_mark_read(at).len, lengths[i]);
		assert_true(gfp_mark_read(at).is_last);
	}
	at[0] &= 0x7f;
	assert_false(gfp_mark_read(at).is_last);
	assert_int_equal(gfp_mark_read(at).len, 0x7fffffff);
}

static void a_record_is_found_behind_its_mark(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_span body;

	(void)state;
	put_mark(&b, 32, 1);
	put_fill(&b, 32, 0xaa);
	put_fill(&b, 7, 0xbb);
	assert_int_equal(next_of(&b, &body), GFP_OK);
	assert_ptr_equal(body.ptr, b.at + 4);
	assert_int_equal(body.len, 32);
}

static void every_truncation_is_short(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_span body = { NULL, 77 };

	(void)state;
	put_mark(&b, 32, 1);
	put_fill(&b, 32, 0);
	for (b.len = 0; b.len < 36; b.len++)
		assert_int_equal(next_of(&b, &body), GFP_SHORT);
	assert_null(body.ptr);
	assert_int_equal(body.len, 77);
}

static void the_shortest_record_is_a_denial_of_20_bytes(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_span body;

	(void)state;
	put_mark(&b, 20, 1);
	put_fill(&b, 20, 0);
	assert_int_equal(next_of(&b, &body), GFP_OK);
	for (uint32_t len = 0; len < 20; len++) {
		b.len = 0;
		put_mark(&b, len, 1);
		put_fill(&b, len, 0);
		assert_int_equal(next_of(&b, &body), GFP_BAD);
		/* known from the mark alone */
		b.len = 4;
		assert_int_equal(next_of(&b, &body), GFP_BAD);
	}
}

static void the_limit_itself_is_accepted_and_no_byte_more(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_span body;

	(void)state;
	put_mark(&b, LIMIT, 1);
	put_fill(&b, LIMIT, 0);
	assert_int_equal(next_of(&b, &body), GFP_OK);
	b.len = 0;
	put_mark(&b, LIMIT + 1, 1);
	assert_int_equal(next_of(&b, &body), GFP_TOO_BIG);
	b.len = 0;
	put_mark(&b, 0x7fffffff, 1);
	assert_int_equal(next_of(&b, &body), GFP_TOO_BIG);
}

static void a_fragment_that_is_not_the_last_is_split(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_span body;

	(void)state;
	put_mark(&b, 0, 0);
	assert_int_equal(next_of(&b, &body), GFP_SPLIT);
	b.len = 0;
	put_mark(&b, LIMIT, 0);
	assert_int_equal(next_of(&b, &body), GFP_SPLIT);
	b.len = 0;
	put_mark(&b, LIMIT + 1, 0);
	assert_int_equal(next_of(&b, &body), GFP_TOO_BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_survives_writing_and_reading),
		cmocka_unit_test(a_record_is_found_behind_its_mark),
		cmocka_unit_test(every_truncation_is_short),
		cmocka_unit_test(the_shortest_record_is_a_denial_of_20_bytes),
		cmocka_unit_test(the_limit_itself_is_accepted_and_no_byte_more),
		cmocka_unit_test(a_fragment_that_is_not_the_last_is_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
