/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - a member of each kind with something in it, for tests over all rows.
 */
#ifndef FOREBRICK_TESTS_UNIT_SAMPLE_H
#define FOREBRICK_TESTS_UNIT_SAMPLE_H

#include "proto/layout.h"
#include "tests/unit/bytes.h"

/* A typed dict of one pair, "k" as i64 -5: 12 + 20 bytes. */
static inline void put_dictx(struct bytes *b)
{
	put_length(b, 20);
	put_u32(b, 1);
	put_u32(b, 1);
	put_u32(b, 2);
	put_raw(b, "k\0\0\0", 4);
	put_u32(b, 2);
	put_u64(b, (uint64_t)-5);
}

/* A 3.x dict of one pair, "k" as "v": 16 bytes and its length. */
static inline void put_blob(struct bytes *b)
{
	static const char blob[16] = "\0\0\0\1\0\0\0\1\0\0\0\2k\0v";

	put_opaque(b, blob, sizeof(blob));
}

static inline void put_flock(struct bytes *b)
{
	put_u32(b, 1);
	put_u32(b, 2);
	put_u64(b, 3);
	put_u64(b, 1ull << 40);
	put_u32(b, 4242);
	put_opaque(b, "owner", 5);
}

/* Two entries of a directory; with_more: what the kind has behind the name. */
static inline void put_dirents(struct bytes *b, enum gfp_kind kind)
{
	static const char *const names[] = { "a", "longer-name" };

	for (unsigned int i = 0; i < 2; i++) {
		put_length(b, 1);
		put_u64(b, 100 + i);
		put_u64(b, UINT64_MAX >> i);
		put_u32(b, (uint32_t)strlen(names[i]));
		put_u32(b, 8 - 4 * i);
		put_str(b, names[i]);
		if (kind == GFP_K_DIRPLIST) {
			put_fill(b, GFP_IATTX_SIZE, 0x10 + i);
			put_dictx(b);
		} else if (kind == GFP_K_DIRPLIST3) {
			put_fill(b, GFP_IATT3_SIZE, 0x10 + i);
			put_blob(b);
		}
	}
	put_length(b, 0);
}

static inline void put_lockents(struct bytes *b)
{
	for (uint32_t i = 0; i < 2; i++) {
		put_length(b, 1);
		put_flock(b);
		put_str(b, i == 0 ? "client-0" : "");
		put_u32(b, 7 + i);
	}
	put_length(b, 0);
}

static inline void put_progents(struct bytes *b)
{
	put_length(b, 1);
	put_str(b, "GlusterFS 4.x v1");
	put_u64(b, 1298437);
	put_u64(b, 400);
	put_length(b, 1);
	put_str(b, "GF-DUMP");
	put_u64(b, 123451501);
	put_u64(b, 1);
	put_length(b, 0);
}

/* Fixed kinds count their bytes up from a start that differs by kind. */
static inline void put_member(struct bytes *b, enum gfp_kind kind)
{
	switch (kind) {
	case GFP_K_STR:
		put_str(b, "some-text");
		break;
	case GFP_K_OPAQUE:
		put_opaque(b, "\x01\x02\x03", 3);
		break;
	case GFP_K_BLOB:
		put_blob(b);
		break;
	case GFP_K_DICTX:
		put_dictx(b);
		break;
	case GFP_K_FLOCK:
		put_flock(b);
		break;
	case GFP_K_DIRLIST:
	case GFP_K_DIRPLIST:
	case GFP_K_DIRPLIST3:
		put_dirents(b, kind);
		break;
	case GFP_K_LOCKLIST:
		put_lockents(b);
		break;
	case GFP_K_PROGLIST:
		put_progents(b);
		break;
	default:
		for (size_t i = gfp_kind_min_size(kind); i > 0; i--)
			put_u8(b, (unsigned int)(kind * 7 + i));
		break;
	}
}

/* A member of every field of a layout. */
static inline void put_members(struct bytes *b, const struct gfp_field *fields)
{
	for (; fields->kind != GFP_K_END; fields++)
		put_member(b, fields->kind);
}

#endif
