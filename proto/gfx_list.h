/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_list - the XDR members that allocate: strings, opaques, arrays, lists.
 *
 * libtirpc allocates what a length claims and reads afterwards. These three
 * stand in front of its routines of the same arguments, in the generated code:
 * when decoding they compare the length with the bound and with what is left
 * of the stream, so that memory stays proportional to the bytes received (at
 * most sizeof(gfx_pair) for each 4 bytes). That comparison needs a stream of
 * xdrmem_create(), the only kind that gfx_codec.h makes.
 *
 * The routines of the list types (gfx_dirents, gfx_lockents, ...), declared in
 * gfx_xdr.h, read and write linked lists in a loop.
 */
#ifndef FOREBRICK_PROTO_GFX_LIST_H
#define FOREBRICK_PROTO_GFX_LIST_H

#include <rpc/rpc.h>

bool_t gfx_list_bytes(XDR *xdrs, char **bytes, u_int *len, u_int max);

/*
 * A string with a NUL inside is refused when decoding, as it could not be
 * encoded again. NULL is encoded as the empty string.
 */
bool_t gfx_list_string(XDR *xdrs, char **str, u_int max);

bool_t gfx_list_array(XDR *xdrs, char **elements, u_int *count, u_int max,
		      u_int element_size, xdrproc_t element);

#endif
