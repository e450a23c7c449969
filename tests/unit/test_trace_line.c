/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_line - what is in a line, and what is not.
 */
#include "config.h"

#include "proto/dict.h"
#include "tests/unit/trace_lines.h"

static void a_read_is_this_line(void **state)
{
	static struct trace_sample s;
	struct trace_item item;

	(void)state;
	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	assert_string_equal(
		text_of(&item, 3),
		"2026-01-31T12:00:00.123456Z session=12 fop/read xid=7/1042 "
		"gfid=00112233-4455-6677-8899-aabbccddeeff fd=3 "
		"offset=1099511627776 size=131072 flag=0x8000 xdata=- -> "
		"op_ret=5 op_errno=2 "
		"stat={gfid=00112233-4455-6677-8899-aabbccddeeff,"
		"mode=0100644(-rw-r--r--),nlink=1,uid=1000,gid=100,"
		"size=1099511627781,atime=1700000000.000000005,"
		"mtime=1700000001.000000006,ctime=1700000002.000000007,"
		"valid=6143} size=5 xdata=- payload={size=5,hex=68656c} | "
		"client=\"127.0.0.1:49151\" brick=\"127.0.0.1:49152\" "
		"version=400 cred={uid=1000,gid=100,pid=1234,"
		"lk_owner=d2040000,groups=[4,27],flavour=390040} "
		"call_size=140 reply_size=201 latency_us=412 by=client "
		"outcome=forwarded\n");
}

static void a_read_is_this_json(void **state)
{
	static struct trace_sample s;
	struct trace_item item;

	(void)state;
	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	json_decref(json_of(&item, 0));
	trace_text_char(&out, '\0');
	assert_string_equal(
		out.chars,
		"{\"time\":\"2026-01-31T12:00:00.123456Z\",\"session\":12,"
		"\"client\":\"127.0.0.1:49151\",\"brick\":\"127.0.0.1:49152\","
		"\"program\":\"fop\",\"program_number\":1298437,"
		"\"version\":400,\"procedure\":\"read\","
		"\"procedure_number\":12,\"client_xid\":7,\"brick_xid\":1042,"
		"\"cred\":{\"uid\":1000,\"gid\":100,\"pid\":1234,"
		"\"lk_owner\":\"d2040000\",\"groups\":[4,27],"
		"\"flavour\":390040},\"call\":{"
		"\"gfid\":\"00112233-4455-6677-8899-aabbccddeeff\",\"fd\":3,"
		"\"offset\":1099511627776,\"size\":131072,\"flag\":32768,"
		"\"xdata\":null},\"reply\":{\"op_ret\":5,\"op_errno\":2,"
		"\"stat\":{\"gfid\":\"00112233-4455-6677-8899-aabbccddeeff\","
		"\"mode\":33188,\"mode_text\":\"-rw-r--r--\",\"nlink\":1,"
		"\"uid\":1000,\"gid\":100,\"size\":1099511627781,"
		"\"atime\":1700000000.000000005,"
		"\"mtime\":1700000001.000000006,"
		"\"ctime\":1700000002.000000007,\"ino\":9843086184167632639,"
		"\"dev\":64769,\"rdev\":0,\"blocks\":8,\"blksize\":4096,"
		"\"valid\":6143},\"size\":5,\"xdata\":null,"
		"\"payload\":{\"size\":5}},\"call_size\":140,"
		"\"reply_size\":201,\"latency_us\":412,\"by\":\"client\","
		"\"outcome\":\"forwarded\"}\n");
}

/* A LOOKUP of a name that the test chooses, answered with an error. */
static struct trace_item lookup_of(struct trace_sample *s, const void *name,
				   size_t len)
{
	const struct gfp_proc *proc =
		gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_LOOKUP);

	s->call.len = s->reply.len = s->call.length_count = 0;
	put_call_head(&s->call, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_LOOKUP);
	put_fill(&s->call, 36, 0);
	put_opaque(&s->call, name, len);
	put_raw(&s->call, gfp_dictx_null, 12);
	put_reply_head(&s->reply);
	s->reply.len += gfp_error_results(proc, 2, s->reply.at + s->reply.len,
					  GFP_ERROR_RESULTS_MAX);
	return item_of(span_of(&s->call), span_of(&s->reply));
}

static void a_failure_shows_its_errno_by_name(void **state)
{
	static struct trace_sample s;
	struct trace_item item;
	const json_t *reply;
	json_t *json;

	(void)state;
	item = lookup_of(&s, "x", 1);
	json = json_of(&item, 0);
	reply = json_object_get(json, "reply");
	assert_true(json_number_value(json_object_get(reply, "op_ret")) == -1);
	assert_string_equal(
		json_string_value(json_object_get(reply, "op_errno_text")),
		"ENOENT");
	assert_true(json_is_null(json_object_get(reply, "pre")));
	json_decref(json);
	assert_non_null(strstr(text_of(&item, 0),
			       "-> op_ret=-1 op_errno=2(ENOENT) xdata=- "));
}

