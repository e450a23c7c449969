/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_lines - lines of the trace, checked and read back, for tests.
 *
 * JSON is read by a parser that is not ours, and that takes nothing which is
 * not JSON in UTF-8.
 */
#ifndef FOREBRICK_TESTS_UNIT_TRACE_LINES_H
#define FOREBRICK_TESTS_UNIT_TRACE_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "tests/unit/test.h"
#include "tests/unit/trace_sample.h"

/* Of the last line; each of the functions here begins anew. */
static struct trace_text out;

static inline struct gfp_span line_of(enum trace_format format,
			       const struct trace_item *item, uint32_t payload)
{
	out.len = 0;
	assert_true(trace_format_line(&out, format, item, payload));
	assert_true(out.len > 0);
	return (struct gfp_span){ (const uint8_t *)out.chars, out.len };
}

/* One line, UTF-8, nothing in it that a terminal would obey. */
static inline void check_one_line(struct gfp_span line)
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
static inline json_t *parse(struct gfp_span line)
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

static inline json_t *json_of(const struct trace_item *item, uint32_t payload)
{
	struct gfp_span line = line_of(TRACE_JSON, item, payload);

	check_one_line(line);
	return parse(line);
}

static inline const char *text_of(const struct trace_item *item,
				  uint32_t payload)
{
	check_one_line(line_of(TRACE_TEXT, item, payload));
	trace_text_char(&out, '\0');
	return out.chars;
}

static inline int free_out(void **state)
{
	(void)state;
	trace_text_free(&out);
	return 0;
}

#endif
