/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spsc - a ring of entries, by one thread and by two.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "daemon/spsc.h"
#include "tests/unit/test.h"

static void entries_come_out_as_they_went_in(void **state)
{
	uint32_t in = 0, out = 0, seed = 1;
	struct spsc q;

	(void)state;
	assert_true(spsc_open(&q, 1000));
	while (out < 20000) {
		uint32_t *p;

		seed = seed * 1103515245 + 12345;
		if ((seed >> 16) % 3 > 0) {
			size_t size = 4 + (seed >> 20) % spsc_entry_max(&q);

			p = spsc_reserve(&q, size);
			if (p != NULL) {
				/* all of it is ours */
				memset(p, (int)in, size);
				*p = in++;
				spsc_publish(&q);
			}
		} else if ((p = spsc_peek(&q)) != NULL) {
			assert_int_equal(*p, out++);
			spsc_pop(&q);
		}
	}
	spsc_close(&q);
}

static void the_largest_entry_fits_an_empty_ring_anywhere(void **state)
{
	struct spsc q;

	(void)state;
	assert_true(spsc_open(&q, 256));
	for (size_t step = 1; step < 100; step++) {
		void *p = spsc_reserve(&q, step);

		assert_non_null(p);
		spsc_publish(&q);
		assert_non_null(spsc_peek(&q));
		spsc_pop(&q);
		assert_true(spsc_is_empty(&q));
		p = spsc_reserve(&q, spsc_entry_max(&q));
		assert_non_null(p);
		memset(p, 1, spsc_entry_max(&q));
		spsc_publish(&q);
		spsc_peek(&q);
		spsc_pop(&q);
	}
	assert_null(spsc_reserve(&q, spsc_entry_max(&q) + 1));
	spsc_close(&q);
}

static void *put_numbers(void *arg)
{
	struct spsc *q = arg;

	for (uint32_t i = 0; i < 200000;) {
		uint32_t *p = spsc_reserve(q, 4 + i % 61 * 4);

		if (p == NULL) {
			sched_yield();
			continue;
		}
		p[0] = i;
		p[i % 61] = i;
		spsc_publish(q);
		i++;
	}
	return NULL;
}

static void a_ring_between_two_threads_keeps_order(void **state)
{
	pthread_t writer;
	struct spsc q;

	(void)state;
	assert_true(spsc_open(&q, 4096));
	assert_int_equal(pthread_create(&writer, NULL, put_numbers, &q), 0);
	for (uint32_t i = 0; i < 200000;) {
		uint32_t *p = spsc_peek(&q);

		if (p == NULL) {
			sched_yield();
			continue;
		}
		assert_int_equal(*p, i);
		assert_int_equal(p[i % 61], i);
		spsc_pop(&q);
		i++;
	}
	pthread_join(writer, NULL);
	spsc_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_as_they_went_in),
		cmocka_unit_test(the_largest_entry_fits_an_empty_ring_anywhere),
		cmocka_unit_test(a_ring_between_two_threads_keeps_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
