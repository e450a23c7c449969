/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay - connections whose two ways are delay lines.
 *
 *   accept_clients -> conn_new ... dial -> dialled
 *   pump: pump_out (what has arrived) <- arrive <- pump_in (what is read)
 *
 * Everything is edge-triggered: no event is re-armed, and what an end may do is
 * remembered until a call says otherwise.
 *
 * Owns: listener, connections. One thread.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/bench_util.h"
#include "tests/bench/relay.h"

enum {
	EVENTS = 256,
	IOVS = 64,
	READS_PER_TURN = 2,	/* then another connection has its turn */
};

struct way {
	struct pipe pipe;
	struct end *from, *to;
	TAILQ_ENTRY(way) busy_link;
	bool is_busy;
	bool has_read_all;	/* nothing more comes from its sender */
	bool has_sent_all;	/* its end was passed on */
	bool is_dropping;	/* its receiver is gone */
};

struct end {
	struct conn *conn;
	int fd;			/* -1: not dialled yet */
	bool is_connecting;
	bool may_read, may_write;
	bool has_hung_up;	/* epoll said so: read until it shows */
	bool is_broken;		/* a write has failed */
};

struct conn {
	struct end client, target;
	struct way ways[DIRECTIONS];
	struct pipe dialling;
	TAILQ_ENTRY(conn) link;
	bool is_dead;
};

static void make_busy(struct relay *r, struct way *w)
{
	if (w->is_busy)
		return;
	w->is_busy = true;
	r->busy_count++;
	TAILQ_INSERT_TAIL(&r->busy, w, busy_link);
}

static void make_idle(struct relay *r, struct way *w)
{
	if (!w->is_busy)
		return;
	w->is_busy = false;
	r->busy_count--;
	TAILQ_REMOVE(&r->busy, w, busy_link);
}

static void watch(struct relay *r, int fd, uint32_t events, void *data)
{
	struct epoll_event ev = { .events = events, .data.ptr = data };

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		die(errno, "epoll_ctl");
}

static void watch_end(struct relay *r, struct end *e)
{
	watch(r, e->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, e);
}

static void set_listening(struct relay *r, bool on)
{
	if (on == r->is_listening)
		return;
	r->is_listening = on;
	if (on)
		watch(r, r->listener, EPOLLIN, &r->listener);
	else
		epoll_ctl(r->epoll, EPOLL_CTL_DEL, r->listener, NULL);
}

static void close_end(struct end *e, bool is_reset)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (e->fd < 0)
		return;
	if (is_reset)
		setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &linger,
			   sizeof(linger));
	close(e->fd);
	e->fd = -1;
}

/* Events of this pass may name it still: memory goes at the pass's end. */
static void conn_close(struct relay *r, struct conn *c, bool is_reset)
{
	if (c->is_dead)
		return;
	c->is_dead = true;
	for (int d = UP; d < DIRECTIONS; d++) {
		struct way *w = &c->ways[d];

		if (w->pipe.peak_bytes > r->peak_bytes)
			r->peak_bytes = w->pipe.peak_bytes;
		pipe_clear(&w->pipe);
		make_idle(r, w);
	}
	pipe_clear(&c->dialling);
	close_end(&c->client, is_reset);
	close_end(&c->target, is_reset);
	TAILQ_INSERT_TAIL(&r->dead, c, link);
}

static void free_dead(struct relay *r)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&r->dead)) != NULL) {
		TAILQ_REMOVE(&r->dead, c, link);
		free(c);
		set_listening(r, true);
	}
}

static void way_init(struct relay *r, struct conn *c, enum direction d)
{
	struct way *w = &c->ways[d];

	pipe_init(&w->pipe, &r->pool, &r->lines[d], w);
	w->from = d == UP ? &c->client : &c->target;
	w->to = d == UP ? &c->target : &c->client;
}

static void dial(struct relay *r, struct conn *c)
{
	int fd = tcp_dial(r->to, true);

	if (fd < 0) {
		conn_close(r, c, true);
		return;
	}
	c->target.fd = fd;
	c->target.is_connecting = true;
	watch_end(r, &c->target);
}

