/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dict - dictionaries of both forms, walked where they lie.
 *
 * A walk has no state but an offset, so the number of pairs that the head
 * claims is compared with the bytes once, before the first pair is handed out:
 * a dict that does not parse yields no pair at all.
 *
 * Holds no state, allocates nothing.
 */
#include "config.h"

#include <string.h>

#include "proto/dict.h"
#include "proto/layout.h"

enum {
	BLOB_HEAD_SIZE = 4,		/* number of pairs */
	BLOB_PAIR_HEAD_SIZE = 8,	/* two lengths */
};

const uint8_t gfp_dictx_null[GFP_DICTX_HEAD] = {
	0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
};

/* Bytes of a value of fixed size; 0: a length stands before it. */
static const uint8_t value_sizes[GFP_D_TYPE_LIMIT] = {
	[GFP_D_INT] = 8,
	[GFP_D_UINT] = 8,
	[GFP_D_DOUBLE] = 8,
	[GFP_D_GFID] = GFP_GFID_SIZE,
	[GFP_D_IATT] = GFP_IATTX_SIZE,
	[GFP_D_MDATA] = GFP_MDATA_SIZE,
};

enum gfp_status gfp_dictx_size(struct gfp_span in, size_t *size)
{
	uint32_t xdr_size;
	size_t whole;

	if (in.len < GFP_DICTX_HEAD)
		return GFP_SHORT;
	xdr_size = gfp_be32(in.ptr);
	if (xdr_size > GFP_BYTES_MAX)
		return GFP_TOO_BIG;
	if ((int32_t)gfp_be32(in.ptr + 4) < -1)
		return GFP_BAD;
	whole = GFP_DICTX_HEAD + xdr_size + gfp_xdr_pad(xdr_size);
	if (in.len < whole)
		return GFP_SHORT;
	*size = whole;
	return GFP_OK;
}

static enum gfp_status take_value(struct gfp_span in, size_t *off,
				  struct gfp_pair *pair)
{
	size_t size;

	if (pair->type >= GFP_D_TYPE_LIMIT)
		return GFP_BAD;
	size = value_sizes[pair->type];
	if (size == 0 && pair->type != GFP_D_UNKNOWN)
		return gfp_span_opaque(in, off, GFP_BYTES_MAX, &pair->value);
	if (!gfp_span_has(in, *off, size))
		return GFP_SHORT;
	pair->value = (struct gfp_span){ in.ptr + *off, size };
	if (size == 8)
		pair->num = gfp_be64(pair->value.ptr);
	*off += size;
	return GFP_OK;
}

/* Take the closing NUL off a key that must have just the one. */
static enum gfp_status trim_key(struct gfp_span *key)
{
	if (key->len == 0 ||
	    memchr(key->ptr, 0, key->len) != key->ptr + key->len - 1)
		return GFP_BAD;
	key->len--;
	return GFP_OK;
}

/* The pair at *off of a dictx. */
static enum gfp_status take_pair(struct gfp_span in, size_t *off,
				 struct gfp_pair *pair)
{
	enum gfp_status status;

	memset(pair, 0, sizeof(*pair));
	status = gfp_span_opaque(in, off, GFP_DICT_KEY_MAX, &pair->key);
	if (status == GFP_OK)
		status = trim_key(&pair->key);
	if (status != GFP_OK)
		return status;
	if (!gfp_span_u32(in, *off, &pair->type))
		return GFP_SHORT;
	*off += 4;
	return take_value(in, off, pair);
}

/* The pair at *off of a blob. */
static enum gfp_status take_blob_pair(struct gfp_span in, size_t *off,
				      struct gfp_pair *pair)
{
	uint32_t key_len, value_len;
	size_t at = *off + BLOB_PAIR_HEAD_SIZE;
	enum gfp_status status;

	memset(pair, 0, sizeof(*pair));
	if (!gfp_span_u32(in, *off, &key_len) ||
	    !gfp_span_u32(in, *off + 4, &value_len))
		return GFP_SHORT;
	if (key_len >= GFP_DICT_KEY_MAX || value_len > GFP_BYTES_MAX)
		return GFP_TOO_BIG;
	if (!gfp_span_has(in, at, (size_t)key_len + 1 + value_len))
		return GFP_SHORT;
	pair->key = (struct gfp_span){ in.ptr + at, key_len + 1 };
	status = trim_key(&pair->key);
	if (status != GFP_OK)
		return status;
	at += key_len + 1;
	pair->value = (struct gfp_span){ in.ptr + at, value_len };
	*off = at + value_len;
	return GFP_OK;
}

typedef enum gfp_status (*take_pair_fn)(struct gfp_span in, size_t *off,
					struct gfp_pair *pair);

