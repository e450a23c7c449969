/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_row - options.def as a table, and how to find a row.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <string.h>

#include "daemon/settings_row.h"

const struct settings_row settings_rows[SETTINGS_ROW_COUNT] = {
#define ROW(name, type, is_listener, base, field, def, min, max, apply, help) \
	[SETTINGS_INDEX_##name] = { #name, SETTINGS_##type, is_listener,      \
				    offsetof(struct base, field), def, min,   \
				    max, SETTINGS_##apply, help },
#define GLOBAL(name, type, field, ...) \
	ROW(name, type, false, settings, field, __VA_ARGS__)
#define LISTENER(name, type, field, ...) \
	ROW(name, type, true, listener_settings, field, __VA_ARGS__)
#include "daemon/options.def"
#undef GLOBAL
#undef LISTENER
#undef ROW
};

const struct settings_row *settings_row_find(const char *name)
{
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++)
		if (strcmp(settings_rows[i].name, name) == 0)
			return &settings_rows[i];
	return NULL;
}

enum { NAME_MAX_BYTES = 40 };

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, removals and changes that make b of a; one row of the matrix. */
static size_t edits_between(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t changed = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = smaller(smaller(row[j], row[j + 1]) + 1,
					     changed);
		}
	}
	return row[len];
}

const struct settings_row *settings_row_nearest(const char *name)
{
	const struct settings_row *nearest = NULL;
	size_t len = strlen(name);
	size_t least = len / 3 + 1;	/* more than that is no typing error */

	if (len > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		size_t edits = edits_between(settings_rows[i].name, name);

		if (edits <= least) {
			nearest = &settings_rows[i];
			least = edits - (edits > 0);
		}
	}
	return nearest;
}
