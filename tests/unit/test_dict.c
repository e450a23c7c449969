/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dict - both forms of dictionary: walked, searched, built, spoilt.
 */
#include "config.h"

#include "proto/dict.h"
#include "proto/layout.h"
#include "tests/unit/bytes.h"
#include "tests/unit/test.h"

/* A form of dictionary and how it is walked. */
typedef enum gfp_status (*next_fn)(struct gfp_span dict, size_t *off,
				   struct gfp_pair *pair);

/* Walk to the end or to what stops it; say how many pairs came. */
static enum gfp_status walk(next_fn next, struct gfp_span dict,
			    unsigned int *pairs)
{
	enum gfp_status status;
	struct gfp_pair pair;
	size_t off = 0;

	for (*pairs = 0;; (*pairs)++) {
		status = next(dict, &off, &pair);
		if (status != GFP_OK)
			return status;
	}
}

/* ---- typed ---- */

static void put_key(struct bytes *b, const char *key)
{
	put_opaque(b, key, strlen(key) + 1);
}

static void put_pairs(struct bytes *b)
{
	put_key(b, "old");
	put_u32(b, GFP_D_STR_OLD);
	put_opaque(b, "\1\2\3\4\5", 5);
	put_key(b, "int");
	put_u32(b, GFP_D_INT);
	put_u64(b, (uint64_t)-3);
	put_key(b, "uint");
	put_u32(b, GFP_D_UINT);
	put_u64(b, UINT64_MAX);
	put_key(b, "double");
	put_u32(b, GFP_D_DOUBLE);
	put_u64(b, 0x3ff8000000000000);
	put_key(b, "str");
	put_u32(b, GFP_D_STR);
	put_opaque(b, "text", 5);
	put_key(b, "ptr");
	put_u32(b, GFP_D_PTR);
	put_opaque(b, "", 0);
	put_key(b, "gfid");
	put_u32(b, GFP_D_GFID);
	put_fill(b, 16, 0x61);
	put_key(b, "iatt");
	put_u32(b, GFP_D_IATT);
	put_fill(b, 148, 0x62);
	put_key(b, "mdata");
	put_u32(b, GFP_D_MDATA);
	put_fill(b, 36, 0x63);
	put_key(b, "unknown");
	put_u32(b, GFP_D_UNKNOWN);
}

/* A typed dict with a pair of each tag, in the order of put_pairs(). */
static void put_typed(struct bytes *b)
{
	put_length(b, 0);
	put_u32(b, 10);
	put_length(b, 10);
	put_pairs(b);
	gfp_put_be32(b->at, (uint32_t)(b->len - GFP_DICTX_HEAD));
}

static void check_pair(const struct gfp_pair *pair, const char *key,
		       uint32_t type, size_t len)
{
	assert_int_equal(pair->key.len, strlen(key));
	assert_memory_equal(pair->key.ptr, key, strlen(key));
	assert_int_equal(pair->type, type);
	assert_int_equal(pair->value.len, len);
}

static void a_pair_of_every_tag_is_walked(void **state)
{
	static const struct {
		const char *key;
		uint32_t type;
		size_t len;
	} want[] = {
		{ "old", GFP_D_STR_OLD, 5 }, { "int", GFP_D_INT, 8 },
		{ "uint", GFP_D_UINT, 8 }, { "double", GFP_D_DOUBLE, 8 },
		{ "str", GFP_D_STR, 5 }, { "ptr", GFP_D_PTR, 0 },
		{ "gfid", GFP_D_GFID, 16 }, { "iatt", GFP_D_IATT, 148 },
		{ "mdata", GFP_D_MDATA, 36 }, { "unknown", GFP_D_UNKNOWN, 0 },
	};
	struct bytes b = { .len = 0 };
	struct gfp_pair pair;
	size_t off = 0;

	(void)state;
	put_typed(&b);
	for (size_t i = 0; i < COUNT(want); i++) {
		assert_int_equal(gfp_dictx_next(span_of(&b), &off, &pair),
				 GFP_OK);
		check_pair(&pair, want[i].key, want[i].type, want[i].len);
	}
	assert_int_equal(gfp_dictx_next(span_of(&b), &off, &pair), GFP_END);
	assert_int_equal(gfp_dictx_next(span_of(&b), &off, &pair), GFP_END);
}

