/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - one line per event, with a level and the object it is about.
 *
 * Line: "2026-01-31T12:00:00.123456Z warn session 12 127.0.0.1:49151: text".
 * The prefix comes from the object (struct log_obj inside it), never from the
 * caller. Lines go to standard error or to a file; each is one write(), so any
 * thread may log. A log call whose level is off costs one branch.
 */
#ifndef FOREBRICK_DAEMON_LOG_H
#define FOREBRICK_DAEMON_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR,	/* somebody must act */
	LOG_LEVEL_WARN,		/* degraded, still serving */
	LOG_LEVEL_INFO,		/* lifecycle */
	LOG_LEVEL_DEBUG,
};

/* By level, as in lines and in the configuration; ends with NULL. */
extern const char *const log_level_names[];

/*
 * What a line is about. Objects that log embed one. describe writes the prefix
 * ("session 12 127.0.0.1:49151") into out when a line is really written; NULL:
 * the name alone.
 */
struct log_obj {
	const char *name;
	void (*describe)(const struct log_obj *obj, char *out, size_t cap);
};

/*
 * Limits the lines of one call site: at most ten at once and then one a second;
 * what was left out is counted, and the next line that is written says how many
 * ("... (17 more like this)"). Static, zero-initialised, one per call site,
 * shared by all threads.
 */
struct log_limit {
	_Atomic uint64_t next_us;
	_Atomic uint64_t left_out;
};

extern _Atomic int log_level_now;

/*
 * Open the log: path NULL or "" means standard error, which it also is before
 * the first call. Returns false when the file cannot be opened, and says why in
 * the former output, which stays with its level. Call again to change file or
 * level, log_reopen() after the file was rotated. Main thread only; log_close()
 * only when no other thread is left.
 */
bool log_open(const char *path, enum log_level level);
bool log_reopen(void);
void log_close(void);

/*
 * Write one line. What is not printable ASCII, and "\", appears as \xNN, so
 * nothing that a peer sent can look like a line of its own. At most 2048 bytes;
 * a longer line ends in "...". Keeps errno.
 */
void log_write(enum log_level level, const struct log_obj *obj,
	       struct log_limit *limit, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* obj may be NULL: a line about the process. */
#define log_at(level, obj, limit, ...)                                        \
	do {                                                                  \
		if ((int)(level) <= atomic_load_explicit(&log_level_now,      \
						memory_order_relaxed))        \
			log_write(level, obj, limit, __VA_ARGS__);            \
	} while (0)

#define log_error(obj, ...) log_at(LOG_LEVEL_ERROR, obj, NULL, __VA_ARGS__)
#define log_warn(obj, ...) log_at(LOG_LEVEL_WARN, obj, NULL, __VA_ARGS__)
#define log_info(obj, ...) log_at(LOG_LEVEL_INFO, obj, NULL, __VA_ARGS__)
#define log_debug(obj, ...) log_at(LOG_LEVEL_DEBUG, obj, NULL, __VA_ARGS__)

/* For what a peer can cause: the same, with this call site's own limit. */
#define log_limited(level, obj, ...)                                          \
	do {                                                                  \
		static struct log_limit log_limit_;                           \
		log_at(level, obj, &log_limit_, __VA_ARGS__);                 \
	} while (0)

#endif
