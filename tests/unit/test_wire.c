/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_wire - every record of tests/wire/ through the decoders.
 */
#include "config.h"

#include <string.h>

#include "proto/dict.h"
#include "proto/rpc_msg.h"
#include "tests/unit/bytes.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

static void check_dict(const struct gfp_value *v)
{
	enum gfp_status status;
	struct gfp_pair pair;
	size_t off = 0;

	do {
		if (v->field->kind == GFP_K_DICTX)
			status = gfp_dictx_next(v->raw, &off, &pair);
		else
			status = gfp_blob_next(v->body, &off, &pair);
	} while (status == GFP_OK);
	assert_int_equal(status, GFP_END);
}

static void check_entries(const struct gfp_value *v)
{
	enum gfp_status status;
	struct gfp_dirent entry;
	size_t off = 0, dict_off;
	struct gfp_pair pair;

	for (;;) {
		status = gfp_dirent_next(v->field->kind, v->raw, &off, &entry);
		if (status != GFP_OK)
			break;
		dict_off = 0;
		do {
			if (v->field->kind == GFP_K_DIRPLIST3)
				status = gfp_blob_next(entry.dict, &dict_off,
						       &pair);
			else
				status = gfp_dictx_next(entry.dict, &dict_off,
							&pair);
		} while (status == GFP_OK);
		assert_int_equal(status, GFP_END);
	}
	assert_int_equal(status, GFP_END);
}

static void check_value(const struct gfp_value *v)
{
	switch (v->field->kind) {
	case GFP_K_DICTX:
	case GFP_K_BLOB:
		check_dict(v);
		break;
	case GFP_K_DIRLIST:
	case GFP_K_DIRPLIST:
	case GFP_K_DIRPLIST3:
		check_entries(v);
		break;
	default:
		break;
	}
}

static bool has_payload(const struct fixture *f)
{
	return f->proc->payload ==
	       (f->is_call ? GFP_PAYLOAD_CALL : GFP_PAYLOAD_REPLY);
}

/* The members end where the record does, or where its payload begins. */
static void check_members(const struct fixture *f)
{
	uint32_t payload = 0;
	struct gfp_cursor c;
	struct gfp_value v;
	enum gfp_status status;

	if (f->body.ptr == NULL)
		return;
	print_message("%s\n", f->path);
	gfp_cursor_start(&c, f->is_call ? f->proc->call : f->proc->reply,
			 f->body);
	while ((status = gfp_field_next(&c, &v)) == GFP_OK) {
		check_value(&v);
		if (has_payload(f) && strcmp(v.field->name, "size") == 0)
			payload = (uint32_t)v.num;
	}
	assert_int_equal(status, GFP_END);
	assert_int_equal(c.off + payload, f->body.len);
}

static void every_record_parses_to_its_last_byte(void **state)
{
	(void)state;
	assert_true(fixture_each(check_members) > 250);
}

static void check_cuts(const struct fixture *f)
{
	const struct gfp_field *fields =
		f->is_call ? f->proc->call : f->proc->reply;
	size_t end;

	if (f->body.ptr == NULL)
		return;
	assert_int_equal(gfp_payload_off(f->proc, f->is_call, f->body, &end),
			 GFP_OK);
	for (size_t cut = 0; cut < end; cut++) {
		struct gfp_span view = view_of(f->body, cut);
		enum gfp_status status;
		struct gfp_cursor c;
		struct gfp_value v;

		gfp_cursor_start(&c, fields, view);
		do {
			status = gfp_field_next(&c, &v);
		} while (status == GFP_OK);
		assert_int_equal(status, GFP_SHORT);
		drop(view);
	}
}

static void every_truncation_of_a_record_is_short(void **state)
{
	(void)state;
	fixture_each(check_cuts);
}

static void check_cred(const struct fixture *f)
{
	uint8_t out[GFP_CRED_MAX];
	struct gfp_cred cred;
	struct gfp_call call;

	if (!f->is_call)
		return;
	assert_int_equal(gfp_call_parse(f->record, &call), GFP_OK);
	if (call.cred_flavour == GFP_AUTH_NONE)
		return;
	assert_int_equal(gfp_cred_parse(call.cred_flavour, call.cred, &cred),
			 GFP_OK);
	assert_int_equal(gfp_cred_write(out, call.cred_flavour, &cred),
			 call.cred.len);
	assert_memory_equal(out, call.cred.ptr, call.cred.len);
}

static void every_credential_is_written_back_as_it_came(void **state)
{
	(void)state;
	fixture_each(check_cred);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_parses_to_its_last_byte),
		cmocka_unit_test(every_truncation_of_a_record_is_short),
		cmocka_unit_test(every_credential_is_written_back_as_it_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