static void values_are_found_by_key(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_pair pair;

	(void)state;
	put_typed(&b);
	assert_int_equal(gfp_dictx_find(span_of(&b), "int", &pair), GFP_OK);
	assert_true(pair.num == (uint64_t)-3);
	assert_int_equal(gfp_dictx_find(span_of(&b), "uint", &pair), GFP_OK);
	assert_true(pair.num == UINT64_MAX);
	assert_int_equal(gfp_dictx_find(span_of(&b), "double", &pair), GFP_OK);
	assert_true(pair.num == 0x3ff8000000000000);
	assert_int_equal(gfp_dictx_find(span_of(&b), "str", &pair), GFP_OK);
	assert_memory_equal(pair.value.ptr, "text", 5);
	assert_true(pair.num == 0);
	assert_int_equal(gfp_dictx_find(span_of(&b), "gfid", &pair), GFP_OK);
	assert_int_equal(pair.value.ptr[15], 0x61);
}

static void a_key_is_not_found_by_a_part_of_it(void **state)
{
	static const char *const keys[] = { "", "i", "in", "int2", "INT",
					    "absent" };
	struct bytes b = { .len = 0 };
	struct gfp_pair pair;

	(void)state;
	put_typed(&b);
	for (size_t i = 0; i < COUNT(keys); i++)
		assert_int_equal(gfp_dictx_find(span_of(&b), keys[i], &pair),
				 GFP_END);
}

static void null_and_empty_dicts_end_at_once(void **state)
{
	static const uint8_t empty[GFP_DICTX_HEAD];
	struct gfp_span dicts[] = {
		{ gfp_dictx_null, GFP_DICTX_HEAD },
		{ empty, GFP_DICTX_HEAD },
		{ NULL, 0 },
	};
	unsigned int pairs;
	size_t size;

	(void)state;
	for (size_t i = 0; i < COUNT(dicts); i++) {
		struct gfp_pair pair;

		assert_int_equal(walk(gfp_dictx_next, dicts[i], &pairs),
				 GFP_END);
		assert_int_equal(pairs, 0);
		assert_int_equal(gfp_dictx_find(dicts[i], "k", &pair), GFP_END);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(gfp_dictx_size(dicts[i], &size), GFP_OK);
		assert_int_equal(size, GFP_DICTX_HEAD);
	}
}

static void a_size_is_rounded_up_to_a_word(void **state)
{
	struct bytes b = { .len = 0 };
	size_t size;

	(void)state;
	put_u32(&b, 17);
	put_u32(&b, 1);
	put_u32(&b, 1);
	put_fill(&b, 20, 0);
	assert_int_equal(gfp_dictx_size(span_of(&b), &size), GFP_OK);
	assert_int_equal(size, GFP_DICTX_HEAD + 20);
	b.len--;
	assert_int_equal(gfp_dictx_size(span_of(&b), &size), GFP_SHORT);
}

static void a_size_at_its_maximum_is_refused(void **state)
{
	static const uint32_t sizes[] = { GFP_BYTES_MAX + 1, 0x7fffffff,
					  0xfffffff0, 0xffffffff };
	struct bytes b = { .len = 0 };
	size_t size;

	(void)state;
	put_typed(&b);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		gfp_put_be32(b.at, sizes[i]);
		assert_int_equal(gfp_dictx_size(span_of(&b), &size),
				 GFP_TOO_BIG);
	}
}

