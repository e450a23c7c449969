/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_client - a raw GlusterFS client: one connection, calls, answers.
 *
 * Owns: its socket and buffers. One thread.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/dict.h"
#include "proto/gfx_codec.h"
#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/bench/bench_util.h"
#include "tests/bench/raw_client.h"

enum {
	IN_SIZE = 256 * 1024,
	ANSWER_TIMEOUT_S = 30,
};

void raw_open(struct raw_client *c, const char *where)
{
	struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };

	*c = (struct raw_client){ .next_xid = 2 };
	c->in = malloc(IN_SIZE);
	if (c->in == NULL)
		die(ENOMEM, "a client");
	c->fd = tcp_dial(where, false);
	if (c->fd < 0)
		die(-c->fd, "%s", where);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

void raw_close(struct raw_client *c)
{
	close(c->fd);
	free(c->in);
	c->fd = -1;
	c->in = NULL;
}

/* A credential of version 3 as a FUSE client makes it: 40 bytes, root. */
static struct gfp_span credential(uint8_t out[GFP_CRED_MAX])
{
	static const uint8_t owner[4] = { 0x2a, 0x02, 0, 0 };
	struct gfp_cred cred = { .pid = 554,
				 .lk_owner = { owner, sizeof(owner) } };

	return (struct gfp_span){
		out, gfp_cred_write(out, GFP_AUTH_GLUSTERFS_V3, &cred)
	};
}

static void send_all(struct raw_client *c, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die(errno, "send");
		bytes += n;
		len -= (size_t)n;
	}
}

uint32_t raw_send(struct raw_client *c, uint32_t program, uint32_t version,
		  uint32_t proc, struct gfp_span args)
{
	uint8_t cred[GFP_CRED_MAX], out[RAW_CALL_MAX];
	struct gfp_call call = { .xid = c->next_xid++, .program = program,
				 .version = version, .proc = proc,
				 .cred_flavour = GFP_AUTH_GLUSTERFS_V3 };
	size_t len;

	call.cred = credential(cred);
	len = gfp_call_write(out + GFP_MARK_SIZE, &call);
	if (args.len > sizeof(out) - GFP_MARK_SIZE - len)
		die(0, "arguments of %zu bytes", args.len);
	memcpy(out + GFP_MARK_SIZE + len, args.ptr, args.len);
	len += args.len;
	gfp_mark_write(out, (uint32_t)len);
	send_all(c, out, GFP_MARK_SIZE + len);
	return call.xid;
}

/* More bytes behind those that are there; those move to the front. */
static void fill(struct raw_client *c)
{
	ssize_t n;

	memmove(c->in, c->in + c->start, c->end - c->start);
	c->end -= c->start;
	c->start = 0;
	do
		n = recv(c->fd, c->in + c->end, IN_SIZE - c->end, 0);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		die(0, "the peer has closed the connection");
	if (n < 0 && errno == EAGAIN)
		die(0, "no answer for %d s", ANSWER_TIMEOUT_S);
	if (n < 0)
		die(errno, "recv");
	c->end += (size_t)n;
}

static void need(struct raw_client *c, size_t len)
{
	while (c->end - c->start < len)
		fill(c);
}

static void skip(struct raw_client *c, size_t len)
{
	for (;;) {
		size_t have = c->end - c->start;

		if (have >= len) {
			c->start += len;
			return;
		}
		len -= have;
		c->start = c->end = 0;
		fill(c);
	}
}