static void check_name(const void *name, size_t len, const char *in_json,
		       const char *in_text)
{
	static struct trace_sample s;
	struct trace_item item = lookup_of(&s, name, len);

	json_decref(json_of(&item, 0));
	trace_text_char(&out, '\0');
	if (strstr(out.chars, in_json) == NULL)
		fail_msg("no %s in %s", in_json, out.chars);
	if (strstr(text_of(&item, 0), in_text) == NULL)
		fail_msg("no %s in %s", in_text, out.chars);
}

static void names_of_any_bytes_stay_within_their_quotes(void **state)
{
	(void)state;
	check_name("a\"b\\c\n", 6, "\"bname\":\"a\\\"b\\\\c\\n\"",
		   "bname=\"a\\\"b\\\\c\\n\"");
	check_name("gr\xc3\xbc\xc3\x9f", 6, "\"gr\xc3\xbc\xc3\x9f\"",
		   "\"gr\xc3\xbc\xc3\x9f\"");
	check_name("\xff\xc3", 2, "\"\\u00ff\\u00c3\"", "\"\\xff\\xc3\"");
	check_name("\0\x1b[2J", 5, "\"\\u0000\\u001b[2J\"",
		   "\"\\x00\\x1b[2J\"");
	/* an overlong slash, half of a surrogate, a control of eight bits */
	check_name("\xc0\xaf", 2, "\\u00c0\\u00af", "\\xc0\\xaf");
	check_name("\xed\xa0\x80", 3, "\\u00ed\\u00a0\\u0080", "\\xed\\xa0");
	check_name("\xc2\x9b", 2, "\"\\u009b\"", "\"\\x9b\"");
	check_name("\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80",
		   "\xf0\x9f\x98\x80");
}

static void a_long_string_is_cut_with_a_mark(void **state)
{
	static char name[6001];

	(void)state;
	memset(name, 'n', 6000);
	check_name(name, 6000, "nnn...(6000 bytes)\"", "nnn...(6000 bytes)\"");
	/* not within a character */
	memcpy(name + 4095, "\xc3\xbc", 2);
	check_name(name, 6000, "nnn...(6000 bytes)\"", "nnn...(6000 bytes)\"");
}

static void check_reply(const uint8_t *record, size_t len, const char *text)
{
	static struct trace_sample s;
	struct trace_item item;

	sample_read(&s);
	item = item_of(span_of(&s.call), (struct gfp_span){ record + 4,
							     len - 4 });
	json_decref(json_of(&item, 0));
	if (strstr(text_of(&item, 0), text) == NULL)
		fail_msg("no %s in %s", text, out.chars);
}

static void errors_of_the_rpc_layer_have_names(void **state)
{
	uint8_t record[GFP_REPLY_RECORD_MAX];

	(void)state;
	check_reply(record, gfp_reply_accepted(record, 7, GFP_PROC_UNAVAIL),
		    "-> accept_status=3(procedure unavailable) |");
	check_reply(record, gfp_reply_accepted(record, 7, GFP_PROG_MISMATCH),
		    "-> accept_status=2(program mismatch) low=0 high=0 |");
	check_reply(record, gfp_reply_denied(record, 7, GFP_AUTH_TOOWEAK),
		    "-> reject_status=1(auth error) auth_status=5 |");
}

static void the_unknown_is_shown_by_number(void **state)
{
	static struct trace_sample s;
	struct trace_item item;
	const json_t *call;
	json_t *json;

	(void)state;
	s.call.len = s.reply.len = 0;
	put_call_head(&s.call, 0x12345678, 9, 200);
	put_fill(&s.call, 20, 0xee);
	put_reply_head(&s.reply);
	put_fill(&s.reply, 8, 0xee);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	json = json_of(&item, 0);
	assert_true(json_is_null(json_object_get(json, "program")));
	assert_true(json_is_null(json_object_get(json, "procedure")));
	call = json_object_get(json, "call");
	assert_true(json_number_value(json_object_get(call, "size")) == 20);
	json_decref(json);
	assert_non_null(strstr(text_of(&item, 0),
			       " 305419896/200 xid=7/1042 size=20 -> size=8 "));
	s.call.len = 0;
	put_call_head(&s.call, GFP_PROG_FOP, 500, 12);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	assert_non_null(strstr(text_of(&item, 0), " 1298437/12 "));
}

static void a_callback_has_no_reply(void **state)
{
	static struct trace_sample s;
	struct trace_item item;
	json_t *json;

	(void)state;
	s.call.len = s.reply.len = 0;
	put_call_head(&s.call, GFP_PROG_CBK, 1, GFP_CBK_FETCHSPEC);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	item.meta.origin = TRACE_BY_BRICK;
	item.meta.outcome = TRACE_CALLBACK;
	json = json_of(&item, 0);
	assert_true(json_is_null(json_object_get(json, "reply")));
	json_decref(json);
	assert_non_null(strstr(text_of(&item, 0),
			       " by=brick outcome=callback"));
	assert_null(strstr(out.chars, "->"));
}

