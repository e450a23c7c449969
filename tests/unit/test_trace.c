/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace - rings, budgets and losses, on and off.
 *
 * No record is ever unaccounted for: each test compares the counters with the
 * lines that are in the file.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "tests/unit/trace_help.h"

static void closing_writes_all_that_was_finished(void **state)
{
	char *path = path_of("all");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct content c;
	struct stat st;

	(void)state;
	assert_true(trace_is_on(r));
	for (uint32_t i = 1; i <= 5000; i++)
		trace_read(r, 1, i);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path);
	assert_int_equal(c.records, 5000);
	assert_int_equal(c.first_xid, 1);
	assert_int_equal(c.last_xid, 5000);
	assert_int_equal(c.lost, 0);
	assert_false(c.is_broken);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void without_a_file_the_trace_is_off(void **state)
{
	struct trace *t = open_trace(NULL, SMALL_BUFFER);
	struct trace_ring *r = trace_ring_open(t);

	(void)state;
	assert_false(trace_is_on(r));
	trace_ring_close(r);
	trace_close(t);
}

enum { WORKERS = 4, READS = 20000 };

static void *work(void *arg)
{
	struct trace_ring *r = arg;

	for (uint32_t i = 1; i <= READS; i++)
		trace_read(r, (uintptr_t)r, i);
	return NULL;
}

static void workers_at_once_are_counted_exactly(void **state)
{
	char *path = path_of("workers");
	struct trace *t = open_trace(path, 256 * 1024);
	struct trace_ring *rings[WORKERS];
	pthread_t threads[WORKERS];
	struct trace_counts n;
	struct content c;

	(void)state;
	for (int i = 0; i < WORKERS; i++) {
		rings[i] = trace_ring_open(t);
		assert_non_null(rings[i]);
		assert_int_equal(pthread_create(&threads[i], NULL, work,
						rings[i]), 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		n = counts_of(t);
		assert_true(n.written + n.lost_room <= WORKERS * READS);
	}
	n = counts_of(t);
	await_written(t, WORKERS * READS - n.lost_room);
	n = counts_of(t);
	assert_int_equal(n.written + n.lost_room, WORKERS * READS);
	assert_int_equal(n.lost_write, 0);
	for (int i = 0; i < WORKERS; i++)
		trace_ring_close(rings[i]);
	trace_close(t);
	c = content_of(path);
	assert_false(c.is_broken);
	assert_int_equal(c.records, n.written);
	assert_int_equal(c.lost, n.lost_room);
}

/* A pipe that the test reads when it likes. */
static int open_pipe(char *path)
{
	int fd;

	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	return fd;
}

/*
 * Trace, no faster than the thread takes it, until the pipe, the buffer and the
 * ring are full; then some more. Returns how many records that were.
 */
static uint32_t fill_pipe(const struct trace *t, struct trace_ring *r)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;
	uint32_t count = 0;

	while (counts_of(t).lost_room == 0) {
		assert_true(clock_mono_us() < deadline);
		for (int i = 0; i < 10; i++)
			trace_read(r, 1, ++count);
		poll(NULL, 0, 1);
	}
	for (int i = 0; i < 1000; i++)
		trace_read(r, 1, ++count);
	return count;
}

struct copy {
	int from, to;
};

/* Until the other end is closed. */
static void *copy_all(void *arg)
{
	struct copy *copy = arg;
	char bytes[4096];
	ssize_t n;

	fcntl(copy->from, F_SETFL, 0);
	while ((n = read(copy->from, bytes, sizeof(bytes))) > 0)
		if (write(copy->to, bytes, (size_t)n) != n)
			break;
	close(copy->from);
	close(copy->to);
	return NULL;
}

