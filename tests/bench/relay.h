/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay - connections whose two ways are delay lines.
 *
 * What is received is stamped and sent on one delay later, as much of it as
 * there is. Peers see what a long way would show them: the first answer on a
 * new connection takes two round trips (a client believes at once that it is
 * connected, so the relay dials when the third packet of its handshake would
 * have arrived, 1.5 round trips later); FIN and RST travel as long as data do.
 * Only what is in flight is bounded (queue_bytes): beyond it, nothing more is
 * read from the sender.
 *
 * Owns: listener, connections. One thread.
 */
#ifndef FOREBRICK_TESTS_BENCH_RELAY_H
#define FOREBRICK_TESTS_BENCH_RELAY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tests/bench/delay_line.h"

enum direction { UP, DOWN, DIRECTIONS };	/* UP: from the client */

struct way;
struct conn;

struct relay {
	/* set by the caller before relay_open() */
	const char *to;			/* HOST:PORT to dial */
	uint64_t queue_bytes;		/* of each direction of a connection */
	/* called when standard input is readable; NULL: it is not read */
	void (*on_control)(struct relay *r);

	int epoll, listener;
	bool is_listening;
	struct pool pool;
	struct line lines[DIRECTIONS];
	struct line dials;
	TAILQ_HEAD(, way) busy;		/* have something to do in this pass */
	size_t busy_count;
	TAILQ_HEAD(, conn) dead;	/* to be freed at the end of the pass */
	/* totals */
	uint64_t conns, bytes[DIRECTIONS];
	size_t peak_bytes;		/* of one direction of a connection */
};

/* Listen; returns the port. chunk_size: most bytes of one read. */
unsigned relay_open(struct relay *r, const char *where, size_t chunk_size);

/* From now on; what is in flight keeps its time. */
void relay_set_delay(struct relay *r, uint64_t up_ns, uint64_t down_ns);

/* Relay until *is_stopping, which a signal's handler may set. */
void relay_run(struct relay *r, const volatile sig_atomic_t *is_stopping);

/* Read standard input no more. */
void relay_end_control(struct relay *r);

#endif
