/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn - one socket of a session: its life, sending, and when it is read.
 *
 * How it is read is in conn_read.c.
 *
 * Owns: its socket, its events, its send queue. Called on the worker's thread
 * only.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/conn.h"

enum { IOV_MAX_USED = 64 };

static void unblock_on_queues(struct conn *c)
{
	if ((c->blocks & CONN_BLOCK_QUEUE) &&
	    c->peer->out.bytes <= c->limits->max_queue / 2 &&
	    (!c->has_answers || c->out.bytes <= c->limits->max_queue / 2))
		conn_unblock(c, CONN_BLOCK_QUEUE);
}

static void want_send(struct conn *c, bool want)
{
	if (want == c->wants_send)
		return;
	c->wants_send = want;
	if (want)
		event_add(&c->send_event, NULL);
	else
		event_del(&c->send_event);
}

/*
 * The peer takes no more, but what it sent before may still wait to be read:
 * the handler learns of it and decides whether reading goes on to its end.
 */
static void send_failed(struct conn *c, int error)
{
	want_send(c, false);
	outq_clear(&c->out);
	if (c->has_send_failed)
		return;
	c->has_send_failed = true;
	c->handler->on_error(c, error);
}

void conn_flush(struct conn *c)
{
	struct iovec iov[IOV_MAX_USED];
	size_t before = c->out.bytes;

	if (c->is_connecting)
		return;
	if (c->has_send_failed) {
		outq_clear(&c->out);
		return;
	}
	while (c->out.ready.count > 0) {
		int count = outq_iov(&c->out, iov, IOV_MAX_USED);
		ssize_t n = c->ops->sendv(c, iov, count);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			send_failed(c, (int)-n);
			return;
		}
		outq_sent(&c->out, (size_t)n);
		c->sent_bytes += (uint64_t)n;
	}
	want_send(c, c->out.ready.count > 0);
	if (c->out.bytes == 0)
		c->has_answers = false;
	if (before == c->out.bytes)
		return;
	unblock_on_queues(c->peer);
	if (conn_is_open(c))
		unblock_on_queues(c);
	if (conn_is_open(c) && c->out.bytes == 0)
		c->handler->on_sent(c);
}

/*
 * A port where nobody listens can be given to the very socket that dials it.
 * That one then talks to itself, and the brick cannot listen there again.
 */
static bool is_own_peer(int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       own.ss_family != AF_UNIX && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

static void finish_connect(struct conn *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0 && is_own_peer(c->fd))
		error = ECONNREFUSED;
	c->is_connecting = false;
	want_send(c, false);
	c->handler->on_connect(c, error);
}

static void conn_sendable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (!conn_is_open(c))
		return;
	if (c->is_connecting)
		finish_connect(c);
	else
		conn_flush(c);
}

bool conn_send(struct conn *c, struct gfp_span record)
{
	if (!outq_add(&c->out, record))
		return false;
	c->has_answers = true;
	conn_flush(c);
	return true;
}

void conn_shutdown_send(struct conn *c)
{
	c->ops->shutdown_send(c);
}

void conn_block(struct conn *c, enum conn_block why)
{
	if (c->blocks == 0 && conn_is_open(c) && !c->has_ended)
		event_del(&c->read_event);
	c->blocks |= why;
}

void conn_unblock(struct conn *c, enum conn_block why)
{
	if (c->blocks == 0 || (c->blocks & ~(unsigned)why) != 0) {
		c->blocks &= ~(unsigned)why;
		return;
	}
	c->blocks = 0;
	if (!conn_is_open(c))
		return;
	if (!c->has_ended)
		event_add(&c->read_event, NULL);
	conn_read_pending(c);
}

void conn_init(struct conn *c, const struct conn_handler *handler, void *owner,
	       const struct conn_limits *limits, struct buf_pool *pool,
	       struct conn *peer)
{
	*c = (struct conn){
		.fd = -1,
		.blocks = CONN_BLOCK_START,
		.handler = handler,
		.owner = owner,
		.limits = limits,
		.pool = pool,
		.peer = peer,
	};
}

void conn_start(struct conn *c, struct event_base *base,
		const struct conn_ops *ops, int fd)
{
	assert(c->fd < 0 && fd >= 0);
	c->fd = fd;
	c->ops = ops;
	event_assign(&c->read_event, base, fd, EV_READ | EV_PERSIST,
		     conn_readable, c);
	event_assign(&c->send_event, base, fd, EV_WRITE | EV_PERSIST,
		     conn_sendable, c);
}

void conn_start_connecting(struct conn *c, struct event_base *base,
			   const struct conn_ops *ops, int fd)
{
	conn_start(c, base, ops, fd);
	c->is_connecting = true;
	want_send(c, true);
}

void conn_drop_input(struct conn *c)
{
	struct event_base *base = event_get_base(&c->read_event);

	event_del(&c->read_event);
	event_assign(&c->read_event, base, c->fd, EV_READ | EV_PERSIST,
		     conn_drop_readable, c);
	c->blocks = 0;
	c->drops_input = true;
	conn_forget_input(c);
	if (!c->has_ended)
		event_add(&c->read_event, NULL);
}

void conn_close(struct conn *c)
{
	if (c->fd < 0)
		return;
	event_del(&c->read_event);
	event_del(&c->send_event);
	c->ops->close(c);
	c->fd = -1;
	c->wants_send = false;
	c->is_connecting = false;
	conn_forget_input(c);
	outq_clear(&c->out);
}
