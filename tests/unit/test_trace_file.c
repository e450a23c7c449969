/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_file - files that fill up, rotate, are torn or missing.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/unit/trace_help.h"

static void a_rotated_file_is_opened_anew(void **state)
{
	char old[96], *path = path_of("rotated");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct content c;

	(void)state;
	snprintf(old, sizeof(old), "%s/rotated.1", dir);
	for (uint32_t i = 1; i <= 100; i++)
		trace_read(r, 1, i);
	assert_int_equal(rename(path, old), 0);
	trace_reopen(t);
	/* What was finished before the order is in the old file. */
	while (access(path, F_OK) != 0)
		poll(NULL, 0, 1);
	for (uint32_t i = 101; i <= 150; i++)
		trace_read(r, 1, i);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(old);
	assert_int_equal(c.records, 100);
	assert_int_equal(c.last_xid, 100);
	c = content_of(path);
	assert_int_equal(c.records, 50);
	assert_int_equal(c.first_xid, 101);
}

static void a_full_disk_costs_records_and_is_told_later(void **state)
{
	char full[] = "/dev/full";
	struct trace *t = open_trace(full, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct settings s;
	struct trace_counts n;
	struct content c;

	(void)state;
	for (uint32_t i = 1; i <= 2000; i++)
		trace_read(r, 1, i);
	await_lost_write(t, 2000);
	n = counts_of(t);
	assert_int_equal(n.written, 0);
	assert_int_equal(n.lost_room, 0);
	assert_int_equal(n.lost_write, 2000);
	s = settings_of(path_of("roomy"), LARGE_BUFFER);
	trace_apply(t, &s);
	while (access(path_of("roomy"), F_OK) != 0)
		poll(NULL, 0, 1);
	trace_read(r, 1, 2001);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path_of("roomy"));
	assert_int_equal(c.lost_write, 2000);
	assert_int_equal(c.records, 1);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size == 0 ? limit.rlim_max : size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Fill the file up to the limit, which cuts a line; returns the counts. */
static struct trace_counts fill(struct trace *t, struct trace_ring *r)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;
	struct trace_counts n;

	limit_files(10000);
	for (uint32_t i = 1; i <= 500; i++)
		trace_read(r, 1, i);
	/* one is neither: a part of it is in the file */
	do {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
		n = counts_of(t);
	} while (n.written + n.lost_write < 499);
	limit_files(0);
	return n;
}

static void a_line_cut_by_a_full_disk_is_completed(void **state)
{
	char *path = path_of("filled");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct trace_counts n;
	struct content c;

	(void)state;
	n = fill(t, r);
	assert_true(n.written > 0 && n.lost_write > 0);
	/* tried again by itself after some seconds */
	await_written(t, n.written + 1);
	trace_read(r, 1, 501);
	await_written(t, n.written + 2);
	n = counts_of(t);
	assert_int_equal(n.written + n.lost_write, 501);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path);
	assert_false(c.is_broken);
	assert_int_equal(c.records, n.written);
	assert_int_equal(c.lost_write, n.lost_write);
	assert_int_equal(c.last_xid, 501);
}

static void a_torn_line_stays_alone(void **state)
{
	char *path = path_of("torn");
	FILE *file = fopen(path, "w");
	struct trace_ring *r;
	struct content c;
	struct trace *t;

	(void)state;
	assert_non_null(file);
	fputs("{\"time\":\"2026-01-31T12:0", file);
	fclose(file);
	t = open_trace(path, LARGE_BUFFER);
	r = trace_ring_open(t);
	trace_read(r, 1, 1);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path);
	assert_true(c.is_broken);
	assert_int_equal(c.records, 1);
}

static void a_missing_folder_costs_records_meanwhile(void **state)
{
	char path[128], folder[96];
	struct trace_ring *r;
	struct content c;
	struct trace *t;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/later", dir);
	snprintf(path, sizeof(path), "%s/trace", folder);
	t = open_trace(path, LARGE_BUFFER);
	r = trace_ring_open(t);
	assert_true(trace_is_on(r));
	trace_read(r, 1, 1);
	await_lost_write(t, 1);
	assert_int_equal(mkdir(folder, 0700), 0);
	trace_reopen(t);
	while (access(path, F_OK) != 0)
		poll(NULL, 0, 1);
	trace_read(r, 1, 2);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path);
	assert_int_equal(c.lost_write, 1);
	assert_int_equal(c.records, 1);
	unlink(path);
	rmdir(folder);
}

static void a_dash_is_standard_output(void **state)
{
	char dash[] = "-";
	int out, file;
	struct trace_ring *r;
	struct trace *t;

	(void)state;
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	file = open(path_of("stdout"), O_WRONLY | O_CREAT, 0600);
	assert_true(out >= 0 && file >= 0);
	dup2(file, STDOUT_FILENO);
	t = open_trace(dash, LARGE_BUFFER);
	r = trace_ring_open(t);
	trace_read(r, 1, 1);
	trace_reopen(t);
	trace_read(r, 1, 2);
	trace_ring_close(r);
	trace_close(t);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(file);
	assert_int_equal(content_of(path_of("stdout")).records, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rotated_file_is_opened_anew),
		cmocka_unit_test(a_full_disk_costs_records_and_is_told_later),
		cmocka_unit_test(a_line_cut_by_a_full_disk_is_completed),
		cmocka_unit_test(a_torn_line_stays_alone),
		cmocka_unit_test(a_missing_folder_costs_records_meanwhile),
		cmocka_unit_test(a_dash_is_standard_output),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
