/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn - one socket of a session: reading records, passing them on, sending.
 *
 * A connection splits what it reads into records and shows the head of each to
 * its handler, which says what becomes of the record; the rest of it goes the
 * same way as it arrives. Nothing is collected but the head, and nothing is
 * copied: what is passed on is queued at the peer as a reference to the block
 * it was received into.
 *
 * How bytes get in and out is a row of functions (struct conn_ops), so that
 * neither this file nor a session knows what the transport is.
 */
#ifndef FOREBRICK_DAEMON_CONN_H
#define FOREBRICK_DAEMON_CONN_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "daemon/outq.h"
#include "proto/span.h"
#include "proto/status.h"

struct conn;

/*
 * A transport. recv and sendv behave as recv(2) and sendmsg(2) on a
 * non-blocking socket: bytes moved, 0 at the end (recv), or -errno, with
 * -EAGAIN for "not now".
 */
struct conn_ops {
	const char *name;
	ssize_t (*recv)(struct conn *c, void *to, size_t cap);
	ssize_t (*sendv)(struct conn *c, const struct iovec *iov, int count);
	int (*shutdown_send)(struct conn *c);
	void (*close)(struct conn *c);
};

/* TCP and unix stream sockets alike. */
extern const struct conn_ops conn_ops_plain;

enum {
	/*
	 * The longest head a handler can need in one piece: a call's header
	 * with the largest credential, and the 72 bytes of COPY_FILE_RANGE's
	 * fixed arguments. Replies need less (a READ's 196).
	 */
	CONN_HEAD_MAX = 512,
	/* The most that a handler may ask to see of a record at once. */
	CONN_WHOLE_MAX = 64 * 1024,
};

/* A record at the moment its head is complete. */
struct record {
	uint8_t *bytes;		/* its first bytes, mark excluded; may be edited */
	size_t have;		/* how many: CONN_HEAD_MAX or all of it at least */
	uint32_t size;		/* of the whole record, mark excluded */
};

/* What a handler does with a record. */
enum record_fate {
	RECORD_PASS,	/* to the peer, the rest as it comes */
	RECORD_DROP,	/* nowhere; the rest is read and forgotten */
	RECORD_WAIT,	/* ask again after conn_unblock() */
	RECORD_WHOLE,	/* ask again when min(size, CONN_WHOLE_MAX) are there */
	RECORD_DEAD,	/* the session has been closed: touch nothing */
};

struct conn_handler {
	enum record_fate (*on_record)(struct conn *c, struct record *r);
	/* The rest of a record that was passed or dropped; NULL: not wanted. */
	void (*on_rest)(struct conn *c, struct gfp_span bytes, bool is_last);
	/* The peer will send no more; is_clean: between two records. */
	void (*on_end)(struct conn *c, bool is_clean);
	/* Reading or sending (c->has_send_failed) failed. */
	void (*on_error)(struct conn *c, int error);
	/* Bytes that are no record: why, and the number in question. */
	void (*on_bad_record)(struct conn *c, enum gfp_status why,
			      uint64_t number);
	/* A connect() ended: 0, or the error. */
	void (*on_connect)(struct conn *c, int error);
	/* Everything queued has been sent. */
	void (*on_sent)(struct conn *c);
};

/* Why a connection is not read. It is read when no bit is set. */
enum conn_block {
	CONN_BLOCK_START = 1 << 0,	/* not begun: connecting, or no peer yet */
	/* The peer has too much to send, or this one itself has, and some of
	   it was made here, in answer to what it reads. */
	CONN_BLOCK_QUEUE = 1 << 1,
	CONN_BLOCK_CALLS = 1 << 2,	/* too many calls are unanswered */
	CONN_BLOCK_END = 1 << 3,	/* nothing more is wanted from it */
};

struct conn_limits {
	uint64_t max_record;
	uint64_t max_reassembly;
	uint64_t max_queue;
};

struct conn {
	int fd;				/* -1: closed or not opened */
	bool is_connecting;
	bool has_ended;			/* the peer sends no more */
	bool wants_send;		/* send_event is pending */
	bool has_send_failed;		/* what is queued goes nowhere */
	bool is_dropping;		/* the record under way is dropped */
	bool needs_whole;
	bool stops_at_record;		/* block with END at the next boundary */
	bool drops_input;		/* conn_drop_input() was called */
	bool has_answers;		/* records made here are in out */
	unsigned blocks;		/* enum conn_block */
	const struct conn_ops *ops;
	const struct conn_handler *handler;
	void *owner;			/* the handler's own */
	const struct conn_limits *limits;
	struct buf_pool *pool;
	struct conn *peer;		/* where records are passed to */
	struct buf *in;			/* received, not yet split; often NULL */
	size_t in_start, in_end;
	uint32_t rest;			/* bytes of the current record to come */
	struct join *join;		/* fragments of a split record; often NULL */
	struct outq out;
	uint64_t sent_bytes;
	struct event read_event, send_event;
};

/*
 * Prepare a connection without a socket. It starts blocked with
 * CONN_BLOCK_START. Everything is borrowed and must outlive it.
 */
void conn_init(struct conn *c, const struct conn_handler *handler, void *owner,
	       const struct conn_limits *limits, struct buf_pool *pool,
	       struct conn *peer);

/* Take over a connected, non-blocking socket. */
void conn_start(struct conn *c, struct event_base *base,
		const struct conn_ops *ops, int fd);

/*
 * Take over a socket whose connect() is under way; on_connect() follows, and
 * after success the connection is as after conn_start().
 */
void conn_start_connecting(struct conn *c, struct event_base *base,
			   const struct conn_ops *ops, int fd);

/* Close the socket and give everything back. May be called twice. */
void conn_close(struct conn *c);

static inline bool conn_is_open(const struct conn *c)
{
	return c->fd >= 0;
}

/* A record is under way from the peer: some of it has come, not all. */
bool conn_is_inside_record(const struct conn *c);

/* Stop and resume reading. Unblocking handles what has been read already. */
void conn_block(struct conn *c, enum conn_block why);
void conn_unblock(struct conn *c, enum conn_block why);

/*
 * Queue a whole record, mark included, and send what the socket takes. The
 * bytes are copied. False without memory.
 */
GFP_MUST_CHECK bool conn_send(struct conn *c, struct gfp_span record);

/* Send what is queued, as far as the socket takes it. */
void conn_flush(struct conn *c);

/* Tell the peer that nothing more will be sent. */
void conn_shutdown_send(struct conn *c);

/*
 * Between conn.c and conn_read.c: the callbacks of the read event, what has
 * been read and not yet split, and forgetting it.
 */
void conn_readable(evutil_socket_t fd, short what, void *arg);
void conn_drop_readable(evutil_socket_t fd, short what, void *arg);
void conn_read_pending(struct conn *c);
void conn_forget_input(struct conn *c);

/* Read on, but forget everything until the peer ends: a lingering close. */
void conn_drop_input(struct conn *c);

#endif
