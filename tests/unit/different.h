/* SPDX-License-Identifier: Apache-2.0 */
/*
 * different - a member of each kind, no two with the same bytes.
 *
 * Where sample.h has fixed contents to compare with, these count on from one
 * member to the next, so that two members that are mixed up are seen.
 */
#ifndef FOREBRICK_TESTS_UNIT_DIFFERENT_H
#define FOREBRICK_TESTS_UNIT_DIFFERENT_H

#include <stdio.h>

#include "proto/dict.h"
#include "proto/layout.h"
#include "tests/unit/bytes.h"

static unsigned int next_byte = 1;

static inline void put_different(struct bytes *b, size_t size)
{
	while (size-- > 0) {
		put_u8(b, next_byte & 255);
		next_byte += 7;
	}
}

static inline void put_counted(struct bytes *b, size_t size)
{
	put_u32(b, (uint32_t)size);
	put_different(b, size);
	while (b->len % 4 != 0)
		put_u8(b, 0);
}

static inline void put_text(struct bytes *b)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "text-%u", next_byte++);

	put_u32(b, (uint32_t)len);
	put_raw(b, text, (size_t)len);
	while (b->len % 4 != 0)
		put_u8(b, 0);
}

/* A pair of every tag that is ever sent. */
static inline void put_typed_dict(struct bytes *b)
{
	static const size_t sizes[] = { [GFP_D_INT] = 8, [GFP_D_UINT] = 8,
		[GFP_D_DOUBLE] = 8, [GFP_D_GFID] = GFP_GFID_SIZE,
		[GFP_D_IATT] = GFP_IATTX_SIZE,
		[GFP_D_MDATA] = GFP_MDATA_SIZE };
	size_t head = b->len;

	put_fill(b, GFP_DICTX_HEAD, 0);
	for (uint32_t tag = 1; tag < GFP_D_TYPE_LIMIT; tag++) {
		put_text(b);
		put_u32(b, tag);
		if (sizes[tag] == 0)
			put_counted(b, 5 + tag);
		else
			put_different(b, sizes[tag]);
	}
	gfp_put_be32(b->at + head, (uint32_t)(b->len - head - GFP_DICTX_HEAD));
	gfp_put_be32(b->at + head + 4, GFP_D_TYPE_LIMIT - 1);
	gfp_put_be32(b->at + head + 8, GFP_D_TYPE_LIMIT - 1);
}

static inline void put_lock(struct bytes *b)
{
	put_different(b, 28);
	put_counted(b, 8);
}

static inline void put_entry(struct bytes *b, enum gfp_kind kind)
{
	if (kind == GFP_K_LOCKLIST) {
		put_lock(b);
		put_text(b);
		put_different(b, 4);
		return;
	}
	if (kind == GFP_K_PROGLIST) {
		put_text(b);
		put_different(b, 16);
		return;
	}
	put_different(b, 24);
	put_text(b);
	if (kind == GFP_K_DIRPLIST) {
		put_different(b, GFP_IATTX_SIZE);
		put_typed_dict(b);
	} else if (kind == GFP_K_DIRPLIST3) {
		put_different(b, GFP_IATT3_SIZE);
		put_counted(b, 9);
	}
}

static inline void put_kind(struct bytes *b, enum gfp_kind kind)
{
	switch (kind) {
	case GFP_K_STR:
		put_text(b);
		break;
	case GFP_K_OPAQUE:
	case GFP_K_BLOB:
		put_counted(b, 13);
		break;
	case GFP_K_FLOCK:
		put_lock(b);
		break;
	case GFP_K_DICTX:
		put_typed_dict(b);
		break;
	case GFP_K_DIRLIST:
	case GFP_K_DIRPLIST:
	case GFP_K_DIRPLIST3:
	case GFP_K_LOCKLIST:
	case GFP_K_PROGLIST:
		for (int i = 0; i < 3; i++) {
			put_u32(b, 1);
			put_entry(b, kind);
		}
		put_u32(b, 0);
		break;
	default:
		put_different(b, gfp_kind_min_size(kind));
		break;
	}
}

#endif
