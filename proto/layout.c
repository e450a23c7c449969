/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - members measured and read where they lie.
 *
 * A kind of fixed size is one comparison; each of the others has a row in
 * measures[] that says how long the member at the front of a span is. Lists are
 * measured by walking them, with the same function that hands out entries.
 *
 * Holds no state, allocates nothing.
 */
#include "config.h"

#include <string.h>

#include "proto/dict.h"
#include "proto/layout.h"

enum {
	STATFS_SIZE = 88,
	LEASE_SIZE = 28,
	FLOCK_FIXED_SIZE = 32,	/* up to and with the owner's length */
	DIRENT_HEAD_SIZE = 24,	/* ino, cookie, a count nobody needs, type */
};

static const uint8_t min_sizes[GFP_KIND_LIMIT] = {
	[GFP_K_RET] = 4,
	[GFP_K_ERRNO] = 4,
	[GFP_K_I32] = 4,
	[GFP_K_U32] = 4,
	[GFP_K_HEX32] = 4,
	[GFP_K_OFLAGS] = 4,
	[GFP_K_MODE] = 4,
	[GFP_K_LKCMD] = 4,
	[GFP_K_LKTYPE] = 4,
	[GFP_K_I64] = 8,
	[GFP_K_U64] = 8,
	[GFP_K_FD] = 8,
	[GFP_K_GFID] = GFP_GFID_SIZE,
	[GFP_K_IATTX] = GFP_IATTX_SIZE,
	[GFP_K_IATT3] = GFP_IATT3_SIZE,
	[GFP_K_STATFS] = STATFS_SIZE,
	[GFP_K_LEASE] = LEASE_SIZE,
	[GFP_K_STR] = 4,
	[GFP_K_OPAQUE] = 4,
	[GFP_K_FLOCK] = FLOCK_FIXED_SIZE,
	[GFP_K_DICTX] = GFP_DICTX_HEAD,
	[GFP_K_BLOB] = 4,
	[GFP_K_DIRLIST] = 4,
	[GFP_K_DIRPLIST] = 4,
	[GFP_K_DIRPLIST3] = 4,
	[GFP_K_LOCKLIST] = 4,
	[GFP_K_PROGLIST] = 4,
};

/* Step over size bytes at *off. */
static enum gfp_status take_fixed(struct gfp_span in, size_t *off, size_t size,
				  struct gfp_span *bytes)
{
	if (!gfp_span_has(in, *off, size))
		return GFP_SHORT;
	*bytes = (struct gfp_span){ in.ptr + *off, size };
	*off += size;
	return GFP_OK;
}

static enum gfp_status take_dictx(struct gfp_span in, size_t *off,
				  struct gfp_span *dict)
{
	enum gfp_status status;
	size_t size;

	status = gfp_dictx_size(gfp_span_from(in, *off), &size);
	if (status != GFP_OK)
		return status;
	return take_fixed(in, off, size, dict);
}

static enum gfp_status take_flock(struct gfp_span in, size_t *off,
				  struct gfp_flock *out)
{
	struct gfp_span head;
	size_t at = *off;
	enum gfp_status status;

	status = take_fixed(in, &at, FLOCK_FIXED_SIZE - 4, &head);
	if (status != GFP_OK)
		return status;
	out->type = gfp_be32(head.ptr);
	out->whence = gfp_be32(head.ptr + 4);
	out->start = gfp_be64(head.ptr + 8);
	out->len = gfp_be64(head.ptr + 16);
	out->pid = gfp_be32(head.ptr + 24);
	status = gfp_span_opaque(in, &at, GFP_OWNER_MAX, &out->lk_owner);
	if (status == GFP_OK)
		*off = at;
	return status;
}

/* The word in front of a list's entry: is there one? */
static enum gfp_status take_more(struct gfp_span in, size_t *off)
{
	uint32_t more;

	if (!gfp_span_u32(in, *off, &more))
		return GFP_SHORT;
	if (more > 1)
		return GFP_BAD;
	if (more == 0)
		return GFP_END;
	*off += 4;
	return GFP_OK;
}

/* What follows the name in a READDIRP's entry. */
static enum gfp_status take_dirent_more(enum gfp_kind kind, struct gfp_span in,
					size_t *off, struct gfp_dirent *out)
{
	bool is_v3 = kind == GFP_K_DIRPLIST3;
	enum gfp_status status;

	status = take_fixed(in, off, is_v3 ? GFP_IATT3_SIZE : GFP_IATTX_SIZE,
			    &out->iatt);
	if (status != GFP_OK)
		return status;
	if (is_v3)
		return gfp_span_opaque(in, off, GFP_BYTES_MAX, &out->dict);
	return take_dictx(in, off, &out->dict);
}

