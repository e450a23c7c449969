/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_plain - the transport of TCP and unix stream sockets.
 *
 * Owns: nothing; the socket is the connection's.
 */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/conn.h"

static ssize_t plain_recv(struct conn *c, void *to, size_t cap)
{
	ssize_t n;

	do
		n = recv(c->fd, to, cap, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t plain_sendv(struct conn *c, const struct iovec *iov, int count)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = (size_t)count };
	ssize_t n;

	do
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int plain_shutdown_send(struct conn *c)
{
	return shutdown(c->fd, SHUT_WR) < 0 ? -errno : 0;
}

static void plain_close(struct conn *c)
{
	close(c->fd);
}

const struct conn_ops conn_ops_plain = {
	.name = "plain",
	.recv = plain_recv,
	.sendv = plain_sendv,
	.shutdown_send = plain_shutdown_send,
	.close = plain_close,
};
