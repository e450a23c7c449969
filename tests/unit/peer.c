/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer - the other end of a connection under test, and the loop in between.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/peer.h"
#include "tests/unit/test.h"

void pair_open(int fds[2], int sndbuf)
{
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, fds), 0);
	for (int i = 0; sndbuf > 0 && i < 2; i++)
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF,
					    &sndbuf, sizeof(sndbuf)), 0);
}

void peer_start(struct peer *p, int fd)
{
	*p = (struct peer){ .fd = fd };
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

void peer_close(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->got);
	*p = (struct peer){ .fd = -1 };
}

size_t peer_write(struct peer *p, struct gfp_span bytes)
{
	size_t sent = 0;

	while (sent < bytes.len) {
		ssize_t n = send(p->fd, bytes.ptr + sent, bytes.len - sent,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN)
				p->error = errno;
			break;
		}
		sent += (size_t)n;
	}
	return sent;
}

static void *grown(void *at, size_t *cap, size_t len)
{
	if (len <= *cap)
		return at;
	*cap = len < 4096 ? 4096 : len * 2;
	at = realloc(at, *cap);
	assert_non_null(at);
	return at;
}

void peer_read(struct peer *p, size_t max)
{
	while (max > 0 && !p->has_ended) {
		size_t room = max < 65536 ? max : 65536;
		ssize_t n;

		p->got = grown(p->got, &p->cap, p->len + room);
		n = recv(p->fd, p->got + p->len, room, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			p->error = n < 0 ? errno : p->error;
			p->has_ended = true;
			return;
		}
		p->len += (size_t)n;
		max -= (size_t)n;
	}
}

void peer_forget(struct peer *p, size_t n)
{
	assert_true(n <= p->len);
	if (n == 0)
		return;
	memmove(p->got, p->got + n, p->len - n);
	p->len -= n;
}

void loop_pass(struct event_base *base)
{
	assert_true(event_base_loop(base, EVLOOP_ONCE |
						  EVLOOP_NONBLOCK) >= 0);
}

void loop_idle(struct event_base *base)
{
	for (int i = 0; i < PASSES_IDLE; i++)
		loop_pass(base);
}

void stream_add(struct stream *s, struct gfp_span bytes)
{
	if (bytes.len == 0)
		return;
	s->at = grown(s->at, &s->cap, s->len + bytes.len);
	memcpy(s->at + s->len, bytes.ptr, bytes.len);
	s->len += bytes.len;
}

void stream_free(struct stream *s)
{
	free(s->at);
	*s = (struct stream){ 0 };
}

void stream_add_body(struct stream *s, uint32_t size, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;
	uint8_t *to;

	s->at = grown(s->at, &s->cap, s->len + size);
	to = s->at + s->len;
	for (uint32_t i = 0; i < size; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (uint8_t)(x >> 24);
	}
	if (size >= 8) {
		gfp_put_be32(to, seed);
		gfp_put_be32(to + 4, 0);
	}
	s->len += size;
}

void stream_add_mark(struct stream *s, uint32_t size, bool is_last)
{
	uint8_t mark[4];

	gfp_put_be32(mark, size | (is_last ? 1u << 31 : 0));
	stream_add(s, (struct gfp_span){ mark, sizeof(mark) });
}

void stream_add_record(struct stream *s, uint32_t size, uint32_t seed)
{
	stream_add_mark(s, size, true);
	stream_add_body(s, size, seed);
}

void assert_received(const struct peer *p, const struct stream *want)
{
	assert_int_equal(p->len, want->len);
	if (want->len > 0)
		assert_memory_equal(p->got, want->at, want->len);
}
