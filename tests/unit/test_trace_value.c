/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_value - long lists, and secrets.
 */
#include "config.h"

#include "proto/dict.h"
#include "tests/unit/trace_lines.h"

/* A READDIR reply of count entries, and how many bytes each takes. */
enum { DIRENT_BYTES = 36 };

static struct trace_item readdir_of(struct trace_sample *s, uint32_t count,
				    struct gfp_span *reply)
{
	struct bytes b = { .len = 0 };
	uint8_t *p;
	size_t len;

	sample_row(s, gfp_program_find(GFP_PROG_FOP, GFP_FOP_V400),
		   gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_READDIR));
	put_reply_head(&b);
	put_u32(&b, count);
	put_u32(&b, 0);
	put_raw(&b, gfp_dictx_null, 12);
	len = b.len;
	put_u32(&b, 1);
	put_u64(&b, 42);
	put_u64(&b, UINT64_MAX);
	put_u32(&b, 3);
	put_u32(&b, 8);
	put_str(&b, "abc");
	assert_int_equal(b.len - len, DIRENT_BYTES);
	reply->len = len + count * DIRENT_BYTES + 4;
	p = calloc(1, reply->len);
	assert_non_null(p);
	memcpy(p, b.at, len);
	for (uint32_t i = 0; i < count; i++)
		memcpy(p + len + i * DIRENT_BYTES, b.at + len, DIRENT_BYTES);
	reply->ptr = p;
	return item_of(span_of(&s->call), *reply);
}

static size_t entries_of(const struct trace_item *item, double *more)
{
	json_t *json = json_of(item, 0);
	const json_t *list = json_object_get(json_object_get(json, "reply"),
					     "list");
	size_t count = json_array_size(list);

	*more = json_number_value(json_object_get(
		json_array_get(list, count - 1), "more"));
	json_decref(json);
	return count;
}

static void a_long_directory_ends_in_how_many_more(void **state)
{
	static struct trace_sample s;
	struct gfp_span reply;
	struct trace_item item = readdir_of(&s, 3000, &reply);
	double more;

	(void)state;
	assert_int_equal(entries_of(&item, &more), 1025);
	assert_true(more == 3000 - 1024);
	assert_non_null(strstr(text_of(&item, 0), ",{more=1976}] |"));
	drop(reply);
	item = readdir_of(&s, 1024, &reply);
	assert_int_equal(entries_of(&item, &more), 1024);
	assert_true(more == 0);
	drop(reply);
}

static void a_directory_cut_off_shows_what_is_there(void **state)
{
	static struct trace_sample s;
	struct gfp_span reply;
	struct trace_item item = readdir_of(&s, 10, &reply);
	double more;

	(void)state;
	item.reply.len -= 4 + 3 * DIRENT_BYTES + 7;
	assert_int_equal(entries_of(&item, &more), 6);
	assert_non_null(strstr(text_of(&item, 0),
			       " undecoded={field=list,size=364,why=not all of "
			       "it was kept for the trace} "));
	drop(reply);
}

static struct trace_item setvolume_of(struct trace_sample *s)
{
	struct gfp_blob_builder b;
	static uint8_t dict[1024];

	gfp_blob_start(&b, dict, sizeof(dict));
	gfp_blob_add_str(&b, "username", "somebody");
	gfp_blob_add_str(&b, "password", "s3cret-1");
	gfp_blob_add_str(&b, "auth.login.x.password", "s3cret-2");
	gfp_blob_add_str(&b, "passwords", "visible");
	s->call.len = s->reply.len = s->call.length_count = 0;
	put_call_head(&s->call, GFP_PROG_HNDSK, 2, GFP_HNDSK_SETVOLUME);
	put_opaque(&s->call, dict, b.len);
	return item_of(span_of(&s->call), span_of(&s->reply));
}

static void passwords_are_not_shown(void **state)
{
	static struct trace_sample s;
	struct trace_item item = setvolume_of(&s);
	const char *text;
	json_t *json;

	(void)state;
	json = json_of(&item, 4096);
	text = json_string_value(json_object_get(
		json_object_get(json_object_get(json, "call"), "dict"),
		"password"));
	assert_string_equal(text, "***");
	json_decref(json);
	trace_text_char(&out, '\0');
	assert_null(strstr(out.chars, "s3cret"));
	text = text_of(&item, 4096);
	assert_null(strstr(text, "s3cret"));
	assert_non_null(strstr(text, "username=\"somebody\",password=***,"
				     "auth.login.x.password=***,"
				     "passwords=\"visible\""));
}

static void no_part_of_a_setvolume_shows_a_password(void **state)
{
	static struct trace_sample s;
	struct trace_item item = setvolume_of(&s);
	struct gfp_span call = item.call;

	(void)state;
	for (size_t len = 0; len <= call.len; len++) {
		item.call.len = len;
		assert_null(strstr(text_of(&item, 4096), "s3cret"));
		assert_null(strstr(out.chars, "733363726574"));
	}
}

static void a_volfile_is_shown_without_its_passwords(void **state)
{
	static struct trace_sample s;
	struct trace_item item;
	const char *text;

	(void)state;
	s.call.len = s.reply.len = 0;
	put_call_head(&s.call, GFP_PROG_HNDSK, 2, GFP_HNDSK_GETSPEC);
	put_u32(&s.call, 1);
	put_str(&s.call, "/vol");
	put_opaque(&s.call, "", 0);
	put_reply_head(&s.reply);
	put_u32(&s.reply, 80);
	put_u32(&s.reply, 0);
	put_str(&s.reply, "volume v\n    option username u\n"
			  "    option password s3cret\n"
			  "    option password s3cret");
	put_opaque(&s.reply, "", 0);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	text = text_of(&item, 0);
	assert_null(strstr(text, "s3cret"));
	assert_non_null(strstr(text, "option username u\\n"
				     "    option password ***\\n"));
	json_decref(json_of(&item, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_directory_ends_in_how_many_more),
		cmocka_unit_test(a_directory_cut_off_shows_what_is_there),
		cmocka_unit_test(passwords_are_not_shown),
		cmocka_unit_test(no_part_of_a_setvolume_shows_a_password),
		cmocka_unit_test(a_volfile_is_shown_without_its_passwords),
	};

	return cmocka_run_group_tests(tests, NULL, free_out);
}
