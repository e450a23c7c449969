/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - a range of somebody else's bytes, and big-endian reads within it.
 *
 * A span is always a loan: it never owns what it points at. The reads check
 * the bounds and say whether they held; the raw gfp_be* ones do not and are
 * for places that have checked already.
 */
#ifndef FOREBRICK_PROTO_SPAN_H
#define FOREBRICK_PROTO_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/status.h"

#define GFP_MUST_CHECK __attribute__((warn_unused_result))

struct gfp_span {
	const uint8_t *ptr;
	size_t len;
};

static inline uint32_t gfp_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline uint64_t gfp_be64(const uint8_t *p)
{
	return (uint64_t)gfp_be32(p) << 32 | gfp_be32(p + 4);
}

static inline void gfp_put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void gfp_put_be64(uint8_t *p, uint64_t v)
{
	gfp_put_be32(p, (uint32_t)(v >> 32));
	gfp_put_be32(p + 4, (uint32_t)v);
}

/* Bytes that XDR adds to a length to reach a multiple of four: 0 to 3. */
static inline size_t gfp_xdr_pad(size_t len)
{
	return (4 - len % 4) % 4;
}

/* True when size bytes lie in s from off on. Safe for any off and size. */
static inline bool gfp_span_has(struct gfp_span s, size_t off, size_t size)
{
	return off <= s.len && size <= s.len - off;
}

GFP_MUST_CHECK static inline bool gfp_span_u32(struct gfp_span s, size_t off,
					       uint32_t *out)
{
	if (!gfp_span_has(s, off, 4))
		return false;
	*out = gfp_be32(s.ptr + off);
	return true;
}

GFP_MUST_CHECK static inline bool gfp_span_u64(struct gfp_span s, size_t off,
					       uint64_t *out)
{
	if (!gfp_span_has(s, off, 8))
		return false;
	*out = gfp_be64(s.ptr + off);
	return true;
}

/*
 * Step over an XDR opaque<> or string at *off: a length, that many bytes, their
 * padding. Sets bytes and moves *off on GFP_OK alone. GFP_TOO_BIG beyond max,
 * else GFP_SHORT when s ends inside.
 */
GFP_MUST_CHECK static inline enum gfp_status
gfp_span_opaque(struct gfp_span s, size_t *off, uint32_t max,
		struct gfp_span *bytes)
{
	uint32_t len;
	size_t padded;

	if (!gfp_span_u32(s, *off, &len))
		return GFP_SHORT;
	if (len > max)
		return GFP_TOO_BIG;
	padded = len + gfp_xdr_pad(len);
	if (!gfp_span_has(s, *off + 4, padded))
		return GFP_SHORT;
	*bytes = (struct gfp_span){ s.ptr + *off + 4, len };
	*off += 4 + padded;
	return GFP_OK;
}

/* The part of s from off on; empty when off lies behind its end. */
static inline struct gfp_span gfp_span_from(struct gfp_span s, size_t off)
{
	if (off > s.len)
		off = s.len;
	return (struct gfp_span){ s.ptr + off, s.len - off };
}

#endif
