/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spsc - a ring of byte entries between one writing and one reading thread.
 *
 * Without locks: each side owns one counter and reads the other's only when
 * what it remembers of it does not suffice. An entry lies in one piece; where
 * it does not fit before the end, the rest up to there is skipped.
 */
#ifndef FOREBRICK_DAEMON_SPSC_H
#define FOREBRICK_DAEMON_SPSC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/span.h"

enum { SPSC_LINE = 64 };	/* bytes of a cache line */

struct spsc {
	uint8_t *bytes;
	size_t size;
	/* The writer's: bytes ever written, skipped ones included. */
	alignas(SPSC_LINE) _Atomic size_t written;
	size_t write_at, read_seen, pending;
	/* The reader's. */
	alignas(SPSC_LINE) _Atomic size_t read;
	size_t read_at, written_seen;
};

/* size: bytes of the ring, rounded down to a multiple of eight. */
GFP_MUST_CHECK bool spsc_open(struct spsc *q, size_t size);
void spsc_close(struct spsc *q);

/* The largest entry that is sure to fit into an empty ring. */
size_t spsc_entry_max(const struct spsc *q);

/*
 * Writer: room for an entry, aligned to eight, or NULL when there is none now.
 * It is not seen by the reader before spsc_publish().
 */
void *spsc_reserve(struct spsc *q, size_t size);

/*
 * Writer: hand over the entry. Returns the bytes in use as far as the writer
 * knows: an upper bound. The store is sequentially consistent, so that a load
 * of the same kind behind it tells whether the reader went to sleep.
 */
size_t spsc_publish(struct spsc *q);

/* Reader: the oldest entry, or NULL. It stays until spsc_pop(). */
void *spsc_peek(struct spsc *q);
void spsc_pop(struct spsc *q);

/* Reader: false when there is an entry; sequentially consistent as well. */
bool spsc_is_empty(struct spsc *q);

/* Reader: a mark of what has been written by now, and whether it was read. */
size_t spsc_mark(struct spsc *q);
bool spsc_has_read(const struct spsc *q, size_t mark);

#endif
