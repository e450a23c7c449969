/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - counted blocks of received bytes, and the pool they come from.
 *
 * Owns: free blocks. One worker's thread only.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/buf.h"

struct buf *buf_new_sized(size_t cap)
{
	struct buf *b = malloc(sizeof(*b) + cap);

	if (b == NULL)
		return NULL;
	b->pool = NULL;
	b->next_free = NULL;
	b->refs = 1;
	b->cap = cap;
	return b;
}

struct buf *buf_new(struct buf_pool *pool)
{
	struct buf *b = pool->free;

	if (b != NULL) {
		pool->free = b->next_free;
		pool->free_count--;
		b->next_free = NULL;
		b->refs = 1;
	} else {
		b = buf_new_sized(BUF_POOLED_SIZE);
		if (b == NULL)
			return NULL;
		b->pool = pool;
	}
	pool->live++;
	return b;
}

struct buf *buf_get(struct buf *b)
{
	assert(b->refs > 0);
	b->refs++;
	return b;
}

void buf_put(struct buf *b)
{
	struct buf_pool *pool;

	if (b == NULL)
		return;
	assert(b->refs > 0);
	if (--b->refs > 0)
		return;
	pool = b->pool;
	if (pool != NULL) {
		pool->live--;
		if (pool->free_count < BUF_POOL_KEEP) {
			b->next_free = pool->free;
			pool->free = b;
			pool->free_count++;
			return;
		}
	}
	free(b);
}

void buf_pool_clear(struct buf_pool *pool)
{
	struct buf *b;

	assert(pool->live == 0);
	while ((b = pool->free) != NULL) {
		pool->free = b->next_free;
		free(b);
	}
	pool->free_count = 0;
}
