/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_text - the bytes of a configuration file, made fit for libconfuse.
 */
#ifndef FOREBRICK_DAEMON_SETTINGS_TEXT_H
#define FOREBRICK_DAEMON_SETTINGS_TEXT_H

#include "daemon/settings_problem.h"

/*
 * Read a file of at most 1 MiB and put blanks where its comments are, lines
 * unchanged. Returns the text, to be freed, or NULL with a problem added: the
 * file cannot be read, or a comment, a quote or a "*" or "+" is out of place.
 */
char *settings_text_read(const char *path, struct settings_problems *problems);

#endif
