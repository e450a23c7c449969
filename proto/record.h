/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - RPC record marking over a byte stream (RFC 5531 section 11).
 *
 * A record is one or more fragments, each behind a four-byte mark: the top bit
 * says "last fragment", the other 31 the bytes that follow.
 */
#ifndef FOREBRICK_PROTO_RECORD_H
#define FOREBRICK_PROTO_RECORD_H

#include "proto/span.h"
#include "proto/status.h"

enum {
	GFP_MARK_SIZE = 4,
	/* xid, type and three more words, a denial: no RPC message is
	   shorter, and bricks do send it. */
	GFP_RECORD_MIN = 20,
};

struct gfp_mark {
	uint32_t len;	/* bytes in this fragment, mark excluded */
	bool is_last;	/* no further fragment belongs to the record */
};

/* Read a mark from the GFP_MARK_SIZE bytes at p. Any input is a mark. */
struct gfp_mark gfp_mark_read(const uint8_t *p);

/* Write the mark of a last fragment of len bytes (below 2^31) at p. */
void gfp_mark_write(uint8_t *p, uint32_t len);

/*
 * Find the next complete record in a byte range.
 *
 *   in      bytes as read from the socket; not changed, not kept
 *   limit   largest body accepted, in bytes
 *   body    on GFP_OK a view into in, mark excluded; valid as long as in is
 *
 * Returns GFP_OK; GFP_SHORT (read more and call again); GFP_SPLIT (not the last
 * fragment: join before decoding); GFP_TOO_BIG or GFP_BAD (below
 * GFP_RECORD_MIN): close. Never allocates.
 * Source: RFC 5531 section 11.
 */
GFP_MUST_CHECK enum gfp_status gfp_record_next(struct gfp_span in, size_t limit,
					       struct gfp_span *body);

#endif