/* Do count pairs from off on fill dict to its end? */
static enum gfp_status check_pairs(struct gfp_span dict, size_t off,
				   uint32_t count, take_pair_fn take)
{
	enum gfp_status status;
	struct gfp_pair pair;

	if (count > GFP_DICT_PAIRS_MAX)
		return GFP_TOO_BIG;
	while (count-- > 0) {
		status = take(dict, &off, &pair);
		if (status != GFP_OK)
			return status;
	}
	return off == dict.len ? GFP_OK : GFP_BAD;
}

/* Check the head and all pairs of a dictx before the first is handed out. */
static enum gfp_status check_dictx(struct gfp_span dict)
{
	enum gfp_status status;
	uint32_t count, pairs;
	size_t size;

	status = gfp_dictx_size(dict, &size);
	if (status != GFP_OK)
		return status;
	count = gfp_be32(dict.ptr + 4);
	pairs = gfp_be32(dict.ptr + 8);
	if (size != dict.len || (count == UINT32_MAX && pairs != 0))
		return GFP_BAD;
	status = check_pairs(dict, GFP_DICTX_HEAD, pairs, take_pair);
	/* the dict says itself where it ends: more bytes would not help */
	return status == GFP_SHORT ? GFP_BAD : status;
}

static enum gfp_status walk(struct gfp_span dict, size_t *off,
			    take_pair_fn take, struct gfp_pair *pair)
{
	size_t at = *off;
	enum gfp_status status;

	if (at >= dict.len)
		return GFP_END;
	status = take(dict, &at, pair);
	if (status == GFP_OK)
		*off = at;
	return status;
}

enum gfp_status gfp_dictx_next(struct gfp_span dict, size_t *off,
			       struct gfp_pair *pair)
{
	enum gfp_status status;

	if (*off == 0) {
		if (dict.len == 0)
			return GFP_END;
		status = check_dictx(dict);
		if (status != GFP_OK)
			return status;
		*off = GFP_DICTX_HEAD;
	}
	return walk(dict, off, take_pair, pair);
}

enum gfp_status gfp_blob_next(struct gfp_span dict, size_t *off,
			      struct gfp_pair *pair)
{
	enum gfp_status status;

	if (*off == 0) {
		if (dict.len == 0)
			return GFP_END;
		if (dict.len < BLOB_HEAD_SIZE)
			return GFP_SHORT;
		status = check_pairs(dict, BLOB_HEAD_SIZE, gfp_be32(dict.ptr),
				     take_blob_pair);
		if (status != GFP_OK)
			return status;
		*off = BLOB_HEAD_SIZE;
	}
	return walk(dict, off, take_blob_pair, pair);
}

static bool key_is(const struct gfp_pair *pair, const char *key)
{
	return strlen(key) == pair->key.len &&
	       memcmp(key, pair->key.ptr, pair->key.len) == 0;
}

enum gfp_status gfp_dictx_find(struct gfp_span dict, const char *key,
			       struct gfp_pair *pair)
{
	enum gfp_status status;
	size_t off = 0;

	do {
		status = gfp_dictx_next(dict, &off, pair);
	} while (status == GFP_OK && !key_is(pair, key));
	return status;
}

enum gfp_status gfp_blob_find(struct gfp_span dict, const char *key,
			      struct gfp_pair *pair)
{
	enum gfp_status status;
	size_t off = 0;

	do {
		status = gfp_blob_next(dict, &off, pair);
	} while (status == GFP_OK && !key_is(pair, key));
	return status;
}

void gfp_blob_start(struct gfp_blob_builder *b, uint8_t *out, size_t cap)
{
	*b = (struct gfp_blob_builder){ .out = out, .cap = cap };
	if (cap < BLOB_HEAD_SIZE) {
		b->is_full = true;
		return;
	}
	gfp_put_be32(out, 0);
	b->len = BLOB_HEAD_SIZE;
}

void gfp_blob_add(struct gfp_blob_builder *b, const char *key,
		  struct gfp_span value)
{
	size_t key_len = strlen(key);
	size_t free_bytes = b->cap - b->len;
	uint8_t *p = b->out + b->len;

	if (b->is_full || key_len >= GFP_DICT_KEY_MAX ||
	    value.len > GFP_BYTES_MAX || value.len > free_bytes ||
	    BLOB_PAIR_HEAD_SIZE + key_len + 1 > free_bytes - value.len) {
		b->is_full = true;
		return;
	}
	gfp_put_be32(p, (uint32_t)key_len);
	gfp_put_be32(p + 4, (uint32_t)value.len);
	memcpy(p + BLOB_PAIR_HEAD_SIZE, key, key_len + 1);
	p += BLOB_PAIR_HEAD_SIZE + key_len + 1;
	if (value.len > 0)
		memcpy(p, value.ptr, value.len);
	b->len = (size_t)(p - b->out) + value.len;
	gfp_put_be32(b->out, ++b->count);
}

void gfp_blob_add_str(struct gfp_blob_builder *b, const char *key,
		      const char *value)
{
	gfp_blob_add(b, key, (struct gfp_span){ (const uint8_t *)value,
						strlen(value) + 1 });
}
