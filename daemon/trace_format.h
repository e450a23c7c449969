/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_format - a traced RPC as a line of text or of JSON.
 *
 * Pure: bytes and facts in, characters out; fuzzed. Decodes by the rows of
 * proto/fop.h. What does not decode is shown as far as it does, and the record
 * says so. Whatever the bytes are, the outcome is one line: valid JSON in valid
 * UTF-8, or text without a control character.
 *
 * Names of values are those of the rows, and the same in both formats. A number
 * with a name shows both: op_errno=2(ENOENT), or "op_errno":2 and
 * "op_errno_text":"ENOENT".
 */
#ifndef FOREBRICK_DAEMON_TRACE_FORMAT_H
#define FOREBRICK_DAEMON_TRACE_FORMAT_H

#include <stddef.h>

#include "daemon/trace.h"
#include "daemon/trace_text.h"

struct trace_item {
	struct trace_meta meta;
	struct gfp_span call;	/* record without mark, perhaps cut */
	struct gfp_span reply;	/* likewise; empty without one */
	bool is_cut;		/* bytes are missing that the trace wanted */
};

/*
 * Append one line, newline included. payload: most bytes shown in hex.
 *
 * Returns false without memory; nothing is appended then.
 */
GFP_MUST_CHECK bool trace_format_line(struct trace_text *out,
				      enum trace_format format,
				      const struct trace_item *item,
				      uint32_t payload);

/* The line that stands where records are missing. Likewise. */
GFP_MUST_CHECK bool trace_format_lost(struct trace_text *out,
				      enum trace_format format,
				      uint64_t real_us, uint64_t lost_room,
				      uint64_t lost_write);

#endif
