/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_brick - a brick without a disk, for load and for many connections.
 *
 * usage: fake_brick [--listen ADDR:PORT] [--file-size SIZE] [--queue SIZE]
 *                   [--read-rate SIZE]
 *
 * Prints the port that it listens on, then "ready" on standard error. Answers
 * every call at once (brick_reply.h). A connection that does not take its
 * replies is not read beyond --queue bytes of them. With --read-rate it reads
 * only that many bytes a second from each connection: a slow brick. SIGTERM
 * ends it with a line that says how many connections, calls and bytes there
 * were.
 *
 * Owns: its sockets. One thread.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proto/record.h"
#include "tests/bench/bench_util.h"
#include "tests/fake/brick_reply.h"

enum {
	READ_SIZE = 1 << 20,
	PATTERN_SIZE = 4 << 20,
	IOV_COUNT = 64,
	EVENTS_PER_WAIT = 256,
	READS_PER_WAKE = 4,
	SLOW_TICK_MS = 10,
	PART_ROOM = 64 * 1024,
};

struct out_record {
	STAILQ_ENTRY(out_record) link;
	size_t head_len, head_sent;
	size_t payload_left;
	uint64_t payload_off;
	uint8_t head[];
};

struct conn {
	int fd;
	uint32_t watched;	/* epoll's events */
	bool has_ended;		/* no more calls; replies are still sent */
	struct brick brick;
	uint8_t *part;		/* of a record, mark included; often NULL */
	size_t part_len, part_cap;
	STAILQ_HEAD(, out_record) out;
	size_t out_bytes;
	TAILQ_ENTRY(conn) link;
};

struct server {
	int epoll, listener;
	uint64_t file_size, queue_max, read_rate;
	uint64_t conns, calls, bytes_in, bytes_out;
	TAILQ_HEAD(, conn) all;
	uint8_t in[READ_SIZE];
	uint8_t pattern[PATTERN_SIZE + BRICK_PATTERN];
};

static volatile sig_atomic_t is_stopping;

static void on_signal(int number)
{
	(void)number;
	is_stopping = 1;
}