enum gfp_status gfp_dirent_next(enum gfp_kind kind, struct gfp_span raw,
				size_t *off, struct gfp_dirent *out)
{
	struct gfp_span head;
	size_t at = *off;
	enum gfp_status status;

	memset(out, 0, sizeof(*out));
	status = take_more(raw, &at);
	if (status != GFP_OK)
		return status;
	status = take_fixed(raw, &at, DIRENT_HEAD_SIZE, &head);
	if (status != GFP_OK)
		return status;
	out->ino = gfp_be64(head.ptr);
	out->cookie = gfp_be64(head.ptr + 8);
	out->type = gfp_be32(head.ptr + 20);
	status = gfp_span_opaque(raw, &at, GFP_BYTES_MAX, &out->name);
	if (status == GFP_OK && kind != GFP_K_DIRLIST)
		status = take_dirent_more(kind, raw, &at, out);
	if (status == GFP_OK)
		*off = at;
	return status;
}

enum gfp_status gfp_lockent_next(struct gfp_span raw, size_t *off,
				 struct gfp_lockent *out)
{
	struct gfp_span flags;
	size_t at = *off;
	enum gfp_status status;

	memset(out, 0, sizeof(*out));
	status = take_more(raw, &at);
	if (status == GFP_OK)
		status = take_flock(raw, &at, &out->flock);
	if (status == GFP_OK)
		status = gfp_span_opaque(raw, &at, GFP_BYTES_MAX, &out->client);
	if (status == GFP_OK)
		status = take_fixed(raw, &at, 4, &flags);
	if (status != GFP_OK)
		return status;
	out->flags = gfp_be32(flags.ptr);
	*off = at;
	return GFP_OK;
}

enum gfp_status gfp_progent_next(struct gfp_span raw, size_t *off,
				 struct gfp_progent *out)
{
	struct gfp_span numbers;
	size_t at = *off;
	enum gfp_status status;

	memset(out, 0, sizeof(*out));
	status = take_more(raw, &at);
	if (status == GFP_OK)
		status = gfp_span_opaque(raw, &at, GFP_BYTES_MAX, &out->name);
	if (status == GFP_OK)
		status = take_fixed(raw, &at, 16, &numbers);
	if (status != GFP_OK)
		return status;
	out->program = gfp_be64(numbers.ptr);
	out->version = gfp_be64(numbers.ptr + 8);
	*off = at;
	return GFP_OK;
}

/* Bytes of the member at the front of in, when its kind has no fixed size. */
typedef enum gfp_status (*measure_fn)(enum gfp_kind kind, struct gfp_span in,
				      size_t *size);

static enum gfp_status measure_bytes(enum gfp_kind kind, struct gfp_span in,
				     size_t *size)
{
	struct gfp_span bytes;

	(void)kind;
	*size = 0;
	return gfp_span_opaque(in, size, GFP_BYTES_MAX, &bytes);
}

static enum gfp_status measure_flock(enum gfp_kind kind, struct gfp_span in,
				     size_t *size)
{
	struct gfp_flock flock;

	(void)kind;
	*size = 0;
	return take_flock(in, size, &flock);
}

static enum gfp_status measure_dictx(enum gfp_kind kind, struct gfp_span in,
				     size_t *size)
{
	(void)kind;
	return gfp_dictx_size(in, size);
}

/* A list walked to its end; then the word that closes it is there. */
static enum gfp_status list_size(enum gfp_status last, size_t off, size_t *size)
{
	*size = off + 4;
	return last == GFP_END ? GFP_OK : last;
}

static enum gfp_status measure_dirents(enum gfp_kind kind, struct gfp_span in,
				       size_t *size)
{
	struct gfp_dirent entry;
	enum gfp_status status;
	size_t off = 0;

	do {
		status = gfp_dirent_next(kind, in, &off, &entry);
	} while (status == GFP_OK);
	return list_size(status, off, size);
}

static enum gfp_status measure_lockents(enum gfp_kind kind, struct gfp_span in,
					size_t *size)
{
	struct gfp_lockent entry;
	enum gfp_status status;
	size_t off = 0;

	(void)kind;
	do {
		status = gfp_lockent_next(in, &off, &entry);
	} while (status == GFP_OK);
	return list_size(status, off, size);
}

static enum gfp_status measure_progents(enum gfp_kind kind, struct gfp_span in,
					size_t *size)
{
	struct gfp_progent entry;
	enum gfp_status status;
	size_t off = 0;

	(void)kind;
	do {
		status = gfp_progent_next(in, &off, &entry);
	} while (status == GFP_OK);
	return list_size(status, off, size);
}

static const measure_fn measures[GFP_KIND_LIMIT] = {
	[GFP_K_STR] = measure_bytes,
	[GFP_K_OPAQUE] = measure_bytes,
	[GFP_K_FLOCK] = measure_flock,
	[GFP_K_DICTX] = measure_dictx,
	[GFP_K_BLOB] = measure_bytes,
	[GFP_K_DIRLIST] = measure_dirents,
	[GFP_K_DIRPLIST] = measure_dirents,
	[GFP_K_DIRPLIST3] = measure_dirents,
	[GFP_K_LOCKLIST] = measure_lockents,
	[GFP_K_PROGLIST] = measure_progents,
};

