/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_doc - write what is generated from options.def: the sample of conf/,
 * and forebrick.conf(5) from its template. Used by make, not installed.
 *
 *   options_doc sample
 *   options_doc manual TEMPLATE
 *
 * A line "@GLOBAL_OPTIONS@" or "@LISTENER_OPTIONS@" of the template is replaced
 * with the list; all else is copied.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "daemon/settings.h"

static int write_manual(const char *template)
{
	FILE *in = fopen(template, "r");
	char line[1024];

	if (in == NULL) {
		perror(template);
		return EX_NOINPUT;
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		if (strcmp(line, "@GLOBAL_OPTIONS@\n") == 0)
			settings_print_mdoc(false, stdout);
		else if (strcmp(line, "@LISTENER_OPTIONS@\n") == 0)
			settings_print_mdoc(true, stdout);
		else
			fputs(line, stdout);
	}
	fclose(in);
	return EX_OK;
}

int main(int argc, char **argv)
{
	int rc = EX_USAGE;

	if (argc == 2 && strcmp(argv[1], "sample") == 0) {
		settings_print_sample(stdout);
		rc = EX_OK;
	} else if (argc == 3 && strcmp(argv[1], "manual") == 0) {
		rc = write_manual(argv[2]);
	} else {
		fputs("usage: options_doc sample | manual TEMPLATE\n", stderr);
	}
	if (rc == EX_OK && (fflush(stdout) != 0 || ferror(stdout)))
		rc = EX_IOERR;
	return rc;
}
