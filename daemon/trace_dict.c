/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_dict - dictionaries of both forms, pair by pair, secrets left out.
 *
 * A SETVOLUME carries the password of its volume, and a trace is read by more
 * people than a volfile.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "daemon/trace_dict.h"
#include "daemon/trace_value.h"
#include "proto/dict.h"

static void show_int(struct emit *e, const struct gfp_pair *pair)
{
	emit_int(e, NULL, (int64_t)pair->num);
}

static void show_uint(struct emit *e, const struct gfp_pair *pair)
{
	emit_uint(e, NULL, pair->num);
}

/* No peer of today sends one, so printf() may be slow here. */
static void show_double(struct emit *e, const struct gfp_pair *pair)
{
	char digits[32];
	double v;

	memcpy(&v, &pair->num, sizeof(v));
	if (!isfinite(v)) {
		emit_word(e, NULL, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	snprintf(digits, sizeof(digits), "%.17g", v);
	emit_number(e, NULL, digits);
}

static void show_bytes(struct emit *e, const struct gfp_pair *pair)
{
	trace_value_bytes(e, NULL, pair->value);
}

static void show_gfid(struct emit *e, const struct gfp_pair *pair)
{
	emit_gfid(e, NULL, pair->value.ptr);
}

static void show_iatt(struct emit *e, const struct gfp_pair *pair)
{
	trace_value_iatt(e, NULL, GFP_K_IATTX, pair->value);
}

/* The times that clients keep beside a file: three seconds, three nanos. */
static void show_mdata(struct emit *e, const struct gfp_pair *pair)
{
	static const char *const names[] = { "atime", "mtime", "ctime" };
	const uint8_t *sec = pair->value.ptr, *nsec = sec + 24;

	emit_open(e, NULL, '{');
	for (size_t i = 0; i < 3; i++)
		emit_nsec(e, names[i], (int64_t)gfp_be64(sec + 8 * i),
			  gfp_be32(nsec + 4 * i));
	emit_close(e, '}');
}

static void (*const show_types[GFP_D_TYPE_LIMIT])(struct emit *e,
					const struct gfp_pair *pair) = {
	[GFP_D_UNKNOWN] = show_bytes,
	[GFP_D_STR_OLD] = show_bytes,
	[GFP_D_INT] = show_int,
	[GFP_D_UINT] = show_uint,
	[GFP_D_DOUBLE] = show_double,
	[GFP_D_STR] = show_bytes,
	[GFP_D_PTR] = show_bytes,
	[GFP_D_GFID] = show_gfid,
	[GFP_D_IATT] = show_iatt,
	[GFP_D_MDATA] = show_mdata,
};

/* "password", and "auth.login.NAME.password" as volfiles have it. */
static bool is_secret(struct gfp_span key)
{
	static const char word[] = "password";
	size_t len = sizeof(word) - 1;

	return key.len >= len &&
	       memcmp(key.ptr + key.len - len, word, len) == 0 &&
	       (key.len == len || key.ptr[key.len - len - 1] == '.');
}

static void show_pair(struct emit *e, const struct gfp_pair *pair)
{
	emit_peer_key(e, pair->key);
	if (is_secret(pair->key))
		emit_word(e, NULL, "***");
	else
		show_types[pair->type](e, pair);
}

typedef enum gfp_status (*next_fn)(struct gfp_span dict, size_t *off,
				   struct gfp_pair *pair);

static void show_pairs(struct emit *e, const char *key, struct gfp_span dict,
		       next_fn next)
{
	struct gfp_pair pair;
	enum gfp_status status;
	size_t off = 0, count = 0;

	status = next(dict, &off, &pair);
	if (status != GFP_OK && status != GFP_END) {
		trace_value_undecoded(e, key, dict.len,
				      gfp_status_text(status));
		return;
	}
	emit_open(e, key, '{');
	for (; status == GFP_OK; status = next(dict, &off, &pair))
		if (count++ < TRACE_ENTRIES_MAX)
			show_pair(e, &pair);
	if (count > TRACE_ENTRIES_MAX)
		emit_uint(e, "more", count - TRACE_ENTRIES_MAX);
	emit_close(e, '}');
}

void trace_dict_show(struct emit *e, const char *key, struct gfp_span dict)
{
	if (memcmp(dict.ptr, gfp_dictx_null, GFP_DICTX_HEAD) == 0)
		emit_null(e, key);
	else
		show_pairs(e, key, dict, gfp_dictx_next);
}

void trace_dict_show_blob(struct emit *e, const char *key, struct gfp_span dict)
{
	if (dict.len == 0)
		emit_null(e, key);
	else
		show_pairs(e, key, dict, gfp_blob_next);
}
