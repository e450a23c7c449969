/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_text - a growing buffer of characters, and numbers and names in it.
 */
#include "config.h"

#include <stdlib.h>

#include "daemon/trace_text.h"

enum {
	GROW_MIN = 4096,
	U64_DIGITS = 20,	/* of UINT64_MAX */
};

static const char hex_digits[16] = "0123456789abcdef";

void trace_text_free(struct trace_text *t)
{
	free(t->chars);
	*t = (struct trace_text){ 0 };
}

bool trace_text_grow(struct trace_text *t, size_t size)
{
	size_t cap = t->cap < GROW_MIN ? GROW_MIN : t->cap;
	char *chars;

	while (cap - t->len < size) {
		if (cap > SIZE_MAX / 2) {
			t->is_short = true;
			return false;
		}
		cap *= 2;
	}
	chars = realloc(t->chars, cap);
	if (chars == NULL) {
		t->is_short = true;
		return false;
	}
	t->chars = chars;
	t->cap = cap;
	return true;
}

/* Two digits at a time, from the last on. */
static const char digit_pairs[201] =
	"00010203040506070809101112131415161718192021222324"
	"25262728293031323334353637383940414243444546474849"
	"50515253545556575859606162636465666768697071727374"
	"75767778798081828384858687888990919293949596979899";

static void put_pair(char *p, uint64_t v)
{
	memcpy(p, digit_pairs + 2 * v, 2);
}

void trace_text_uint(struct trace_text *t, uint64_t v)
{
	char digits[U64_DIGITS];
	char *p = digits + sizeof(digits);

	while (v >= 100) {
		put_pair(p -= 2, v % 100);
		v /= 100;
	}
	if (v >= 10)
		put_pair(p -= 2, v);
	else
		*--p = (char)('0' + v);
	trace_text_put(t, p, (size_t)(digits + sizeof(digits) - p));
}

void trace_text_int(struct trace_text *t, int64_t v)
{
	if (v >= 0) {
		trace_text_uint(t, (uint64_t)v);
		return;
	}
	trace_text_char(t, '-');
	trace_text_uint(t, -(uint64_t)v);
}

void trace_text_octal(struct trace_text *t, uint32_t v)
{
	char digits[12];
	char *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + (v & 7));
		v >>= 3;
	} while (v > 0);
	if (*p != '0')
		*--p = '0';
	trace_text_put(t, p, (size_t)(digits + sizeof(digits) - p));
}

void trace_text_hex32(struct trace_text *t, uint32_t v)
{
	char digits[8];
	char *p = digits + sizeof(digits);

	do {
		*--p = hex_digits[v & 15];
		v >>= 4;
	} while (v > 0);
	trace_text_put(t, "0x", 2);
	trace_text_put(t, p, (size_t)(digits + sizeof(digits) - p));
}

static char *put_hex(char *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		*p++ = hex_digits[bytes[i] >> 4];
		*p++ = hex_digits[bytes[i] & 15];
	}
	return p;
}

void trace_text_hex(struct trace_text *t, struct gfp_span bytes)
{
	if (bytes.len == 0 || !trace_text_has(t, 2 * bytes.len))
		return;
	put_hex(t->chars + t->len, bytes.ptr, bytes.len);
	t->len += 2 * bytes.len;
}

void trace_text_gfid(struct trace_text *t, const uint8_t gfid[16])
{
	static const uint8_t groups[] = { 4, 2, 2, 2, 6 };
	char *p;

	if (!trace_text_has(t, 36))
		return;
	p = t->chars + t->len;
	t->len += 36;
	for (size_t i = 0; i < sizeof(groups); i++) {
		if (i > 0)
			*p++ = '-';
		p = put_hex(p, gfid, groups[i]);
		gfid += groups[i];
	}
}

/* count digits of v, zeros in front. */
static void put_padded(char *p, uint64_t v, size_t count)
{
	while (count > 0) {
		p[--count] = (char)('0' + v % 10);
		v /= 10;
	}
}

struct date {
	uint64_t year, month, day;
};

