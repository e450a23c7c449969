/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gfx - the XDR types against the bytes of real peers, and of bad ones.
 *
 * The linker puts the functions __wrap_gfx_list_* between the generated code
 * and gfx_list.c (local.mk has the --wrap options). They note where each length
 * of a message stands and what its bound is, so that every one can be spoiled
 * without this file knowing any layout, and they check that a length which the
 * input cannot hold is refused before memory is allocated for it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "proto/gfx_codec.h"
#include "proto/gfx_list.h"
#include "tests/unit/bytes.h"
#include "tests/unit/fixture.h"
#include "tests/unit/sample.h"
#include "tests/unit/test.h"

bool_t __real_gfx_list_bytes(XDR *xdrs, char **bytes, u_int *len, u_int max);
bool_t __wrap_gfx_list_bytes(XDR *xdrs, char **bytes, u_int *len, u_int max);
bool_t __real_gfx_list_string(XDR *xdrs, char **str, u_int max);
bool_t __wrap_gfx_list_string(XDR *xdrs, char **str, u_int max);
bool_t __real_gfx_list_array(XDR *xdrs, char **elements, u_int *count,
			     u_int max, u_int element_size, xdrproc_t element);
bool_t __wrap_gfx_list_array(XDR *xdrs, char **elements, u_int *count,
			     u_int max, u_int element_size, xdrproc_t element);

/* What is looked at: a fixture or a type, for the message of a failure. */
static const char *subject = "";

