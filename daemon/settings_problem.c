/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_problem - what is wrong with a configuration, collected.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/settings_problem.h"

void settings_problem(struct settings_problems *p, const char *where, int line,
		      const char *fmt, ...)
{
	static const char more[] = "\n... and 4294967295 more";
	char *end = p->error->text + p->len;
	size_t cap = sizeof(p->error->text) - sizeof(more) - p->len;
	char text[1024];
	va_list ap;
	int n;

	p->count++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	n = line > 0 ?
		snprintf(end, cap, "%s%s:%d: %s", p->len > 0 ? "\n" : "",
			 where, line, text) :
		snprintf(end, cap, "%s%s: %s", p->len > 0 ? "\n" : "", where,
			 text);
	/* A first one that is too long is cut; a later one is only counted. */
	if (p->left_out == 0 && ((size_t)n < cap || p->len == 0)) {
		p->len = strlen(p->error->text);
		return;
	}
	p->left_out++;
	snprintf(end, sizeof(more), "\n... and %u more", p->left_out);
}
