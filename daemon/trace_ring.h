/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring - one worker's way to the trace, seen from the writing thread.
 *
 * What workers call is in trace.h. The setting trace_buffer is split in two
 * halves: the ring of finished records, and the budget of notes that wait for
 * their reply. A record takes at most half of the ring; what it has beyond that
 * is cut off.
 */
#ifndef FOREBRICK_DAEMON_TRACE_RING_H
#define FOREBRICK_DAEMON_TRACE_RING_H

#include <sys/queue.h>

#include "daemon/spsc.h"
#include "daemon/trace.h"
#include "daemon/trace_format.h"

/* How deep the writing thread sleeps, and who may wake it. */
enum trace_sleep {
	TRACE_AWAKE,	/* it will look at the rings by itself */
	TRACE_NAPPING,	/* in milliseconds; a ring half full wakes it */
	TRACE_ASLEEP,	/* any record wakes it */
};

/* What the rings of one trace share. */
struct trace_shared {
	alignas(SPSC_LINE) atomic_bool is_on;
	_Atomic uint32_t payload;
	alignas(SPSC_LINE) _Atomic int sleep;	/* enum trace_sleep */
	int wake_fd;				/* eventfd */
};

/* Wake the thread, whatever it does. Any thread. */
void trace_wake(struct trace_shared *shared);

struct trace_ring {
	struct spsc q;
	struct trace_shared *shared;
	SLIST_ENTRY(trace_ring) next;		/* the writing thread's list */
	/* worker's */
	struct trace_note *free_notes;
	size_t free_count;
	size_t budget, held;			/* bytes of notes */
	_Atomic size_t open_notes;
	_Atomic uint64_t lost;			/* records, since the start */
	atomic_bool is_closed;
	/* writing thread's */
	uint64_t lost_seen;
	size_t mark;
};

/* Lost records up to an entry, and the entry. */
struct trace_taken {
	struct trace_item item;	/* points into the ring */
	uint64_t lost_before;
};

/* buffer: the setting. NULL without memory. */
struct trace_ring *trace_ring_new(struct trace_shared *shared, size_t buffer);
void trace_ring_free(struct trace_ring *r);

/* Writing thread: the oldest record; it stays until trace_ring_drop(). */
bool trace_ring_take(struct trace_ring *r, struct trace_taken *out);
void trace_ring_drop(struct trace_ring *r);

/* Writing thread: nothing waits in it and no note will come of it. */
bool trace_ring_is_quiet(struct trace_ring *r);

uint64_t trace_ring_lost(const struct trace_ring *r);

#endif