#define CHECK(holds) \
	do { if (!(holds)) fail_msg("%s: not %s", subject, #holds); } while (0)

enum { NOTES_MAX = 4096 };

static struct note {
	size_t off;
	u_int max;
} notes[NOTES_MAX];
static size_t note_count;

/* The length word that comes next; true when the input cannot hold so much. */
static bool note_length(XDR *xdrs, u_int max)
{
	u_int pos = xdr_getpos(xdrs);
	u_int len, left;

	if (note_count < NOTES_MAX)
		notes[note_count++] = (struct note){ pos, max };
	if (!xdr_u_int(xdrs, &len))
		return false;
	left = xdrs->x_handy;
	xdr_setpos(xdrs, pos);
	return len > left || len > max;
}

bool_t __wrap_gfx_list_bytes(XDR *xdrs, char **bytes, u_int *len, u_int max)
{
	bool is_bad = xdrs->x_op == XDR_DECODE && note_length(xdrs, max);
	bool_t done = __real_gfx_list_bytes(xdrs, bytes, len, max);

	if (is_bad) {
		assert_false(done);
		assert_null(*bytes);
	}
	return done;
}

bool_t __wrap_gfx_list_string(XDR *xdrs, char **str, u_int max)
{
	bool is_bad = xdrs->x_op == XDR_DECODE && note_length(xdrs, max);
	bool_t done = __real_gfx_list_string(xdrs, str, max);

	if (is_bad) {
		assert_false(done);
		assert_null(*str);
	}
	return done;
}

bool_t __wrap_gfx_list_array(XDR *xdrs, char **elements, u_int *count,
			     u_int max, u_int element_size, xdrproc_t element)
{
	bool is_bad = xdrs->x_op == XDR_DECODE && note_length(xdrs, max);
	bool_t done = __real_gfx_list_array(xdrs, elements, count, max,
					    element_size, element);

	if (is_bad) {
		assert_false(done);
		assert_null(*elements);
	}
	return done;
}

/* Room for any struct of gfx.x. */
static union {
	gfx_rename_reply largest;
	uint8_t bytes[4096];
} object;

static void check_is_refused(const struct gfx_type *type, struct gfp_span in)
{
	static const uint8_t zero[sizeof(object)];
	size_t used = 77;

	CHECK(type->size <= sizeof(object));
	memset(&object, 0x55, sizeof(object));
	CHECK(gfx_decode(*type, in, &object, &used) == GFP_BAD);
	CHECK(memcmp(&object, zero, type->size) == 0);
	CHECK(used == 77);
}

/* Decode, encode: the same bytes. Returns how many they are. */
static size_t check_round_trip(const struct gfx_type *type, struct gfp_span in)
{
	static uint8_t again[65536];
	size_t used, len;

	note_count = 0;
	CHECK(gfx_decode(*type, in, &object, &used) == GFP_OK);
	CHECK(gfx_encoded_size(*type, &object) == used);
	CHECK(gfx_encode(*type, &object, again, sizeof(again), &len) == GFP_OK);
	CHECK(len == used);
	CHECK(memcmp(again, in.ptr, len) == 0);
	CHECK(len == 0 || gfx_encode(*type, &object, again, len - 1, &len) ==
				  GFP_TOO_BIG);
	gfx_free(*type, &object);
	return used;
}

static void check_truncations(const struct gfx_type *type, struct gfp_span in)
{
	for (size_t len = 0; len < in.len; len++) {
		struct gfp_span cut = view_of(in, len);

		check_is_refused(type, cut);
		drop(cut);
	}
}

/* Write v over the length word at off and see the message refused. */
static void check_length(const struct gfx_type *type, struct gfp_span in,
			 size_t off, uint32_t v)
{
	struct gfp_span copy = view_of(in, in.len);

	gfp_put_be32((uint8_t *)(uintptr_t)copy.ptr + off, v);
	check_is_refused(type, copy);
	drop(copy);
}

/* in: exactly one message, for which check_round_trip() has made the notes */
static void check_lengths(const struct gfx_type *type, struct gfp_span in)
{
	size_t count = note_count;
	struct note *list = calloc(count + 1, sizeof(*list));

	CHECK(count < NOTES_MAX);
	memcpy(list, notes, count * sizeof(*list));
	for (size_t i = 0; i < count; i++) {
		uint32_t left = (uint32_t)(in.len - list[i].off - 4);

		check_length(type, in, list[i].off, 0xffffffff);
		check_length(type, in, list[i].off, 0x80000000);
		check_length(type, in, list[i].off, list[i].max + 1);
		check_length(type, in, list[i].off, list[i].max);
		check_length(type, in, list[i].off, left + 1);
	}
	free(list);
}

/* The XDR part of a fixture's body, by the table of layouts. */
static struct gfp_span xdr_part(const struct fixture *f)
{
	size_t off;

	subject = f->path;
	CHECK(gfp_payload_off(f->proc, f->is_call, f->body, &off) == GFP_OK);
	return (struct gfp_span){ f->body.ptr, off };
}

static void check_fixture(const struct fixture *f)
{
	enum gfp_payload side = f->is_call ? GFP_PAYLOAD_CALL
					   : GFP_PAYLOAD_REPLY;
	struct gfp_span part;
	size_t used;

	subject = f->path;
	if (f->body.ptr == NULL)
		return;
	used = check_round_trip(f->type, f->body);
	part = xdr_part(f);
	CHECK(used == part.len);
	CHECK(used == f->body.len || f->proc->payload == side);
}

static void a_fixture_decodes_and_encodes_to_itself(void **state)
{
	(void)state;
	assert_true(fixture_each(check_fixture) > 250);
}

static void check_fixture_truncations(const struct fixture *f)
{
	if (f->body.ptr != NULL)
		check_truncations(f->type, xdr_part(f));
}

static void every_truncation_of_a_fixture_is_refused(void **state)
{
	(void)state;
	fixture_each(check_fixture_truncations);
}

static void check_fixture_lengths(const struct fixture *f)
{
	struct gfp_span part;

	if (f->body.ptr == NULL)
		return;
	part = xdr_part(f);
	check_round_trip(f->type, part);
	check_lengths(f->type, part);
}

static void every_impossible_length_in_a_fixture_is_refused(void **state)
{
	(void)state;
	fixture_each(check_fixture_lengths);
}

/* Call use() with both sides of every procedure that both tables know. */
static void each_side(void (*use)(const struct gfx_type *type,
				  const struct gfp_field *fields))
{
	for (const struct gfx_proc *p = gfx_procs; p->call.xdr != NULL; p++) {
		const struct gfp_proc *row = gfp_proc_find(p->program,
							   p->version,
							   p->number);

		if (row == NULL)
			fail_msg("no row for %u/%u/%u", p->program, p->version,
				 p->number);
		use(&p->call, row->call);
		if (p->reply.xdr != NULL)
			use(&p->reply, row->reply);
	}
}

static void check_sample(const struct gfx_type *type,
			 const struct gfp_field *fields)
{
	struct bytes b = { .len = 0 };

	subject = type->name;
	put_members(&b, fields);
	CHECK(check_round_trip(type, span_of(&b)) == b.len);
	check_lengths(type, span_of(&b));
	check_truncations(type, span_of(&b));
}

static void every_type_agrees_with_its_layout(void **state)
{
	(void)state;
	each_side(check_sample);
}

static void every_procedure_of_the_layouts_has_types(void **state)
{
	(void)state;
	for (const struct gfp_program *const *p = gfp_programs; *p; p++) {
		for (uint32_t i = 0; i < (*p)->proc_limit; i++) {
			if ((*p)->procs[i] != NULL)
				assert_non_null(gfx_proc_find(
					(*p)->number, (*p)->version, i));
		}
	}
	assert_null(gfx_proc_find(GFP_PROG_FOP, GFP_FOP_V400, 49));
}

static enum gfp_status decode_name(size_t len, const char *fill)
{
	struct gfx_type type = GFX_TYPE(gfx_port_by_brick_call);
	uint8_t *at = calloc(1, len + 8);
	size_t used;
	enum gfp_status status;

	gfp_put_be32(at, (uint32_t)len);
	memset(at + 4, *fill, len);
	status = gfx_decode(type, (struct gfp_span){ at, len + 8 }, &object,
			    &used);
	if (status == GFP_OK)
		gfx_free(type, &object);
	free(at);
	return status;
}

static void a_name_beyond_its_bound_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_name(GFX_NAME_MAX, "x"), GFP_OK);
	assert_int_equal(decode_name(GFX_NAME_MAX + 1, "x"), GFP_BAD);
}

