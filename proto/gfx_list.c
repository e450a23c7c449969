/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_list - the XDR members that allocate: strings, opaques, arrays, lists.
 *
 * Decoded memory belongs to the decoded struct; gfx_free() (gfx_codec.h) gives
 * it back, also after a decode that failed half way. Holds no state.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "proto/gfx_list.h"
#include "proto/gfx_xdr.h"

/*
 * Look at the length word that comes next without consuming it: is it within
 * max, and can that many elements of at least unit bytes still follow?
 */
static bool_t length_fits(XDR *xdrs, u_int max, u_int unit, u_int *len)
{
	u_int pos = xdr_getpos(xdrs);

	if (!xdr_u_int(xdrs, len) || *len > max)
		return FALSE;
	/* x_handy: bytes left, in a stream of xdrmem_create() */
	if (*len > xdrs->x_handy / unit)
		return FALSE;
	return xdr_setpos(xdrs, pos);
}

bool_t gfx_list_bytes(XDR *xdrs, char **bytes, u_int *len, u_int max)
{
	u_int claimed;

	if (xdrs->x_op == XDR_DECODE && !length_fits(xdrs, max, 1, &claimed))
		return FALSE;
	return xdr_bytes(xdrs, bytes, len, max);
}

bool_t gfx_list_string(XDR *xdrs, char **str, u_int max)
{
	static char empty[] = "";
	char *none = empty;
	u_int claimed = 0;

	if (xdrs->x_op == XDR_DECODE && !length_fits(xdrs, max, 1, &claimed))
		return FALSE;
	if (xdrs->x_op == XDR_ENCODE && *str == NULL)
		return xdr_string(xdrs, &none, max);
	if (!xdr_string(xdrs, str, max))
		return FALSE;
	return xdrs->x_op != XDR_DECODE || strlen(*str) == claimed;
}

bool_t gfx_list_array(XDR *xdrs, char **elements, u_int *count, u_int max,
		      u_int element_size, xdrproc_t element)
{
	u_int claimed;

	/* Nothing in XDR but void is shorter than four bytes. */
	if (xdrs->x_op == XDR_DECODE && !length_fits(xdrs, max, 4, &claimed))
		return FALSE;
	return xdr_array(xdrs, elements, count, max, element_size, element);
}

/* A list in memory, whatever its elements are. */
struct list {
	char **val;
	u_int *len;
	size_t size;	/* of one element */
	xdrproc_t element;
};

static void *list_at(const struct list *list, u_int i)
{
	return *list->val + i * list->size;
}

static bool_t list_encode(XDR *xdrs, const struct list *list)
{
	u_int more = 1, end = 0;

	if (*list->len > GFX_ENTRIES_MAX)
		return FALSE;
	for (u_int i = 0; i < *list->len; i++) {
		if (!xdr_u_int(xdrs, &more) ||
		    !list->element(xdrs, list_at(list, i)))
			return FALSE;
	}
	return xdr_u_int(xdrs, &end);
}

/* Make room for one more element, zeroed; len grows by it. */
static bool_t list_grow(const struct list *list, u_int *room)
{
	if (*list->len == *room) {
		u_int want = *room == 0 ? 8 : 2 * *room;
		char *val = realloc(*list->val, want * list->size);

		if (val == NULL)
			return FALSE;
		*list->val = val;
		*room = want;
	}
	memset(list_at(list, *list->len), 0, list->size);
	(*list->len)++;
	return TRUE;
}

static bool_t list_decode(XDR *xdrs, const struct list *list)
{
	u_int more, room = 0;

	*list->val = NULL;
	*list->len = 0;
	for (;;) {
		/* Peers send 0 or 1; another word means that we lost track. */
		if (!xdr_u_int(xdrs, &more) || more > 1)
			return FALSE;
		if (more == 0)
			return TRUE;
		if (*list->len == GFX_ENTRIES_MAX || !list_grow(list, &room) ||
		    !list->element(xdrs, list_at(list, *list->len - 1)))
			return FALSE;
	}
}

static bool_t list_free(XDR *xdrs, const struct list *list)
{
	for (u_int i = 0; i < *list->len; i++)
		list->element(xdrs, list_at(list, i));
	free(*list->val);
	*list->val = NULL;
	*list->len = 0;
	return TRUE;
}

static bool_t list_any(XDR *xdrs, const struct list *list)
{
	switch (xdrs->x_op) {
	case XDR_ENCODE:
		return list_encode(xdrs, list);
	case XDR_DECODE:
		return list_decode(xdrs, list);
	case XDR_FREE:
		return list_free(xdrs, list);
	}
	return FALSE;
}

#define LIST(name, element_name)					\
	bool_t xdr_##name(XDR *xdrs, name *list)			\
	{								\
		return list_any(xdrs, &(struct list){			\
			.val = (char **)&list->val,			\
			.len = &list->len,				\
			.size = sizeof(element_name),			\
			.element = (xdrproc_t)xdr_##element_name,	\
		});							\
	}
LIST(gfx_dirents, gfx_dirent)
LIST(gfx_direntps, gfx_direntp)
LIST(gfx_v3_direntps, gfx_v3_direntp)
LIST(gfx_lockents, gfx_lockent)
LIST(gfx_progents, gfx_progent)
