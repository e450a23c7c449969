/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - a client connection and its brick connection, as one.
 *
 *  client                            one session                        brick
 *  ------                            -----------                        -----
 *  listener_accept -> session_open -> conn_start
 *    conn_readable -> split -> session_call -> guard_call -> conn_flush(brick)
 *                                  first call: session_dial -> conn_start_connecting
 *  conn_flush(client) <- session_reply <- split <- conn_readable
 *
 * The head of each record is shown to session_call() or session_reply(), which
 * put another xid into it and let it pass; the rest follows as it arrives.
 *
 * Owns: both connections, the calls in flight, a reference to the route.
 * Called on the worker's thread only.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/guard.h"
#include "daemon/session.h"
#include "daemon/session_trace.h"
#include "daemon/socket.h"
#include "proto/dict.h"
#include "proto/rpc_msg.h"

/*
 * Until SETVOLUME has succeeded nobody sends more, and what is joined is held in
 * memory: strangers get no more of it than that.
 */
enum { YOUNG_REASSEMBLY = 64 * 1024 };

static const struct {
	enum log_level level;
	const char *text;
} close_reasons[] = {
#define REASON(id, level, text) { LOG_LEVEL_##level, text },
#include "daemon/close_reasons.def"
#undef REASON
};

static void describe_session(const struct log_obj *obj, char *out, size_t cap)
{
	const struct session *s = (const struct session *)obj;

	_Static_assert(offsetof(struct session, log) == 0, "log comes first");
	snprintf(out, cap, "session %llu %s", (unsigned long long)s->id,
		 s->client_text);
}

static void set_state(struct session *s, enum session_state state)
{
	struct session_host *host = s->host;

	assert(s->state != SESSION_DEAD && state > s->state);
	TAILQ_REMOVE(&host->lists[s->state], s, link);
	host->counts[s->state]--;
	s->state = state;
	TAILQ_INSERT_TAIL(&host->lists[state], s, link);
	host->counts[state]++;
}

static void log_reason(const struct session *s, enum close_reason reason,
		       const char *detail)
{
	static struct log_limit limits[CLOSE_REASON_LIMIT];

	log_at(close_reasons[reason].level, &s->log, &limits[reason],
	       "%s%s%s, %llu calls made, %u unanswered",
	       close_reasons[reason].text, detail ? ": " : "",
	       detail ? detail : "", (unsigned long long)s->call_count,
	       s->calls.live);
}

void session_close(struct session *s, enum close_reason reason,
		   const char *detail)
{
	if (s->state == SESSION_DEAD)
		return;
	if (s->state == SESSION_ENDING) {
		log_debug(&s->log, "closed");	/* why was said before */
	} else {
		s->ending = reason;
		log_reason(s, reason, detail);
	}
	session_trace_end(s);
	conn_close(&s->client);
	conn_close(&s->brick);
	set_state(s, SESSION_DEAD);
	atomic_fetch_sub_explicit(s->host->live, 1, memory_order_relaxed);
}

static uint64_t linger_deadline(const struct session *s)
{
	return clock_mono_us() + s->route->listener->half_close_timeout_us;
}

/* No reply is awaited, under way or waiting to be sent. */
static bool owes_nothing(const struct session *s)
{
	if (s->client.out.bytes > 0)
		return false;
	return !conn_is_open(&s->brick) ||
	       (s->calls.live == 0 && !s->client.out.is_open);
}

/*
 * Everything that will be answered has been: tell the client, and linger until
 * it closes, too, or as long as is allowed to one that does not.
 */
static void finish_if_done(struct session *s)
{
	if (s->state != SESSION_ENDING || !owes_nothing(s))
		return;
	if (s->client.has_ended) {
		session_close(s, s->ending, NULL);
		return;
	}
	conn_close(&s->brick);
	conn_shutdown_send(&s->client);
	conn_drop_input(&s->client);
	if (linger_deadline(s) < s->deadline_us)
		s->deadline_us = linger_deadline(s);
}

/* From now on only what is owed to the client is delivered. */
static void begin_ending(struct session *s, enum close_reason why,
			 const char *detail, uint64_t deadline_us)
{
	if (s->state == SESSION_ENDING || s->state == SESSION_DEAD)
		return;
	log_reason(s, why, detail);
	set_state(s, SESSION_ENDING);
	s->ending = why;
	s->ending_sent = s->client.sent_bytes;
	s->deadline_us = deadline_us;
	finish_if_done(s);
}

