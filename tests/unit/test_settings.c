/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_settings - what holds for each row of options.def.
 */
#include "config.h"

#include <inttypes.h>

#include "daemon/settings_row.h"
#include "tests/unit/settings_help.h"

#define ROW_COUNT ((size_t)SETTINGS_ROW_COUNT)

/* The only section is that of a listener with what it needs. */
static struct settings *load_row(const struct settings_row *row,
				 const char *value)
{
	char text[2048];

	if (!row->is_listener)
		snprintf(text, sizeof(text), "%s = '%s'\n" MAIN "}\n",
			 row->name, value);
	else if (row->type == SETTINGS_LISTEN_ADDR)
		snprintf(text, sizeof(text), "listener main { listen = '%s' "
			 "brick = b:2 }", value);
	else if (row->type == SETTINGS_BRICK_ADDR)
		snprintf(text, sizeof(text), "listener main { listen = :1 "
			 "brick = '%s' }", value);
	else
		snprintf(text, sizeof(text), MAIN " %s = '%s'\n}\n", row->name,
			 value);
	return load(text);
}

static const void *field_of(struct settings *s, const struct settings_row *row)
{
	return settings_row_field(row, row->is_listener ?
				  (void *)&s->listeners[0] : (void *)s);
}

static void assert_value(struct settings *s, const struct settings_row *row,
			 const char *expected)
{
	char text[SETTINGS_VALUE_MAX];

	assert_non_null(s);
	settings_value_print(row, field_of(s, row), text, sizeof(text));
	assert_string_equal(text, expected);
}

/* Values of each type, each as it is printed. */
static const char *const good_values[SETTINGS_TYPE_LIMIT][8] = {
	[SETTINGS_STRING] = { "", "/var/log/x", "with \"quotes\"", "a\\\\b",
			      "${HOME} $x {} # // /* */", "x = y, z" },
	[SETTINGS_LISTEN_ADDR] = { ":24007", "127.0.0.1:1", "[::1]:65535",
				   "unix:/run/x y", "host:0" },
	[SETTINGS_BRICK_ADDR] = { "127.0.0.1:1", "[::1]:65535", "unix:/run/x",
				  "host.example.org:49152" },
	[SETTINGS_INT] = { "16", "17", "100" },
	[SETTINGS_BOOL] = { "yes", "no" },
	[SETTINGS_BYTES] = { "4KiB", "64KiB", "65537", "1MiB", "65MiB" },
	[SETTINGS_TIME] = { "1s", "10s", "1500ms", "1234567us", "2min" },
	[SETTINGS_MODE] = { "0000", "0600", "0777", "0660" },
	[SETTINGS_LOG_LEVEL] = { "error", "warn", "info", "debug" },
	[SETTINGS_TRACE_FORMAT] = { "text", "json" },
};

/* Either of two different values that the row takes. */
static const char *pick_value(const struct settings_row *row, int which)
{
	if (row->min_text[0] != '\0')
		return which == 0 ? row->min_text : row->max_text;
	return good_values[row->type][which];
}

static void survives_print_and_parse(const struct settings_row *row,
				     const char *value)
{
	struct settings *s = load_row(row, value), *again;
	char *first, *second;

	if (s == NULL) {
		assert_non_null(strstr(error.text, "out of range"));
		return;
	}
	first = printed(s);
	again = load(first);
	assert_non_null(again);
	assert_true(settings_value_equal(row, field_of(s, row),
					 field_of(again, row)));
	second = printed(again);
	assert_string_equal(first, second);
	settings_put(s);
	settings_put(again);
	free(first);
	free(second);
}

static void each_row_survives_print_and_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		for (size_t j = 0; good_values[row->type][j] != NULL; j++)
			survives_print_and_parse(row,
						 good_values[row->type][j]);
		if (row->min_text[0] == '\0')
			continue;
		survives_print_and_parse(row, row->min_text);
		survives_print_and_parse(row, row->max_text);
		survives_print_and_parse(row, row->default_text);
	}
}

static void values_print_as_they_were_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		for (size_t j = 0; good_values[row->type][j] != NULL; j++) {
			const char *value = good_values[row->type][j];
			struct settings *s = load_row(row, value);

			/* In '...' two backslashes are one. */
			if (s != NULL && strchr(value, '\\') == NULL)
				assert_value(s, row, value);
			settings_put(s);
		}
	}
}

static void each_row_has_its_default(void **state)
{
	struct settings *s = load(MAIN "}\n");

	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (settings_rows[i].type != SETTINGS_LISTEN_ADDR &&
		    settings_rows[i].type != SETTINGS_BRICK_ADDR)
			assert_value(s, &settings_rows[i],
				     settings_rows[i].default_text);
	settings_put(s);
}

