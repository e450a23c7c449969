/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_help - a trace, a worker and a reader of the file, for tests.
 */
#ifndef FOREBRICK_TESTS_UNIT_TRACE_HELP_H
#define FOREBRICK_TESTS_UNIT_TRACE_HELP_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_sample.h"

enum {
	DEADLINE_US = 20 * 1000 * 1000,
	SMALL_BUFFER = 64 * 1024,
	LARGE_BUFFER = 32 * 1024 * 1024,
};

/* What make_dir() sets up; each path_of() overwrites the one before. */
static struct trace_sample sample;
static char dir[64];

static inline char *path_of(const char *name)
{
	static char path[sizeof(dir) + 256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline struct settings settings_of(char *file, uint64_t buffer)
{
	return (struct settings){
		.trace_file = file,
		.trace_format = TRACE_JSON,
		.trace_buffer = buffer,
	};
}

static inline struct trace *open_trace(char *file, uint64_t buffer)
{
	struct settings s = settings_of(file, buffer);
	struct trace *t = trace_open(&s);

	assert_non_null(t);
	return t;
}

/* A READ from call to reply; who tells records of several rings apart. */
static inline void trace_read(struct trace_ring *r, uint64_t who, uint32_t xid)
{
	struct trace_item item = item_of(span_of(&sample.call),
					 span_of(&sample.reply));
	struct trace_note *note;

	item.meta.session = who;
	item.meta.client_xid = xid;
	note = trace_note_new(r, item.call);
	trace_note_finish(r, note, &item.meta, item.reply);
}

static inline struct trace_counts counts_of(const struct trace *t)
{
	struct trace_counts c;

	trace_count(t, &c);
	return c;
}

/* Wait until that many records are in the file. */
static inline void await_written(const struct trace *t, uint64_t count)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;

	while (counts_of(t).written < count) {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
	}
}

static inline void await_lost_write(const struct trace *t, uint64_t count)
{
	uint64_t deadline = clock_mono_us() + DEADLINE_US;

	while (counts_of(t).lost_write < count) {
		assert_true(clock_mono_us() < deadline);
		poll(NULL, 0, 1);
	}
}

static inline void await_on(const struct trace_ring *r, bool is_on)
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

static inline uint64_t number_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static inline void read_line(struct content *c, const char *line)
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

static inline struct content content_of(const char *path)
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

static inline int make_dir(void **state)
{
	(void)state;
	sample_read(&sample);
	/* What the trace's own thread never sees, the test must not die of. */
	signal(SIGXFSZ, SIG_IGN);
	strcpy(dir, "/tmp/test_trace.XXXXXX");
	return mkdtemp(dir) == NULL;
}

static inline int remove_dir(void **state)
{
	struct dirent *entry;
	DIR *all = opendir(dir);

	(void)state;
	if (all == NULL)
		return 1;
	while ((entry = readdir(all)) != NULL)
		unlink(path_of(entry->d_name));
	closedir(all);
	return rmdir(dir);
}

#endif
