/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dict - walk, find and build dictionaries of both forms without a copy.
 *
 * dictx is the typed dictionary of FOP version 400; blob the 3.x form, which
 * version 330, the handshake and the callbacks carry inside an opaque<>.
 */
#ifndef FOREBRICK_PROTO_DICT_H
#define FOREBRICK_PROTO_DICT_H

#include "proto/span.h"
#include "proto/status.h"

enum gfp_dict_type {
	GFP_D_UNKNOWN = 0,
	GFP_D_STR_OLD = 1,
	GFP_D_INT = 2,		/* i64 */
	GFP_D_UINT = 3,		/* u64 */
	GFP_D_DOUBLE = 4,
	GFP_D_STR = 5,		/* NUL counted in its length */
	GFP_D_PTR = 6,
	GFP_D_GFID = 7,
	GFP_D_IATT = 8,		/* iattx */
	GFP_D_MDATA = 9,
	GFP_D_TYPE_LIMIT
};

enum {
	GFP_DICTX_HEAD = 12,	/* xdr_size, count, number of pairs */
	GFP_DICT_KEY_MAX = 4096,	/* closing NUL included */
	GFP_DICT_PAIRS_MAX = 65536,
	GFP_MDATA_SIZE = 36,
};

struct gfp_pair {
	struct gfp_span key;	/* closing NUL excluded, in both forms */
	uint32_t type;		/* GFP_D_...; GFP_D_UNKNOWN in a blob */
	struct gfp_span value;	/* value bytes: no length word, no padding */
	uint64_t num;		/* GFP_D_INT, GFP_D_UINT, GFP_D_DOUBLE (bits) */
};

/*
 * Measure the typed dict at the start of in.
 *
 *   size    its bytes, head included
 *
 * Returns GFP_OK, GFP_SHORT, GFP_TOO_BIG or GFP_BAD. O(1): trusts xdr_size as
 * peers do (rounded up to four) after comparing it with what is there; the
 * pairs themselves are checked by the walk.
 */
GFP_MUST_CHECK enum gfp_status gfp_dictx_size(struct gfp_span in, size_t *size);

/*
 * Walk the pairs. dict is the dict with its head (dictx), or the body of the
 * opaque<> (blob). Set *off to 0 first. GFP_OK with a pair; GFP_END; or
 * GFP_SHORT, GFP_TOO_BIG, GFP_BAD. A NULL or empty dict ends at once. All pairs
 * are checked when the walk begins: a dict that is wrong somewhere yields none,
 * and a dict of which a pair came yields all.
 */
GFP_MUST_CHECK enum gfp_status gfp_dictx_next(struct gfp_span dict, size_t *off,
					      struct gfp_pair *pair);
GFP_MUST_CHECK enum gfp_status gfp_blob_next(struct gfp_span dict, size_t *off,
					     struct gfp_pair *pair);

/* Find a key. GFP_OK, GFP_END (not there), or why the dict does not parse. */
GFP_MUST_CHECK enum gfp_status gfp_dictx_find(struct gfp_span dict,
					      const char *key,
					      struct gfp_pair *pair);
GFP_MUST_CHECK enum gfp_status gfp_blob_find(struct gfp_span dict,
					     const char *key,
					     struct gfp_pair *pair);

/*
 * Build a blob in a buffer of cap bytes: start, add, use b.len bytes. Adding
 * beyond cap, or more than a walk would take, sets is_full and changes nothing
 * more.
 */
struct gfp_blob_builder {
	uint8_t *out;
	size_t cap, len;
	uint32_t count;
	bool is_full;
};
void gfp_blob_start(struct gfp_blob_builder *b, uint8_t *out, size_t cap);
void gfp_blob_add(struct gfp_blob_builder *b, const char *key,
		  struct gfp_span value);
/* value as text, its NUL included, as the handshake wants it */
void gfp_blob_add_str(struct gfp_blob_builder *b, const char *key,
		      const char *value);

/* The 12 bytes of a NULL dictx (count -1). */
extern const uint8_t gfp_dictx_null[GFP_DICTX_HEAD];

#endif
