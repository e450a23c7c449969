/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_dict - dictionaries of both forms, pair by pair, secrets left out.
 */
#ifndef FOREBRICK_DAEMON_TRACE_DICT_H
#define FOREBRICK_DAEMON_TRACE_DICT_H

#include "daemon/emit.h"

/* A typed dict with its head. A NULL dict is null, an empty one {}. */
void trace_dict_show(struct emit *e, const char *key, struct gfp_span dict);

/* A 3.x dict, without the length before it. */
void trace_dict_show_blob(struct emit *e, const char *key,
			  struct gfp_span dict);

#endif
