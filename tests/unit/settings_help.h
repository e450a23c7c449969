/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_help - configurations in a temporary file, for tests of settings.
 */
#ifndef FOREBRICK_TESTS_UNIT_SETTINGS_HELP_H
#define FOREBRICK_TESTS_UNIT_SETTINGS_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/settings.h"
#include "tests/unit/test.h"

/* To be closed with "}". */
#define MAIN "listener \"main\" {\n listen = :1\n brick = b:2\n"

static char path[] = "/tmp/test_settings.XXXXXX";
static struct settings_error error;

static inline int make_file(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static inline int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static inline void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline struct settings *load_with(const char *text,
				  const struct settings_override *overrides,
				  size_t count)
{
	write_file(text, strlen(text));
	return settings_load(path, overrides, count, &error);
}

static inline struct settings *load(const char *text)
{
	return load_with(text, NULL, 0);
}

static inline char *printed(const struct settings *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	settings_print(s, f);
	fclose(f);
	return text;
}

static inline void expect(const char *text, const char *problem)
{
	struct settings *s = load(text);

	if (s != NULL || strstr(error.text, problem) == NULL)
		fail_msg("%s\n-- gives: %s\n-- not: %s", text, s ? "(valid)" :
			 error.text, problem);
}

static inline void expect_valid(const char *text)
{
	struct settings *s = load(text);

	if (s == NULL)
		fail_msg("%s\n-- gives: %s", text, error.text);
	settings_put(s);
}

#endif
