/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outq - bytes waiting to be sent on one connection, as references to bufs.
 *
 * Owns: its rings, one reference per segment. One worker's thread only.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/outq.h"

enum {
	RING_FIRST = 8,
	/* Below this part of its block a piece is copied by outq_unpin(). */
	UNPIN_PART = 4,
};

static struct outq_seg *ring_at(const struct outq_ring *r, unsigned i)
{
	return &r->segs[(r->head + i) & (r->cap - 1)];
}

static bool ring_grow(struct outq_ring *r)
{
	unsigned cap = r->cap ? r->cap * 2 : RING_FIRST;
	struct outq_seg *segs = malloc(cap * sizeof(*segs));

	if (segs == NULL)
		return false;
	for (unsigned i = 0; i < r->count; i++)
		segs[i] = *ring_at(r, i);
	free(r->segs);
	r->segs = segs;
	r->head = 0;
	r->cap = cap;
	return true;
}

/* The pieces of a batch of small records lie side by side: keep them one. */
static bool ring_push(struct outq_ring *r, struct buf *buf, uint8_t *ptr,
		      size_t len)
{
	if (r->count > 0) {
		struct outq_seg *last = ring_at(r, r->count - 1);

		if (last->buf == buf && last->ptr + last->len == ptr) {
			last->len += len;
			return true;
		}
	}
	if (r->count == r->cap && !ring_grow(r))
		return false;
	*ring_at(r, r->count++) = (struct outq_seg){ buf_get(buf), ptr, len };
	return true;
}

static void ring_clear(struct outq_ring *r)
{
	for (unsigned i = 0; i < r->count; i++)
		buf_put(ring_at(r, i)->buf);
	free(r->segs);
	*r = (struct outq_ring){ 0 };
}

/* The open record has ended: what waited behind it may go. */
static bool release_behind(struct outq *q)
{
	struct outq_ring *from = &q->behind;

	while (q->ready.cap < q->ready.count + from->count)
		if (!ring_grow(&q->ready))
			return false;
	for (unsigned i = 0; i < from->count; i++)
		*ring_at(&q->ready, q->ready.count++) = *ring_at(from, i);
	free(from->segs);
	*from = (struct outq_ring){ 0 };
	return true;
}

bool outq_pass(struct outq *q, struct buf *buf, uint8_t *ptr, size_t len,
	       bool is_last)
{
	if (!ring_push(&q->ready, buf, ptr, len))
		return false;
	q->bytes += len;
	q->is_open = !is_last;
	if (is_last && q->behind.count > 0)
		return release_behind(q);
	return true;
}

bool outq_add(struct outq *q, struct gfp_span record)
{
	struct buf *b = buf_new_sized(record.len);
	bool ok;

	if (b == NULL)
		return false;
	memcpy(b->bytes, record.ptr, record.len);
	ok = ring_push(q->is_open ? &q->behind : &q->ready, b, b->bytes,
		       record.len);
	buf_put(b);
	if (ok)
		q->bytes += record.len;
	return ok;
}

int outq_iov(const struct outq *q, struct iovec *iov, int max)
{
	int n = 0;

	while (n < max && (unsigned)n < q->ready.count) {
		struct outq_seg *seg = ring_at(&q->ready, (unsigned)n);

		iov[n].iov_base = seg->ptr;
		iov[n].iov_len = seg->len;
		n++;
	}
	return n;
}

void outq_sent(struct outq *q, size_t n)
{
	struct outq_ring *r = &q->ready;

	assert(n <= q->bytes);
	q->bytes -= n;
	while (n > 0) {
		struct outq_seg *seg = ring_at(r, 0);

		if (n < seg->len) {
			seg->ptr += n;
			seg->len -= n;
			return;
		}
		n -= seg->len;
		buf_put(seg->buf);
		r->head = (r->head + 1) & (r->cap - 1);
		r->count--;
	}
	/* A burst's ring is not kept; the first size is, while in use. */
	if (r->count == 0 && r->cap > RING_FIRST)
		ring_clear(r);
}

void outq_unpin(struct outq *q, struct buf *buf)
{
	struct outq_ring *r = &q->ready;
	unsigned first = r->count;
	size_t total = 0;
	struct buf *b;
	uint8_t *to;

	while (first > 0 && ring_at(r, first - 1)->buf == buf)
		total += ring_at(r, --first)->len;
	if (total == 0 || total > buf->cap / UNPIN_PART)
		return;
	b = buf_new_sized(total);
	if (b == NULL)
		return;		/* it stays pinned: correct, only larger */
	to = b->bytes;
	for (unsigned i = first; i < r->count; i++) {
		struct outq_seg *seg = ring_at(r, i);

		memcpy(to, seg->ptr, seg->len);
		to += seg->len;
		buf_put(seg->buf);
	}
	r->count = first + 1;
	*ring_at(r, first) = (struct outq_seg){ b, b->bytes, total };
}

void outq_clear(struct outq *q)
{
	ring_clear(&q->ready);
	ring_clear(&q->behind);
	q->bytes = 0;
	q->is_open = false;
}
