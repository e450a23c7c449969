/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delay_line - bytes on their way: stamped, in order, without a rate.
 *
 *   reading        in flight                   arrived        writing
 *   pipe_room ->   pipe_push (stamp, delay) -> line_arrive -> pipe_iov
 *                                                             pipe_sent
 *
 * A pipe is one direction of one connection: pieces of received bytes in the
 * order in which they came. A line is all that has the same delay: as its
 * pieces fall due in the order in which they were pushed, a plain queue is
 * enough, and the next moment at which anything happens is that of its head.
 * Pieces lie in counted chunks, filled by many reads; a chunk that is free
 * again is the next one used, being the one in the processor's cache.
 *
 * Owns: chunks and pieces. One thread.
 */
#ifndef FOREBRICK_TESTS_BENCH_DELAY_LINE_H
#define FOREBRICK_TESTS_BENCH_DELAY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

enum piece_kind {
	PIECE_DATA,
	PIECE_END,	/* the sender has finished: FIN */
	PIECE_RESET,	/* the sender is gone: RST */
	PIECE_DIAL,	/* nothing is sent: a moment has come */
};

struct chunk {
	struct chunk *next_free;
	unsigned refs;
	size_t used;
	uint8_t bytes[];
};

struct piece {
	TAILQ_ENTRY(piece) in_flight;	/* of its line, while in flight */
	STAILQ_ENTRY(piece) in_order;	/* of its pipe */
	struct pipe *pipe;
	struct chunk *chunk;		/* NULL unless PIECE_DATA */
	uint8_t *ptr;
	size_t len;
	uint64_t due_ns;
	enum piece_kind kind;
};

struct pool {
	size_t chunk_size;
	struct chunk *free_chunks;
	STAILQ_HEAD(, piece) free_pieces;
};

struct line {
	uint64_t delay_ns;	/* may change for what is pushed later */
	uint64_t last_due_ns;
	TAILQ_HEAD(, piece) in_flight;
};

struct pipe {
	struct pool *pool;
	struct line *line;
	void *owner;
	STAILQ_HEAD(, piece) pieces;
	size_t count, arrived;	/* pieces; how many of the first may be sent */
	size_t bytes;		/* received and not sent on */
	size_t peak_bytes;
	struct chunk *filling;	/* where the next read goes; may be NULL */
};

void pool_init(struct pool *pool, size_t chunk_size);
void line_init(struct line *line);	/* without delay */
void pipe_init(struct pipe *pipe, struct pool *pool, struct line *line,
	       void *owner);

/* Room for a read of at least half a chunk; valid until the next call. */
uint8_t *pipe_room(struct pipe *pipe, size_t *room);

/*
 * What was read into that room, or PIECE_END, PIECE_RESET, PIECE_DIAL with len
 * 0. Without delay it has arrived at once.
 */
void pipe_push(struct pipe *pipe, enum piece_kind kind, size_t len,
	       uint64_t now);

/*
 * Move one piece that is due by now out of the line. NULL: none is. It is
 * counted in pipe->arrived.
 */
struct pipe *line_arrive(struct line *line, uint64_t now);

/* When the next piece is due; UINT64_MAX when none is in flight. */
uint64_t line_next_ns(const struct line *line);

/* The first piece that has arrived, or NULL. */
struct piece *pipe_first(struct pipe *pipe);

/* Data that has arrived, up to the first piece that is none. */
int pipe_iov(struct pipe *pipe, struct iovec *iov, int max);

/* The first n bytes of it are sent. */
void pipe_sent(struct pipe *pipe, size_t n);

/* The first piece, whatever it is, is dealt with. */
void pipe_shift(struct pipe *pipe);

/* Nothing will be read for a while: keep no chunk for that. */
void pipe_rest(struct pipe *pipe);

/* Forget everything, arrived or in flight. */
void pipe_clear(struct pipe *pipe);

#endif
