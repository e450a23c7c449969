/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file - lines on their way into a file, each counted exactly once.
 *
 * Owns: its descriptor (but never closes standard output), path and buffer.
 * Called on the writing thread only; the counters are read by any.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/trace_file.h"

enum {
	RETRY_US = 5 * 1000 * 1000,
	/* Where a pipe has room at all, that much can be written at once. */
	STREAM_PIECE = PIPE_BUF,
	KEEP_CAP = 1024 * 1024,	/* of a buffer that one huge line has grown */
};

static void add(_Atomic uint64_t *counter, uint64_t count)
{
	atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}

static void lose_records(struct trace_file *f, uint64_t count)
{
	f->untold_write += count;
	add(&f->lost_write, count);
}

void trace_file_lose(struct trace_file *f)
{
	lose_records(f, 1);
}

static void break_down(struct trace_file *f, const char *what, int error)
{
	f->retry_us = clock_mono_us() + RETRY_US;
	log_limited(LOG_LEVEL_ERROR, NULL,
		    "trace file %s cannot be %s, records are lost: %s",
		    f->path, what, strerror(error));
}

/* Does the file end within a line, which a crash or a full disk has left? */
static bool ends_mid_line(const char *path, off_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char last = '\n';

	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, size - 1) != 1)
		last = '\n';
	close(fd);
	return last != '\n';
}

/* What sort of file is it, and where does it stand? */
static void look_at(struct trace_file *f)
{
	bool is_mid_line = f->is_mid_line;
	struct stat st = { 0 };

	fstat(f->fd, &st);
	f->is_stream = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		       isatty(f->fd);
	if (S_ISREG(st.st_mode) && f->fd != STDOUT_FILENO)
		is_mid_line = st.st_size > 0 &&
			      ends_mid_line(f->path, st.st_size);
	f->is_mid_line = false;
	if (!is_mid_line)
		return;
	trace_text_char(&f->out, '\n');
	trace_file_end_line(f, (struct trace_file_line){ 0 });
}

static void start(struct trace_file *f)
{
	f->retry_us = 0;
	if (strcmp(f->path, "-") == 0)
		f->fd = STDOUT_FILENO;
	else
		f->fd = open(f->path,
			     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
				     O_NONBLOCK | O_NOCTTY,
			     0640);
	if (f->fd < 0)
		break_down(f, "opened", errno);
	else
		look_at(f);
}

void trace_file_open(struct trace_file *f, const char *path)
{
	f->fd = -1;
	if (path == NULL || path[0] == '\0')
		return;
	f->path = strdup(path);
	if (f->path == NULL)
		log_error(NULL, "trace file %s: out of memory", path);
	else
		start(f);
}

bool trace_file_is_ready(const struct trace_file *f)
{
	return f->fd >= 0 && f->retry_us == 0 && !f->is_blocked;
}

bool trace_file_is_full(const struct trace_file *f)
{
	/* Two places are left: a record may bring a line about losses. */
	return f->out.len >= TRACE_FILE_FULL ||
	       f->line_count + 2 > TRACE_FILE_LINES;
}

void trace_file_end_line(struct trace_file *f, struct trace_file_line line)
{
	assert(f->line_count < TRACE_FILE_LINES);
	line.end = f->out.len;
	f->lines[f->line_count++] = line;
}

/* What the file was to be told has not reached it. */
static void lose_line(struct trace_file *f, const struct trace_file_line *line)
{
	if (line->is_record)
		lose_records(f, 1);
	f->untold_room += line->lost_room;
	f->untold_write += line->lost_write;
}

static void reset(struct trace_file *f)
{
	f->line_count = 0;
	f->out.len = f->sent = 0;
	if (f->out.cap > KEEP_CAP)
		trace_text_free(&f->out);
}

/* Take out the lines that are in the file; a cut one is the first then. */
static void forget_sent(struct trace_file *f)
{
	size_t i, start = 0, records = 0;

	for (i = 0; i < f->line_count && f->lines[i].end <= f->sent; i++) {
		records += f->lines[i].is_record;
		if (f->lines[i].lost_write > 0)
			log_limited(LOG_LEVEL_WARN, NULL,
				    "trace file %s is written again, "
				    "%llu records were lost", f->path,
				    (unsigned long long)f->lines[i].lost_write);
		start = f->lines[i].end;
	}
	add(&f->written, records);
	if (i == f->line_count) {
		reset(f);
		return;
	}
	f->line_count -= i;
	memmove(f->lines, f->lines + i, f->line_count * sizeof(f->lines[0]));
	memmove(f->out.chars, f->out.chars + start, f->out.len - start);
	f->out.len -= start;
	f->sent -= start;
	for (i = 0; i < f->line_count; i++)
		f->lines[i].end -= start;
}

/* Lose all lines but one of which a part is in the file already. */
static void keep_begun(struct trace_file *f)
{
	size_t kept;

	forget_sent(f);
	kept = f->sent > 0 ? 1 : 0;
	for (size_t i = kept; i < f->line_count; i++)
		lose_line(f, &f->lines[i]);
	if (kept == 0) {
		reset(f);
		return;
	}
	f->line_count = 1;
	f->out.len = f->lines[0].end;
}

static void drop(struct trace_file *f)
{
	forget_sent(f);
	f->is_mid_line = f->sent > 0;
	for (size_t i = 0; i < f->line_count; i++)
		lose_line(f, &f->lines[i]);
	reset(f);
	f->is_blocked = false;
}

void trace_file_give_up(struct trace_file *f)
{
	log_warn(NULL, "trace file %s: its reader takes nothing, what it has "
		 "not read is lost", f->path);
	f->retry_us = clock_mono_us() + RETRY_US;
	drop(f);
}

static bool takes_more(const struct trace_file *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLOUT };

	/* An error shows in poll() too, and then write() says which. */
	return !f->is_stream || poll(&p, 1, 0) > 0;
}

static ssize_t write_piece(const struct trace_file *f)
{
	size_t size = f->out.len - f->sent;

	if (f->is_stream && size > STREAM_PIECE)
		size = STREAM_PIECE;
	return write(f->fd, f->out.chars + f->sent, size);
}

/* Write on until all is written or something stops it: 0, or an errno. */
static int write_on(struct trace_file *f)
{
	while (f->sent < f->out.len) {
		ssize_t n;

		if (!takes_more(f))
			return EAGAIN;
		n = write_piece(f);
		if (n > 0)
			f->sent += (size_t)n;
		else if (n == 0)
			return EIO;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

void trace_file_flush(struct trace_file *f)
{
	size_t before = f->sent;
	int error = write_on(f);

	if (error == EAGAIN) {
		if (!f->is_blocked || f->sent > before)
			f->blocked_us = clock_mono_us();
		f->is_blocked = true;
		forget_sent(f);
		return;
	}
	f->is_blocked = false;
	if (error == 0) {
		forget_sent(f);
		return;
	}
	break_down(f, "written", error);
	keep_begun(f);
}

bool trace_file_retry(struct trace_file *f)
{
	if (f->retry_us == 0 || clock_mono_us() < f->retry_us)
		return false;
	if (f->fd < 0) {
		start(f);
	} else {
		f->retry_us = 0;
		trace_file_flush(f);
	}
	return f->retry_us == 0;
}

void trace_file_close(struct trace_file *f)
{
	if (f->fd >= 0 && f->out.len > 0) {
		f->retry_us = 0;
		trace_file_flush(f);
	}
	drop(f);
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	free(f->path);
	f->path = NULL;
	f->fd = -1;
	f->retry_us = 0;
}
