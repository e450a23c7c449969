/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - one line per event, with a level and the object it is about.
 *
 * The descriptor number of the output never changes once lines go to a file:
 * another file is put under the same number with dup3(), so a thread that is
 * about to write never meets a closed or reused descriptor.
 *
 * Owns: the descriptor and the name of the log file. log_write() on any thread;
 * opening and closing on the main thread only.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"

enum {
	LINE_MAX_BYTES = 2048,	/* less than PIPE_BUF: never mixed in a pipe */
	TEXT_MAX_BYTES = 1024,
	PREFIX_MAX_BYTES = 256,
	LIMIT_BURST = 10,
	LIMIT_INTERVAL_US = 1000000,
};

const char *const log_level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
	NULL
};

/* There is one log for the process, so these are not handed around. */
_Atomic int log_level_now = LOG_LEVEL_INFO;
static _Atomic int log_fd = STDERR_FILENO;
static char log_path[PATH_MAX];

static int open_output(const char *path)
{
	if (path[0] == '\0')
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		    0640);
}

/* Let lines go to fd from now on; takes it. */
static bool switch_output(int fd)
{
	int current = atomic_load(&log_fd);
	bool ok;

	if (current == STDERR_FILENO) {
		atomic_store(&log_fd, fd);
		return true;
	}
	ok = dup3(fd, current, O_CLOEXEC) >= 0;
	close(fd);
	return ok;
}

static bool use_path(const char *path)
{
	int fd = open_output(path);

	if (fd >= 0 && switch_output(fd))
		return true;
	log_error(NULL, "cannot open the log file %s: %s", path,
		  strerror(errno));
	return false;
}

bool log_open(const char *path, enum log_level level)
{
	size_t len;

	if (path == NULL)
		path = "";
	len = strlen(path);
	if (len >= sizeof(log_path)) {
		log_error(NULL, "cannot open the log file: the name has %zu "
			  "bytes, at most %zu are possible", len,
			  sizeof(log_path) - 1);
		return false;
	}
	if (strcmp(path, log_path) != 0) {
		if (!use_path(path))
			return false;
		memcpy(log_path, path, len + 1);
	}
	atomic_store(&log_level_now, (int)level);
	return true;
}

bool log_reopen(void)
{
	return log_path[0] == '\0' || use_path(log_path);
}

void log_close(void)
{
	int fd = atomic_exchange(&log_fd, STDERR_FILENO);

	if (fd != STDERR_FILENO)
		close(fd);
	log_path[0] = '\0';
}

/*
 * May this call site write now? next_us is the time at which all it has written
 * would have been written at one line per interval.
 */
static bool limit_allows(struct log_limit *limit, uint64_t *left_out)
{
	uint64_t now = clock_mono_us();
	uint64_t next = atomic_load(&limit->next_us), after;

	do {
		after = (next > now ? next : now) + LIMIT_INTERVAL_US;
		if (after > now + LIMIT_BURST * LIMIT_INTERVAL_US) {
			atomic_fetch_add(&limit->left_out, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&limit->next_us, &next, after));
	*left_out = atomic_exchange(&limit->left_out, 0);
	return true;
}

struct line {
	char bytes[LINE_MAX_BYTES];
	size_t len;
	bool is_cut;
};

static const char cut_mark[] = "...";

/* The mark and the newline always fit. */
static bool has_room(const struct line *line, size_t wanted)
{
	return line->len + wanted + sizeof(cut_mark) < sizeof(line->bytes);
}

/* What is not printable ASCII is shown in hex: it may come from a peer. */
static void add_escaped(struct line *line, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	for (; *text != '\0' && !line->is_cut; text++) {
		unsigned char c = (unsigned char)*text;
		char *end = line->bytes + line->len;

		if (!has_room(line, 4)) {
			memcpy(end, cut_mark, sizeof(cut_mark) - 1);
			line->len += sizeof(cut_mark) - 1;
			line->is_cut = true;
			return;
		}
		if (c >= ' ' && c < 0x7f && c != '\\') {
			*end = (char)c;
			line->len++;
			continue;
		}
		memcpy(end, "\\x", 2);
		end[2] = hex[c >> 4];
		end[3] = hex[c & 15];
		line->len += 4;
	}
}

static void add_head(struct line *line, enum log_level level)
{
	uint64_t now_us = clock_real_us();
	time_t now = (time_t)(now_us / 1000000);
	struct tm tm;

	gmtime_r(&now, &tm);
	line->is_cut = false;
	line->len = strftime(line->bytes, sizeof(line->bytes),
			     "%Y-%m-%dT%H:%M:%S", &tm);
	line->len += (size_t)snprintf(line->bytes + line->len, 32, ".%06uZ %s ",
				      (unsigned)(now_us % 1000000),
				      log_level_names[level]);
}

static void add_prefix(struct line *line, const struct log_obj *obj)
{
	char prefix[PREFIX_MAX_BYTES];

	if (obj == NULL)
		return;
	snprintf(prefix, sizeof(prefix), "%s", obj->name);
	if (obj->describe != NULL)
		obj->describe(obj, prefix, sizeof(prefix));
	add_escaped(line, prefix);
	add_escaped(line, ": ");
}

/* Nobody can be told when this fails; a line is lost, not the daemon. */
static void write_line(const struct line *line)
{
	ssize_t n;

	do {
		n = write(atomic_load(&log_fd), line->bytes, line->len);
	} while (n < 0 && errno == EINTR);
}

void log_write(enum log_level level, const struct log_obj *obj,
	       struct log_limit *limit, const char *fmt, ...)
{
	int saved_errno = errno;
	uint64_t left_out = 0;
	char text[TEXT_MAX_BYTES];
	struct line line;
	va_list ap;
	int len;

	if (limit != NULL && !limit_allows(limit, &left_out)) {
		errno = saved_errno;
		return;
	}
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	add_head(&line, level);
	add_prefix(&line, obj);
	add_escaped(&line, text);
	if (len >= (int)sizeof(text))
		add_escaped(&line, cut_mark);
	if (left_out > 0) {
		snprintf(text, sizeof(text), " (%llu more like this)",
			 (unsigned long long)left_out);
		add_escaped(&line, text);
	}
	line.bytes[line.len++] = '\n';
	write_line(&line);
	errno = saved_errno;
}