void session_drain(struct session *s, uint64_t deadline_us)
{
	if (!conn_is_open(&s->brick) || s->brick.is_connecting) {
		session_close(s, CLOSE_DRAINED, NULL);
		return;
	}
	s->client.stops_at_record = true;
	if (!conn_is_inside_record(&s->client))
		conn_block(&s->client, CONN_BLOCK_END);
	begin_ending(s, CLOSE_DRAINED, NULL, deadline_us);
}

/* Connect to the next address of the brick. False: the session is closed. */
static bool session_dial(struct session *s)
{
	const struct listener_settings *set = s->route->listener;
	uint64_t now = clock_mono_us();
	int fd = -ECONNREFUSED;

	while (fd < 0 && s->brick_tried < s->route->brick_count)
		fd = socket_dial(&s->route->bricks[s->brick_tried++], set);
	if (fd < 0) {
		bool is_ours = fd == -EMFILE || fd == -ENFILE;

		session_close(s,
			      is_ours ? CLOSE_NO_DESCRIPTORS :
					CLOSE_CONNECT_FAILED,
			      strerror(-fd));
		return false;
	}
	s->deadline_us = now + set->connect_timeout_us;
	if (s->handshake_us < s->deadline_us)
		s->deadline_us = s->handshake_us;
	conn_start_connecting(&s->brick, s->host->base, &conn_ops_plain, fd);
	return true;
}

/*
 * An ending client that goes on taking what it is owed is given time as long as
 * it does; a drain ends when it was said to end.
 */
static bool is_still_taking(struct session *s)
{
	bool is_taking = s->client.sent_bytes != s->ending_sent &&
			 s->ending != CLOSE_DRAINED;

	s->ending_sent = s->client.sent_bytes;
	return is_taking;
}

void session_expire(struct session *s, uint64_t now)
{
	if (s->state == SESSION_ENDING) {
		if (is_still_taking(s))
			s->deadline_us = linger_deadline(s);
		else
			session_close(s, s->ending, NULL);
		return;
	}
	if (!s->brick.is_connecting) {
		session_close(s, CLOSE_HANDSHAKE_TIMEOUT, NULL);
		return;
	}
	if (now >= s->handshake_us ||
	    s->brick_tried >= s->route->brick_count) {
		session_close(s, CLOSE_CONNECT_TIMEOUT, NULL);
		return;
	}
	/* An address that does not answer says nothing about the next. */
	conn_close(&s->brick);
	session_dial(s);
}

/* A text of a peer, as long as the log may show it. */
static int shown_len(struct gfp_pair pair)
{
	return pair.value.len < 256 ? (int)pair.value.len : 256;
}

/* Who mounts what, for the log; the brick's answer decides about it. */
static void note_identity(struct session *s, struct gfp_span args)
{
	struct gfp_pair subvolume = { 0 }, identity = { 0 };
	struct gfp_span blob;
	uint32_t len;

	if (!gfp_span_u32(args, 0, &len) || !gfp_span_has(args, 4, len))
		return;
	blob = (struct gfp_span){ args.ptr + 4, len };
	if (gfp_blob_find(blob, "remote-subvolume", &subvolume) != GFP_OK ||
	    gfp_blob_find(blob, "process-uuid", &identity) != GFP_OK)
		return;
	log_limited(LOG_LEVEL_INFO, &s->log, "asks for %.*s as %.*s",
		    shown_len(subvolume), subvolume.value.ptr,
		    shown_len(identity), identity.value.ptr);
}

static bool is_setvolume(const struct gfp_proc *proc)
{
	return proc != NULL && proc == gfp_proc_find(GFP_PROG_HNDSK, 2,
						     GFP_HNDSK_SETVOLUME);
}

static enum record_fate refuse(struct session *s, const struct gfp_call *head,
			       const struct gfp_proc *proc,
			       const struct record *r,
			       const struct guard_answer *answer)
{
	struct gfp_span reply = { answer->bytes, answer->len };

	log_limited(LOG_LEVEL_WARN, &s->log, "refused %s (%u/%u/%u) xid %u: %s",
		    proc ? proc->name : "call", head->program, head->version,
		    head->proc, head->xid, answer->reason);
	session_trace_refused(s, head, r, reply);
	if (!conn_send(&s->client, reply)) {
		session_close(s, CLOSE_NO_MEMORY, NULL);
		return RECORD_DEAD;
	}
	return conn_is_open(&s->client) ? RECORD_DROP : RECORD_DEAD;
}

/* A call that the brick is to see. */
static enum record_fate forward_call(struct session *s,
				     const struct gfp_call *head,
				     const struct gfp_proc *proc,
				     struct record *r)
{
	struct call *call = call_new(&s->calls);

