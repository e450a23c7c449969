/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_format - a traced RPC as a line of text or of JSON.
 *
 * Pure: bytes and facts in, characters out; fuzzed. Decodes by the rows of
 * proto/fop.h. What does not decode is shown as far as it does, and the record
 * says so.
 */
#ifndef FOREBRICK_DAEMON_TRACE_FORMAT_H
#define FOREBRICK_DAEMON_TRACE_FORMAT_H

#include <stddef.h>

#include "daemon/trace.h"

struct trace_item {
	struct trace_meta meta;
	struct gfp_span call;	/* record without mark, perhaps cut */
	struct gfp_span reply;	/* likewise; empty without one */
	bool is_cut;		/* bytes are missing that the trace wanted */
};

/* A growing buffer of characters, not closed with NUL. */
struct trace_text {
	char *chars;
	size_t len, cap;
};

void trace_text_free(struct trace_text *t);

/* Append one line, newline included. payload: most bytes shown in hex. */
void trace_format_line(struct trace_text *out, enum trace_format format,
		       const struct trace_item *item, uint32_t payload);

#endif