static void the_payload_is_shown_as_far_as_asked(void **state)
{
	static struct trace_sample s;
	struct trace_item item;

	(void)state;
	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	assert_non_null(strstr(text_of(&item, 0), " payload={size=5} "));
	assert_non_null(strstr(text_of(&item, 4),
			       " payload={size=5,hex=68656c6c} "));
	assert_non_null(strstr(text_of(&item, 99),
			       " payload={size=5,hex=68656c6c6f} "));
	/* the session has not kept it at all */
	item.reply.len -= 5;
	assert_non_null(strstr(text_of(&item, 99), " payload={size=5} "));
}

static void a_credential_of_nobody_shows_its_flavour(void **state)
{
	static struct trace_sample s;
	const struct gfp_call call = { .xid = 7, .program = GFP_PROG_DUMP,
				       .version = 1, .proc = GFP_DUMP_PING };
	struct trace_item item;

	(void)state;
	s.call.len = gfp_call_write(s.call.at, &call);
	s.reply.len = 0;
	item = item_of(span_of(&s.call), span_of(&s.reply));
	json_decref(json_of(&item, 0));
	assert_non_null(strstr(text_of(&item, 0), " cred={flavour=0} "));
}

static void losses_have_a_line_of_their_own(void **state)
{
	struct gfp_span line;
	json_t *json;

	(void)state;
	out.len = 0;
	assert_true(trace_format_lost(&out, TRACE_JSON, 1769860800123456, 4,
				      3));
	line = (struct gfp_span){ (const uint8_t *)out.chars, out.len };
	json = parse(line);
	assert_true(json_number_value(json_object_get(json, "lost")) == 7);
	json_decref(json);
	out.len = 0;
	assert_true(trace_format_lost(&out, TRACE_TEXT, 1769860800123456, 4,
				      3));
	trace_text_char(&out, '\0');
	assert_string_equal(out.chars, "2026-01-31T12:00:00.123456Z lost=7 "
				       "lost_room=4 lost_write=3\n");
}

static void without_memory_nothing_is_appended(void **state)
{
	/* so full that it cannot grow, whatever the machine has */
	struct trace_text full = { .len = SIZE_MAX - 8, .cap = SIZE_MAX - 8 };
	static struct trace_sample s;
	struct trace_item item;

	(void)state;
	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	assert_false(trace_format_line(&full, TRACE_JSON, &item, 0));
	assert_false(trace_format_line(&full, TRACE_TEXT, &item, 0));
	assert_false(trace_format_lost(&full, TRACE_TEXT, 0, 1, 1));
	assert_true(full.len == SIZE_MAX - 8);
	assert_false(full.is_short);
}

static void check_written(const char *expected)
{
	trace_text_char(&out, '\0');
	assert_string_equal(out.chars, expected);
	out.len = 0;
}

static void numbers_and_times_are_exact(void **state)
{
	(void)state;
	out.len = 0;
	trace_text_uint(&out, UINT64_MAX);
	check_written("18446744073709551615");
	trace_text_uint(&out, 0);
	check_written("0");
	trace_text_int(&out, INT64_MIN);
	check_written("-9223372036854775808");
	trace_text_octal(&out, 0);
	check_written("0");
	trace_text_octal(&out, UINT32_MAX);
	check_written("037777777777");
	trace_text_hex32(&out, 0);
	check_written("0x0");
	trace_text_nsec(&out, -1, 500000000);
	check_written("-0.500000000");
	trace_text_nsec(&out, -2, 0);
	check_written("-2.000000000");
	trace_text_nsec(&out, -1, 1500000000);
	check_written("0.500000000");
	trace_text_nsec(&out, INT64_MAX, UINT32_MAX);
	check_written("9223372036854775811.294967295");
	trace_text_nsec(&out, INT64_MIN, 0);
	check_written("-9223372036854775808.000000000");
	trace_text_time(&out, 0);
	check_written("1970-01-01T00:00:00.000000Z");
	trace_text_time(&out, 951868799999999);
	check_written("2000-02-29T23:59:59.999999Z");
	trace_text_time(&out, 4107542400000000);
	check_written("2100-03-01T00:00:00.000000Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_this_line),
		cmocka_unit_test(a_read_is_this_json),
		cmocka_unit_test(a_failure_shows_its_errno_by_name),
		cmocka_unit_test(names_of_any_bytes_stay_within_their_quotes),
		cmocka_unit_test(a_long_string_is_cut_with_a_mark),
		cmocka_unit_test(errors_of_the_rpc_layer_have_names),
		cmocka_unit_test(the_unknown_is_shown_by_number),
		cmocka_unit_test(a_callback_has_no_reply),
		cmocka_unit_test(the_payload_is_shown_as_far_as_asked),
		cmocka_unit_test(a_credential_of_nobody_shows_its_flavour),
		cmocka_unit_test(losses_have_a_line_of_their_own),
		cmocka_unit_test(without_memory_nothing_is_appended),
		cmocka_unit_test(numbers_and_times_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, free_out);
}
