/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz - walks that several targets make.
 */
#include "config.h"

#include "proto/dict.h"
#include "tests/fuzz/fuzz.h"

bool fuzz_lies_in(struct gfp_span part, struct gfp_span whole)
{
	uintptr_t start = (uintptr_t)whole.ptr;
	uintptr_t at = (uintptr_t)part.ptr;

	return part.len == 0 ||
	       (at >= start && at - start <= whole.len &&
		part.len <= whole.len - (at - start));
}

typedef enum gfp_status (*next_fn)(struct gfp_span dict, size_t *off,
				   struct gfp_pair *pair);

static enum gfp_status walk_pairs(struct gfp_span dict, next_fn next)
{
	enum gfp_status status;
	struct gfp_pair pair;
	size_t off = 0, before = 0, pairs = 0;

	while ((status = next(dict, &off, &pair)) == GFP_OK) {
		ENSURE(off > before && off <= dict.len);
		ENSURE(fuzz_lies_in(pair.key, dict));
		ENSURE(fuzz_lies_in(pair.value, dict));
		ENSURE(pair.key.len < GFP_DICT_KEY_MAX);
		ENSURE(pair.type < GFP_D_TYPE_LIMIT);
		before = off;
		pairs++;
	}
	ENSURE(pairs <= GFP_DICT_PAIRS_MAX);
	/* what is wrong is said before the first pair */
	ENSURE(status == GFP_END || pairs == 0);
	return status;
}

enum gfp_status fuzz_dictx(struct gfp_span dict)
{
	return walk_pairs(dict, gfp_dictx_next);
}

enum gfp_status fuzz_blob(struct gfp_span dict)
{
	return walk_pairs(dict, gfp_blob_next);
}

static void walk_dirents(enum gfp_kind kind, struct gfp_span raw)
{
	enum gfp_status status;
	struct gfp_dirent entry;
	struct gfp_iatt iatt;
	size_t off = 0;

	while ((status = gfp_dirent_next(kind, raw, &off, &entry)) == GFP_OK) {
		ENSURE(fuzz_lies_in(entry.name, raw));
		ENSURE(fuzz_lies_in(entry.iatt, raw));
		ENSURE(fuzz_lies_in(entry.dict, raw));
		if (kind == GFP_K_DIRPLIST) {
			gfp_iattx_read(entry.iatt.ptr, &iatt);
			fuzz_dictx(entry.dict);
		} else if (kind == GFP_K_DIRPLIST3) {
			gfp_iatt3_read(entry.iatt.ptr, &iatt);
			fuzz_blob(entry.dict);
		}
	}
	ENSURE(status == GFP_END && off + 4 == raw.len);
}

static void walk_lockents(struct gfp_span raw)
{
	enum gfp_status status;
	struct gfp_lockent entry;
	size_t off = 0;

	while ((status = gfp_lockent_next(raw, &off, &entry)) == GFP_OK) {
		ENSURE(fuzz_lies_in(entry.client, raw));
		ENSURE(fuzz_lies_in(entry.flock.lk_owner, raw));
	}
	ENSURE(status == GFP_END && off + 4 == raw.len);
}

static void walk_progents(struct gfp_span raw)
{
	enum gfp_status status;
	struct gfp_progent entry;
	size_t off = 0;

	while ((status = gfp_progent_next(raw, &off, &entry)) == GFP_OK)
		ENSURE(fuzz_lies_in(entry.name, raw));
	ENSURE(status == GFP_END && off + 4 == raw.len);
}

static void look_into(const struct gfp_value *v)
{
	struct gfp_flock flock;
	struct gfp_iatt iatt;

	switch (v->field->kind) {
	case GFP_K_IATTX:
		gfp_iattx_read(v->raw.ptr, &iatt);
		break;
	case GFP_K_IATT3:
		gfp_iatt3_read(v->raw.ptr, &iatt);
		break;
	case GFP_K_FLOCK:
		ENSURE(gfp_flock_read(v->raw, &flock) == GFP_OK);
		ENSURE(fuzz_lies_in(flock.lk_owner, v->raw));
		break;
	case GFP_K_DICTX:
		fuzz_dictx(v->body);
		break;
	case GFP_K_BLOB:
		fuzz_blob(v->body);
		break;
	case GFP_K_DIRLIST:
	case GFP_K_DIRPLIST:
	case GFP_K_DIRPLIST3:
		walk_dirents(v->field->kind, v->raw);
		break;
	case GFP_K_LOCKLIST:
		walk_lockents(v->raw);
		break;
	case GFP_K_PROGLIST:
		walk_progents(v->raw);
		break;
	default:
		break;
	}
}

enum gfp_status fuzz_members(const struct gfp_field *fields, struct gfp_span in,
			     size_t *off)
{
	enum gfp_status status;
	struct gfp_cursor c;
	struct gfp_value v;

	gfp_cursor_start(&c, fields, in);
	for (*off = 0; (status = gfp_field_next(&c, &v)) == GFP_OK;
	     *off = c.off) {
		ENSURE(v.raw.ptr == in.ptr + *off);
		ENSURE(c.off == *off + v.raw.len && c.off <= in.len);
		ENSURE(v.raw.len >= gfp_kind_min_size(v.field->kind));
		ENSURE(fuzz_lies_in(v.body, v.raw));
		look_into(&v);
	}
	ENSURE(c.off == *off);
	return status;
}