static void a_name_with_a_nul_inside_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_name(4, "\0"), GFP_BAD);
	assert_int_equal(decode_name(0, "\0"), GFP_OK);
}

static void nothing_beyond_a_bound_is_encoded(void **state)
{
	static char name[GFX_NAME_MAX + 2];
	gfx_port_by_brick_call call = { .brick = name };
	uint8_t out[GFX_NAME_MAX + 16];
	size_t len;

	(void)state;
	memset(name, 'x', GFX_NAME_MAX);
	assert_int_equal(gfx_encode(GFX_TYPE(gfx_port_by_brick_call), &call, out,
				    sizeof(out), &len), GFP_OK);
	name[GFX_NAME_MAX] = 'x';
	assert_int_equal(gfx_encode(GFX_TYPE(gfx_port_by_brick_call), &call, out,
				    sizeof(out), &len), GFP_TOO_BIG);
	assert_int_equal(gfx_encoded_size(GFX_TYPE(gfx_port_by_brick_call), &call), 0);
}

static void a_struct_of_zeros_encodes(void **state)
{
	uint8_t out[2048];
	size_t len;

	(void)state;
	memset(&object, 0, sizeof(object));
	for (const struct gfx_proc *p = gfx_procs; p->call.xdr != NULL; p++) {
		assert_int_equal(gfx_encode(p->call, &object, out, sizeof(out),
					    &len), GFP_OK);
		if (p->reply.xdr != NULL)
			assert_int_equal(gfx_encode(p->reply, &object, out,
						    sizeof(out), &len),
					 GFP_OK);
	}
}