static void a_count_below_minus_one_is_bad(void **state)
{
	struct bytes b = { .len = 0 };
	size_t size;

	(void)state;
	put_typed(&b);
	gfp_put_be32(b.at + 4, (uint32_t)-2);
	assert_int_equal(gfp_dictx_size(span_of(&b), &size), GFP_BAD);
	gfp_put_be32(b.at + 4, 0x80000000);
	assert_int_equal(gfp_dictx_size(span_of(&b), &size), GFP_BAD);
}

static void a_null_dict_has_no_pairs(void **state)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_typed(&b);
	gfp_put_be32(b.at + 4, (uint32_t)-1);
	assert_int_equal(walk(gfp_dictx_next, span_of(&b), &pairs), GFP_BAD);
	assert_int_equal(pairs, 0);
}

static void a_number_of_pairs_that_the_bytes_deny_is_bad(void **state)
{
	static const uint32_t counts[] = { 0, 1, 9, 11, 65536 };
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_typed(&b);
	for (size_t i = 0; i < COUNT(counts); i++) {
		gfp_put_be32(b.at + 8, counts[i]);
		assert_int_equal(walk(gfp_dictx_next, span_of(&b), &pairs),
				 GFP_BAD);
		assert_int_equal(pairs, 0);
	}
	gfp_put_be32(b.at + 8, GFP_DICT_PAIRS_MAX + 1);
	assert_int_equal(walk(gfp_dictx_next, span_of(&b), &pairs),
			 GFP_TOO_BIG);
	gfp_put_be32(b.at + 8, UINT32_MAX);
	assert_int_equal(walk(gfp_dictx_next, span_of(&b), &pairs),
			 GFP_TOO_BIG);
}

static void every_truncation_of_a_typed_dict_is_short(void **state)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_typed(&b);
	for (size_t cut = 1; cut < b.len; cut++) {
		struct gfp_span view = view_of(span_of(&b), cut);

		assert_int_equal(walk(gfp_dictx_next, view, &pairs), GFP_SHORT);
		assert_int_equal(pairs, 0);
		drop(view);
	}
}

static void a_typed_dict_that_ends_inside_a_pair_is_bad(void **state)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_typed(&b);
	for (size_t cut = b.len - 4; cut >= GFP_DICTX_HEAD; cut -= 4) {
		struct gfp_span view = view_of(span_of(&b), cut);

		gfp_put_be32((uint8_t *)(uintptr_t)view.ptr,
			     (uint32_t)(cut - GFP_DICTX_HEAD));
		assert_int_equal(walk(gfp_dictx_next, view, &pairs), GFP_BAD);
		assert_int_equal(pairs, 0);
		drop(view);
	}
}

static void no_length_in_a_typed_dict_may_be_at_its_maximum(void **state)
{
	static const uint32_t most[] = { 0x7fffffff, 0xfffffffc, 0xffffffff };
	static struct bytes b, spoilt;
	unsigned int pairs;

	(void)state;
	put_typed(&b);
	assert_true(b.length_count > 12);
	for (size_t i = 0; i < b.length_count; i++) {
		for (size_t j = 0; j < COUNT(most); j++) {
			spoilt = b;
			gfp_put_be32(spoilt.at + b.lengths[i], most[j]);
			assert_int_equal(walk(gfp_dictx_next, span_of(&spoilt),
					      &pairs), GFP_TOO_BIG);
			assert_int_equal(pairs, 0);
		}
	}
}

/* A typed dict of one pair with this key, as bytes. */
static enum gfp_status walk_key(const char *key, size_t key_len, uint32_t type)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	put_u32(&b, 0);
	put_u32(&b, 1);
	put_u32(&b, 1);
	put_opaque(&b, key, key_len);
	put_u32(&b, type);
	put_u64(&b, 0);
	gfp_put_be32(b.at, (uint32_t)(b.len - GFP_DICTX_HEAD));
	return walk(gfp_dictx_next, span_of(&b), &pairs);
}

