/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer - the other end of a connection under test, and the loop in between.
 *
 * Nothing here waits: sockets do not block, and the loop runs one pass at a
 * time. What should happen is looked for in a bounded number of passes.
 */
#ifndef FOREBRICK_TESTS_UNIT_PEER_H
#define FOREBRICK_TESTS_UNIT_PEER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/span.h"

enum {
	PASSES_MAX = 20000,	/* until something must have happened */
	PASSES_IDLE = 12,	/* in which nothing may happen */
};

struct peer {
	int fd;
	uint8_t *got;		/* received and not yet forgotten */
	size_t len, cap;
	bool has_ended;		/* the other side sends no more */
	int error;		/* what ended it, if it was not the end */
};

/* Two connected, non-blocking unix sockets; sndbuf 0: as the system has it. */
void pair_open(int fds[2], int sndbuf);

/* Take over a socket. */
void peer_start(struct peer *p, int fd);
void peer_close(struct peer *p);	/* may be called twice */

/* Send what the socket takes; returns how much that was. */
size_t peer_write(struct peer *p, struct gfp_span bytes);

/* Receive what is there, at most max bytes. */
void peer_read(struct peer *p, size_t max);

/* Forget the first n bytes received. */
void peer_forget(struct peer *p, size_t n);

/* One pass of the loop. */
void loop_pass(struct event_base *base);

/* Passes in which all that can happen does, as long as no peer acts. */
void loop_idle(struct event_base *base);

/* Bytes to send and to compare with; grows. */
struct stream {
	uint8_t *at;
	size_t len, cap;
};

void stream_add(struct stream *s, struct gfp_span bytes);
void stream_free(struct stream *s);

/*
 * Append size bytes that look like nothing else: they follow from seed, the
 * first eight are the seed and zero.
 */
void stream_add_body(struct stream *s, uint32_t size, uint32_t seed);

/* The same as one record, or as a fragment of any kind. */
void stream_add_mark(struct stream *s, uint32_t size, bool is_last);
void stream_add_record(struct stream *s, uint32_t size, uint32_t seed);

/* What a peer has received is the stream, no more and no less. */
void assert_received(const struct peer *p, const struct stream *want);

static inline struct gfp_span stream_span(const struct stream *s)
{
	return (struct gfp_span){ s->at, s->len };
}

#endif