static void watch(struct server *sv, struct conn *c)
{
	uint32_t wanted = 0;
	struct epoll_event ev;

	if (!c->has_ended && c->out_bytes <= sv->queue_max &&
	    sv->read_rate == 0)
		wanted |= EPOLLIN;
	if (!STAILQ_EMPTY(&c->out))
		wanted |= EPOLLOUT;
	if (wanted == c->watched)
		return;
	ev = (struct epoll_event){ .events = wanted, .data.ptr = c };
	if (epoll_ctl(sv->epoll, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		die(errno, "epoll_ctl");
	c->watched = wanted;
}

static void end(struct server *sv, struct conn *c)
{
	struct out_record *r;

	TAILQ_REMOVE(&sv->all, c, link);
	while ((r = STAILQ_FIRST(&c->out)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->out, link);
		free(r);
	}
	close(c->fd);
	free(c->part);
	free(c);
}

static int fill_iov(struct server *sv, struct conn *c, struct iovec *iov)
{
	struct out_record *r;
	int n = 0;

	STAILQ_FOREACH(r, &c->out, link) {
		if (n + 2 > IOV_COUNT)
			break;
		if (r->head_sent < r->head_len)
			iov[n++] = (struct iovec){ r->head + r->head_sent,
						   r->head_len - r->head_sent };
		if (r->payload_left == 0)
			continue;
		iov[n++] = (struct iovec){
			sv->pattern + r->payload_off % BRICK_PATTERN,
			r->payload_left < PATTERN_SIZE ? r->payload_left :
							 PATTERN_SIZE };
		if (r->payload_left > PATTERN_SIZE)
			break;
	}
	return n;
}

static void take_sent(struct server *sv, struct conn *c, size_t n)
{
	sv->bytes_out += n;
	c->out_bytes -= n;
	while (n > 0) {
		struct out_record *r = STAILQ_FIRST(&c->out);
		size_t head = r->head_len - r->head_sent;
		size_t payload;

		if (head > n)
			head = n;
		payload = n - head < r->payload_left ? n - head :
						       r->payload_left;
		r->head_sent += head;
		r->payload_off += payload;
		r->payload_left -= payload;
		n -= head + payload;
		if (r->head_sent < r->head_len || r->payload_left > 0)
			return;
		STAILQ_REMOVE_HEAD(&c->out, link);
		free(r);
	}
}

/* False: the connection is gone. */
static bool flush(struct server *sv, struct conn *c)
{
	while (!STAILQ_EMPTY(&c->out)) {
		struct iovec iov[IOV_COUNT];
		struct msghdr msg = { .msg_iov = iov };
		ssize_t n;

		msg.msg_iovlen = (size_t)fill_iov(sv, c, iov);
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			return false;
		take_sent(sv, c, (size_t)n);
	}
	return !c->has_ended || !STAILQ_EMPTY(&c->out);
}

static void answer(struct server *sv, struct conn *c, struct gfp_span record)
{
	uint8_t head[BRICK_REPLY_MAX];
	struct brick_reply reply = brick_answer(&c->brick, record, head);
	struct out_record *r;

	sv->calls++;
	if (reply.len == 0)
		return;
	r = malloc(sizeof(*r) + reply.len);
	if (r == NULL)
		die(ENOMEM, "reply");
	*r = (struct out_record){ .head_len = reply.len,
				  .payload_left = reply.payload_len,
				  .payload_off = reply.payload_off };
	memcpy(r->head, head, reply.len);
	STAILQ_INSERT_TAIL(&c->out, r, link);
	c->out_bytes += reply.len + reply.payload_len;
}

/* Answer what is whole in bytes; returns how much of them that was. */
static size_t split(struct server *sv, struct conn *c, struct gfp_span bytes)
{
	struct gfp_span body;
	size_t used = 0;

	while (gfp_record_next(gfp_span_from(bytes, used), INT32_MAX, &body) ==
	       GFP_OK) {
		answer(sv, c, body);
		used += GFP_MARK_SIZE + body.len;
	}
	return used;
}

/* Where the next bytes go: behind a part of a record, or a common place. */
static struct iovec read_room(struct server *sv, struct conn *c)
{
	size_t want = c->part_len + PART_ROOM;

	if (c->part_len == 0)
		return (struct iovec){ sv->in, READ_SIZE };
	/* Memory for what has come, not for what a mark promises: a thousand
	   clients may begin a record of 60 MiB each. */
	if (want < 2 * c->part_len)
		want = 2 * c->part_len;
	if (c->part_len + PART_ROOM > c->part_cap) {
		c->part = realloc(c->part, want);
		if (c->part == NULL)
			die(ENOMEM, "record of %zu bytes", want);
		c->part_cap = want;
	}
	return (struct iovec){ c->part + c->part_len,
			       c->part_cap - c->part_len };
}

/* Idle connections keep no memory. */
static void keep_rest(struct conn *c, struct gfp_span rest)
{
	if (rest.len == 0) {
		free(c->part);
		c->part = NULL;
		c->part_cap = 0;
	} else if (c->part_len == 0) {
		c->part = malloc(rest.len);
		if (c->part == NULL)
			die(ENOMEM, "part of a record");
		c->part_cap = rest.len;
		memcpy(c->part, rest.ptr, rest.len);
	} else {
		memmove(c->part, rest.ptr, rest.len);
	}
	c->part_len = rest.len;
}

enum outcome { MORE, NOTHING, GONE };

static enum outcome read_some(struct server *sv, struct conn *c, size_t limit)
{
	struct iovec room = read_room(sv, c);
	struct gfp_span bytes = { c->part_len > 0 ? c->part : sv->in, 0 };
	size_t want = room.iov_len < limit ? room.iov_len : limit;
	ssize_t n = recv(c->fd, room.iov_base, want, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? NOTHING : GONE;
	if (n == 0) {
		c->has_ended = true;
		return NOTHING;
	}
	sv->bytes_in += (size_t)n;
	bytes.len = c->part_len + (size_t)n;
	keep_rest(c, gfp_span_from(bytes, split(sv, c, bytes)));
	return (size_t)n == room.iov_len ? MORE : NOTHING;
}

static void serve(struct server *sv, struct conn *c, uint32_t events)
{
	enum outcome outcome = MORE;

	if (events & (EPOLLERR | EPOLLHUP))
		outcome = GONE;
	for (int i = 0; i < READS_PER_WAKE && outcome == MORE; i++) {
		if (!(events & EPOLLIN) || c->out_bytes > sv->queue_max)
			break;
		outcome = read_some(sv, c, SIZE_MAX);
	}
	if (outcome == GONE || !flush(sv, c))
		end(sv, c);
	else
		watch(sv, c);
}

/* A slow brick reads by the clock, not when there is something. */
static void serve_slowly(struct server *sv)
{
	size_t limit = sv->read_rate * SLOW_TICK_MS / 1000;
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&sv->all); c != NULL; c = next) {
		enum outcome outcome = NOTHING;

		next = TAILQ_NEXT(c, link);
		if (!c->has_ended && c->out_bytes <= sv->queue_max)
			outcome = read_some(sv, c, limit);
		if (outcome == GONE || !flush(sv, c))
			end(sv, c);
		else
			watch(sv, c);
	}
}

static void take_client(struct server *sv)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct conn *c;
	int fd = accept4(sv->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		die(ENOMEM, "connection");
	tcp_nodelay(fd);
	c->fd = fd;
	c->brick.file_size = sv->file_size;
	c->watched = EPOLLIN;
	STAILQ_INIT(&c->out);
	TAILQ_INSERT_TAIL(&sv->all, c, link);
	ev.data.ptr = c;
	if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		die(errno, "epoll_ctl");
	sv->conns++;
	watch(sv, c);
}

static void run(struct server *sv)
{
	int wait_ms = sv->read_rate > 0 ? SLOW_TICK_MS : -1;

	while (!is_stopping) {
		struct epoll_event events[EVENTS_PER_WAIT];
		int n = epoll_wait(sv->epoll, events, EVENTS_PER_WAIT, wait_ms);

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == NULL)
				take_client(sv);
			else
				serve(sv, events[i].data.ptr, events[i].events);
		}
		if (wait_ms > 0)
			serve_slowly(sv);
	}
	printf("%" PRIu64 " connections, %" PRIu64 " calls, %" PRIu64
	       " bytes in, %" PRIu64 " bytes out\n",
	       sv->conns, sv->calls, sv->bytes_in, sv->bytes_out);
}