static void a_key_closes_with_its_only_nul(void **state)
{
	(void)state;
	assert_int_equal(walk_key("key", 4, GFP_D_INT), GFP_END);
	assert_int_equal(walk_key("", 1, GFP_D_INT), GFP_END);
	assert_int_equal(walk_key("", 0, GFP_D_INT), GFP_BAD);
	assert_int_equal(walk_key("key", 3, GFP_D_INT), GFP_BAD);
	assert_int_equal(walk_key("a\0b", 4, GFP_D_INT), GFP_BAD);
}

static void a_tag_without_a_meaning_is_bad(void **state)
{
	(void)state;
	assert_int_equal(walk_key("key", 4, GFP_D_TYPE_LIMIT), GFP_BAD);
	assert_int_equal(walk_key("key", 4, UINT32_MAX), GFP_BAD);
}

/* ---- 3.x ---- */

static void put_blob_pair(struct bytes *b, const char *key, const char *value,
			  size_t len)
{
	put_length(b, (uint32_t)strlen(key));
	put_length(b, (uint32_t)len);
	put_raw(b, key, strlen(key) + 1);
	put_raw(b, value, len);
}

static void put_three(struct bytes *b)
{
	put_length(b, 3);
	put_blob_pair(b, "fops-version", "1298437", 8);
	put_blob_pair(b, "empty", "", 0);
	put_blob_pair(b, "process-uuid", "CTX", 4);
}

static void a_blob_is_walked_and_searched(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_pair pair;
	unsigned int pairs;

	(void)state;
	put_three(&b);
	assert_int_equal(walk(gfp_blob_next, span_of(&b), &pairs), GFP_END);
	assert_int_equal(pairs, 3);
	assert_int_equal(gfp_blob_find(span_of(&b), "process-uuid", &pair),
			 GFP_OK);
	check_pair(&pair, "process-uuid", GFP_D_UNKNOWN, 4);
	assert_memory_equal(pair.value.ptr, "CTX", 4);
	assert_int_equal(gfp_blob_find(span_of(&b), "empty", &pair), GFP_OK);
	assert_int_equal(pair.value.len, 0);
	assert_int_equal(gfp_blob_find(span_of(&b), "process", &pair), GFP_END);
}

static void every_truncation_of_a_blob_is_short(void **state)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_three(&b);
	for (size_t cut = 1; cut < b.len; cut++) {
		struct gfp_span view = view_of(span_of(&b), cut);

		assert_int_equal(walk(gfp_blob_next, view, &pairs), GFP_SHORT);
		assert_int_equal(pairs, 0);
		drop(view);
	}
	assert_int_equal(walk(gfp_blob_next, (struct gfp_span){ NULL, 0 },
			      &pairs), GFP_END);
}

static void no_length_in_a_blob_may_be_at_its_maximum(void **state)
{
	static const uint32_t most[] = { 0x7fffffff, 0xfffffff7, 0xffffffff };
	static struct bytes b, spoilt;
	unsigned int pairs;

	(void)state;
	put_three(&b);
	for (size_t i = 0; i < b.length_count; i++) {
		for (size_t j = 0; j < COUNT(most); j++) {
			spoilt = b;
			gfp_put_be32(spoilt.at + b.lengths[i], most[j]);
			assert_int_equal(walk(gfp_blob_next, span_of(&spoilt),
					      &pairs), GFP_TOO_BIG);
			assert_int_equal(pairs, 0);
		}
	}
}

static void bytes_behind_the_last_pair_of_a_blob_are_bad(void **state)
{
	struct bytes b = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_three(&b);
	put_u8(&b, 0);
	assert_int_equal(walk(gfp_blob_next, span_of(&b), &pairs), GFP_BAD);
	assert_int_equal(pairs, 0);
}

