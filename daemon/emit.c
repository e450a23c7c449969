/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit - named values as text for people or as JSON, by the same calls.
 *
 * Written by hand and not with a JSON library: those build a tree of a hundred
 * allocations for each record before the first character.
 *
 * Owns: nothing; writes to the trace_text it was given.
 */
#include "config.h"

#include "daemon/emit.h"

/* What stands before a member: a comma inside, in text a blank outside. */
static void separate(struct emit *e)
{
	if (e->is_first) {
		e->is_first = false;
		return;
	}
	trace_text_char(e->out, e->is_json || e->depth > 0 ? ',' : ' ');
}

static void emit_key(struct emit *e, const char *key)
{
	size_t len;
	char *p;

	if (e->has_key) {
		e->has_key = false;
		return;
	}
	separate(e);
	if (key == NULL)
		return;
	len = strlen(key);
	if (!trace_text_has(e->out, len + 3))
		return;
	p = e->out->chars + e->out->len;
	if (e->is_json) {
		*p++ = '"';
		memcpy(p, key, len);
		memcpy(p + len, "\":", 2);
		e->out->len += len + 3;
	} else {
		memcpy(p, key, len);
		p[len] = '=';
		e->out->len += len + 1;
	}
}

/* May the key stand in text without quotes? */
static bool is_bare(struct gfp_span key)
{
	static const char also[] = "._-:/@+";

	for (size_t i = 0; i < key.len; i++) {
		uint8_t c = key.ptr[i];

		if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
		    !(c >= '0' && c <= '9') &&
		    memchr(also, c, sizeof(also) - 1) == NULL)
			return false;
	}
	return key.len > 0;
}

void emit_peer_key(struct emit *e, struct gfp_span key)
{
	separate(e);
	if (e->is_json) {
		trace_text_char(e->out, '"');
		trace_text_escape_json(e->out, key);
		trace_text_put(e->out, "\":", 2);
	} else if (is_bare(key)) {
		trace_text_put(e->out, key.ptr, key.len);
		trace_text_char(e->out, '=');
	} else {
		trace_text_char(e->out, '"');
		trace_text_escape_text(e->out, key);
		trace_text_put(e->out, "\"=", 2);
	}
	e->has_key = true;
}

void emit_open(struct emit *e, const char *key, char bracket)
{
	emit_key(e, key);
	trace_text_char(e->out, bracket);
	e->is_first = true;
	e->depth++;
}

void emit_close(struct emit *e, char bracket)
{
	trace_text_char(e->out, bracket);
	e->is_first = false;
	e->depth--;
}

void emit_uint(struct emit *e, const char *key, uint64_t v)
{
	emit_key(e, key);
	trace_text_uint(e->out, v);
}

void emit_int(struct emit *e, const char *key, int64_t v)
{
	emit_key(e, key);
	trace_text_int(e->out, v);
}

void emit_hex(struct emit *e, const char *key, uint32_t v)
{
	emit_key(e, key);
	if (e->is_json)
		trace_text_uint(e->out, v);
	else
		trace_text_hex32(e->out, v);
}

void emit_octal(struct emit *e, const char *key, uint32_t v)
{
	emit_key(e, key);
	if (e->is_json)
		trace_text_uint(e->out, v);
	else
		trace_text_octal(e->out, v);
}

void emit_nsec(struct emit *e, const char *key, int64_t sec, uint32_t nsec)
{
	emit_key(e, key);
	trace_text_nsec(e->out, sec, nsec);
}

void emit_number(struct emit *e, const char *key, const char *digits)
{
	emit_key(e, key);
	trace_text_word(e->out, digits);
}

/* Around our own words; text has them bare. */
static void mark_word(struct emit *e)
{
	if (e->is_json)
		trace_text_char(e->out, '"');
}

void emit_time(struct emit *e, const char *key, uint64_t real_us)
{
	emit_key(e, key);
	mark_word(e);
	trace_text_time(e->out, real_us);
	mark_word(e);
}

void emit_meaning(struct emit *e, const char *key, const char *meaning)
{
	if (e->is_json) {
		trace_text_put(e->out, ",\"", 2);
		trace_text_word(e->out, key);
		trace_text_put(e->out, "_text\":\"", 8);
		trace_text_word(e->out, meaning);
		trace_text_char(e->out, '"');
	} else {
		trace_text_char(e->out, '(');
		trace_text_word(e->out, meaning);
		trace_text_char(e->out, ')');
	}
}

void emit_word(struct emit *e, const char *key, const char *word)
{
	emit_key(e, key);
	mark_word(e);
	trace_text_word(e->out, word);
	mark_word(e);
}

void emit_null(struct emit *e, const char *key)
{
	emit_key(e, key);
	trace_text_word(e->out, e->is_json ? "null" : "-");
}

void emit_true(struct emit *e, const char *key)
{
	emit_key(e, key);
	trace_text_word(e->out, "true");
}

void emit_gfid(struct emit *e, const char *key, const uint8_t gfid[16])
{
	emit_key(e, key);
	mark_word(e);
	trace_text_gfid(e->out, gfid);
	mark_word(e);
}

void emit_bytes(struct emit *e, const char *key, struct gfp_span bytes)
{
	emit_key(e, key);
	mark_word(e);
	trace_text_hex(e->out, bytes);
	mark_word(e);
}

void emit_quote_open(struct emit *e, const char *key)
{
	emit_key(e, key);
	trace_text_char(e->out, '"');
}

void emit_quote_add(struct emit *e, struct gfp_span bytes)
{
	if (e->is_json)
		trace_text_escape_json(e->out, bytes);
	else
		trace_text_escape_text(e->out, bytes);
}

void emit_quote_close(struct emit *e)
{
	trace_text_char(e->out, '"');
}

/* Where to cut: not within a UTF-8 sequence. */
static size_t cut_at(struct gfp_span bytes, size_t max)
{
	for (size_t back = 0; back < 4; back++)
		if ((bytes.ptr[max - back] & 0xc0) != 0x80)
			return max - back;
	return max;
}

void emit_str(struct emit *e, const char *key, struct gfp_span bytes)
{
	size_t len = bytes.len;

	emit_quote_open(e, key);
	if (len > EMIT_STR_MAX)
		bytes.len = cut_at(bytes, EMIT_STR_MAX);
	emit_quote_add(e, bytes);
	if (bytes.len < len) {
		trace_text_word(e->out, "...(");
		trace_text_uint(e->out, len);
		trace_text_word(e->out, " bytes)");
	}
	emit_quote_close(e);
}
