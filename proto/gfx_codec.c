/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_codec - whole messages between structs of gfx_xdr.h and bytes.
 *
 * Thin over libtirpc's memory stream. Holds no state.
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "proto/gfx_codec.h"

enum gfp_status gfx_encode(struct gfx_type type, const void *obj, uint8_t *out,
			   size_t cap, size_t *len)
{
	bool_t done;
	XDR xdrs;

	if (cap > INT_MAX)
		cap = INT_MAX;
	xdrmem_create(&xdrs, (char *)out, (u_int)cap, XDR_ENCODE);
	/* Encoding does not write to obj; XDR has one prototype for all. */
	done = type.xdr(&xdrs, (void *)(uintptr_t)obj);
	*len = xdr_getpos(&xdrs);
	return done ? GFP_OK : GFP_TOO_BIG;
}

size_t gfx_encoded_size(struct gfx_type type, const void *obj)
{
	return xdr_sizeof(type.xdr, (void *)(uintptr_t)obj);
}

enum gfp_status gfx_decode(struct gfx_type type, struct gfp_span in, void *obj,
			   size_t *used)
{
	XDR xdrs;

	if (in.len > INT_MAX)
		in.len = INT_MAX;
	if (type.size > 0)
		memset(obj, 0, type.size);
	/* A decoding stream only reads what it is given. */
	xdrmem_create(&xdrs, (char *)(uintptr_t)in.ptr, (u_int)in.len,
		      XDR_DECODE);
	if (!type.xdr(&xdrs, obj)) {
		gfx_free(type, obj);
		return GFP_BAD;
	}
	*used = xdr_getpos(&xdrs);
	return GFP_OK;
}

void gfx_free(struct gfx_type type, void *obj)
{
	if (type.size == 0)
		return;
	xdr_free(type.xdr, obj);
	memset(obj, 0, type.size);
}

bool gfx_dictx_seal(gfx_dictx *dict)
{
	size_t size = 0;

	for (u_int i = 0; i < dict->pairs.pairs_len; i++) {
		size_t pair = gfx_encoded_size(GFX_TYPE(gfx_pair),
					       &dict->pairs.pairs_val[i]);

		if (pair == 0)
			return false;
		size += pair;
	}
	if (size > INT_MAX)
		return false;
	dict->xdr_size = (u_int)size;
	dict->count = dict->pairs.pairs_len == 0 ? -1
						 : (int)dict->pairs.pairs_len;
	return true;
}
