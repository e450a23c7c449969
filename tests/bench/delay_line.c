/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delay_line - bytes on their way: stamped, in order, without a rate.
 *
 * Owns: chunks and pieces. One thread.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/bench/bench_util.h"
#include "tests/bench/delay_line.h"

static struct chunk *chunk_new(struct pool *pool)
{
	struct chunk *c = pool->free_chunks;

	if (c != NULL)
		pool->free_chunks = c->next_free;
	else
		c = malloc(sizeof(*c) + pool->chunk_size);
	if (c == NULL)
		die(ENOMEM, "a chunk");
	c->next_free = NULL;
	c->refs = 1;
	c->used = 0;
	return c;
}

static void chunk_put(struct pool *pool, struct chunk *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	c->next_free = pool->free_chunks;
	pool->free_chunks = c;
}

static struct piece *piece_new(struct pool *pool)
{
	struct piece *p = STAILQ_FIRST(&pool->free_pieces);

	if (p != NULL)
		STAILQ_REMOVE_HEAD(&pool->free_pieces, in_order);
	else
		p = malloc(sizeof(*p));
	if (p == NULL)
		die(ENOMEM, "a piece");
	return p;
}

static void piece_free(struct pool *pool, struct piece *p)
{
	chunk_put(pool, p->chunk);
	STAILQ_INSERT_HEAD(&pool->free_pieces, p, in_order);
}

void pool_init(struct pool *pool, size_t chunk_size)
{
	pool->chunk_size = chunk_size;
	pool->free_chunks = NULL;
	STAILQ_INIT(&pool->free_pieces);
}

void line_init(struct line *line)
{
	line->delay_ns = 0;
	line->last_due_ns = 0;
	TAILQ_INIT(&line->in_flight);
}

void pipe_init(struct pipe *pipe, struct pool *pool, struct line *line,
	       void *owner)
{
	*pipe = (struct pipe){ .pool = pool, .line = line, .owner = owner };
	STAILQ_INIT(&pipe->pieces);
}

uint8_t *pipe_room(struct pipe *pipe, size_t *room)
{
	size_t size = pipe->pool->chunk_size;
	struct chunk *c = pipe->filling;

	if (c != NULL && c->refs == 1)
		c->used = 0;
	if (c == NULL || size - c->used < size / 2) {
		chunk_put(pipe->pool, c);
		c = pipe->filling = chunk_new(pipe->pool);
	}
	*room = size - c->used;
	return c->bytes + c->used;
}

/* A line's pieces fall due in order, also when its delay was made shorter. */
static void put_in_flight(struct line *line, struct piece *p, uint64_t now)
{
	p->due_ns = now + line->delay_ns;
	if (p->due_ns < line->last_due_ns)
		p->due_ns = line->last_due_ns;
	line->last_due_ns = p->due_ns;
	TAILQ_INSERT_TAIL(&line->in_flight, p, in_flight);
}

void pipe_push(struct pipe *pipe, enum piece_kind kind, size_t len,
	       uint64_t now)
{
	struct piece *p = piece_new(pipe->pool);

	*p = (struct piece){ .pipe = pipe, .len = len, .kind = kind };
	if (kind == PIECE_DATA) {
		struct chunk *c = pipe->filling;

		assert(c != NULL && len <= pipe->pool->chunk_size - c->used);
		p->chunk = c;
		p->ptr = c->bytes + c->used;
		c->refs++;
		c->used += len;
		pipe->bytes += len;
		if (pipe->bytes > pipe->peak_bytes)
			pipe->peak_bytes = pipe->bytes;
	}
	STAILQ_INSERT_TAIL(&pipe->pieces, p, in_order);
	if (pipe->line->delay_ns == 0 && pipe->arrived == pipe->count)
		pipe->arrived++;
	else
		put_in_flight(pipe->line, p, now);
	pipe->count++;
}

struct pipe *line_arrive(struct line *line, uint64_t now)
{
	struct piece *p = TAILQ_FIRST(&line->in_flight);

	if (p == NULL || p->due_ns > now)
		return NULL;
	TAILQ_REMOVE(&line->in_flight, p, in_flight);
	p->pipe->arrived++;
	return p->pipe;
}

uint64_t line_next_ns(const struct line *line)
{
	const struct piece *p = TAILQ_FIRST(&line->in_flight);

	return p != NULL ? p->due_ns : UINT64_MAX;
}

struct piece *pipe_first(struct pipe *pipe)
{
	return pipe->arrived > 0 ? STAILQ_FIRST(&pipe->pieces) : NULL;
}

int pipe_iov(struct pipe *pipe, struct iovec *iov, int max)
{
	struct piece *p = pipe_first(pipe);
	size_t left = pipe->arrived;
	int n = 0;

	for (; left > 0 && p->kind == PIECE_DATA; left--) {
		struct iovec *last = n > 0 ? &iov[n - 1] : NULL;

		if (last != NULL &&
		    (uint8_t *)last->iov_base + last->iov_len == p->ptr)
			last->iov_len += p->len;
		else if (n == max)
			break;
		else
			iov[n++] = (struct iovec){ p->ptr, p->len };
		p = STAILQ_NEXT(p, in_order);
	}
	return n;
}

void pipe_shift(struct pipe *pipe)
{
	struct piece *p = STAILQ_FIRST(&pipe->pieces);

	assert(pipe->arrived > 0);
	STAILQ_REMOVE_HEAD(&pipe->pieces, in_order);
	pipe->bytes -= p->len;
	pipe->arrived--;
	pipe->count--;
	piece_free(pipe->pool, p);
}

void pipe_sent(struct pipe *pipe, size_t n)
{
	while (n > 0) {
		struct piece *p = pipe_first(pipe);

		assert(p != NULL && p->kind == PIECE_DATA);
		if (n < p->len) {
			p->ptr += n;
			p->len -= n;
			pipe->bytes -= n;
			return;
		}
		n -= p->len;
		pipe_shift(pipe);
	}
}

void pipe_rest(struct pipe *pipe)
{
	chunk_put(pipe->pool, pipe->filling);
	pipe->filling = NULL;
}

void pipe_clear(struct pipe *pipe)
{
	struct piece *p;

	while (pipe->arrived > 0)
		pipe_shift(pipe);
	while ((p = STAILQ_FIRST(&pipe->pieces)) != NULL) {
		TAILQ_REMOVE(&pipe->line->in_flight, p, in_flight);
		pipe->arrived++;
		pipe_shift(pipe);
	}
	pipe_rest(pipe);
}