size_t gfp_kind_min_size(enum gfp_kind kind)
{
	return min_sizes[kind];
}

bool gfp_kind_is_fixed(enum gfp_kind kind)
{
	return measures[kind] == NULL;
}

void gfp_cursor_start(struct gfp_cursor *c, const struct gfp_field *fields,
		      struct gfp_span in)
{
	*c = (struct gfp_cursor){ .next = fields, .in = in };
}

static bool is_signed(enum gfp_kind kind)
{
	return kind == GFP_K_RET || kind == GFP_K_ERRNO || kind == GFP_K_I32;
}

/* What counts in a member of either shape, once raw is known. */
static void read_value(struct gfp_value *v)
{
	enum gfp_kind kind = v->field->kind;
	const uint8_t *p = v->raw.ptr;

	v->body = v->raw;
	v->num = 0;
	if (measures[kind] == measure_bytes)
		v->body = (struct gfp_span){ p + 4, gfp_be32(p) };
	else if (is_signed(kind))
		v->num = (uint64_t)(int64_t)(int32_t)gfp_be32(p);
	else if (min_sizes[kind] == 4 && measures[kind] == NULL)
		v->num = gfp_be32(p);
	else if (min_sizes[kind] == 8)
		v->num = gfp_be64(p);
}

enum gfp_status gfp_field_next(struct gfp_cursor *c, struct gfp_value *v)
{
	enum gfp_kind kind = c->next->kind;
	struct gfp_span rest = gfp_span_from(c->in, c->off);
	size_t size = min_sizes[kind];
	enum gfp_status status;

	if (kind == GFP_K_END)
		return GFP_END;
	if (rest.len < size)
		return GFP_SHORT;
	if (measures[kind] != NULL) {
		status = measures[kind](kind, rest, &size);
		if (status != GFP_OK)
			return status;
	}
	v->field = c->next;
	v->raw = (struct gfp_span){ rest.ptr, size };
	read_value(v);
	c->next++;
	c->off += size;
	return GFP_OK;
}

void gfp_iattx_read(const uint8_t *p, struct gfp_iatt *out)
{
	memcpy(out->gfid, p, GFP_GFID_SIZE);
	out->valid = gfp_be64(p + 16);
	out->ino = gfp_be64(p + 24);
	out->dev = gfp_be64(p + 32);
	out->rdev = gfp_be64(p + 40);
	out->size = gfp_be64(p + 48);
	out->blocks = gfp_be64(p + 56);
	out->attributes = gfp_be64(p + 64);
	out->attributes_mask = gfp_be64(p + 72);
	out->atime = (int64_t)gfp_be64(p + 80);
	out->mtime = (int64_t)gfp_be64(p + 88);
	out->ctime = (int64_t)gfp_be64(p + 96);
	out->btime = (int64_t)gfp_be64(p + 104);
	out->atime_nsec = gfp_be32(p + 112);
	out->mtime_nsec = gfp_be32(p + 116);
	out->ctime_nsec = gfp_be32(p + 120);
	out->btime_nsec = gfp_be32(p + 124);
	out->nlink = gfp_be32(p + 128);
	out->uid = gfp_be32(p + 132);
	out->gid = gfp_be32(p + 136);
	out->blksize = gfp_be32(p + 140);
	out->mode = gfp_be32(p + 144);
}

void gfp_iatt3_read(const uint8_t *p, struct gfp_iatt *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->gfid, p, GFP_GFID_SIZE);
	out->valid = UINT64_MAX;
	out->ino = gfp_be64(p + 16);
	out->dev = gfp_be64(p + 24);
	out->mode = gfp_be32(p + 32);
	out->nlink = gfp_be32(p + 36);
	out->uid = gfp_be32(p + 40);
	out->gid = gfp_be32(p + 44);
	out->rdev = gfp_be64(p + 48);
	out->size = gfp_be64(p + 56);
	out->blksize = gfp_be32(p + 64);
	out->blocks = gfp_be64(p + 68);
	out->atime = gfp_be32(p + 76);
	out->atime_nsec = gfp_be32(p + 80);
	out->mtime = gfp_be32(p + 84);
	out->mtime_nsec = gfp_be32(p + 88);
	out->ctime = gfp_be32(p + 92);
	out->ctime_nsec = gfp_be32(p + 96);
}

enum gfp_status gfp_flock_read(struct gfp_span raw, struct gfp_flock *out)
{
	size_t off = 0;

	memset(out, 0, sizeof(*out));
	return take_flock(raw, &off, out);
}
