/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - marks read, written and compared with what is there.
 *
 * Holds no state, allocates nothing. Joining fragments is the caller's work,
 * as it needs memory.
 */
#include "config.h"

#include "proto/record.h"

#define LAST_FRAGMENT 0x80000000u

struct gfp_mark gfp_mark_read(const uint8_t *p)
{
	uint32_t word = gfp_be32(p);

	return (struct gfp_mark){
		.len = word & ~LAST_FRAGMENT,
		.is_last = (word & LAST_FRAGMENT) != 0,
	};
}

void gfp_mark_write(uint8_t *p, uint32_t len)
{
	gfp_put_be32(p, len | LAST_FRAGMENT);
}

enum gfp_status gfp_record_next(struct gfp_span in, size_t limit,
				struct gfp_span *body)
{
	struct gfp_mark mark;

	if (in.len < GFP_MARK_SIZE)
		return GFP_SHORT;
	mark = gfp_mark_read(in.ptr);
	if (mark.len > limit)
		return GFP_TOO_BIG;
	if (!mark.is_last)
		return GFP_SPLIT;
	if (mark.len < GFP_RECORD_MIN)
		return GFP_BAD;
	if (!gfp_span_has(in, GFP_MARK_SIZE, mark.len))
		return GFP_SHORT;
	*body = (struct gfp_span){ in.ptr + GFP_MARK_SIZE, mark.len };
	return GFP_OK;
}
