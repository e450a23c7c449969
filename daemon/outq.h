/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outq - bytes waiting to be sent on one connection, as references to bufs.
 *
 * Records leave whole. While one is still arriving from the other side ("open"),
 * records made here wait behind it, however long it takes.
 */
#ifndef FOREBRICK_DAEMON_OUTQ_H
#define FOREBRICK_DAEMON_OUTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "daemon/buf.h"

struct outq_seg {
	struct buf *buf;	/* one reference */
	uint8_t *ptr;
	size_t len;
};

/* A ring of segments that takes no memory while empty. */
struct outq_ring {
	struct outq_seg *segs;
	unsigned head, count, cap;
};

struct outq {
	struct outq_ring ready;
	struct outq_ring behind;	/* whole records, while one is open */
	size_t bytes;			/* of both */
	bool is_open;
};

/*
 * Append a piece of a passing record; takes a reference to buf.
 *
 *   is_last   the piece ends its record
 *
 * Returns false without memory; the queue is as before then.
 */
GFP_MUST_CHECK bool outq_pass(struct outq *q, struct buf *buf, uint8_t *ptr,
			      size_t len, bool is_last);

/* Append a whole record made here; its bytes are copied. Likewise. */
GFP_MUST_CHECK bool outq_add(struct outq *q, struct gfp_span record);

/* Fill up to max entries; returns how many. */
int outq_iov(const struct outq *q, struct iovec *iov, int max);

/* n bytes of what outq_iov() gave have been sent. */
void outq_sent(struct outq *q, size_t n);

/*
 * What is left of buf at the queue's end, if little, is copied, so that a slow
 * peer holds what it has to read and not a whole block for each reply.
 */
void outq_unpin(struct outq *q, struct buf *buf);

void outq_clear(struct outq *q);

#endif
