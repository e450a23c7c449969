/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes - a place to put wire bytes together, for tests.
 *
 * Writes by plain shifts, not with the code under test. view_of() copies to the
 * end of a heap block, so that a sanitizer sees a read behind the end.
 */
#ifndef FOREBRICK_TESTS_UNIT_BYTES_H
#define FOREBRICK_TESTS_UNIT_BYTES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/span.h"

enum { BYTES_MAX = 8192, LENGTHS_MAX = 32 };

struct bytes {
	uint8_t at[BYTES_MAX];
	size_t len;
	/* where the length and count words stand, for tests that spoil them */
	size_t lengths[LENGTHS_MAX];
	size_t length_count;
};

static inline void put_u8(struct bytes *b, unsigned int v)
{
	assert(b->len < BYTES_MAX);
	b->at[b->len++] = (uint8_t)v;
}

static inline void put_u32(struct bytes *b, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		put_u8(b, v >> shift & 255);
}

static inline void put_u64(struct bytes *b, uint64_t v)
{
	put_u32(b, (uint32_t)(v >> 32));
	put_u32(b, (uint32_t)v);
}

static inline void put_fill(struct bytes *b, size_t count, unsigned int v)
{
	while (count-- > 0)
		put_u8(b, v);
}

static inline void put_raw(struct bytes *b, const void *p, size_t len)
{
	const uint8_t *from = p;

	for (size_t i = 0; i < len; i++)
		put_u8(b, from[i]);
}

static inline void put_length(struct bytes *b, uint32_t v)
{
	assert(b->length_count < LENGTHS_MAX);
	b->lengths[b->length_count++] = b->len;
	put_u32(b, v);
}

/* opaque<>: length, bytes, padding */
static inline void put_opaque(struct bytes *b, const void *p, size_t len)
{
	put_length(b, (uint32_t)len);
	put_raw(b, p, len);
	while (len++ % 4 != 0)
		put_u8(b, 0);
}

static inline void put_str(struct bytes *b, const char *text)
{
	put_opaque(b, text, strlen(text));
}

static inline struct gfp_span span_of(const struct bytes *b)
{
	return (struct gfp_span){ b->at, b->len };
}

/* The first len bytes of s in a block of just that size; free with drop(). */
static inline struct gfp_span view_of(struct gfp_span s, size_t len)
{
	uint8_t *copy = malloc(len == 0 ? 1 : len);

	assert(copy != NULL && len <= s.len);
	memcpy(copy, s.ptr, len);
	return (struct gfp_span){ copy, len };
}

static inline void drop(struct gfp_span view)
{
	free((void *)(uintptr_t)view.ptr);
}

#endif
