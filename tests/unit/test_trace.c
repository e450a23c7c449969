/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace - rings, losses, files that fill up, rotate, vanish.
 *
 * No record is ever unaccounted for: each test compares the counters with the
 * lines that are in the file.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/spsc.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_sample.h"

enum {
	DEADLINE_US = 20 * 1000 * 1000,
	SMALL_BUFFER = 64 * 1024,
	LARGE_BUFFER = 32 * 1024 * 1024,
};

static struct trace_sample sample;
static char dir[64];
static char path_buf[96];

static char *path_of(const char *name)
{
	snprintf(path_buf, sizeof(path_buf), "%s/%s", dir, name);
	return path_buf;
}

static struct settings settings_of(char *file, uint64_t buffer)
{
	return (struct settings){
		.trace_file = file,
		.trace_format = TRACE_JSON,
		.trace_buffer = buffer,
	};
}

static struct trace *open_trace(char *file, uint64_t buffer)
{
	struct settings s = settings_of(file, buffer);
	struct trace *t = trace_open(&s);

	assert_non_null(t);
	return t;
}

/* A READ from call to reply; who tells records of several rings apart. */
static void trace_read(struct trace_ring *r, uint64_t who, uint32_t xid)
{
	struct trace_item item = item_of(span_of(&sample.call),
					 span_of(&sample.reply));
	struct trace_note *note;

	item.meta.session = who;
	item.meta.client_xid = xid;
	note = trace_note_new(r, item.call);
	trace_note_finish(r, note, &item.meta, item.reply);
}

static struct trace_counts counts_of(const struct trace *t)
{
	struct trace_counts c;

	trace_count(t, &c);
	return c;
}

/* Wait until that many records are in the file. */
static void await_written(const struct trace *t, uint64_t count)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;

	while (counts_of(t).written < count) {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
	}
}

static void await_lost_write(const struct trace *t, uint64_t count)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;

	while (counts_of(t).lost_write < count) {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
	}
}

static void await_on(const struct trace_ring *r, bool is_on)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;

	while (trace_is_on(r) != is_on) {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
	}
}

/* What a file of lines holds. */
struct content {
	uint64_t records, lost, lost_room, lost_write;
	uint32_t first_xid, last_xid;
	bool is_broken;		/* a line that is none */
};

static uint64_t number_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static void read_line(struct content *c, const char *line)
{
	size_t len = strlen(line);

	if (strcmp(line, "\n") == 0)
		return;
	if (line[0] != '{' || len < 3 || strcmp(line + len - 2, "}\n") != 0 ||
	    strstr(line + 1, "{\"time\"") != NULL) {
		c->is_broken = true;
	} else if (strstr(line, "\"lost\":") != NULL) {
		c->lost += number_after(line, "\"lost\":");
		c->lost_room += number_after(line, "\"lost_room\":");
		c->lost_write += number_after(line, "\"lost_write\":");
	} else {
		c->last_xid = (uint32_t)number_after(line, "\"client_xid\":");
		if (c->records++ == 0)
			c->first_xid = c->last_xid;
	}
}

static struct content content_of(const char *path)
{
	struct content c = { 0 };
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;

	assert_non_null(file);
	while (getline(&line, &cap, file) > 0)
		read_line(&c, line);
	free(line);
	fclose(file);
	return c;
}

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

static void a_pipe_that_nobody_reads_does_not_hold_up_the_end(void **state)
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

static void a_file_that_ends_within_a_line_is_continued_on_a_new_one(
	void **state)
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

static void a_missing_folder_costs_records_until_it_is_there(void **state)
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
}

static void a_call_outstanding_when_it_is_turned_off_is_written(void **state)
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

static int make_dir(void **state)
{
	(void)state;
	sample_read(&sample);
	/* What the trace's own thread never sees, the test must not die of. */
	signal(SIGXFSZ, SIG_IGN);
	strcpy(dir, "/tmp/test_trace.XXXXXX");
	return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {
		"all", "workers", "pipe", "piped", "stuck", "notes", "pieces",
		"cut", "rotated", "rotated.1", "roomy", "filled", "torn",
		"later/trace", "off", "on", "formats", "stdout",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		unlink(path_of(names[i]));
	rmdir(path_of("later"));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_as_they_went_in),
		cmocka_unit_test(the_largest_entry_fits_an_empty_ring_anywhere),
		cmocka_unit_test(a_ring_between_two_threads_keeps_order),
		cmocka_unit_test(closing_writes_all_that_was_finished),
		cmocka_unit_test(without_a_file_the_trace_is_off),
		cmocka_unit_test(workers_at_once_are_counted_exactly),
		cmocka_unit_test(what_a_full_ring_loses_is_counted_and_told),
		cmocka_unit_test(a_pipe_that_nobody_reads_does_not_hold_up_the_end),
		cmocka_unit_test(notes_beyond_the_budget_are_lost_and_counted),
		cmocka_unit_test(a_call_in_pieces_is_put_together),
		cmocka_unit_test(what_exceeds_the_budget_is_cut_and_says_so),
		cmocka_unit_test(a_rotated_file_is_opened_anew),
		cmocka_unit_test(a_full_disk_costs_records_and_is_told_later),
		cmocka_unit_test(a_line_cut_by_a_full_disk_is_completed),
		cmocka_unit_test(a_file_that_ends_within_a_line_is_continued_on_a_new_one),
		cmocka_unit_test(a_missing_folder_costs_records_until_it_is_there),
		cmocka_unit_test(a_call_outstanding_when_it_is_turned_off_is_written),
		cmocka_unit_test(the_format_changes_while_it_runs),
		cmocka_unit_test(a_dash_is_standard_output),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