static void ranges_have_two_ends_or_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		bool is_quantity = row->type == SETTINGS_INT ||
				   row->type == SETTINGS_BYTES ||
				   row->type == SETTINGS_TIME;

		assert_int_equal(row->min_text[0] != '\0', is_quantity);
		assert_int_equal(row->max_text[0] != '\0', is_quantity);
	}
}

/* The value of a quantity as text, moved by one of its smallest unit. */
static void move(const struct settings_row *row, const char *from, int by,
		 char *out, size_t cap)
{
	struct settings_row unbounded = *row;
	char why[512];
	int64_t n;

	unbounded.min_text = unbounded.max_text = "";
	assert_true(settings_value_parse(&unbounded, from, &n, why,
					 sizeof(why)));
	snprintf(out, cap, "%" PRId64 "%s", n + by,
		 row->type == SETTINGS_TIME ? "us" : "");
}

static void min_and_max_are_enforced_at_both_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		const char *ends[] = { row->min_text, row->max_text };
		char text[64];

		for (int end = 0; row->min_text[0] != '\0' && end < 2; end++) {
			struct settings *s = load_row(row, ends[end]);

			assert_value(s, row, ends[end]);
			settings_put(s);
			move(row, ends[end], end == 0 ? 1 : -1, text,
			     sizeof(text));
			s = load_row(row, text);
			assert_non_null(s);
			settings_put(s);
			move(row, ends[end], end == 0 ? -1 : 1, text,
			     sizeof(text));
			assert_null(load_row(row, text));
			assert_non_null(strstr(error.text, row->name));
			assert_non_null(strstr(error.text, row->min_text));
			assert_non_null(strstr(error.text, row->max_text));
		}
	}
}

static const char *const bad_values[SETTINGS_TYPE_LIMIT][12] = {
	[SETTINGS_STRING] = { "a\001", "a\177b" },
	[SETTINGS_LISTEN_ADDR] = { "", "host", "1:2:3", "[::1]", "[::1:1",
				   ":65536", ":-1", ":", "unix:", "unix:x" },
	[SETTINGS_BRICK_ADDR] = { "", "host", ":1", "host:0", "host:x",
				  "::1:24007", "unix:rel/path" },
	[SETTINGS_INT] = { "", "x", "1x", "0x10", "1.5", " 1", "1 ", "+1",
			   "1KiB", "99999999999999999999", "-", "--1" },
	[SETTINGS_BOOL] = { "", "1", "maybe", "yess" },
	[SETTINGS_BYTES] = { "", "KiB", "1.5MiB", "-1", "1 MiB", "1MiBs",
			     "1s", "0x10", "99999999999999999999",
			     "18446744073709551615TiB", "1e6" },
	[SETTINGS_TIME] = { "", "s", "1.5s", "-1s", "1 s", "5m", "1d", "1KiB",
			    "99999999999999999999s", "1e6" },
	[SETTINGS_MODE] = { "", "8", "0888", "1000", "-1", "0x1ff", "rw-",
			    "0600 " },
	[SETTINGS_LOG_LEVEL] = { "", "loud", "INFO", "0", "info " },
	[SETTINGS_TRACE_FORMAT] = { "", "xml", "JSON", "1" },
};

static void a_wrong_value_is_refused_for_each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		for (size_t j = 0; j < 12 && bad_values[row->type][j]; j++) {
			struct settings_override o[] = {
				{ "listen", ":1" }, { "brick", "b:2" },
				{ row->name, bad_values[row->type][j] },
			};

			if (load_row(row, bad_values[row->type][j]) != NULL)
				fail_msg("%s = '%s' is taken", row->name,
					 bad_values[row->type][j]);
			assert_non_null(strstr(error.text, row->name));
			assert_null(settings_load(NULL, o, 3, &error));
			assert_non_null(strstr(error.text, "--"));
		}
	}
}

static void types_without_a_row_work_the_same(void **state)
{
	struct settings_row row = settings_rows[0];
	char why[512], text[64];

	(void)state;
	row.type = SETTINGS_BOOL;
	row.min_text = row.max_text = "";
	for (size_t j = 0; j < 2; j++) {
		const char *value = good_values[SETTINGS_BOOL][j];
		bool field = j == 1;

		assert_true(settings_value_parse(&row, value, &field, why,
						 sizeof(why)));
		assert_int_equal(field, j == 0);
		settings_value_print(&row, &field, text, sizeof(text));
		assert_string_equal(text, value);
	}
	for (size_t j = 0; bad_values[SETTINGS_BOOL][j] != NULL; j++) {
		bool field = true;

		assert_false(settings_value_parse(&row,
				bad_values[SETTINGS_BOOL][j], &field, why,
				sizeof(why)));
		assert_non_null(strstr(why, "yes or no"));
	}
}

