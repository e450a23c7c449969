/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_format - every row, every fixture and every truncation as a line.
 *
 * JSON is checked by a parser that is not ours, and that takes nothing which is
 * not JSON in UTF-8.
 */
#include "config.h"

#include <jansson.h>
#include <stdio.h>

#include "proto/dict.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_sample.h"

static struct trace_text out;

static struct gfp_span line_of(enum trace_format format,
			       const struct trace_item *item, uint32_t payload)
{
	out.len = 0;
	assert_true(trace_format_line(&out, format, item, payload));
	assert_true(out.len > 0);
	return (struct gfp_span){ (const uint8_t *)out.chars, out.len };
}

/* One line, UTF-8, nothing in it that a terminal would obey. */
static void check_one_line(struct gfp_span line)
{
	size_t at = 0;

	assert_int_equal(line.ptr[line.len - 1], '\n');
	while (at < line.len - 1) {
		size_t size = trace_text_utf8(line.ptr + at, line.len - at);

		assert_int_not_equal(size, 0);
		assert_true(line.ptr[at] >= ' ' && line.ptr[at] != 0x7f);
		assert_false(size == 2 && line.ptr[at] == 0xc2 &&
			     line.ptr[at + 1] < 0xa0);
		at += size;
	}
}

/* Numbers beyond 2^63 are JSON, but too large for this parser's integers. */
static json_t *parse(struct gfp_span line)
{
	json_error_t error;
	json_t *json = json_loadb((const char *)line.ptr, line.len,
				  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
					  JSON_DECODE_INT_AS_REAL,
				  &error);

	if (json == NULL)
		fail_msg("%s in %.*s", error.text, (int)line.len,
			 (const char *)line.ptr);
	return json;
}

static json_t *json_of(const struct trace_item *item, uint32_t payload)
{
	struct gfp_span line = line_of(TRACE_JSON, item, payload);

	check_one_line(line);
	return parse(line);
}

static const char *text_of(const struct trace_item *item, uint32_t payload)
{
	check_one_line(line_of(TRACE_TEXT, item, payload));
	trace_text_char(&out, '\0');
	return out.chars;
}

/* Is key the name of a field, or what one means? */
static bool is_of_row(const struct gfp_field *fields, const char *key)
{
	for (; fields->kind != GFP_K_END; fields++) {
		size_t len = strlen(fields->name);

		if (strncmp(fields->name, key, len) == 0 &&
		    (key[len] == '\0' || strcmp(key + len, "_text") == 0))
			return true;
	}
	return false;
}

static void check_keys(const struct gfp_field *fields, bool has_payload,
		       const json_t *object)
{
	const struct gfp_field *f;
	const char *key;
	json_t *value;

	for (f = fields; f->kind != GFP_K_END; f++)
		if (json_object_get(object, f->name) == NULL)
			fail_msg("%s is missing", f->name);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
		if (!is_of_row(fields, key) &&
		    !(has_payload && strcmp(key, "payload") == 0))
			fail_msg("%s is no member", key);
}

typedef void (*row_fn)(const struct gfp_program *program,
		       const struct gfp_proc *proc, struct trace_sample *s);

static void each_row(row_fn check)
{
	static struct trace_sample sample;

	for (const struct gfp_program *const *p = gfp_programs; *p; p++)
		for (uint32_t i = 0; i < (*p)->proc_limit; i++) {
			if ((*p)->procs[i] == NULL)
				continue;
			sample_row(&sample, *p, (*p)->procs[i]);
			check(*p, (*p)->procs[i], &sample);
		}
}

static void check_row_json(const struct gfp_program *program,
			   const struct gfp_proc *proc, struct trace_sample *s)
{
	struct trace_item item = item_of(span_of(&s->call), span_of(&s->reply));
	json_t *json = json_of(&item, 16);
	const json_t *name = json_object_get(json, "procedure");

	assert_string_equal(json_string_value(name), proc->name);
	name = json_object_get(json, "program");
	assert_string_equal(json_string_value(name), program->name);
	check_keys(proc->call, proc->payload == GFP_PAYLOAD_CALL,
		   json_object_get(json, "call"));
	check_keys(proc->reply, proc->payload == GFP_PAYLOAD_REPLY,
		   json_object_get(json, "reply"));
	json_decref(json);
}

static void every_row_is_json_with_its_own_keys(void **state)
{
	(void)state;
	each_row(check_row_json);
}

static void check_field_in_text(const char *text, const struct gfp_field *field)
{
	char key[64];

	for (; field->kind != GFP_K_END; field++) {
		snprintf(key, sizeof(key), " %s=", field->name);
		if (strstr(text, key) == NULL)
			fail_msg("no%s in %s", key, text);
	}
}

static void check_row_text(const struct gfp_program *program,
			   const struct gfp_proc *proc, struct trace_sample *s)
{
	struct trace_item item = item_of(span_of(&s->call), span_of(&s->reply));
	const char *text = text_of(&item, 16);
	char name[64];

	snprintf(name, sizeof(name), " %s/%s ", program->name, proc->name);
	assert_non_null(strstr(text, name));
	check_field_in_text(text, proc->call);
	check_field_in_text(text, proc->reply);
	assert_null(strstr(text, "undecoded"));
}

static void every_row_is_one_line_of_text_with_all_fields(void **state)
{
	(void)state;
	each_row(check_row_text);
}

