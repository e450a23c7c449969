/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_args - the command line: what is taken, refused and printed.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon/args.h"
#include "daemon/settings_row.h"
#include "tests/unit/test.h"

enum { ARGS_MAX = 8, OUTPUT_MAX = 1 << 14 };

struct run {
	struct args args;
	bool goes_on;
	int exit_code;
	char words[256];
	char *argv[ARGS_MAX + 2];
	char out[OUTPUT_MAX];	/* standard output and error together */
};

/* Split at spaces; values in these tests have none. */
static int split(struct run *r, const char *line)
{
	int argc = 0;
	char *save = NULL;

	snprintf(r->words, sizeof(r->words), "forebrickd %s", line);
	for (char *word = strtok_r(r->words, " ", &save);
	     word != NULL && argc <= ARGS_MAX;
	     word = strtok_r(NULL, " ", &save))
		r->argv[argc++] = word;
	r->argv[argc] = NULL;
	return argc;
}

static struct run *run(const char *line)
{
	struct run *r = calloc(1, sizeof(*r));
	FILE *capture = tmpfile();
	int argc = split(r, line), saved_out, saved_err;
	size_t n;

	assert_non_null(capture);
	fflush(stdout);
	fflush(stderr);
	saved_out = dup(STDOUT_FILENO);
	saved_err = dup(STDERR_FILENO);
	dup2(fileno(capture), STDOUT_FILENO);
	dup2(fileno(capture), STDERR_FILENO);
	r->exit_code = -1;
	r->goes_on = args_parse(argc, r->argv, &r->args, &r->exit_code);
	fflush(stdout);
	dup2(saved_out, STDOUT_FILENO);
	dup2(saved_err, STDERR_FILENO);
	close(saved_out);
	close(saved_err);
	rewind(capture);
	n = fread(r->out, 1, sizeof(r->out) - 1, capture);
	r->out[n] = '\0';
	fclose(capture);
	return r;
}

static void finish(struct run *r)
{
	if (r->goes_on)
		args_free(&r->args);
	free(r);
}

static void long_name(const struct settings_row *row, char *out, size_t cap)
{
	snprintf(out, cap, "--%s", row->name);
	for (; *out != '\0'; out++)
		if (*out == '_')
			*out = '-';
}

static void each_row_is_a_long_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		char name[64], line[128];

		long_name(&settings_rows[i], name, sizeof(name));
		for (int joined = 0; joined < 2; joined++) {
			struct run *r;

			snprintf(line, sizeof(line), "%s%sv%zu", name,
				 joined ? "=" : " ", i);
			r = run(line);
			assert_true(r->goes_on);
			assert_string_equal(r->out, "");
			assert_int_equal(r->args.override_count, 1);
			assert_string_equal(r->args.overrides[0].name,
					    settings_rows[i].name);
			assert_int_equal(atoi(r->args.overrides[0].value + 1),
					 i);
			finish(r);
		}
	}
}

static void help_lists_each_option_and_exits_0(void **state)
{
	struct run *r = run("-h");

	(void)state;
	assert_false(r->goes_on);
	assert_int_equal(r->exit_code, EX_OK);
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		char name[64];

		long_name(&settings_rows[i], name, sizeof(name));
		assert_non_null(strstr(r->out, name));
	}
	finish(r);
	r = run("--listen x --help --nonsense");
	assert_int_equal(r->exit_code, EX_OK);
	finish(r);
}

static void lines_of_help_fit_a_terminal(void **state)
{
	struct run *r = run("--help");

	(void)state;
	for (char *line = strtok(r->out, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("%s", line);
	finish(r);
}

static void version_is_that_of_the_package(void **state)
{
	static const char *const lines[] = { "-V", "--version", "-t -V" };

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct run *r = run(lines[i]);

		assert_false(r->goes_on);
		assert_int_equal(r->exit_code, EX_OK);
		assert_string_equal(r->out, "forebrickd " PACKAGE_VERSION "\n");
		finish(r);
	}
}

static void own_options_set_their_member(void **state)
{
	struct run *r = run("--print-config -t -f a");

	(void)state;
	assert_true(r->goes_on);
	assert_string_equal(r->args.file, "a");
	assert_true(r->args.check_only);
	assert_true(r->args.print_config);
	assert_int_equal(r->args.override_count, 0);
	finish(r);
	r = run("--file=b --check");
	assert_string_equal(r->args.file, "b");
	assert_true(r->args.check_only);
	assert_false(r->args.print_config);
	finish(r);
	r = run("");
	assert_true(r->goes_on);
	assert_null(r->args.file);
	finish(r);
}

static void trace_is_short_for_trace_file(void **state)
{
	struct run *r = run("--trace /x --trace-format json");

	(void)state;
	assert_int_equal(r->args.override_count, 2);
	assert_string_equal(r->args.overrides[0].name, "trace_file");
	assert_string_equal(r->args.overrides[0].value, "/x");
	assert_string_equal(r->args.overrides[1].name, "trace_format");
	finish(r);
}

static void overrides_keep_their_order(void **state)
{
	struct run *r = run("--workers 1 --workers 2 --max-queue -1");

	(void)state;
	assert_int_equal(r->args.override_count, 3);
	assert_string_equal(r->args.overrides[0].value, "1");
	assert_string_equal(r->args.overrides[1].value, "2");
	assert_string_equal(r->args.overrides[2].value, "-1");
	finish(r);
}

static void wrong_usage_is_told_and_exits_64(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "--max-qeue 3", "is --max-queue meant?" },
		{ "--max-qeue=3", "is --max-queue meant?" },
		{ "--max_queue 3", "is --max-queue meant?" },
		{ "--entirely-different", "'--entirely-different'" },
		{ "--max 3", "'--max'" },		/* ambiguous */
		{ "-x", "'-x'" },
		{ "--help=3", "'--help=3'" },
		{ "-f", "no value for '-f'" },
		{ "--workers", "no value for '--workers'" },
		{ "stray", "unexpected argument 'stray'" },
		{ "-t -- -f", "unexpected argument '-f'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run *r = run(rows[i].line);

		assert_false(r->goes_on);
		assert_int_equal(r->exit_code, EX_USAGE);
		if (strstr(r->out, rows[i].message) == NULL)
			fail_msg("%s gives: %s", rows[i].line, r->out);
		assert_non_null(strstr(r->out, "Try 'forebrickd --help'.\n"));
		finish(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_a_long_option),
		cmocka_unit_test(help_lists_each_option_and_exits_0),
		cmocka_unit_test(lines_of_help_fit_a_terminal),
		cmocka_unit_test(version_is_that_of_the_package),
		cmocka_unit_test(own_options_set_their_member),
		cmocka_unit_test(trace_is_short_for_trace_file),
		cmocka_unit_test(overrides_keep_their_order),
		cmocka_unit_test(wrong_usage_is_told_and_exits_64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
