/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace - one record for each RPC, written by a thread of its own.
 *
 * Workers hand over complete records through rings, one ring a worker, and
 * never wait: what finds no room is counted. The thread decodes, formats and
 * writes. So a slow or full disk costs records, not traffic.
 *
 * What the trace keeps of a call until its reply is there is a struct
 * trace_note: allocated by trace_note_new() against the ring's budget, given
 * back by trace_note_finish(), which always consumes it.
 *
 * Each call that trace_note_new() is told of ends as exactly one of written,
 * lost_room and lost_write. In the file a line of its own stands where records
 * are missing. Records of one worker are in the order in which they were
 * finished; those of several only roughly.
 */
#ifndef FOREBRICK_DAEMON_TRACE_H
#define FOREBRICK_DAEMON_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/settings.h"
#include "proto/span.h"

struct trace;		/* the process's sink: file, thread, rings */
struct trace_ring;	/* one worker's way to it */

/* Who sent the call to the peer that answered it. */
enum trace_origin { TRACE_BY_CLIENT, TRACE_BY_BRICK };

/* What became of it. */
enum trace_outcome {
	TRACE_FORWARDED,	/* sent on, and the reply with it */
	TRACE_REFUSED,		/* answered here with an error, never sent on */
	TRACE_UNANSWERED,	/* the session ended before a reply came */
	TRACE_CALLBACK,		/* from brick to client; no reply exists */
};

/* What a worker knows of an RPC by itself. Strings are copied. */
struct trace_meta {
	uint64_t time_us;	/* real time when the call's head was read */
	uint64_t latency_us;	/* until the reply's head was read */
	uint64_t session;
	const char *client;	/* address of the client */
	const char *brick;	/* of the brick */
	uint32_t client_xid, brick_xid;
	enum trace_origin origin;
	enum trace_outcome outcome;
	uint32_t call_size, reply_size;	/* of whole records without mark */
};

/*
 * Start the thread. Returns NULL and logs when the thread cannot be had. With
 * no trace_file the trace is off until trace_apply() brings one. A file that
 * cannot be opened is logged and tried again every few seconds.
 */
struct trace *trace_open(const struct settings *s);

/*
 * Take over changed settings (file, format, payload); any thread but workers.
 * Does not wait: the trace goes on once the file is open, and off at once.
 * Calls that are outstanding then are still written when they are answered.
 */
void trace_apply(struct trace *t, const struct settings *s);

/* The file was rotated: open it anew. Does not wait for the thread. */
void trace_reopen(struct trace *t);

/*
 * Write what the rings hold, stop, and log the counts. All rings must be closed.
 * The reader of a pipe who takes nothing for two seconds is not waited for.
 */
void trace_close(struct trace *t);

/*
 * A ring belongs to one thread at a time. trace_buffer is halved: one half
 * holds finished records until they are written, the other the notes. All notes
 * must be finished before it is closed; its records are written all the same.
 */
struct trace_ring *trace_ring_open(struct trace *t);
void trace_ring_close(struct trace_ring *r);

/* One load: false when nothing is traced, and nothing else need be called. */
bool trace_is_on(const struct trace_ring *r);

/* Bytes of a READ or WRITE payload that the trace wants to see. */
uint32_t trace_payload_wanted(const struct trace_ring *r);

/*
 * Keep the part of a call that the trace will show.
 *
 *   call   the record, mark excluded, without the payload beyond what is
 *          wanted; more may follow with trace_note_add()
 *
 * Returns NULL when the budget is used up; the loss is counted, and the caller
 * simply has nothing to finish.
 */
struct trace_note *trace_note_new(struct trace_ring *r, struct gfp_span call);

/*
 * Append bytes of the call as they arrive. Bytes beyond the budget are dropped
 * and the record is marked cut ("truncated").
 */
void trace_note_add(struct trace_ring *r, struct trace_note **note,
		    struct gfp_span bytes);

/*
 * Hand the record to the thread and free the note.
 *
 *   reply  as call above; empty when there is none
 *
 * A note of NULL is ignored.
 */
void trace_note_finish(struct trace_ring *r, struct trace_note *note,
		       const struct trace_meta *meta, struct gfp_span reply);

/* Exact counts since the start. Any thread. */
struct trace_counts {
	uint64_t written;	/* records that reached the file */
	uint64_t lost_room;	/* no room in ring or budget */
	uint64_t lost_write;	/* the file could not be written */
};
void trace_count(const struct trace *t, struct trace_counts *out);

#endif
