/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file - lines on their way into a file, each counted exactly once.
 *
 * A line is written whole or not at all: what a full disk cut off is completed
 * first when there is room again. While the file cannot be written its lines
 * are lost and counted, and it is tried again after some seconds. A pipe that
 * nobody empties is not an error; it is waited for, without blocking.
 */
#ifndef FOREBRICK_DAEMON_TRACE_FILE_H
#define FOREBRICK_DAEMON_TRACE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/trace_text.h"

enum {
	TRACE_FILE_LINES = 1024,	/* in the buffer at a time */
	TRACE_FILE_FULL = 64 * 1024,	/* characters that are worth a write */
};

/* A line in the buffer. */
struct trace_file_line {
	size_t end;		/* offset behind its newline */
	bool is_record;
	uint64_t lost_room, lost_write;	/* what it tells, if it is not */
};

struct trace_file {
	char *path;		/* NULL: none; "-": standard output */
	int fd;
	bool is_stream;		/* a pipe, socket or terminal */
	bool is_blocked;	/* its reader is slow: poll() fd for writing */
	bool is_mid_line;	/* the rest of a line was given up */
	uint64_t blocked_us;	/* when it last took something, if blocked */
	uint64_t retry_us;	/* when to try again; 0: it works */
	struct trace_text out;
	size_t sent;		/* of out, into the file */
	struct trace_file_line lines[TRACE_FILE_LINES];
	size_t line_count;
	/* lost and not yet told in the file */
	uint64_t untold_room, untold_write;
	_Atomic uint64_t written, lost_write;
};

/* All zero before the first call. path NULL or empty: no file. */
void trace_file_open(struct trace_file *f, const char *path);

/* Write what is left if that is possible at once, and close. */
void trace_file_close(struct trace_file *f);

/* Is there a file that takes lines just now? */
bool trace_file_is_ready(const struct trace_file *f);
bool trace_file_is_full(const struct trace_file *f);

/*
 * Append to f->out, then tell that the line is there. Only while it is ready
 * and not full.
 */
void trace_file_end_line(struct trace_file *f, struct trace_file_line line);

/* A record that cannot be written. */
void trace_file_lose(struct trace_file *f);

/*
 * Write the buffer. Afterwards it is empty, or the file is blocked, or broken
 * (then at most the rest of one line stays).
 */
void trace_file_flush(struct trace_file *f);

/* Give up what is blocked; it is tried again later like a broken file. */
void trace_file_give_up(struct trace_file *f);

/* Time has come to try again: true when lines may be written. */
bool trace_file_retry(struct trace_file *f);

#endif