static void sizes_and_times_take_their_units(void **state)
{
	static const struct {
		const char *name, *text, *printed;
	} rows[] = {
		{ "max_queue", "65536", "64KiB" },
		{ "max_queue", "64K", "64KiB" },
		{ "max_queue", "64k", "64KiB" },
		{ "max_queue", "64kB", "64KiB" },
		{ "max_queue", "64KB", "64KiB" },
		{ "max_queue", "1M", "1MiB" },
		{ "max_queue", "1mib", "1MiB" },
		{ "max_queue", "1MB", "1MiB" },
		{ "max_queue", "1G", "1GiB" },
		{ "max_queue", "65536B", "64KiB" },
		{ "drain_timeout", "30", "30s" },
		{ "drain_timeout", "60s", "1min" },
		{ "drain_timeout", "3600", "1h" },
		{ "drain_timeout", "0", "0s" }, { "drain_timeout", "0h", "0s" },
		{ "drain_timeout", "1500000us", "1500ms" },
		{ "unix_mode", "660", "0660" }, { "workers", "007", "7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct settings_row *row =
			settings_row_find(rows[i].name);
		struct settings *s = load_row(row, rows[i].text);

		assert_value(s, row, rows[i].printed);
		settings_put(s);
	}
}

static void each_row_works_on_the_command_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		const char *value = pick_value(row, 1);
		bool is_listen = strcmp(row->name, "listen") == 0;
		bool is_brick = strcmp(row->name, "brick") == 0;
		struct settings_override o[] = {
			{ "listen", is_listen ? value : ":1" },
			{ "brick", is_brick ? value : "b:2" },
			{ row->name, value },
		};
		struct settings *s = settings_load(NULL, o, is_listen ||
						   is_brick ? 2 : 3, &error);

		if (s == NULL)
			fail_msg("%s %s: %s", row->name, value, error.text);
		assert_value(s, row, value);
		assert_string_equal(s->listeners[0].name, "main");
		settings_put(s);
	}
}

static void scope_and_repetition_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];
		char text[512];

		snprintf(text, sizeof(text), row->is_listener ?
			 MAIN "}\n%s = 1\n" : MAIN "%s = 1\n}\n", row->name);
		expect(text, row->is_listener ? "belongs into a listener" :
		       "belongs outside of listener");
	}
	expect("workers = 1\n\nworkers = 1\n",
	       ":3: workers is set twice, first on line 1");
	expect(MAIN "backlog = 1 backlog = 2 }", "backlog is set twice");
	expect_valid("listener a { listen = :1 brick = b:2 backlog = 1 }"
		     "listener b { listen = :2 brick = b:2 backlog = 1 }");
}

/* Two snapshots that differ in one row's value. */
static bool can_change(const struct settings_row *row)
{
	struct settings *from = load_row(row, pick_value(row, 0));
	struct settings *to = load_row(row, pick_value(row, 1));
	bool ok;

	assert_non_null(from);
	assert_non_null(to);
	assert_false(settings_value_equal(row, field_of(from, row),
					  field_of(to, row)));
	assert_true(settings_can_reload(from, from, &error));
	ok = settings_can_reload(from, to, &error);
	settings_put(from);
	settings_put(to);
	return ok;
}

static void only_restart_rows_refuse_a_reload(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct settings_row *row = &settings_rows[i];

		assert_int_equal(can_change(row),
				 row->apply != SETTINGS_RESTART);
		if (row->apply == SETTINGS_RESTART)
			assert_non_null(strstr(error.text, row->name));
	}
}

static void a_typing_error_finds_its_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		char name[64];
		const char *right = settings_rows[i].name;

		assert_ptr_equal(settings_row_nearest(right),
				 &settings_rows[i]);
		snprintf(name, sizeof(name), "%sx", right);
		assert_ptr_equal(settings_row_nearest(name),
				 &settings_rows[i]);
	}
	assert_null(settings_row_nearest("entirely_different"));
	assert_null(settings_row_nearest("a_name_that_is_longer_than_any_"
					 "that_could_ever_be_an_option"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_survives_print_and_parse),
		cmocka_unit_test(values_print_as_they_were_written),
		cmocka_unit_test(each_row_has_its_default),
		cmocka_unit_test(ranges_have_two_ends_or_none),
		cmocka_unit_test(min_and_max_are_enforced_at_both_ends),
		cmocka_unit_test(a_wrong_value_is_refused_for_each_row),
		cmocka_unit_test(types_without_a_row_work_the_same),
		cmocka_unit_test(sizes_and_times_take_their_units),
		cmocka_unit_test(each_row_works_on_the_command_line),
		cmocka_unit_test(scope_and_repetition_are_checked),
		cmocka_unit_test(only_restart_rows_refuse_a_reload),
		cmocka_unit_test(a_typing_error_finds_its_row),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
