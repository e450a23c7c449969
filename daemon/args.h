/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - the command line.
 *
 *   forebrickd --listen ADDR:PORT --brick HOST:PORT [--OPTION VALUE]...
 *   forebrickd -f FILE [-t | --print-config] [--OPTION VALUE]...
 *
 * Each row of options.def is an option, with "-" for "_"; --trace is short for
 * --trace-file. settings.h says how they and a file go together.
 */
#ifndef FOREBRICK_DAEMON_ARGS_H
#define FOREBRICK_DAEMON_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/settings.h"

struct args {
	const char *file;	/* -f; NULL: the command line alone */
	bool check_only;	/* -t */
	bool print_config;
	struct settings_override *overrides;	/* in the order given */
	size_t override_count;
};

/*
 * Parse. Values are not looked at, and borrowed from argv.
 *
 *   exit_code  on false: EX_OK after --help and --version, EX_USAGE (64) when
 *              the command line is wrong, EX_OSERR without memory
 *
 * True: run with args, which args_free() frees. False: the process ends with
 * *exit_code; what there was to say has been printed, nothing is to be freed.
 */
bool args_parse(int argc, char **argv, struct args *args, int *exit_code);
void args_free(struct args *args);

#endif
