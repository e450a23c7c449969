/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_file - a configuration file taken apart, no value looked at yet.
 *
 * For settings.c and tests.
 */
#ifndef FOREBRICK_DAEMON_SETTINGS_FILE_H
#define FOREBRICK_DAEMON_SETTINGS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/settings_problem.h"
#include "daemon/settings_row.h"

enum { SETTINGS_GLOBAL_SCOPE = -1 };

/* One NAME = VALUE. */
struct settings_item {
	const struct settings_row *row;
	int scope;		/* index of its section, or global */
	int line;
	char *value;
};

/* One listener "TITLE" { }. */
struct settings_section {
	char *title;
	int line;		/* of its closing brace */
};

struct settings_file {
	struct settings_item *items;
	size_t item_count;
	struct settings_section *sections;
	size_t section_count;
};

/*
 * Read a file. Returns whether it was understood to its end; what was until
 * then is in out either way. Each option is in the scope it belongs to and
 * there once; what is not has been added to the problems. Main thread only:
 * libconfuse's scanner is one for the process.
 */
bool settings_file_read(const char *path, struct settings_file *out,
			struct settings_problems *problems);
void settings_file_free(struct settings_file *file);

/* The item that sets row in that scope, or NULL. */
const struct settings_item *
settings_file_find(const struct settings_file *file, int scope,
		   const struct settings_row *row);

#endif