static void a_built_blob_is_what_peers_send(void **state)
{
	struct gfp_blob_builder builder;
	struct bytes want = { .len = 0 };
	uint8_t out[256];

	(void)state;
	put_three(&want);
	gfp_blob_start(&builder, out, sizeof(out));
	assert_int_equal(builder.len, 4);
	gfp_blob_add_str(&builder, "fops-version", "1298437");
	gfp_blob_add(&builder, "empty", (struct gfp_span){ NULL, 0 });
	gfp_blob_add_str(&builder, "process-uuid", "CTX");
	assert_false(builder.is_full);
	assert_int_equal(builder.count, 3);
	assert_int_equal(builder.len, want.len);
	assert_memory_equal(out, want.at, want.len);
}

static void a_blob_that_is_full_stays_whole(void **state)
{
	struct bytes want = { .len = 0 };
	unsigned int pairs;

	(void)state;
	put_three(&want);
	for (size_t cap = 0; cap < want.len; cap++) {
		struct gfp_blob_builder builder;
		uint8_t *out = malloc(cap + 1);

		assert_non_null(out);
		out[cap] = 0xee;
		gfp_blob_start(&builder, out, cap);
		gfp_blob_add_str(&builder, "fops-version", "1298437");
		gfp_blob_add(&builder, "empty", (struct gfp_span){ NULL, 0 });
		gfp_blob_add_str(&builder, "process-uuid", "CTX");
		assert_true(builder.is_full);
		assert_true(builder.len <= cap);
		assert_int_equal(out[cap], 0xee);
		assert_int_equal(walk(gfp_blob_next, (struct gfp_span){
					out, builder.len }, &pairs), GFP_END);
		assert_int_equal(pairs, builder.count);
		free(out);
	}
}

static void a_key_longer_than_peers_take_is_not_built(void **state)
{
	static char key[GFP_DICT_KEY_MAX + 1];
	static uint8_t out[3 * GFP_DICT_KEY_MAX];
	struct gfp_blob_builder builder;
	unsigned int pairs;

	(void)state;
	memset(key, 'k', GFP_DICT_KEY_MAX);
	gfp_blob_start(&builder, out, sizeof(out));
	gfp_blob_add_str(&builder, key + 1, "v");
	assert_false(builder.is_full);
	gfp_blob_add_str(&builder, key, "v");
	assert_true(builder.is_full);
	assert_int_equal(walk(gfp_blob_next, (struct gfp_span){ out,
				builder.len }, &pairs), GFP_END);
	assert_int_equal(pairs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_of_every_tag_is_walked),
		cmocka_unit_test(values_are_found_by_key),
		cmocka_unit_test(a_key_is_not_found_by_a_part_of_it),
		cmocka_unit_test(null_and_empty_dicts_end_at_once),
		cmocka_unit_test(a_size_is_rounded_up_to_a_word),
		cmocka_unit_test(a_size_at_its_maximum_is_refused),
		cmocka_unit_test(a_count_below_minus_one_is_bad),
		cmocka_unit_test(a_null_dict_has_no_pairs),
		cmocka_unit_test(a_number_of_pairs_that_the_bytes_deny_is_bad),
		cmocka_unit_test(every_truncation_of_a_typed_dict_is_short),
		cmocka_unit_test(a_typed_dict_that_ends_inside_a_pair_is_bad),
		cmocka_unit_test(
			no_length_in_a_typed_dict_may_be_at_its_maximum),
		cmocka_unit_test(a_key_closes_with_its_only_nul),
		cmocka_unit_test(a_tag_without_a_meaning_is_bad),
		cmocka_unit_test(a_blob_is_walked_and_searched),
		cmocka_unit_test(every_truncation_of_a_blob_is_short),
		cmocka_unit_test(no_length_in_a_blob_may_be_at_its_maximum),
		cmocka_unit_test(bytes_behind_the_last_pair_of_a_blob_are_bad),
		cmocka_unit_test(a_built_blob_is_what_peers_send),
		cmocka_unit_test(a_blob_that_is_full_stays_whole),
		cmocka_unit_test(a_key_longer_than_peers_take_is_not_built),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
