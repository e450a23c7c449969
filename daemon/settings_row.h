/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_row - options.def as a table, and the types of its values.
 *
 * For the files that handle any option alike (settings*, args) and their tests;
 * who wants the value of one option reads the member of struct settings.
 */
#ifndef FOREBRICK_DAEMON_SETTINGS_ROW_H
#define FOREBRICK_DAEMON_SETTINGS_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/settings.h"

enum settings_type {
	SETTINGS_STRING,
	SETTINGS_LISTEN_ADDR,
	SETTINGS_BRICK_ADDR,
	SETTINGS_INT,
	SETTINGS_BOOL,
	SETTINGS_BYTES,
	SETTINGS_TIME,
	SETTINGS_MODE,
	SETTINGS_LOG_LEVEL,
	SETTINGS_TRACE_FORMAT,
	SETTINGS_TYPE_LIMIT
};

enum settings_apply { SETTINGS_RELOAD, SETTINGS_NEW, SETTINGS_RESTART };

struct settings_row {
	const char *name;
	enum settings_type type;
	bool is_listener;	/* of a listener section, else global */
	size_t offset;		/* in struct listener_settings or settings */
	const char *default_text;
	const char *min_text;	/* "" without a range of its own */
	const char *max_text;
	enum settings_apply apply;
	const char *help;
};

enum {
#define GLOBAL(name, type, field, ...) SETTINGS_INDEX_##name,
#define LISTENER(name, type, field, ...) SETTINGS_INDEX_##name,
#include "daemon/options.def"
#undef GLOBAL
#undef LISTENER
	SETTINGS_ROW_COUNT
};

enum { SETTINGS_VALUE_MAX = 4096 };	/* of any value as text, NUL included */

extern const struct settings_row settings_rows[SETTINGS_ROW_COUNT];

/* By the name that the file has; NULL when there is none. */
const struct settings_row *settings_row_find(const char *name);

/* The row whose name is most like a misspelt one; NULL when none is. */
const struct settings_row *settings_row_nearest(const char *name);

/* The field of a row in its struct (of a listener or global). */
static inline void *settings_row_field(const struct settings_row *row,
				       void *base)
{
	return (char *)base + row->offset;
}

/* A word for a value of the type, as in "--max-queue SIZE", but small. */
const char *settings_type_placeholder(enum settings_type type);

/* Is the field a char * from malloc()? */
bool settings_type_is_text(enum settings_type type);

/*
 * Turn the text of a value into a field, and back.
 *
 *   field  a string is freed and allocated anew, others are overwritten;
 *          untouched on false
 *   why    on false, what would be right
 *
 * The text of settings_value_print() parses to the same value; strings are
 * without quotes.
 */
bool settings_value_parse(const struct settings_row *row, const char *text,
			  void *field, char *why, size_t cap);
void settings_value_print(const struct settings_row *row, const void *field,
			  char *out, size_t cap);
bool settings_value_equal(const struct settings_row *row, const void *a,
			  const void *b);

/* What may be written: "a size from 64KiB to 1GiB", "error, warn, ...". */
void settings_value_describe(const struct settings_row *row, char *out,
			     size_t cap);

#endif
