/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_trace - what a session tells the trace of its records.
 *
 * Owns: the reply tap. Called on the worker's thread only.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/session_trace.h"
#include "proto/record.h"

enum {
	/* Most bytes of one record that are kept for the trace. A directory
	   listing is the largest thing that comes without a payload. */
	KEEP_MAX = 1024 * 1024,
	/* Of a record whose payload begins too far off to be found. */
	KEEP_BLIND = 64 * 1024,
};

/* A reply that comes in pieces. */
struct reply_tap {
	struct trace_note *note;
	struct trace_meta meta;
	size_t want, len;
	uint8_t bytes[];
};

/*
 * How much of a record the trace wants: all of it but the payload, of which a
 * few bytes may be asked for.
 */
static size_t wanted(const struct session *s, const struct gfp_proc *proc,
		     bool is_call, size_t body_off, const struct record *r)
{
	struct gfp_span head = { r->bytes, r->have };
	enum gfp_payload here = is_call ? GFP_PAYLOAD_CALL : GFP_PAYLOAD_REPLY;
	size_t want = r->size, off;

	if (proc != NULL && proc->payload == here && body_off > 0) {
		if (gfp_payload_off(proc, is_call,
				    gfp_span_from(head, body_off),
				    &off) == GFP_OK)
			want = body_off + off +
			       trace_payload_wanted(s->host->trace);
		else
			want = KEEP_BLIND;
	}
	if (want > KEEP_MAX)
		want = KEEP_MAX;
	return want < r->size ? want : r->size;
}

static struct gfp_span first_bytes(const struct record *r, size_t want)
{
	return (struct gfp_span){ r->bytes, want < r->have ? want : r->have };
}

/* Times of the trace are real time; latencies are measured monotonic. */
static struct trace_meta make_meta(const struct session *s,
				   enum trace_outcome outcome)
{
	return (struct trace_meta){
		.time_us = clock_real_us(),
		.session = s->id,
		.client = s->client_text,
		.brick = s->route->listener->brick,
		.outcome = outcome,
	};
}

static struct trace_meta meta_of_call(const struct session *s,
				      const struct call *call,
				      enum trace_outcome outcome)
{
	/* Before the real time is read: who is interrupted between the two must
	   not date the call before it came. */
	uint64_t latency_us = clock_mono_us() - call->start_us;
	struct trace_meta meta = make_meta(s, outcome);

	meta.latency_us = latency_us;
	meta.time_us -= latency_us;
	meta.client_xid = call->client_xid;
	meta.brick_xid = call->brick_xid;
	meta.call_size = call->size;
	return meta;
}

void session_trace_call(struct session *s, struct call *call,
			const struct gfp_call *head, const struct record *r)
{
	size_t want;

	if (!trace_is_on(s->host->trace))
		return;
	want = wanted(s, call->proc, true, head->args_off, r);
	call->note = trace_note_new(s->host->trace, first_bytes(r, want));
	if (call->note == NULL || want <= r->have)
		return;
	s->tapped_xid = call->brick_xid;
	s->tapped_left = want - r->have;
}

void session_trace_call_rest(struct conn *c, struct gfp_span bytes,
			     bool is_last)
{
	struct session *s = c->owner;
	struct call *call;

	if (s->tapped_left == 0)
		return;
	if (bytes.len > s->tapped_left)
		bytes.len = s->tapped_left;
	s->tapped_left -= bytes.len;
	/* A hasty brick may have answered before the call was whole. */
	call = call_find(&s->calls, s->tapped_xid);
	if (call != NULL && call->note != NULL)
		trace_note_add(s->host->trace, &call->note, bytes);
	if (is_last)
		s->tapped_left = 0;
}

void session_trace_refused(struct session *s, const struct gfp_call *head,
			   const struct record *r, struct gfp_span answer)
{
	struct trace_meta meta;
	struct trace_note *note;

	if (!trace_is_on(s->host->trace))
		return;
	note = trace_note_new(s->host->trace,
			      first_bytes(r, CONN_HEAD_MAX));
	meta = make_meta(s, TRACE_REFUSED);
	meta.client_xid = head->xid;
	meta.call_size = r->size;
	meta.reply_size = (uint32_t)(answer.len - GFP_MARK_SIZE);
	trace_note_finish(s->host->trace, note, &meta,
			  gfp_span_from(answer, GFP_MARK_SIZE));
}

/* Begin to collect a reply; without memory it is shown as far as it came. */
static bool start_tap(struct session *s, struct trace_note *note,
		      const struct trace_meta *meta, const struct record *r,
		      size_t want)
{
	struct reply_tap *tap = malloc(sizeof(*tap) + want);

	if (tap == NULL)
		return false;
	tap->note = note;
	tap->meta = *meta;
	tap->want = want;
	tap->len = r->have;
	memcpy(tap->bytes, r->bytes, r->have);
	s->reply_tap = tap;
	return true;
}

void session_trace_reply(struct session *s, struct call *call,
			 const struct record *r)
{
	struct trace_note *note = call->note;
	struct trace_meta meta;
	size_t want;

	if (note == NULL)
		return;
	call->note = NULL;
	meta = meta_of_call(s, call, TRACE_FORWARDED);
	meta.reply_size = r->size;
	want = wanted(s, call->proc, false, GFP_REPLY_HEAD_SIZE, r);
	if (want > r->have && start_tap(s, note, &meta, r, want))
		return;
	trace_note_finish(s->host->trace, note, &meta, first_bytes(r, want));
}

static void finish_tap(struct session *s)
{
	struct reply_tap *tap = s->reply_tap;

	s->reply_tap = NULL;
	trace_note_finish(s->host->trace, tap->note, &tap->meta,
			  (struct gfp_span){ tap->bytes, tap->len });
	free(tap);
}

void session_trace_reply_rest(struct conn *c, struct gfp_span bytes,
			      bool is_last)
{
	struct session *s = c->owner;
	struct reply_tap *tap = s->reply_tap;

	if (tap == NULL)
		return;
	if (bytes.len > tap->want - tap->len)
		bytes.len = tap->want - tap->len;
	memcpy(tap->bytes + tap->len, bytes.ptr, bytes.len);
	tap->len += bytes.len;
	if (is_last || tap->len == tap->want)
		finish_tap(s);
}

enum record_fate session_trace_callback(struct session *s,
					const struct record *r)
{
	struct trace_meta meta;
	struct trace_note *note;

	if (!trace_is_on(s->host->trace))
		return RECORD_PASS;
	if (r->have < r->size && r->have < CONN_WHOLE_MAX)
		return RECORD_WHOLE;
	note = trace_note_new(s->host->trace, first_bytes(r, r->size));
	meta = make_meta(s, TRACE_CALLBACK);
	meta.origin = TRACE_BY_BRICK;
	meta.brick_xid = meta.client_xid = gfp_be32(r->bytes);
	meta.call_size = r->size;
	trace_note_finish(s->host->trace, note, &meta, (struct gfp_span){ 0 });
	return RECORD_PASS;
}

void session_trace_end(struct session *s)
{
	struct call *call;

	if (s->reply_tap != NULL)
		finish_tap(s);
	for (call = call_first(&s->calls); call != NULL;
	     call = call_next(&s->calls, call)) {
		struct trace_meta meta;

		if (call->note == NULL)
			continue;
		meta = meta_of_call(s, call, TRACE_UNANSWERED);
		trace_note_finish(s->host->trace, call->note, &meta,
				  (struct gfp_span){ 0 });
		call->note = NULL;
	}
}
