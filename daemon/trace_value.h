/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_value - the members of arguments and results, as people read them.
 */
#ifndef FOREBRICK_DAEMON_TRACE_VALUE_H
#define FOREBRICK_DAEMON_TRACE_VALUE_H

#include "daemon/emit.h"
#include "proto/layout.h"

enum {
	TRACE_ENTRIES_MAX = 1024,	/* of one list or dict; then "more" */
	TRACE_HEX_MAX = 256,		/* bytes of one value shown in hex */
};

/* Show one member under its own name. Any kind, any bytes. */
void trace_value_show(struct emit *e, const struct gfp_value *v);

/* op_errno, whose name counts only where op_ret is negative. */
void trace_value_show_errno(struct emit *e, const struct gfp_value *v,
			    int64_t op_ret);

/*
 * Show what is there of a list that the end of the bytes has cut off.
 *
 * Returns false for a field that is no list, and shows nothing.
 */
bool trace_value_show_part(struct emit *e, const struct gfp_field *field,
			   struct gfp_span rest);

/*
 * Attributes, GFP_K_IATTX or GFP_K_IATT3 by kind; null when all bytes are zero,
 * as a brick sends them when it has nothing to say and in every failed reply.
 */
void trace_value_iatt(struct emit *e, const char *key, enum gfp_kind kind,
		      struct gfp_span raw);

/*
 * Bytes of which nobody says what they are: as a string when they are printable
 * (a closing NUL apart), else their size and the first of them in hex.
 */
void trace_value_bytes(struct emit *e, const char *key, struct gfp_span bytes);
void trace_value_hex(struct emit *e, const char *key, struct gfp_span bytes,
		     size_t size, size_t max);

/* Why something could not be shown, in place of it. */
void trace_value_undecoded(struct emit *e, const char *key, size_t size,
			   const char *why);

#endif