/*
 * The date of a day since 1970. Years are taken to begin in March, so that the
 * leap day is the last of one; 719468 is the days from 0000-03-01 to 1970.
 */
static struct date date_of(uint64_t days)
{
	uint64_t era, in_era, year, in_year, month;

	days += 719468;
	era = days / 146097;
	in_era = days % 146097;
	year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) /
	       365;
	in_year = in_era - (365 * year + year / 4 - year / 100);
	month = (5 * in_year + 2) / 153;
	return (struct date){
		.year = 400 * era + year + (month >= 10),
		.month = month < 10 ? month + 3 : month - 9,
		.day = in_year - (153 * month + 2) / 5 + 1,
	};
}

void trace_text_time(struct trace_text *t, uint64_t real_us)
{
	static const char form[] = "0000-00-00T00:00:00.000000Z";
	uint64_t sec = real_us / 1000000;
	struct date date = date_of(sec / 86400);
	char *p;

	if (!trace_text_has(t, sizeof(form) - 1))
		return;
	p = t->chars + t->len;
	t->len += sizeof(form) - 1;
	memcpy(p, form, sizeof(form) - 1);
	put_padded(p, date.year, 4);
	put_pair(p + 5, date.month);
	put_pair(p + 8, date.day);
	put_pair(p + 11, sec % 86400 / 3600);
	put_pair(p + 14, sec % 3600 / 60);
	put_pair(p + 17, sec % 60);
	put_padded(p + 20, real_us % 1000000, 6);
}

void trace_text_nsec(struct trace_text *t, int64_t sec, uint32_t nsec)
{
	uint64_t whole = (uint64_t)sec + nsec / 1000000000;
	uint32_t part = nsec % 1000000000;
	char digits[10] = ".";

	/* Half a second before 1970 is -1 s and 500000000 ns: -0.5. */
	if (sec < 0 && (int64_t)whole < 0) {
		trace_text_char(t, '-');
		whole = -whole;
		if (part > 0) {
			whole--;
			part = 1000000000 - part;
		}
	}
	put_padded(digits + 1, part, 9);
	trace_text_uint(t, whole);
	trace_text_put(t, digits, sizeof(digits));
}

size_t trace_text_utf8(const uint8_t *p, size_t len)
{
	/* By the first byte: the length, and what the second may be. That
	   leaves out overlong forms, surrogates and all above U+10FFFF. */
	uint8_t first = len > 0 ? p[0] : 0xff;
	uint8_t low = 0x80, high = 0xbf;
	size_t size;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (size > len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return size;
}

static bool is_plain(uint8_t c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* U+0080 to U+009F, which terminals obey. */
static bool is_control(const uint8_t *p, size_t size)
{
	return size == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

static void escape_byte(struct trace_text *t, uint8_t c, const char *lead)
{
	char mark[2] = { '\\', (char)c };

	if (c == '\n' || c == '\t' || c == '\r')
		mark[1] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
	if (mark[1] != (char)c || c == '"' || c == '\\') {
		trace_text_put(t, mark, 2);
		return;
	}
	trace_text_word(t, lead);
	trace_text_hex(t, (struct gfp_span){ &c, 1 });
}

/* lead: what stands before the two hex digits of a byte. */
static void escape(struct trace_text *t, struct gfp_span bytes,
		   const char *lead)
{
	const uint8_t *p = bytes.ptr, *end = p + bytes.len;

	while (p < end) {
		const uint8_t *from = p;
		size_t size;

		while (p < end && is_plain(*p))
			p++;
		trace_text_put(t, from, (size_t)(p - from));
		if (p == end)
			return;
		size = trace_text_utf8(p, (size_t)(end - p));
		if (size > 1 && !is_control(p, size)) {
			trace_text_put(t, p, size);
			p += size;
			continue;
		}
		/* A control character is its second byte's number. */
		if (size > 1)
			p++;
		escape_byte(t, *p++, lead);
	}
}

void trace_text_escape_json(struct trace_text *t, struct gfp_span bytes)
{
	escape(t, bytes, "\\u00");
}

void trace_text_escape_text(struct trace_text *t, struct gfp_span bytes)
{
	escape(t, bytes, "\\x");
}