/* A callback of the brick is no answer. */
static bool receive_record(struct raw_client *c, struct raw_answer *answer)
{
	struct gfp_reply reply;
	struct gfp_mark mark;
	struct gfp_span head;

	need(c, GFP_MARK_SIZE);
	mark = gfp_mark_read(c->in + c->start);
	if (!mark.is_last || mark.len < GFP_RECORD_MIN)
		die(0, "a record in fragments, or of %u bytes", mark.len);
	c->start += GFP_MARK_SIZE;
	head.len = mark.len < RAW_HEAD_MAX ? mark.len : RAW_HEAD_MAX;
	head.ptr = c->head;
	need(c, head.len);
	memcpy(c->head, c->in + c->start, head.len);
	c->start += head.len;
	skip(c, mark.len - head.len);
	if (gfp_be32(c->head + 4) == GFP_CALL)
		return false;
	if (gfp_reply_parse(head, &reply) != GFP_OK ||
	    reply.reply_status != GFP_ACCEPTED || reply.detail != GFP_SUCCESS)
		die(0, "call %u is refused: status %u, %u", gfp_be32(c->head),
		    reply.reply_status, reply.detail);
	answer->xid = reply.xid;
	answer->size = mark.len;
	answer->results = gfp_span_from(head, reply.results_off);
	return true;
}

void raw_receive(struct raw_client *c, struct raw_answer *answer)
{
	while (!receive_record(c, answer))
		;
}

int32_t raw_op_ret(const struct raw_answer *answer, uint32_t *op_errno)
{
	uint32_t op_ret;

	if (!gfp_span_u32(answer->results, 0, &op_ret) ||
	    !gfp_span_u32(answer->results, 4, op_errno))
		die(0, "an answer of %zu bytes", answer->size);
	return (int32_t)op_ret;
}

void raw_call(struct raw_client *c, uint32_t program, uint32_t version,
	      uint32_t proc, const void *call, void *reply)
{
	const struct gfx_proc *row = gfx_proc_find(program, version, proc);
	struct raw_answer answer;
	uint8_t args[RAW_CALL_MAX];
	size_t len, used;
	uint32_t xid;

	if (row == NULL || gfx_encode(row->call, call, args, sizeof(args),
				      &len) != GFP_OK)
		die(0, "no call %u/%u/%u", program, version, proc);
	xid = raw_send(c, program, version, proc,
		       (struct gfp_span){ args, len });
	raw_receive(c, &answer);
	if (answer.xid != xid)
		die(0, "an answer to %u instead of %u", answer.xid, xid);
	if (gfx_decode(row->reply, answer.results, reply, &used) != GFP_OK)
		die(0, "the answer to %s does not decode", row->call.name);
}

static void check_programs(struct raw_client *c)
{
	gfx_dump_call call = { .id = 0xcaed };
	gfx_dump_reply reply;
	bool has_fop = false;

	raw_call(c, GFP_PROG_DUMP, 1, GFP_DUMP_DUMP, &call, &reply);
	for (u_int i = 0; i < reply.list.len; i++)
		if (reply.list.val[i].prognum == GFP_PROG_FOP &&
		    reply.list.val[i].progver == GFP_FOP_V400)
			has_fop = true;
	if (!has_fop)
		die(0, "the peer is no brick of version 400");
	gfx_free(GFX_TYPE(gfx_dump_reply), &reply);
}

void raw_mount(struct raw_client *c, const char *subvolume, unsigned number)
{
	uint8_t dict[1024];
	struct gfp_blob_builder b;
	gfx_setvolume_call call;
	gfx_setvolume_reply reply;
	char name[96];

	check_programs(c);
	snprintf(name, sizeof(name),
		 "CTX_ID:forebrick-load-GRAPH_ID:0-PID:%d-HOST:localhost-"
		 "PC_NAME:load-%u-RECON_NO:-0", getpid(), number);
	gfp_blob_start(&b, dict, sizeof(dict));
	gfp_blob_add_str(&b, "remote-subvolume", subvolume);
	gfp_blob_add_str(&b, "process-uuid", name);
	gfp_blob_add_str(&b, "fops-version", "1298437");
	call.dict.gfx_blob_len = (u_int)b.len;
	call.dict.gfx_blob_val = (char *)dict;
	raw_call(c, GFP_PROG_HNDSK, 2, GFP_HNDSK_SETVOLUME, &call, &reply);
	if (reply.op_ret < 0)
		die(reply.op_errno, "SETVOLUME of %s", subvolume);
	gfx_free(GFX_TYPE(gfx_setvolume_reply), &reply);
}
