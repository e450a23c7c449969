/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_rig - a session between a scripted client and a scripted brick.
 *
 * The client is one end of a socket pair; the brick is what accepts at a
 * listening socket, TCP or unix. What should happen is waited for with a
 * deadline, the loop running meanwhile.
 */
#ifndef FOREBRICK_TESTS_UNIT_SESSION_RIG_H
#define FOREBRICK_TESTS_UNIT_SESSION_RIG_H

#include "daemon/session.h"
#include "tests/unit/peer.h"
#include "tests/unit/rpc_bytes.h"

enum { RIG_OPTIONS_MAX = 8 };

struct rig {
	bool is_unix;		/* the brick is at a unix socket */
	int client_buffer;	/* SO_SNDBUF of its pair; 0: normal */
	struct settings_override options[RIG_OPTIONS_MAX + 2];
	size_t option_count;
	char dir[64], log_path[96], trace_path[96];
	struct event_base *base;
	struct trace *trace;
	struct session_host host;
	_Atomic size_t live;
	struct route *route;
	int listen_fd;
	struct addr listen_at;
	uint64_t next_id;
	enum close_reason reason;	/* why the last session ended */
	struct peer client, brick;
};

/*
 * Functions of a fixture: *state is an open rig with a new client, and small
 * limits: 64 KiB to queue and to join, 16 calls, records of 2 MiB.
 */
int rig_set_up(void **state);
int rig_tear_down(void **state);
extern bool rig_on_unix;	/* whether its brick is at a unix socket */

/* Prepare; options of the configuration come with rig_option(). */
void rig_init(struct rig *rig, bool is_unix);
void rig_option(struct rig *rig, const char *name, const char *value);

/* Listen as the brick, load the configuration, open log and trace. */
void rig_open(struct rig *rig);

/* Stop the trace, so that its file is complete. No session may be left. */
void rig_stop_trace(struct rig *rig);

/* Everything must be closed: no session, no block, no descriptor. */
void rig_close(struct rig *rig);

/* A new client; its session is the newest of the host. */
void rig_connect(struct rig *rig);

/* The newest session that is not dead, or NULL. */
struct session *rig_session(const struct rig *rig);

/* End the peers, and pass until the session has ended, too. */
void rig_disconnect(struct rig *rig);

/* A new client after the one that there was. */
void rig_restart(struct rig *rig, int client_buffer);

/* One pass, as a worker does it, and what the peers have received by then. */
void rig_pass(struct rig *rig);
void rig_idle(struct rig *rig);

/*
 * Passes until it is so, at most for some seconds: a session is there (or not),
 * a peer has received so much, has ended. Fail the test when it does not come.
 */
void rig_until_accepted(struct rig *rig);
void rig_until_received(struct rig *rig, const struct peer *p, size_t len);
void rig_until_ended(struct rig *rig, const struct peer *p);
void rig_until_dead(struct rig *rig);

/* The session ends, or has, for this reason; its memory is back. */
void rig_assert_dead(struct rig *rig, enum close_reason reason);

/* Time has come for the newest session, if it has a deadline. */
void rig_expire(struct rig *rig);

/* Send all of it; the other side must be reading. The second frees it. */
void rig_send(struct rig *rig, struct peer *p, struct gfp_span bytes);
void rig_send_stream(struct rig *rig, struct peer *p, struct stream *s);

/* What rig_pass() reads from the peers; a slow one reads less, or nothing. */
extern size_t rig_client_reads, rig_brick_reads;

/* Calls and replies as records; the body follows from the xid. */
void rig_add_call(struct stream *s, uint32_t xid, uint32_t size);
void rig_add_reply(struct stream *s, uint32_t xid, uint32_t size);
void rig_add_setvolume(struct stream *s, uint32_t xid);
void rig_add_setvolume_reply(struct stream *s, uint32_t xid, uint32_t op_ret);
void rig_add_callback(struct stream *s, uint32_t xid, uint32_t size);

/* A record again, in three fragments, one of them empty. */
void rig_add_fragments(struct stream *to, const struct stream *record);

/* Send one, whole. */
void rig_call(struct rig *rig, uint32_t xid, uint32_t size);
void rig_reply(struct rig *rig, uint32_t brick_xid, uint32_t size);

/*
 * Wait for the brick to receive a call that came in under xid; returns the xid
 * that it has at the brick. Everything else of it must be as sent.
 */
uint32_t rig_expect_call(struct rig *rig, uint32_t xid, uint32_t size);

/* Wait for the client to receive the reply. */
void rig_expect_reply(struct rig *rig, uint32_t xid, uint32_t brick_xid,
		      uint32_t size);

/* Calls out to the brick, of which none is answered yet; xids from 0 up. */
void rig_make_calls(struct rig *rig, uint32_t *at_brick, uint32_t count);

/* Make the newest session a mounted one. */
void rig_mount(struct rig *rig);

/* Lines of the log with this text in it. */
size_t rig_logged(const struct rig *rig, const char *text);

/* Descriptors that this process has. */
size_t count_descriptors(void);

#endif
