/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - RPCs in flight of one session, and the xids they go under.
 *
 * The brick sees xids of the proxy's making: a slot number and a generation, so
 * a reply finds its call without a search, and one that was never asked for, or
 * is answered twice, finds none.
 */
#ifndef FOREBRICK_DAEMON_CALL_H
#define FOREBRICK_DAEMON_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/fop.h"
#include "proto/span.h"

enum {
	CALL_SLOT_BITS = 20,	/* max_calls and one block of calls fit */
	CALL_SLOT_LIMIT = 1 << CALL_SLOT_BITS,
};

struct call {
	uint32_t client_xid;
	uint32_t brick_xid;	/* slot and generation */
	uint32_t size;		/* of the call's record, mark excluded */
	uint32_t next_free;
	const struct gfp_proc *proc;	/* NULL: unknown to the table */
	struct trace_note *note;	/* NULL: not traced */
	uint64_t start_us;	/* monotonic */
	bool is_live;
};

struct call_table {
	struct call *calls;
	uint32_t cap, live, first_free;
	uint32_t generation;	/* of the newest xid; survives the slots */
};

/*
 * Begin a call. The pointer is good until the next call_new().
 * Returns NULL without memory or at CALL_SLOT_LIMIT.
 */
GFP_MUST_CHECK struct call *call_new(struct call_table *t);

/* The call that a reply's xid belongs to, or NULL. */
struct call *call_find(const struct call_table *t, uint32_t brick_xid);

void call_end(struct call_table *t, struct call *call);

/* For each live call: for (c = call_first(t); c; c = call_next(t, c)). */
struct call *call_first(const struct call_table *t);
struct call *call_next(const struct call_table *t, const struct call *call);

void call_table_clear(struct call_table *t);

#endif
