/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_codec - whole messages between structs of gfx_xdr.h and bytes.
 *
 * For messages that are made or looked at as a whole; what is only forwarded
 * is read in place (layout.h). type is a side of a row of gfx_proc.h, or
 * GFX_TYPE(gfx_flock) and the like for any other type.
 */
#ifndef FOREBRICK_PROTO_GFX_CODEC_H
#define FOREBRICK_PROTO_GFX_CODEC_H

#include "proto/gfx_proc.h"
#include "proto/gfx_xdr.h"
#include "proto/span.h"
#include "proto/status.h"

#define GFX_TYPE(t)	\
	((struct gfx_type){ #t, (xdrproc_t)xdr_##t, sizeof(t) })

/*
 * Encode.
 *
 *   out    cap bytes
 *   len    on GFP_OK the bytes written, always a multiple of four
 *
 * Returns GFP_OK, or GFP_TOO_BIG when cap or a bound of gfx.x is exceeded.
 * Dicts are written as they are: gfx_dictx_seal() comes first.
 */
GFP_MUST_CHECK enum gfp_status gfx_encode(struct gfx_type type, const void *obj,
					  uint8_t *out, size_t cap, size_t *len);

/* The bytes that gfx_encode() would write; 0 when it would fail. */
size_t gfx_encoded_size(struct gfx_type type, const void *obj);

/*
 * Decode.
 *
 *   in     bytes that begin with the message; more may follow (a payload)
 *   obj    type.size bytes, overwritten; to be given to gfx_free() later
 *   used   on GFP_OK the bytes consumed
 *
 * Returns GFP_OK, or GFP_BAD when in is cut short, exceeds a bound or is no
 * such message; obj then holds nothing and is all zero. Memory allocated stays
 * proportional to in.len.
 */
GFP_MUST_CHECK enum gfp_status gfx_decode(struct gfx_type type,
					  struct gfp_span in, void *obj,
					  size_t *used);

/* Free what a decode has allocated within obj, and zero it. */
void gfx_free(struct gfx_type type, void *obj);

/*
 * Set count and xdr_size from the pairs. A dict without pairs becomes the NULL
 * dict (count -1). Returns false when a value has no encoding.
 */
GFP_MUST_CHECK bool gfx_dictx_seal(gfx_dictx *dict);

#endif
