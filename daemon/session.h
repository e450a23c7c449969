/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - a client connection and its brick connection, as one.
 *
 * The brick ties locks, open files and the client's identity to a connection,
 * so each client has one of its own, and when either side ends, so does the
 * other. A session lives on one worker.
 */
#ifndef FOREBRICK_DAEMON_SESSION_H
#define FOREBRICK_DAEMON_SESSION_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "daemon/addr.h"
#include "daemon/buf.h"
#include "daemon/call.h"
#include "daemon/conn.h"
#include "daemon/log.h"
#include "daemon/route.h"
#include "daemon/trace.h"

enum close_reason {
#define REASON(id, level, text) CLOSE_##id,
#include "daemon/close_reasons.def"
#undef REASON
	CLOSE_REASON_LIMIT
};

/* What is true in a state; the state's list in the host holds the session. */
enum session_state {
	SESSION_YOUNG,	/* no SETVOLUME has succeeded yet; has a deadline */
	SESSION_MOUNTED,	/* a client like any other; no deadline */
	SESSION_ENDING,	/* last replies are being delivered; has a deadline */
	SESSION_DEAD,	/* closed; freed after the loop's pass */
	SESSION_STATE_LIMIT
};

TAILQ_HEAD(session_list, session);

/* What a worker lends to its sessions. */
struct session_host {
	struct event_base *base;
	struct trace_ring *trace;
	struct buf_pool pool;
	struct session_list lists[SESSION_STATE_LIMIT];
	size_t counts[SESSION_STATE_LIMIT];
	_Atomic size_t *live;	/* of all workers; dead ones not counted */
};

struct session {
	struct log_obj log;
	TAILQ_ENTRY(session) link;
	struct session_host *host;
	struct route *route;
	uint64_t id;
	enum session_state state;
	enum close_reason ending;	/* why, in SESSION_ENDING and DEAD */
	uint64_t deadline_us;		/* monotonic; UINT64_MAX: none */
	uint64_t ending_sent;		/* bytes the client had taken by then */
	uint64_t handshake_us;		/* when the handshake must be over */
	size_t brick_tried;		/* addresses of the route used up */
	struct conn client, brick;
	struct conn_limits limits;
	struct call_table calls;
	uint64_t call_count;
	uint32_t tapped_xid;		/* the call whose rest the trace wants */
	size_t tapped_left;		/* bytes of it */
	struct reply_tap *reply_tap;	/* the reply likewise; mostly NULL */
	char client_text[ADDR_TEXT_MAX];
};

/* Prepare a host before its first session; base, trace and live are set. */
void session_host_init(struct session_host *host);

/*
 * Begin a session on a connected socket, which it takes over (and closes if
 * this fails). Keeps a reference to the route.
 */
void session_open(struct session_host *host, struct route *route, int fd,
		  const struct addr *client, uint64_t id);

/*
 * End a session: the one place where it happens. detail may be NULL; it is for
 * the log. The session is dead afterwards, its memory still there.
 */
void session_close(struct session *s, enum close_reason reason,
		   const char *detail);

/* Take no more calls; end when those in flight are answered, or at deadline. */
void session_drain(struct session *s, uint64_t deadline_us);

/*
 * The deadline has passed: close, unless another address of the brick is to be
 * tried, or the client is still taking what it is owed.
 */
void session_expire(struct session *s, uint64_t now);

/* After each pass of the loop: what has died is freed. True if any has. */
bool session_host_free_dead(struct session_host *host);

/* From a timer: session_expire() for those past their deadline. */
void session_host_expire(struct session_host *host);

/* Whether any session has a deadline, and the timer must run. */
bool session_host_has_deadlines(const struct session_host *host);

#endif