	if (call == NULL) {
		session_close(s, CLOSE_NO_MEMORY, NULL);
		return RECORD_DEAD;
	}
	s->call_count++;
	call->client_xid = head->xid;
	call->proc = proc;
	call->size = r->size;
	call->start_us = clock_mono_us();
	session_trace_call(s, call, head, r);
	gfp_put_be32(r->bytes, call->brick_xid);
	if (s->calls.live >= (uint64_t)s->route->listener->max_calls)
		conn_block(&s->client, CONN_BLOCK_CALLS);
	return RECORD_PASS;
}

/* The head of a record from the client. */
static enum record_fate session_call(struct conn *c, struct record *r)
{
	struct session *s = c->owner;
	struct gfp_span head = { r->bytes, r->have };
	bool is_whole = r->have == r->size || r->have >= CONN_WHOLE_MAX;
	const struct gfp_proc *proc;
	struct guard_answer answer;
	struct gfp_call call;
	enum gfp_status st;

	if (gfp_be32(r->bytes + 4) == GFP_REPLY && conn_is_open(&s->brick))
		return RECORD_PASS;	/* to a callback; no client does it */
	st = gfp_call_parse(head, &call);
	proc = st == GFP_OK || st == GFP_TOO_BIG ?
		       gfp_proc_find(call.program, call.version, call.proc) :
		       NULL;
	switch (guard_call(st, &call, proc, head, is_whole, r->size, &answer)) {
	case GUARD_PASS:
		break;
	case GUARD_REFUSE:
		return refuse(s, &call, proc, r, &answer);
	case GUARD_WHOLE:
		return RECORD_WHOLE;
	case GUARD_BAD:
		session_close(s, CLOSE_BAD_CALL, answer.reason);
		return RECORD_DEAD;
	}
	if (is_setvolume(proc) && !is_whole)
		return RECORD_WHOLE;
	if (!conn_is_open(&s->brick)) {
		/* Only somebody who speaks RPC is worth a brick connection. */
		conn_block(c, CONN_BLOCK_START);
		return session_dial(s) ? RECORD_WAIT : RECORD_DEAD;
	}
	if (is_setvolume(proc))
		note_identity(s, gfp_span_from(head, call.args_off));
	return forward_call(s, &call, proc, r);
}

static void note_setvolume_reply(struct session *s, struct gfp_span head)
{
	struct gfp_reply reply;
	uint32_t op_ret;

	if (gfp_reply_parse(head, &reply) != GFP_OK ||
	    reply.reply_status != GFP_ACCEPTED || reply.detail != GFP_SUCCESS ||
	    !gfp_span_u32(head, reply.results_off, &op_ret))
		return;
	if (op_ret != 0) {
		log_limited(LOG_LEVEL_WARN, &s->log,
			    "the brick refuses SETVOLUME");
		return;
	}
	if (s->state == SESSION_YOUNG) {
		log_limited(LOG_LEVEL_INFO, &s->log, "mounted");
		set_state(s, SESSION_MOUNTED);
		s->deadline_us = UINT64_MAX;
		s->limits.max_reassembly =
			s->route->listener->max_reassembly;
	}
}

/* The head of a record from the brick. */
static enum record_fate session_reply(struct conn *c, struct record *r)
{
	struct session *s = c->owner;
	uint32_t type = gfp_be32(r->bytes + 4);
	struct call *call;

	if (type == GFP_CALL)
		return session_trace_callback(s, r);
	if (type != GFP_REPLY) {
		session_close(s, CLOSE_BAD_REPLY, "neither call nor reply");
		return RECORD_DEAD;
	}
	call = call_find(&s->calls, gfp_be32(r->bytes));
	if (call == NULL) {
		session_close(s, CLOSE_UNKNOWN_XID, NULL);
		return RECORD_DEAD;
	}
	if (is_setvolume(call->proc))
		note_setvolume_reply(s, (struct gfp_span){ r->bytes, r->have });
	gfp_put_be32(r->bytes, call->client_xid);
	session_trace_reply(s, call, r);
	call_end(&s->calls, call);
	if ((s->client.blocks & CONN_BLOCK_CALLS) &&
	    s->calls.live <= (uint64_t)s->route->listener->max_calls / 2)
		conn_unblock(&s->client, CONN_BLOCK_CALLS);
	return conn_is_open(c) ? RECORD_PASS : RECORD_DEAD;
}

