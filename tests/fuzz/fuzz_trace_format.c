/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace_format - a record of any bytes is one line, in JSON and in text.
 *
 * Input: a byte that chooses facts, two that say how long the call is, the
 * call, the reply.
 */
#include "config.h"

#include <jansson.h>
#include <string.h>

#include "daemon/trace_format.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_SIZE = 3, PAYLOAD = 16 };

static struct trace_text out;

/* UTF-8 without what a terminal obeys, and the newline at its end alone. */
static void check_line(void)
{
	const uint8_t *p = (const uint8_t *)out.chars;
	size_t at = 0;

	ENSURE(out.len > 0 && p[out.len - 1] == '\n');
	while (at < out.len - 1) {
		size_t size = trace_text_utf8(p + at, out.len - at);

		ENSURE(size > 0 && p[at] >= ' ' && p[at] != 0x7f);
		ENSURE(size != 2 || p[at] != 0xc2 || p[at + 1] >= 0xa0);
		at += size;
	}
}

/* A peer may send a dict with the same key twice; so that is no finding. */
static void check_json(void)
{
	json_error_t error;
	json_t *json = json_loadb(out.chars, out.len,
				  JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				  &error);

	ENSURE(json_is_object(json));
	ENSURE(json_is_object(json_object_get(json, "call")));
	ENSURE(json_object_get(json, "reply") != NULL);
	json_decref(json);
}

static struct gfp_span copy_of(const uint8_t *from, size_t len)
{
	uint8_t *copy = malloc(len == 0 ? 1 : len);

	ENSURE(copy != NULL);
	memcpy(copy, from, len);
	return (struct gfp_span){ copy, len };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_item item = { .meta = { .client = "c", .brick = "b" } };
	size_t call_len;

	if (size < HEAD_SIZE)
		return 0;
	call_len = (size_t)data[1] << 8 | data[2];
	if (call_len > size - HEAD_SIZE)
		call_len = size - HEAD_SIZE;
	item.is_cut = data[0] & 1;
	item.meta.call_size = data[0] & 2 ? UINT32_MAX : (uint32_t)call_len;
	item.meta.reply_size = data[0] & 4 ? UINT32_MAX : 0;
	/* blocks of their own, so that a read behind the end is seen */
	item.call = copy_of(data + HEAD_SIZE, call_len);
	item.reply = copy_of(data + HEAD_SIZE + call_len,
			     size - HEAD_SIZE - call_len);
	out.len = 0;
	ENSURE(trace_format_line(&out, TRACE_JSON, &item, PAYLOAD));
	check_line();
	check_json();
	out.len = 0;
	ENSURE(trace_format_line(&out, TRACE_TEXT, &item, PAYLOAD));
	check_line();
	free((void *)(uintptr_t)item.call.ptr);
	free((void *)(uintptr_t)item.reply.ptr);
	return 0;
}