static void what_a_full_ring_loses_is_counted_and_told(void **state)
{
	char *path = path_of("pipe");
	struct copy copy = { .from = open_pipe(path) };
	struct trace *t = open_trace(path, SMALL_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct trace_counts n;
	pthread_t reader;
	struct content c;
	uint32_t count;

	(void)state;
	count = fill_pipe(t, r);
	n = counts_of(t);
	assert_true(n.lost_room >= 1000 && n.written > 0);
	assert_true(n.written + n.lost_room < count);
	assert_int_equal(n.lost_write, 0);
	copy.to = open(path_of("piped"), O_WRONLY | O_CREAT, 0600);
	assert_true(copy.to >= 0);
	assert_int_equal(pthread_create(&reader, NULL, copy_all, &copy), 0);
	await_written(t, count - n.lost_room);
	trace_read(r, 1, count + 1);
	trace_ring_close(r);
	await_written(t, count + 1 - n.lost_room);
	trace_close(t);
	pthread_join(reader, NULL);
	c = content_of(path_of("piped"));
	assert_false(c.is_broken);
	assert_int_equal(c.records, count + 1 - n.lost_room);
	assert_int_equal(c.lost_room, n.lost_room);
	assert_int_equal(c.last_xid, count + 1);
}

static void a_pipe_that_nobody_reads_does_not_hold_up(void **state)
{
	char *path = path_of("stuck");
	int fd = open_pipe(path);
	struct trace *t = open_trace(path, SMALL_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	uint64_t start, took;

	(void)state;
	fill_pipe(t, r);
	trace_ring_close(r);
	start = clock_mono_us();
	trace_close(t);
	took = clock_mono_us() - start;
	assert_in_range(took, 1000 * 1000, 6 * 1000 * 1000);
	close(fd);
}

static void notes_beyond_the_budget_are_lost_and_counted(void **state)
{
	struct trace *t = open_trace(path_of("notes"), SMALL_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct trace_item item = item_of(span_of(&sample.call),
					 (struct gfp_span){ 0 });
	static struct trace_note *notes[1000];
	size_t held = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(notes); i++) {
		notes[i] = trace_note_new(r, item.call);
		held += notes[i] != NULL;
	}
	/* of 512 bytes each, in half of the buffer */
	assert_int_equal(held, SMALL_BUFFER / 2 / 512);
	assert_int_equal(counts_of(t).lost_room, COUNT(notes) - held);
	item.meta.outcome = TRACE_UNANSWERED;
	for (size_t i = 0; i < COUNT(notes); i++)
		trace_note_finish(r, notes[i], &item.meta, item.reply);
	await_written(t, held);
	/* and there is room again */
	trace_read(r, 1, 1);
	await_written(t, held + 1);
	trace_ring_close(r);
	trace_close(t);
}

static void a_call_in_pieces_is_put_together(void **state)
{
	char *path = path_of("pieces");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct trace_item item;
	struct trace_note *note;
	char line[8192] = "";
	FILE *file;

	(void)state;
	item = item_of(span_of(&sample.call), span_of(&sample.reply));
	note = trace_note_new(r, (struct gfp_span){ item.call.ptr, 1 });
	for (size_t i = 1; i < item.call.len; i++)
		trace_note_add(r, &note,
			       (struct gfp_span){ item.call.ptr + i, 1 });
	trace_note_finish(r, note, &item.meta, item.reply);
	trace_ring_close(r);
	trace_close(t);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_non_null(strstr(line, "\"offset\":1099511627776,"));
	assert_null(strstr(line, "undecoded"));
	assert_null(strstr(line, "truncated"));
}

static void what_exceeds_the_budget_is_cut_and_says_so(void **state)
{
	static uint8_t huge[200000];
	char *path = path_of("cut");
	struct trace *t = open_trace(path, SMALL_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct trace_item item;
	struct trace_note *note;
	struct content c;
	char line[8192] = "";
	FILE *file;

	(void)state;
	item = item_of(span_of(&sample.call), span_of(&sample.reply));
	note = trace_note_new(r, item.call);
	for (int i = 0; i < 10; i++)
		trace_note_add(r, &note, (struct gfp_span){ huge, 20000 });
	item.reply = (struct gfp_span){ huge, sizeof(huge) };
	trace_note_finish(r, note, &item.meta, item.reply);
	trace_ring_close(r);
	trace_close(t);
	c = content_of(path);
	assert_int_equal(c.records, 1);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_non_null(strstr(line, "\"truncated\":true"));
}

static void a_call_begun_before_it_is_off_is_written(void **state)
{
	char *path = path_of("off");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct settings s = settings_of(NULL, LARGE_BUFFER);
	struct trace_item item = item_of(span_of(&sample.call),
					 span_of(&sample.reply));
	struct trace_note *note = trace_note_new(r, item.call);

	(void)state;
	trace_apply(t, &s);
	await_on(r, false);
	/* long enough for the thread to have nothing to do */
	poll(NULL, 0, 50);
	trace_note_finish(r, note, &item.meta, item.reply);
	await_written(t, 1);
	s = settings_of(path_of("on"), LARGE_BUFFER);
	trace_apply(t, &s);
	await_on(r, true);
	trace_read(r, 1, 2);
	trace_ring_close(r);
	trace_close(t);
	assert_int_equal(content_of(path_of("off")).records, 1);
	assert_int_equal(content_of(path_of("on")).records, 1);
}

static void the_format_changes_while_it_runs(void **state)
{
	char *path = path_of("formats");
	struct trace *t = open_trace(path, LARGE_BUFFER);
	struct trace_ring *r = trace_ring_open(t);
	struct settings s = settings_of(path, LARGE_BUFFER);
	uint64_t deadline = clock_mono_us() + DEADLINE_US;
	uint64_t count = 1;
	FILE *file;
	char line[8192] = "";

	(void)state;
	trace_read(r, 1, 1);
	await_written(t, 1);
	s.trace_format = TRACE_TEXT;
	s.trace_payload = 3;
	trace_apply(t, &s);
	file = fopen(path, "r");
	assert_non_null(file);
	while (strstr(line, "payload={size=5,hex=68656c}") == NULL) {
		assert_true(clock_mono_us() < deadline);
		trace_read(r, 1, 2);
		await_written(t, ++count);
		while (fgets(line, sizeof(line), file) != NULL)
			;
		clearerr(file);
	}
	fclose(file);
	assert_int_equal(trace_payload_wanted(r), 3);
	trace_ring_close(r);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_writes_all_that_was_finished),
		cmocka_unit_test(without_a_file_the_trace_is_off),
		cmocka_unit_test(workers_at_once_are_counted_exactly),
		cmocka_unit_test(what_a_full_ring_loses_is_counted_and_told),
		cmocka_unit_test(a_pipe_that_nobody_reads_does_not_hold_up),
		cmocka_unit_test(notes_beyond_the_budget_are_lost_and_counted),
		cmocka_unit_test(a_call_in_pieces_is_put_together),
		cmocka_unit_test(what_exceeds_the_budget_is_cut_and_says_so),
		cmocka_unit_test(a_call_begun_before_it_is_off_is_written),
		cmocka_unit_test(the_format_changes_while_it_runs),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
