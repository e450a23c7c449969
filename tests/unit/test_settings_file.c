/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_settings_file - files as a whole: errors and their lines, what the
 * command line adds, printing and reload.
 */
#include "config.h"

#include "tests/unit/settings_help.h"

enum { TEXT_MAX = 1 << 16 };

static const struct settings_override main_listener[] = {
	{ "listen", ":1" }, { "brick", "b:2" },
};

static void the_command_line_goes_before_the_file_for_globals(void **state)
{
	struct settings_override o[] = { { "workers", "3" },
					 { "workers", "4" } };
	struct settings *s = load_with("workers = 2\n" MAIN "}\n", o, 2);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->workers, 4);
	settings_put(s);
}

static void the_command_line_gives_defaults_to_listeners(void **state)
{
	struct settings_override o[] = { { "listen", ":9" }, { "brick", "b:9" },
					 { "max_calls", "77" } };
	struct settings *s = load_with("listener a { listen = :1 brick = b:1 }"
				       "listener b { listen = :2 brick = b:2 "
				       "max_calls = 99 }", o, 3);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->listener_count, 3);
	assert_int_equal(s->listeners[0].max_calls, 77);
	assert_int_equal(s->listeners[1].max_calls, 99);
	assert_int_equal(s->listeners[2].max_calls, 77);
	assert_string_equal(s->listeners[2].name, "main");
	assert_string_equal(s->listeners[2].listen, ":9");
	assert_string_equal(s->listeners[2].brick, "b:9");
	settings_put(s);
}

static void listen_and_brick_come_in_pairs(void **state)
{
	struct settings_override twice[] = {
		{ "listen", ":1" }, { "brick", "b:2" }, { "listen", ":3" },
	};

	(void)state;
	assert_null(settings_load(NULL, main_listener, 1, &error));
	assert_non_null(strstr(error.text, "go together"));
	assert_null(settings_load(NULL, main_listener + 1, 1, &error));
	assert_non_null(strstr(error.text, "go together"));
	assert_null(settings_load(NULL, twice, 3, &error));
	assert_non_null(strstr(error.text, "--listen: given twice"));
	assert_null(load_with(MAIN "}\n", main_listener, 2));
	assert_non_null(strstr(error.text, "has a listener \"main\" already"));
	assert_null(settings_load(NULL, NULL, 0, &error));
	assert_non_null(strstr(error.text, "give --listen ADDR:PORT"));
}

static void an_error_names_its_line(void **state)
{
	(void)state;
	expect("workers = x\n", ":1: workers = \"x\"");
	expect("# one\n# two\n\n// three\n/* four\nfive */ workers = x\n",
	       ":6: workers");
	expect("workers = 1 # '\n\n" MAIN " backlog = 0 // \"\n}\n",
	       ":6: backlog");
	expect("\r\nworkers = x\r\n", ":2: workers");
	expect("trace_file = '# no // comment /* */'\nworkers = x",
	       ":2: workers");
	expect("log_file = /a//b\nworkers = x", ":2: workers");
	expect("\n" MAIN "}\n" MAIN "}\n", ":6: found duplicate title");
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	expect("wokers = 1\n", ":1: there is no option wokers; is workers");
	expect("max-queue = 1\n", "is max_queue meant?");
	expect("colour = 1\n", "forebrick.conf(5) lists");
	expect("include('x')\n", ":1: there is no option include");
	expect("x { a = 1 }\n", ":1: there is no option x");
	expect("a|b = 2\n", ":1: ");
	expect("workers 2\n", "NAME = VALUE");
	expect("workers = 2 3\nlog_level = info", "there is no option 3");
	expect("workers = 1\n'' = 2\n", ":2: here or later");
	expect("listener a {\n \"\"\n}\n", ":1: here or later");
	expect("workers =\n", "premature end");
	expect("workers = { 1 }\n", "unexpected token '{'");
	expect("workers = 2*\n", "unexpected *");
	expect("workers += 2\n", "unexpected +");
	expect("}\n", "there is no { for it");
	expect("workers = \"2\n", ":1: a closing \" is missing");
	expect("\nworkers = '2\n'", ":2: a closing ' is missing");
	expect("\n/* x\n\n", ":2: this comment is not closed");
	expect("listener { }\n", "missing title");
	expect("listener a\n", "premature end");
	expect("\nlistener a {\n listen = :1 brick = b:2\n",
	       ":2: this { is not closed");
	expect("listener a { listener b { } }", "cannot be part of another");
	expect("listener '' { listen = :1 brick = b:2 }", "listener's name");
	expect("listener \"a\\nb\" { listen = :1 brick = b:2 }",
	       "listener's name");
}

static void listeners_are_complete_and_distinct(void **state)
{
	char text[512], path_of_107[128];

	(void)state;
	expect("", "there is no listener");
	expect("# nothing\n", "there is no listener");
	expect("workers = 1\n", "there is no listener");
	expect("listener a { brick = b:2 }", "listener \"a\" has no listen");
	expect("listener a { listen = :1 }", "listener \"a\" has no brick");
	expect("listener a { listen = h:1 brick = b:2 }"
	       "listener b { listen = H:1 brick = b:3 }", "same address");
	expect("listener a { listen = unix:/x brick = b:2 }"
	       "listener b { listen = unix:/x brick = b:3 }", "same address");
	expect_valid("listener a { listen = h:1 brick = b:2 }"
		     "listener b { listen = h:2 brick = b:2 }");

	memset(path_of_107, 'p', 107);
	path_of_107[0] = '/';
	path_of_107[107] = '\0';
	snprintf(text, sizeof(text), "listener a { listen = unix:%s brick = "
		 "unix:%s }", path_of_107, path_of_107);
	expect_valid(text);
	snprintf(text, sizeof(text), "listener a { listen = unix:%sx brick = "
		 "b:2 }", path_of_107);
	expect(text, "at most 107 bytes");
}

