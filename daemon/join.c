/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join - a record that arrives in several fragments, made into one.
 *
 * Owns: the bytes collected. One worker's thread only.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/join.h"
#include "proto/record.h"

enum {
	/* A record of 8 MiB in 1 KiB fragments passes; a flood of empty
	   fragments does not. */
	FRAGMENTS_MAX = 8192,
	EMPTY_MAX = 16,
	GROW_FIRST = 4096,
};

struct join {
	uint8_t *bytes;		/* room for a mark, then the record so far */
	size_t len, cap;	/* mark included */
	uint8_t mark[GFP_MARK_SIZE];
	unsigned mark_have;
	uint32_t fragment_left;
	bool is_last;
	unsigned fragments, empty;
	struct buf *kept;
};

struct join *join_new(void)
{
	return calloc(1, sizeof(struct join));
}

void join_free(struct join *j)
{
	if (j == NULL)
		return;
	buf_put(j->kept);
	free(j->bytes);
	free(j);
}

uint64_t join_size(const struct join *j)
{
	return (uint64_t)j->len + j->fragment_left;
}

void join_keep(struct join *j, struct buf *whole)
{
	j->kept = whole;
}

static bool reserve(struct join *j, size_t more)
{
	size_t cap = j->cap ? j->cap : GROW_FIRST;
	uint8_t *bytes;

	if (j->len + more <= j->cap)
		return true;
	while (cap < j->len + more)
		cap *= 2;
	bytes = realloc(j->bytes, cap);
	if (bytes == NULL)
		return false;
	j->bytes = bytes;
	j->cap = cap;
	return true;
}

/* Take what is there of the next mark. GFP_OK when a fragment has begun. */
static enum gfp_status take_mark(struct join *j, struct gfp_span in,
				 uint64_t limit, size_t *used)
{
	struct gfp_mark mark;

	while (j->mark_have < GFP_MARK_SIZE) {
		if (*used == in.len)
			return GFP_SHORT;
		j->mark[j->mark_have++] = in.ptr[(*used)++];
	}
	mark = gfp_mark_read(j->mark);
	if (++j->fragments > FRAGMENTS_MAX ||
	    (mark.len == 0 && ++j->empty > EMPTY_MAX))
		return GFP_BAD;
	j->fragment_left = mark.len;
	j->is_last = mark.is_last;
	if (join_size(j) > limit + GFP_MARK_SIZE)
		return GFP_TOO_BIG;
	return GFP_OK;
}

static enum gfp_status take_bytes(struct join *j, struct gfp_span in,
				  size_t *used)
{
	size_t n = in.len - *used;

	if (n > j->fragment_left)
		n = j->fragment_left;
	if (!reserve(j, n))
		return GFP_TOO_BIG;
	if (n > 0)	/* an input without bytes has no address either */
		memcpy(j->bytes + j->len, in.ptr + *used, n);
	j->len += n;
	j->fragment_left -= (uint32_t)n;
	*used += n;
	return j->fragment_left == 0 ? GFP_OK : GFP_SHORT;
}

static enum gfp_status make_whole(struct join *j, struct buf **whole)
{
	struct buf *b;

	if (j->len < GFP_MARK_SIZE + GFP_RECORD_MIN)
		return GFP_BAD;
	b = buf_new_sized(j->len);
	if (b == NULL)
		return GFP_TOO_BIG;
	memcpy(b->bytes, j->bytes, j->len);
	gfp_mark_write(b->bytes, (uint32_t)(j->len - GFP_MARK_SIZE));
	*whole = b;
	return GFP_OK;
}

enum gfp_status join_add(struct join *j, struct gfp_span in, uint64_t limit,
			 size_t *used, struct buf **whole)
{
	enum gfp_status st;

	*used = 0;
	if (j->kept != NULL) {
		*whole = j->kept;
		j->kept = NULL;
		return GFP_OK;
	}
	if (j->len == 0) {
		if (!reserve(j, GFP_MARK_SIZE))
			return GFP_TOO_BIG;
		j->len = GFP_MARK_SIZE;
	}
	for (;;) {
		if (j->mark_have < GFP_MARK_SIZE) {
			st = take_mark(j, in, limit, used);
			if (st != GFP_OK)
				return st;
		}
		st = take_bytes(j, in, used);
		if (st != GFP_OK)
			return st;
		j->mark_have = 0;
		if (j->is_last)
			return make_whole(j, whole);
	}
}
