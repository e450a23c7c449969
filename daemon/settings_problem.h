/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_problem - what is wrong with a configuration, collected.
 */
#ifndef FOREBRICK_DAEMON_SETTINGS_PROBLEM_H
#define FOREBRICK_DAEMON_SETTINGS_PROBLEM_H

#include <stddef.h>

#include "daemon/settings.h"

/* Problems, one a line, added up into the text of an error. */
struct settings_problems {
	struct settings_error *error;
	size_t len;
	unsigned count;
	unsigned left_out;	/* found no room */
};

/* line 0: where is no file, or the file as a whole. */
void settings_problem(struct settings_problems *p, const char *where, int line,
		      const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
