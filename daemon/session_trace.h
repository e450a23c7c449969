/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_trace - what a session tells the trace of its records.
 *
 * A record that comes in one read is handed over as it lies; of one that comes
 * in pieces, the part that the trace will show is copied as it passes.
 */
#ifndef FOREBRICK_DAEMON_SESSION_TRACE_H
#define FOREBRICK_DAEMON_SESSION_TRACE_H

#include "daemon/session.h"
#include "proto/rpc_msg.h"

/* A call is being forwarded; its xid is still the client's. */
void session_trace_call(struct session *s, struct call *call,
			const struct gfp_call *head, const struct record *r);

/* A call has been answered here with the given record, mark included. */
void session_trace_refused(struct session *s, const struct gfp_call *head,
			   const struct record *r, struct gfp_span answer);

/* The head of the call's reply has come. The note is given away. */
void session_trace_reply(struct session *s, struct call *call,
			 const struct record *r);

/* A call from the brick. PASS, or WHOLE while the trace needs more of it. */
enum record_fate session_trace_callback(struct session *s,
					const struct record *r);

/* The rest of a record; handlers of the two connections. */
void session_trace_call_rest(struct conn *c, struct gfp_span bytes,
			     bool is_last);
void session_trace_reply_rest(struct conn *c, struct gfp_span bytes,
			      bool is_last);

/* The session ends: what is unanswered is traced as such. */
void session_trace_end(struct session *s);

#endif