static void all_problems_are_reported_up_to_the_room(void **state)
{
	char *text = calloc(1, TEXT_MAX);

	(void)state;
	assert_null(load("workers = 999\nwokers = 1\nlog_level = loud\n"
			 "listener a {\n listen = :99999\n foo = 1\n}\n"));
	assert_non_null(strstr(error.text, ":1: workers"));
	assert_non_null(strstr(error.text, ":2: there is no option wokers"));
	assert_non_null(strstr(error.text, ":3: log_level"));
	assert_non_null(strstr(error.text, ":5: listen"));
	assert_non_null(strstr(error.text, ":6: there is no option foo"));
	assert_non_null(strstr(error.text, ":7: listener \"a\" has no brick"));

	for (int i = 0; i < 100; i++)
		strcat(text, "max_queue = 1\n");
	assert_null(load(text));
	assert_non_null(strstr(error.text, "\n... and "));
	assert_true(strlen(error.text) < sizeof(error.text));
	/* More unknown names than are looked for. */
	text[0] = '\0';
	for (int i = 0; i < 50; i++)
		sprintf(text + strlen(text), "name%d = 1\n", i);
	assert_null(load(text));
	assert_non_null(strstr(error.text, ":1: there is no option name0"));
	free(text);
}

static void unreadable_files_are_refused(void **state)
{
	char *big = malloc(1 << 20);

	(void)state;
	assert_null(settings_load("/no/such/file", NULL, 0, &error));
	assert_string_equal(error.text, "/no/such/file: cannot be read: "
			    "No such file or directory");
	assert_null(settings_load("/", NULL, 0, &error));
	assert_non_null(strstr(error.text, "Is a directory"));
	write_file("workers\0= 1", 11);
	assert_null(settings_load(path, NULL, 0, &error));
	assert_non_null(strstr(error.text, "zero byte"));
	memset(big, '\n', 1 << 20);
	write_file(big, 1 << 20);
	assert_null(settings_load(path, NULL, 0, &error));
	assert_non_null(strstr(error.text, "File too large"));
	free(big);
	/* libconfuse's scanner has forgotten all of it. */
	expect_valid(MAIN "}\n");
}

static void listeners_come_and_go_with_a_reload(void **state)
{
	struct settings *one = load("listener a { listen = :1 brick = b:1 }");
	struct settings *two = load("listener x { listen = :1 brick = b:9 }"
				    "listener b { listen = :2 brick = b:2 "
				    "backlog = 5 }");
	struct settings *other = load("listener b { listen = :2 brick = b:2 "
				      "backlog = 6 }");

	(void)state;
	assert_true(settings_can_reload(one, two, &error));
	assert_true(settings_can_reload(two, one, &error));
	assert_true(settings_can_reload(one, other, &error));
	assert_false(settings_can_reload(two, other, &error));
	assert_string_equal(error.text, "listener \"b\": backlog goes from 5 "
			    "to 6, which needs a restart");
	settings_put(one);
	settings_put(two);
	settings_put(other);
}

static void strings_stand_for_themselves(void **state)
{
	struct settings *s, *again;
	char *text;

	(void)state;
	setenv("FOREBRICK_TEST", "expanded", 1);
	s = load("log_file = \"${FOREBRICK_TEST}/x\"\n" MAIN "}\n");
	assert_non_null(s);
	assert_string_equal(s->log_file, "expanded/x");
	settings_put(s);
	s = load("log_file = \"\\${FOREBRICK_TEST}\\\"\\\\\"\n" MAIN "}\n");
	assert_non_null(s);
	assert_string_equal(s->log_file, "${FOREBRICK_TEST}\"\\");
	text = printed(s);
	again = load(text);
	assert_non_null(again);
	assert_string_equal(again->log_file, s->log_file);
	settings_put(s);
	settings_put(again);
	free(text);
}

static void the_sample_is_valid_and_all_defaults(void **state)
{
	char *sample = NULL, *a, *b;
	struct settings_override o[] = { { "listen", "127.0.0.1:24107" },
					 { "brick", "127.0.0.1:49152" } };
	struct settings *s, *defaults;
	size_t len;
	FILE *f = open_memstream(&sample, &len);

	(void)state;
	settings_print_sample(f);
	fclose(f);
	s = load(sample);
	defaults = settings_load(NULL, o, 2, &error);
	assert_non_null(s);
	assert_non_null(defaults);
	a = printed(s);
	b = printed(defaults);
	assert_string_equal(a, b);
	settings_put(s);
	settings_put(defaults);
	free(a);
	free(b);
	free(sample);
}

static void a_snapshot_lives_until_its_last_reference(void **state)
{
	struct settings *s = load(MAIN "}\n");

	(void)state;
	assert_ptr_equal(settings_get(s), s);
	settings_put(s);
	assert_string_equal(s->listeners[0].brick, "b:2");
	settings_put(s);
	settings_put(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_command_line_goes_before_the_file_for_globals),
		cmocka_unit_test(the_command_line_gives_defaults_to_listeners),
		cmocka_unit_test(listen_and_brick_come_in_pairs),
		cmocka_unit_test(an_error_names_its_line),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(listeners_are_complete_and_distinct),
		cmocka_unit_test(all_problems_are_reported_up_to_the_room),
		cmocka_unit_test(unreadable_files_are_refused),
		cmocka_unit_test(listeners_come_and_go_with_a_reload),
		cmocka_unit_test(strings_stand_for_themselves),
		cmocka_unit_test(the_sample_is_valid_and_all_defaults),
		cmocka_unit_test(a_snapshot_lives_until_its_last_reference),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