/* count directory entries of the shortest form behind a reply's head */
static enum gfp_status decode_entries(uint32_t count, u_int *len)
{
	struct gfx_type type = GFX_TYPE(gfx_readdir_reply);
	size_t size = 20 + (size_t)count * 32 + 4;
	uint8_t *at = calloc(1, size);
	gfx_readdir_reply reply;
	enum gfp_status status;
	size_t used;

	assert_non_null(at);
	for (uint32_t i = 0; i < count; i++)
		at[20 + i * 32 + 3] = 1;
	status = gfx_decode(type, (struct gfp_span){ at, size }, &reply, &used);
	*len = reply.list.len;
	if (status == GFP_OK)
		gfx_free(type, &reply);
	free(at);
	return status;
}

static void a_long_list_needs_no_stack(void **state)
{
	u_int len;

	(void)state;
	assert_int_equal(decode_entries(GFX_ENTRIES_MAX, &len), GFP_OK);
	assert_int_equal(len, GFX_ENTRIES_MAX);
	assert_int_equal(decode_entries(GFX_ENTRIES_MAX + 1, &len), GFP_BAD);
}

static void a_list_mark_is_zero_or_one(void **state)
{
	uint8_t in[24] = { [23] = 2 };

	(void)state;
	check_is_refused(&GFX_TYPE(gfx_readdir_reply),
			 (struct gfp_span){ in, sizeof(in) });
}

static void a_tag_beyond_the_last_is_refused(void **state)
{
	uint8_t in[16] = { [3] = GFX_TAG_MDATA + 1 };

	(void)state;
	check_is_refused(&GFX_TYPE(gfx_item),
			 (struct gfp_span){ in, sizeof(in) });
}

static void a_sealed_dict_has_the_size_that_peers_go_by(void **state)
{
	char key[] = "k", text[] = "value";
	gfx_pair pairs[2] = {
		{ .key = { 2, key }, .value = { .type = GFX_TAG_INT } },
		{ .key = { 2, key }, .value = { .type = GFX_TAG_STR } },
	};
	gfx_dictx dict = { .pairs = { 2, pairs } };
	uint8_t out[128];
	size_t len;

	(void)state;
	pairs[1].value.gfx_item_u.bytes.bytes_len = 6;
	pairs[1].value.gfx_item_u.bytes.bytes_val = text;
	assert_true(gfx_dictx_seal(&dict));
	assert_int_equal(gfx_encode(GFX_TYPE(gfx_dictx), &dict, out,
				    sizeof(out), &len), GFP_OK);
	assert_int_equal(dict.xdr_size, len - 12);
	assert_int_equal(dict.count, 2);
	pairs[1].value.type = GFX_TAG_MDATA + 1;
	assert_false(gfx_dictx_seal(&dict));
	dict.pairs.pairs_len = 0;
	assert_true(gfx_dictx_seal(&dict));
	assert_int_equal(dict.count, -1);
	assert_int_equal(dict.xdr_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fixture_decodes_and_encodes_to_itself),
		cmocka_unit_test(every_truncation_of_a_fixture_is_refused),
		cmocka_unit_test(
			every_impossible_length_in_a_fixture_is_refused),
		cmocka_unit_test(every_type_agrees_with_its_layout),
		cmocka_unit_test(every_procedure_of_the_layouts_has_types),
		cmocka_unit_test(a_name_beyond_its_bound_is_refused),
		cmocka_unit_test(a_name_with_a_nul_inside_is_refused),
		cmocka_unit_test(nothing_beyond_a_bound_is_encoded),
		cmocka_unit_test(a_struct_of_zeros_encodes),
		cmocka_unit_test(a_long_list_needs_no_stack),
		cmocka_unit_test(a_list_mark_is_zero_or_one),
		cmocka_unit_test(a_tag_beyond_the_last_is_refused),
		cmocka_unit_test(a_sealed_dict_has_the_size_that_peers_go_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
