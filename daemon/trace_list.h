/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_list - lists of the wire: directories, locks, programs.
 */
#ifndef FOREBRICK_DAEMON_TRACE_LIST_H
#define FOREBRICK_DAEMON_TRACE_LIST_H

#include "daemon/emit.h"
#include "proto/layout.h"

/*
 * Show the entries of a list field, the first TRACE_ENTRIES_MAX of them, and
 * how many more there are. Entries end where the bytes do.
 */
void trace_list_show(struct emit *e, const struct gfp_field *field,
		     struct gfp_span raw);

void trace_list_flock(struct emit *e, const char *key,
		      const struct gfp_flock *flock);

#endif