static void open_listener(struct server *sv, const char *where)
{
	struct epoll_event ev = { .events = EPOLLIN };
	unsigned port;

	sv->epoll = epoll_create1(EPOLL_CLOEXEC);
	sv->listener = tcp_listen(where, &port);
	if (sv->epoll < 0 ||
	    epoll_ctl(sv->epoll, EPOLL_CTL_ADD, sv->listener, &ev) < 0)
		die(errno, "epoll");
	printf("%u\n", port);
	fflush(stdout);
	fputs("ready\n", stderr);
}

static uint64_t size_option(const char *text)
{
	uint64_t size;

	if (!parse_size(text, &size))
		die(0, "%s is no size", text);
	return size;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "file-size", required_argument, NULL, 's' },
		{ "queue", required_argument, NULL, 'q' },
		{ "read-rate", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	static struct server sv = { .file_size = 1ull << 40,
				    .queue_max = 8 << 20 };
	const char *where = "127.0.0.1:0";
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'l')
			where = optarg;
		else if (option == 's')
			sv.file_size = size_option(optarg);
		else if (option == 'q')
			sv.queue_max = size_option(optarg);
		else if (option == 'r')
			sv.read_rate = size_option(optarg);
		else
			return 64;
	}
	for (size_t i = 0; i < sizeof(sv.pattern); i++)
		sv.pattern[i] = (uint8_t)(i % BRICK_PATTERN);
	TAILQ_INIT(&sv.all);
	raise_descriptor_limit();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	open_listener(&sv, where);
	run(&sv);
	return 0;
}