static void dialled(struct relay *r, struct conn *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(c->target.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ||
	    error != 0) {
		conn_close(r, c, true);
		return;
	}
	c->target.is_connecting = false;
}

static void conn_new(struct relay *r, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		die(ENOMEM, "a connection");
	r->conns++;
	tcp_nodelay(fd);
	c->client = (struct end){ .conn = c, .fd = fd };
	c->target = (struct end){ .conn = c, .fd = -1 };
	way_init(r, c, UP);
	way_init(r, c, DOWN);
	pipe_init(&c->dialling, &r->pool, &r->dials, c);
	watch_end(r, &c->client);
	pipe_push(&c->dialling, PIECE_DIAL, 0, now_ns());
	if (pipe_first(&c->dialling) != NULL)
		dial(r, c);
}

static void accept_clients(struct relay *r)
{
	for (;;) {
		int fd = accept4(r->listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			conn_new(r, fd);
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if (errno == EAGAIN)
			return;
		/* No descriptor: the rest waits until a connection ends. */
		fprintf(stderr, "delay_relay: accept: %s\n", strerror(errno));
		set_listening(r, false);
		return;
	}
}

/* An error, or the end: from now on its sender says nothing. */
static void read_all(struct way *w, ssize_t n, uint64_t now)
{
	bool is_reset = n < 0 || w->from->is_broken;

	w->has_read_all = true;
	pipe_push(&w->pipe, is_reset ? PIECE_RESET : PIECE_END, 0, now);
	pipe_rest(&w->pipe);
}

static bool may_read(const struct relay *r, const struct way *w)
{
	return w->from->fd >= 0 && !w->from->is_connecting &&
	       w->from->may_read && !w->has_read_all &&
	       w->pipe.bytes < r->queue_bytes;
}

static void pump_in(struct relay *r, struct way *w)
{
	struct end *from = w->from;
	size_t room;
	uint8_t *to = pipe_room(&w->pipe, &room);
	ssize_t n = recv(from->fd, to, room, 0);

	if (n < 0 && errno == EINTR)
		return;
	if (n < 0 && errno == EAGAIN) {
		from->may_read = false;
		return;
	}
	if (n <= 0) {
		read_all(w, n, now_ns());
		return;
	}
	if ((size_t)n < room && !from->has_hung_up)
		from->may_read = false;
	if (w->is_dropping)
		return;
	pipe_push(&w->pipe, PIECE_DATA, (size_t)n, now_ns());
	r->bytes[w == &from->conn->ways[DOWN]] += (uint64_t)n;
}

/* The receiver is gone. Its own side tells when its sender learns of it. */
static void stop_sending(struct relay *r, struct way *w)
{
	struct conn *c = w->to->conn;
	struct way *back = &c->ways[w == &c->ways[UP] ? DOWN : UP];

	w->is_dropping = true;
	w->to->is_broken = true;
	w->to->may_read = true;
	make_busy(r, back);
}

/* True: the receiver takes more. */
static bool send_data(struct relay *r, struct way *w)
{
	struct iovec iov[IOVS];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	msg.msg_iovlen = (size_t)pipe_iov(&w->pipe, iov, IOVS);
	n = sendmsg(w->to->fd, &msg, MSG_NOSIGNAL);
	if (n >= 0) {
		pipe_sent(&w->pipe, (size_t)n);
		return true;
	}
	if (errno == EINTR)
		return true;
	if (errno == EAGAIN)
		w->to->may_write = false;
	else
		stop_sending(r, w);
	return false;
}

/* Send what has arrived. False: the connection is closed. */
static bool pump_out(struct relay *r, struct way *w)
{
	struct conn *c = w->to->conn;
	struct piece *p;

	while ((p = pipe_first(&w->pipe)) != NULL) {
		if (p->kind == PIECE_RESET) {
			conn_close(r, c, true);
			return false;
		}
		if (w->to->fd < 0 || w->to->is_connecting)
			return true;
		if (p->kind == PIECE_END) {
			shutdown(w->to->fd, SHUT_WR);
			w->has_sent_all = true;
			pipe_shift(&w->pipe);
		} else if (w->is_dropping) {
			pipe_shift(&w->pipe);
		} else if (!w->to->may_write || !send_data(r, w)) {
			if (!w->is_dropping)
				return true;
		}
	}
	if (c->ways[UP].has_sent_all && c->ways[DOWN].has_sent_all) {
		conn_close(r, c, false);
		return false;
	}
	return true;
}

static void pump(struct relay *r, struct way *w)
{
	if (!pump_out(r, w))
		return;
	for (int i = 0; i < READS_PER_TURN && may_read(r, w); i++) {
		pump_in(r, w);
		if (!pump_out(r, w))
			return;
	}
	if (may_read(r, w))
		make_busy(r, w);
	else if (w->pipe.count == 0)
		pipe_rest(&w->pipe);
}

/* Those who are busy now have a turn each; who is still busy waits for next. */
static void pump_busy(struct relay *r)
{
	struct way *w;

	for (size_t turns = r->busy_count; turns > 0; turns--) {
		w = TAILQ_FIRST(&r->busy);
		if (w == NULL)
			break;
		make_idle(r, w);
		pump(r, w);
	}
}

static void arrive(struct relay *r)
{
	uint64_t now = now_ns();
	struct pipe *p;

	while ((p = line_arrive(&r->dials, now)) != NULL)
		dial(r, p->owner);
	for (int d = UP; d < DIRECTIONS; d++)
		while ((p = line_arrive(&r->lines[d], now)) != NULL)
			make_busy(r, p->owner);
}

static void on_event(struct relay *r, const struct epoll_event *ev)
{
	struct end *e = ev->data.ptr;

	if (e->conn->is_dead)
		return;
	if (e->is_connecting) {
		dialled(r, e->conn);
		if (e->conn->is_dead)
			return;
	}
	if (ev->events & EPOLLIN)
		e->may_read = true;
	if (ev->events & EPOLLOUT)
		e->may_write = true;
	if (ev->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		e->may_read = e->has_hung_up = true;
	make_busy(r, &e->conn->ways[UP]);
	make_busy(r, &e->conn->ways[DOWN]);
}

static void wait_for_events(struct relay *r)
{
	struct epoll_event events[EVENTS];
	uint64_t next = line_next_ns(&r->dials), now = now_ns();
	struct timespec ts = { 0 }, *timeout = &ts;
	int n;

	for (int d = UP; d < DIRECTIONS; d++)
		if (line_next_ns(&r->lines[d]) < next)
			next = line_next_ns(&r->lines[d]);
	if (TAILQ_EMPTY(&r->busy) && next > now) {
		ts.tv_sec = (time_t)((next - now) / 1000000000);
		ts.tv_nsec = (long)((next - now) % 1000000000);
		if (next == UINT64_MAX)
			timeout = NULL;
	}
	n = epoll_pwait2(r->epoll, events, EVENTS, timeout, NULL);
	if (n < 0 && errno != EINTR)
		die(errno, "epoll_pwait2");
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &r->listener)
			accept_clients(r);
		else if (events[i].data.ptr == &r->on_control)
			r->on_control(r);
		else
			on_event(r, &events[i]);
	}
}

void relay_set_delay(struct relay *r, uint64_t up_ns, uint64_t down_ns)
{
	r->lines[UP].delay_ns = up_ns;
	r->lines[DOWN].delay_ns = down_ns;
	r->dials.delay_ns = 2 * up_ns + down_ns;
}

unsigned relay_open(struct relay *r, const char *where, size_t chunk_size)
{
	unsigned port;

	pool_init(&r->pool, chunk_size);
	line_init(&r->dials);
	line_init(&r->lines[UP]);
	line_init(&r->lines[DOWN]);
	TAILQ_INIT(&r->busy);
	TAILQ_INIT(&r->dead);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		die(errno, "epoll");
	r->listener = tcp_listen(where, &port);
	set_listening(r, true);
	if (r->on_control != NULL)
		watch(r, STDIN_FILENO, EPOLLIN, &r->on_control);
	return port;
}

void relay_end_control(struct relay *r)
{
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
}

void relay_run(struct relay *r, const volatile sig_atomic_t *is_stopping)
{
	while (!*is_stopping) {
		wait_for_events(r);
		arrive(r);
		pump_busy(r);
		free_dead(r);
	}
}
