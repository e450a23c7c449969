/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings - the configuration, as one immutable snapshot.
 *
 * A snapshot is built whole from a file or from the command line, checked, and
 * never changed again; a reload builds another one. Snapshots are counted:
 * sessions keep the one they began with. The rows of options.def say what there
 * is. (Called settings because autotools owns the name config.h.)
 */
#ifndef FOREBRICK_DAEMON_SETTINGS_H
#define FOREBRICK_DAEMON_SETTINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/log.h"

enum trace_format { TRACE_TEXT, TRACE_JSON };

/* Field types of the rows; enumerations are int, to be handled alike. */
#define SETTINGS_FIELD_STRING char *
#define SETTINGS_FIELD_LISTEN_ADDR char *
#define SETTINGS_FIELD_BRICK_ADDR char *
#define SETTINGS_FIELD_INT int64_t
#define SETTINGS_FIELD_BOOL bool
#define SETTINGS_FIELD_BYTES uint64_t
#define SETTINGS_FIELD_TIME uint64_t
#define SETTINGS_FIELD_MODE uint32_t
#define SETTINGS_FIELD_LOG_LEVEL int
#define SETTINGS_FIELD_TRACE_FORMAT int

struct listener_settings {
	char *name;	/* title of the section; "main": the command line's */
#define GLOBAL(name, type, field, ...)
#define LISTENER(name, type, field, ...) SETTINGS_FIELD_##type field;
#include "daemon/options.def"
#undef GLOBAL
#undef LISTENER
};

struct settings {
	_Atomic unsigned refs;
#define GLOBAL(name, type, field, ...) SETTINGS_FIELD_##type field;
#define LISTENER(name, type, field, ...)
#include "daemon/options.def"
#undef GLOBAL
#undef LISTENER
	size_t listener_count;
	struct listener_settings *listeners;
};

/*
 * Errors for the caller to print: "file:12: what was wrong: what is right". One
 * a line, without a last newline; what finds no room is counted at the end.
 */
struct settings_error {
	char text[2048];
};

/*
 * An option given on the command line: name (as in options.def) and value as
 * text. In order; of two with the same name the later one holds.
 *
 *   listen, brick    both or neither, each once: they make one more listener,
 *                    called "main"
 *   other LISTENER   for "main", and for each listener of the file whose
 *                    section does not set it: a default, not an override
 *   GLOBAL           instead of what the file says
 */
struct settings_override {
	const char *name;
	const char *value;
};

/*
 * Read, check and freeze.
 *
 *   path       file, or NULL for the command line alone
 *   overrides  count of them; borrowed for the call
 *
 * Returns a snapshot with one reference and at least one listener, or NULL with
 * every problem found in the error text. Main thread only.
 */
struct settings *settings_load(const char *path,
			       const struct settings_override *overrides,
			       size_t count, struct settings_error *error);

struct settings *settings_get(struct settings *s);	/* one more reference */
void settings_put(struct settings *s);			/* NULL is allowed */

/*
 * May a running daemon go from one to the other? False, with the option named
 * in the error, when a RESTART option differs. Listeners are matched by their
 * listen address; new ones and ones that disappear are allowed.
 */
bool settings_can_reload(const struct settings *from, const struct settings *to,
			 struct settings_error *error);

/* Write all of it, defaults included, as a file would have it. */
void settings_print(const struct settings *s, FILE *out);

/*
 * Write the commented sample file (conf/), and the manual's list items in mdoc
 * for one of the two kinds of options.
 */
void settings_print_sample(FILE *out);
void settings_print_mdoc(bool is_listener, FILE *out);

/* Write the options as --help lists them. */
void settings_print_help(FILE *out);

#endif
