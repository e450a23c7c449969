/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - counted blocks of received bytes, and the pool they come from.
 *
 * A connection reads into a buf; what is to be sent on is queued as a reference
 * to it, not as a copy. The last reference gives it back. The pool hands out
 * the block that came back last, which is the one still in the processor's
 * cache: while nothing is delayed, all traffic of a worker passes through one
 * block.
 */
#ifndef FOREBRICK_DAEMON_BUF_H
#define FOREBRICK_DAEMON_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "proto/span.h"

struct buf_pool;

struct buf {
	struct buf_pool *pool;	/* NULL: freed, not pooled, at the last put */
	struct buf *next_free;
	unsigned refs;		/* one worker only: no atomics */
	size_t cap;
	uint8_t bytes[];
};

enum {
	/* One read takes at most this: a READ reply of 128 KiB with its head,
	   which is what a FUSE client asks for, and no more, so that the block
	   stays in the second-level cache. */
	BUF_POOLED_SIZE = 136 * 1024,
	BUF_POOL_KEEP = 8,	/* free blocks kept; more go back to the system */
};

struct buf_pool {
	struct buf *free;
	unsigned free_count;
	unsigned live;		/* blocks in use */
};

/* A block of BUF_POOLED_SIZE with one reference, or NULL without memory. */
GFP_MUST_CHECK struct buf *buf_new(struct buf_pool *pool);

/* A block of cap bytes outside any pool; likewise. */
GFP_MUST_CHECK struct buf *buf_new_sized(size_t cap);

struct buf *buf_get(struct buf *b);	/* one more reference */
void buf_put(struct buf *b);		/* one less; NULL is allowed */

/* Free what the pool keeps. No block of it may be in use. */
void buf_pool_clear(struct buf_pool *pool);

#endif
