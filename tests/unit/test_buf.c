/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buf - blocks come back to the pool with their last reference.
 */
#include "config.h"

#include "daemon/buf.h"
#include "tests/unit/test.h"

static void a_block_comes_back_with_its_last_reference(void **state)
{
	struct buf_pool pool = { 0 };
	struct buf *b = buf_new(&pool);

	(void)state;
	assert_non_null(b);
	assert_int_equal(b->cap, BUF_POOLED_SIZE);
	assert_int_equal(pool.live, 1);
	assert_ptr_equal(buf_get(b), b);
	buf_put(b);
	assert_int_equal(pool.live, 1);
	buf_put(b);
	assert_int_equal(pool.live, 0);
	assert_int_equal(pool.free_count, 1);
	buf_pool_clear(&pool);
	assert_null(pool.free);
}

static void the_block_that_came_last_goes_first(void **state)
{
	struct buf_pool pool = { 0 };
	struct buf *a = buf_new(&pool), *b = buf_new(&pool);

	(void)state;
	buf_put(b);
	buf_put(a);
	assert_ptr_equal(buf_new(&pool), a);
	assert_int_equal(a->refs, 1);
	assert_ptr_equal(buf_new(&pool), b);
	buf_put(a);
	buf_put(b);
	buf_pool_clear(&pool);
}

static void the_pool_keeps_few_blocks(void **state)
{
	struct buf_pool pool = { 0 };
	struct buf *blocks[BUF_POOL_KEEP + 5];

	(void)state;
	for (size_t i = 0; i < COUNT(blocks); i++)
		blocks[i] = buf_new(&pool);
	assert_int_equal(pool.live, COUNT(blocks));
	for (size_t i = 0; i < COUNT(blocks); i++)
		buf_put(blocks[i]);
	assert_int_equal(pool.live, 0);
	assert_int_equal(pool.free_count, BUF_POOL_KEEP);
	buf_pool_clear(&pool);
}

static void a_block_outside_the_pool_has_its_own_size(void **state)
{
	struct buf *b = buf_new_sized(5);

	(void)state;
	assert_non_null(b);
	assert_null(b->pool);
	assert_int_equal(b->cap, 5);
	buf_get(b);
	buf_put(b);
	buf_put(b);
	buf_put(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_comes_back_with_its_last_reference),
		cmocka_unit_test(the_block_that_came_last_goes_first),
		cmocka_unit_test(the_pool_keeps_few_blocks),
		cmocka_unit_test(a_block_outside_the_pool_has_its_own_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
