/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - the command line.
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
 * Parse. True: run with args. False: the process ends with *exit_code, and what
 * there was to say (help, version, what is wrong) has been printed.
 */
bool args_parse(int argc, char **argv, struct args *args, int *exit_code);
void args_free(struct args *args);

#endif
