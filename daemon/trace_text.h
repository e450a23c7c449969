/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_text - a growing buffer of characters, and numbers and names in it.
 *
 * Digits are made by hand and nothing here asks a locale: the trace writes some
 * forty numbers a record, and printf() would be most of its time.
 *
 * Owns: the characters. Any thread, one at a time.
 */
#ifndef FOREBRICK_DAEMON_TRACE_TEXT_H
#define FOREBRICK_DAEMON_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/span.h"

/* Not closed with NUL. Starts all zero. */
struct trace_text {
	char *chars;
	size_t len, cap;
	bool is_short;	/* memory ran out: something is missing */
};

void trace_text_free(struct trace_text *t);

/* Slow path of trace_text_has(). */
bool trace_text_grow(struct trace_text *t, size_t size);

/* True when size more characters fit; false, and is_short, without memory. */
static inline bool trace_text_has(struct trace_text *t, size_t size)
{
	return size <= t->cap - t->len || trace_text_grow(t, size);
}

static inline void trace_text_put(struct trace_text *t, const void *chars,
				  size_t len)
{
	if (len == 0 || !trace_text_has(t, len))
		return;
	memcpy(t->chars + t->len, chars, len);
	t->len += len;
}

static inline void trace_text_char(struct trace_text *t, char c)
{
	if (trace_text_has(t, 1))
		t->chars[t->len++] = c;
}

/* A word of our own. */
static inline void trace_text_word(struct trace_text *t, const char *word)
{
	trace_text_put(t, word, strlen(word));
}

void trace_text_uint(struct trace_text *t, uint64_t v);
void trace_text_int(struct trace_text *t, int64_t v);
void trace_text_octal(struct trace_text *t, uint32_t v);	/* "0644" */
void trace_text_hex32(struct trace_text *t, uint32_t v);	/* "0x1f" */
void trace_text_hex(struct trace_text *t, struct gfp_span bytes);
void trace_text_gfid(struct trace_text *t, const uint8_t gfid[16]);

/* Real time as "2026-01-31T12:00:00.123456Z". */
void trace_text_time(struct trace_text *t, uint64_t real_us);

/*
 * A time of a file, as decimal seconds with nine places. Any numbers: a
 * peer's nanoseconds may exceed a second, and seconds may be negative.
 */
void trace_text_nsec(struct trace_text *t, int64_t sec, uint32_t nsec);

/*
 * Bytes of a peer as the inside of a quoted string. UTF-8 stays as it is; what
 * is not UTF-8 and what would steer a terminal becomes \u00NN (JSON) or \xNN
 * (text), so that a line stays one line whatever a file is called.
 */
void trace_text_escape_json(struct trace_text *t, struct gfp_span bytes);
void trace_text_escape_text(struct trace_text *t, struct gfp_span bytes);

/* Bytes of the UTF-8 sequence at p, 1 to 4; 0 when there is none. */
size_t trace_text_utf8(const uint8_t *p, size_t len);

#endif
