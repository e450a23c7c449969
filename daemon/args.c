/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - the command line.
 *
 * Owns: nothing. Main thread only: getopt_long() has global state.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "daemon/args.h"
#include "daemon/settings_row.h"

enum {
	NAME_MAX_BYTES = 64,
	OWN_COUNT = 6,
	OPTION_COUNT = OWN_COUNT + SETTINGS_ROW_COUNT,
	/* What getopt_long() returns: a letter, or one of these. */
	PRINT_CONFIG = 256,
	ROW_FIRST = 512,
};

static const struct own_option {
	const char *name;
	int value;
	int has_arg;
	const char *head;	/* as in --help */
	const char *help;
} own_options[OWN_COUNT] = {
	{ "file", 'f', required_argument, "-f, --file FILE",
	  "Read the configuration from FILE." },
	{ "check", 't', no_argument, "-t, --check",
	  "Check the configuration and exit." },
	{ "print-config", PRINT_CONFIG, no_argument, "--print-config",
	  "Print the whole configuration and exit." },
	{ "trace", ROW_FIRST + SETTINGS_INDEX_trace_file, required_argument,
	  "--trace FILE", "Short for --trace-file." },
	{ "version", 'V', no_argument, "-V, --version",
	  "Print the version and exit." },
	{ "help", 'h', no_argument, "-h, --help", "Print this and exit." },
};

static void print_help(void)
{
	fputs("Usage: forebrickd --listen ADDR:PORT --brick HOST:PORT "
	      "[OPTION]...\n"
	      "       forebrickd -f FILE [-t] [OPTION]...\n"
	      "Stand between GlusterFS clients and a brick.\n\n", stdout);
	for (size_t i = 0; i < OWN_COUNT; i++)
		printf("  %-18s  %s\n", own_options[i].head,
		       own_options[i].help);
	fputs("\nOptions of the configuration, with their defaults. A global "
	      "one replaces\nwhat the file says; one of a listener holds where "
	      "the file says nothing.\n\n", stdout);
	settings_print_help(stdout);
	fputs("\nSizes take KiB, MiB, GiB, TiB, times us, ms, s, min, h; a "
	      "plain number is\nbytes or seconds. See forebrickd(8) and "
	      "forebrick.conf(5).\n", stdout);
}

/* The long name of each row, and the table for getopt_long(). */
struct table {
	char names[SETTINGS_ROW_COUNT][NAME_MAX_BYTES];
	struct option options[OPTION_COUNT + 1];
};

static void swap_char(char *text, char from, char to)
{
	for (; *text != '\0'; text++)
		if (*text == from)
			*text = to;
}

static void fill_table(struct table *t)
{
	struct option *option = t->options;

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < OWN_COUNT; i++)
		*option++ = (struct option){ own_options[i].name,
					     own_options[i].has_arg, NULL,
					     own_options[i].value };
	for (size_t i = 0; i < SETTINGS_ROW_COUNT; i++) {
		snprintf(t->names[i], NAME_MAX_BYTES, "%s",
			 settings_rows[i].name);
		swap_char(t->names[i], '_', '-');
		*option++ = (struct option){ t->names[i], required_argument,
					     NULL, ROW_FIRST + (int)i };
	}
}

static void complain(const char *what, const char *argument)
{
	fprintf(stderr, "forebrickd: %s '%s'\n", what, argument);
}

static void complain_unknown(const char *argument)
{
	char name[NAME_MAX_BYTES];
	const struct settings_row *nearest = NULL;

	complain("unknown, ambiguous or malformed option", argument);
	if (strncmp(argument, "--", 2) != 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument + 2, "="),
		 argument + 2);
	swap_char(name, '-', '_');
	nearest = settings_row_nearest(name);
	if (nearest == NULL)
		return;
	snprintf(name, sizeof(name), "%s", nearest->name);
	swap_char(name, '_', '-');
	fprintf(stderr, "forebrickd: is --%s meant?\n", name);
}

static void add_override(struct args *args, int row, const char *value)
{
	args->overrides[args->override_count++] = (struct settings_override){
		.name = settings_rows[row].name, .value = value };
}

enum outcome { GO_ON, STOP, WRONG_USAGE };

static enum outcome take_option(struct args *args, int option, char **argv)
{
	if (option >= ROW_FIRST) {
		add_override(args, option - ROW_FIRST, optarg);
		return GO_ON;
	}
	switch (option) {
	case 'f':
		args->file = optarg;
		return GO_ON;
	case 't':
		args->check_only = true;
		return GO_ON;
	case PRINT_CONFIG:
		args->print_config = true;
		return GO_ON;
	case 'V':
		puts("forebrickd " PACKAGE_VERSION);
		return STOP;
	case 'h':
		print_help();
		return STOP;
	case ':':
		complain("no value for", argv[optind - 1]);
		return WRONG_USAGE;
	default:
		complain_unknown(argv[optind - 1]);
		return WRONG_USAGE;
	}
}

static enum outcome take_all(int argc, char **argv, struct args *args)
{
	struct table table;
	enum outcome outcome = GO_ON;
	int option;

	fill_table(&table);
	optind = 0;	/* glibc: begin anew, whatever was parsed before */
	while (outcome == GO_ON) {
		option = getopt_long(argc, argv, ":f:tVh", table.options, NULL);
		if (option == -1)
			break;
		outcome = take_option(args, option, argv);
	}
	if (outcome == GO_ON && optind < argc) {
		complain("unexpected argument", argv[optind]);
		return WRONG_USAGE;
	}
	return outcome;
}

bool args_parse(int argc, char **argv, struct args *args, int *exit_code)
{
	enum outcome outcome;

	memset(args, 0, sizeof(*args));
	args->overrides = calloc((size_t)argc + 1, sizeof(*args->overrides));
	if (args->overrides == NULL) {
		fputs("forebrickd: out of memory\n", stderr);
		*exit_code = EX_OSERR;
		return false;
	}
	outcome = take_all(argc, argv, args);
	if (outcome == GO_ON)
		return true;
	if (outcome == WRONG_USAGE)
		fputs("Try 'forebrickd --help'.\n", stderr);
	*exit_code = outcome == STOP ? EX_OK : EX_USAGE;
	args_free(args);
	return false;
}

void args_free(struct args *args)
{
	free(args->overrides);
	args->overrides = NULL;
	args->override_count = 0;
}
