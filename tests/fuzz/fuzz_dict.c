/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dict - a dict of either form. The first byte says which.
 */
#include "config.h"

#include <string.h>

#include "proto/dict.h"
#include "tests/fuzz/fuzz.h"

/* A key of the dict itself, closed with NUL, to search for. */
static const char *copy_key(const struct gfp_pair *pair, char *out)
{
	memcpy(out, pair->key.ptr, pair->key.len);
	out[pair->key.len] = '\0';
	return out;
}

static void check_typed(struct gfp_span dict)
{
	char key[GFP_DICT_KEY_MAX];
	struct gfp_pair pair, found;
	size_t off = 0, size;

	if (gfp_dictx_size(dict, &size) == GFP_OK)
		ENSURE(size >= GFP_DICTX_HEAD && size <= dict.len);
	if (fuzz_dictx(dict) != GFP_END)
		return;
	if (gfp_dictx_next(dict, &off, &pair) != GFP_OK)
		return;
	ENSURE(gfp_dictx_find(dict, copy_key(&pair, key), &found) == GFP_OK);
	ENSURE(found.value.ptr == pair.value.ptr);
	ENSURE(gfp_dictx_size(dict, &size) == GFP_OK && size == dict.len);
}

/* Build the same blob again from its pairs. */
static void check_built(struct gfp_span dict)
{
	uint8_t *out = malloc(dict.len);
	struct gfp_blob_builder b;
	char key[GFP_DICT_KEY_MAX];
	struct gfp_pair pair;
	size_t off = 0;

	ENSURE(out != NULL);
	gfp_blob_start(&b, out, dict.len);
	while (gfp_blob_next(dict, &off, &pair) == GFP_OK)
		gfp_blob_add(&b, copy_key(&pair, key), pair.value);
	ENSURE(!b.is_full && b.len == dict.len);
	ENSURE(memcmp(out, dict.ptr, dict.len) == 0);
	free(out);
}

static void check_blob(struct gfp_span dict)
{
	char key[GFP_DICT_KEY_MAX];
	struct gfp_pair pair, found;
	size_t off = 0;

	if (fuzz_blob(dict) != GFP_END || dict.len == 0)
		return;
	check_built(dict);
	if (gfp_blob_next(dict, &off, &pair) != GFP_OK)
		return;
	ENSURE(gfp_blob_find(dict, copy_key(&pair, key), &found) == GFP_OK);
	ENSURE(found.value.ptr == pair.value.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		check_typed((struct gfp_span){ data + 1, size - 1 });
	else
		check_blob((struct gfp_span){ data + 1, size - 1 });
	return 0;
}
