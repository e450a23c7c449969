/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_call - an xid finds its call while it is in flight, and only then.
 */
#include "config.h"

#include <stdlib.h>

#include "daemon/call.h"
#include "tests/unit/test.h"

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct call_table));
	return *state == NULL;
}

static int tear_down(void **state)
{
	call_table_clear(*state);
	free(*state);
	return 0;
}

static uint32_t begin(struct call_table *t, uint32_t client_xid)
{
	struct call *call = call_new(t);

	assert_non_null(call);
	assert_true(call->is_live);
	assert_null(call->note);
	call->client_xid = client_xid;
	return call->brick_xid;
}

static void end(struct call_table *t, uint32_t brick_xid)
{
	struct call *call = call_find(t, brick_xid);

	assert_non_null(call);
	call_end(t, call);
}

static void a_call_is_found_until_it_ends(void **state)
{
	struct call_table *t = *state;
	uint32_t xid = begin(t, 77);

	assert_int_equal(call_find(t, xid)->client_xid, 77);
	assert_int_equal(t->live, 1);
	end(t, xid);
	assert_null(call_find(t, xid));
	assert_int_equal(t->live, 0);
}

static void an_xid_that_was_never_given_finds_nothing(void **state)
{
	struct call_table *t = *state;
	uint32_t xid;

	assert_null(call_find(t, 0));
	assert_null(call_find(t, UINT32_MAX));
	xid = begin(t, 1);
	for (uint32_t i = 0; i < 64; i++) {
		if (i != (xid & (CALL_SLOT_LIMIT - 1)))
			assert_null(call_find(t, i));
		if (i != xid >> CALL_SLOT_BITS)
			assert_null(call_find(t, i << CALL_SLOT_BITS |
				(xid & (CALL_SLOT_LIMIT - 1))));
	}
	assert_null(call_find(t, UINT32_MAX));
}

static void a_slot_used_again_has_another_xid(void **state)
{
	struct call_table *t = *state;
	uint32_t old = begin(t, 1);

	begin(t, 2);		/* the table is never empty */
	for (int i = 0; i < 4000; i++) {
		uint32_t xid;

		end(t, old);
		xid = begin(t, 3);
		assert_int_not_equal(xid, old);
		assert_null(call_find(t, old));
		old = xid;
	}
}

/* A reply that comes twice must not meet a call that came in between. */
static void an_xid_stays_unused_when_the_table_has_been_empty(void **state)
{
	struct call_table *t = *state;
	uint32_t xids[100];

	for (uint32_t i = 0; i < COUNT(xids); i++)
		xids[i] = begin(t, i);
	for (size_t i = 0; i < COUNT(xids); i++)
		end(t, xids[i]);
	for (uint32_t i = 0; i < COUNT(xids); i++)
		begin(t, i);
	for (size_t i = 0; i < COUNT(xids); i++)
		assert_null(call_find(t, xids[i]));
}

static void calls_survive_the_growth_of_the_table(void **state)
{
	struct call_table *t = *state;
	enum { MANY = 70000 };
	uint32_t *xids = calloc(MANY, sizeof(*xids));
	uint32_t seen = 0;

	for (uint32_t i = 0; i < MANY; i++)
		xids[i] = begin(t, i);
	for (struct call *c = call_first(t); c != NULL; c = call_next(t, c))
		seen++;
	assert_int_equal(seen, MANY);
	for (uint32_t i = 0; i < MANY; i += 2)
		end(t, xids[i]);
	for (uint32_t i = 1; i < MANY; i += 2)
		assert_int_equal(call_find(t, xids[i])->client_xid, i);
	assert_int_equal(t->live, MANY / 2);
	for (uint32_t i = 1; i < MANY; i += 2)
		end(t, xids[i]);
	assert_null(call_first(t));
	assert_null(t->calls);	/* a burst's table is given back */
	free(xids);
}

static void a_small_table_stays(void **state)
{
	struct call_table *t = *state;

	end(t, begin(t, 1));
	assert_non_null(t->calls);
	assert_int_equal(t->cap, 8);
}

static void the_number_of_calls_has_a_limit(void **state)
{
	struct call_table *t = *state;
	struct call *call;

	for (uint32_t i = 0; i < CALL_SLOT_LIMIT; i++)
		begin(t, i);
	assert_null(call_new(t));
	call = call_first(t);
	call_end(t, call);
	assert_non_null(call_new(t));
	assert_null(call_new(t));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_call_is_found_until_it_ends),
		TEST(an_xid_that_was_never_given_finds_nothing),
		TEST(a_slot_used_again_has_another_xid),
		TEST(an_xid_stays_unused_when_the_table_has_been_empty),
		TEST(calls_survive_the_growth_of_the_table),
		TEST(a_small_table_stays),
		TEST(the_number_of_calls_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
