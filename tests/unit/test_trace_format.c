/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_format - every row, every fixture and every truncation as a line.
 */
#include "config.h"

#include "tests/unit/fixture.h"
#include "tests/unit/trace_lines.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_json_with_its_own_keys),
		cmocka_unit_test(every_row_is_one_line_of_text_with_all_fields),
		cmocka_unit_test(every_truncation_is_one_valid_line),
		cmocka_unit_test(impossible_lengths_give_one_valid_line),
		cmocka_unit_test(every_record_of_real_peers_is_decoded_whole),
	};

	return cmocka_run_group_tests(tests, NULL, free_out);
}
