/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit - named values as text for people or as JSON, by the same calls.
 *
 *   text   key=value, members of an outermost list separated by a blank, those
 *          inside {} and [] by a comma; peers' strings in quotes
 *   JSON   "key":value; the caller makes sure that every object is closed
 *
 * key NULL: an element of an array, or what emit_peer_key() announced. Numbers
 * of 64 bits are plain numbers in JSON too, exact to the last digit; it is for
 * the reader not to round them.
 */
#ifndef FOREBRICK_DAEMON_EMIT_H
#define FOREBRICK_DAEMON_EMIT_H

#include "daemon/trace_text.h"

enum { EMIT_STR_MAX = 4096 };	/* bytes of one string that are shown */

struct emit {
	struct trace_text *out;
	bool is_json;
	bool is_first;	/* nothing stands before the next member */
	bool has_key;	/* its key is already there */
	unsigned depth;	/* of {} and [] */
};

/* A key that a peer chose; its value follows, with key NULL. */
void emit_peer_key(struct emit *e, struct gfp_span key);

/* bracket: '{' or '['; closed with its counterpart. */
void emit_open(struct emit *e, const char *key, char bracket);
void emit_close(struct emit *e, char bracket);

void emit_uint(struct emit *e, const char *key, uint64_t v);
void emit_int(struct emit *e, const char *key, int64_t v);
/* Numbers that people read otherwise than decimal; decimal in JSON. */
void emit_hex(struct emit *e, const char *key, uint32_t v);
void emit_octal(struct emit *e, const char *key, uint32_t v);
void emit_nsec(struct emit *e, const char *key, int64_t sec, uint32_t nsec);
void emit_time(struct emit *e, const char *key, uint64_t real_us);
void emit_number(struct emit *e, const char *key, const char *digits);

/* What the number just shown means: "key_text" in JSON, else in brackets. */
void emit_meaning(struct emit *e, const char *key, const char *meaning);

void emit_word(struct emit *e, const char *key, const char *word);
void emit_null(struct emit *e, const char *key);	/* "-" in text */
void emit_true(struct emit *e, const char *key);
void emit_gfid(struct emit *e, const char *key, const uint8_t gfid[16]);

/* All bytes in hex. */
void emit_bytes(struct emit *e, const char *key, struct gfp_span bytes);

/* A peer's string; beyond EMIT_STR_MAX cut, with a mark and its length. */
void emit_str(struct emit *e, const char *key, struct gfp_span bytes);

/* The same in pieces; the caller keeps it short. */
void emit_quote_open(struct emit *e, const char *key);
void emit_quote_add(struct emit *e, struct gfp_span bytes);
void emit_quote_close(struct emit *e);

#endif