static void on_client_end(struct conn *c, bool is_clean)
{
	struct session *s = c->owner;

	if (s->state == SESSION_ENDING) {
		finish_if_done(s);
		if (s->state == SESSION_ENDING && !conn_is_open(&s->brick))
			session_close(s, s->ending, NULL);
		return;
	}
	if (!is_clean || owes_nothing(s)) {
		session_close(s, CLOSE_CLIENT_ENDED,
			      is_clean ? NULL : "inside a record");
		return;
	}
	begin_ending(s, CLOSE_CLIENT_ENDED, NULL, linger_deadline(s));
}

/* The brick is gone; the client gets what the brick had answered before. */
static void brick_gone(struct session *s, enum close_reason why,
		       const char *detail)
{
	conn_close(&s->brick);
	conn_block(&s->client, CONN_BLOCK_END);
	if (s->state == SESSION_ENDING) {
		finish_if_done(s);
		return;
	}
	begin_ending(s, why, detail, linger_deadline(s));
}

static void on_brick_end(struct conn *c, bool is_clean)
{
	brick_gone(c->owner, CLOSE_BRICK_ENDED,
		   is_clean ? NULL : "inside a record");
}

static void on_client_error(struct conn *c, int error)
{
	session_close(c->owner, CLOSE_CLIENT_ERROR, strerror(error));
}

static void on_brick_error(struct conn *c, int error)
{
	/*
	 * What it answered before it went may still wait to be read, now or
	 * when the client has room for it; the end comes behind that.
	 */
	if (c->has_send_failed && !c->has_ended &&
	    (error == EPIPE || error == ECONNRESET))
		return;
	brick_gone(c->owner, CLOSE_BRICK_ERROR, strerror(error));
}

static void on_bad_record(struct conn *c, enum gfp_status why, uint64_t number)
{
	struct session *s = c->owner;
	char detail[96];

	snprintf(detail, sizeof(detail), "from the %s: %s (%llu bytes)",
		 c == &s->client ? "client" : "brick", gfp_status_text(why),
		 (unsigned long long)number);
	session_close(s, CLOSE_BAD_RECORD, detail);
}

static void on_brick_connect(struct conn *c, int error)
{
	struct session *s = c->owner;

	if (error != 0) {
		conn_close(c);
		if (s->brick_tried < s->route->brick_count)
			session_dial(s);
		else
			session_close(s, CLOSE_CONNECT_FAILED,
				      strerror(error));
		return;
	}
	s->deadline_us = s->handshake_us;
	conn_unblock(c, CONN_BLOCK_START);
	conn_unblock(&s->client, CONN_BLOCK_START);
}

static void on_client_sent(struct conn *c)
{
	finish_if_done(c->owner);
}

static void on_brick_sent(struct conn *c)
{
	(void)c;
}

static const struct conn_handler client_handler = {
	.on_record = session_call,
	.on_rest = session_trace_call_rest,
	.on_end = on_client_end,
	.on_error = on_client_error,
	.on_bad_record = on_bad_record,
	.on_sent = on_client_sent,
};

static const struct conn_handler brick_handler = {
	.on_record = session_reply,
	.on_rest = session_trace_reply_rest,
	.on_end = on_brick_end,
	.on_error = on_brick_error,
	.on_bad_record = on_bad_record,
	.on_connect = on_brick_connect,
	.on_sent = on_brick_sent,
};

void session_open(struct session_host *host, struct route *route, int fd,
		  const struct addr *client, uint64_t id)
{
	const struct listener_settings *set = route->listener;
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		log_limited(LOG_LEVEL_ERROR, NULL, "out of memory: a client "
			    "is turned away");
		close(fd);
		atomic_fetch_sub_explicit(host->live, 1, memory_order_relaxed);
		return;
	}
	s->log = (struct log_obj){ "session", describe_session };
	s->host = host;
	s->route = route_get(route);
	s->id = id;
	s->limits = (struct conn_limits){ set->max_record, YOUNG_REASSEMBLY,
					  set->max_queue };
	s->handshake_us = set->handshake_timeout_us == 0 ?
				  UINT64_MAX :
				  clock_mono_us() + set->handshake_timeout_us;
	s->deadline_us = s->handshake_us;
	addr_text(client, s->client_text);
	conn_init(&s->client, &client_handler, s, &s->limits, &host->pool,
		  &s->brick);
	conn_init(&s->brick, &brick_handler, s, &s->limits, &host->pool,
		  &s->client);
	TAILQ_INSERT_TAIL(&host->lists[SESSION_YOUNG], s, link);
	host->counts[SESSION_YOUNG]++;
	log_debug(&s->log, "accepted on %s", set->listen);
	socket_tune(fd, client, set);
	conn_start(&s->client, host->base, &conn_ops_plain, fd);
	conn_unblock(&s->client, CONN_BLOCK_START);
}