/* Both formats, from copies of just that size. */
static void check_cut(struct gfp_span call, size_t call_len,
		      struct gfp_span reply, size_t reply_len)
{
	struct trace_item item = item_of(view_of(call, call_len),
					 view_of(reply, reply_len));

	json_decref(json_of(&item, 4));
	text_of(&item, 4);
	/* the same, of a record that was longer on the wire */
	item.meta.call_size = (uint32_t)call.len;
	item.meta.reply_size = (uint32_t)reply.len;
	item.is_cut = true;
	json_decref(json_of(&item, 4));
	drop(item.call);
	drop(item.reply);
}

static void check_truncations(const struct gfp_program *program,
			      const struct gfp_proc *proc,
			      struct trace_sample *s)
{
	struct gfp_span call = span_of(&s->call), reply = span_of(&s->reply);

	(void)program;
	(void)proc;
	for (size_t len = 0; len <= call.len; len++)
		check_cut(call, len, reply, reply.len);
	for (size_t len = 0; len <= reply.len; len++)
		check_cut(call, call.len, reply, len);
}

static void every_truncation_is_one_valid_line(void **state)
{
	(void)state;
	each_row(check_truncations);
}

/* Every length and count word at its most. */
static void check_lengths(const struct gfp_program *program,
			  const struct gfp_proc *proc, struct trace_sample *s)
{
	static const uint8_t most[][4] = { { 0xff, 0xff, 0xff, 0xff },
					   { 0x7f, 0xff, 0xff, 0xff },
					   { 0, 1, 0, 0 } };
	struct bytes *b = &s->reply;

	(void)program;
	(void)proc;
	for (size_t i = 0; i < b->length_count; i++)
		for (size_t j = 0; j < COUNT(most); j++) {
			uint8_t before[4];

			memcpy(before, b->at + b->lengths[i], 4);
			memcpy(b->at + b->lengths[i], most[j], 4);
			check_cut(span_of(&s->call), s->call.len, span_of(b),
				  b->len);
			memcpy(b->at + b->lengths[i], before, 4);
		}
}

static void impossible_lengths_give_one_valid_line(void **state)
{
	(void)state;
	each_row(check_lengths);
}

/* The call before a reply, in the order of fixture_each(). */
static uint8_t last_call[65536];
static size_t last_call_len;

static void check_fixture(const struct fixture *f)
{
	static const struct gfp_span none;
	struct trace_item item;
	const json_t *part;
	const char *text;
	json_t *json;

	if (f->is_call) {
		memcpy(last_call, f->record.ptr, f->record.len);
		last_call_len = f->record.len;
	}
	item = item_of((struct gfp_span){ last_call, last_call_len },
		       f->is_call ? none : f->record);
	json = json_of(&item, 16);
	part = json_object_get(json, f->is_call ? "call" : "reply");
	assert_true(json_is_object(part));
	if (f->body.ptr != NULL)
		check_keys(f->is_call ? f->proc->call : f->proc->reply,
			   f->proc->payload != GFP_PAYLOAD_NONE, part);
	assert_string_equal(
		json_string_value(json_object_get(json, "procedure")),
		f->proc->name);
	json_decref(json);
	text = text_of(&item, 16);
	if (strstr(text, "undecoded") != NULL)
		fail_msg("%s: %s", f->path, text);
}

static void every_record_of_real_peers_is_decoded_whole(void **state)
{
	(void)state;
	assert_true(fixture_each(check_fixture) > 100);
}

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

static void what_the_table_does_not_know_is_shown_by_number(void **state)
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
	assert_non_null(strstr(text_of(&item, 0), " by=brick outcome=callback"));
	assert_null(strstr(out.chars, "->"));
}

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

static void a_credential_without_identity_shows_its_flavour(void **state)
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

static int free_out(void **state)
{
	(void)state;
	trace_text_free(&out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_json_with_its_own_keys),
		cmocka_unit_test(every_row_is_one_line_of_text_with_all_fields),
		cmocka_unit_test(every_truncation_is_one_valid_line),
		cmocka_unit_test(impossible_lengths_give_one_valid_line),
		cmocka_unit_test(every_record_of_real_peers_is_decoded_whole),
		cmocka_unit_test(a_read_is_this_line),
		cmocka_unit_test(a_read_is_this_json),
		cmocka_unit_test(a_failure_shows_its_errno_by_name),
		cmocka_unit_test(names_of_any_bytes_stay_within_their_quotes),
		cmocka_unit_test(a_long_string_is_cut_with_a_mark),
		cmocka_unit_test(passwords_are_not_shown),
		cmocka_unit_test(no_part_of_a_setvolume_shows_a_password),
		cmocka_unit_test(a_volfile_is_shown_without_its_passwords),
		cmocka_unit_test(errors_of_the_rpc_layer_have_names),
		cmocka_unit_test(what_the_table_does_not_know_is_shown_by_number),
		cmocka_unit_test(a_callback_has_no_reply),
		cmocka_unit_test(a_long_directory_ends_in_how_many_more),
		cmocka_unit_test(a_directory_cut_off_shows_what_is_there),
		cmocka_unit_test(the_payload_is_shown_as_far_as_asked),
		cmocka_unit_test(a_credential_without_identity_shows_its_flavour),
		cmocka_unit_test(losses_have_a_line_of_their_own),
		cmocka_unit_test(numbers_and_times_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, free_out);
}
