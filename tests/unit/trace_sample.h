/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_sample - records of a call and its reply, for tests of the trace.
 */
#ifndef FOREBRICK_TESTS_UNIT_TRACE_SAMPLE_H
#define FOREBRICK_TESTS_UNIT_TRACE_SAMPLE_H

#include "daemon/trace_format.h"
#include "proto/fop.h"
#include "proto/rpc_msg.h"
#include "tests/unit/sample.h"

/* The header of a call, with a credential of a FUSE client. */
static inline void put_call_head(struct bytes *b, uint32_t program,
				 uint32_t version, uint32_t proc)
{
	static const uint8_t groups[] = { 0, 0, 0, 4, 0, 0, 0, 27 };
	static const uint8_t owner[] = { 0xd2, 0x04, 0, 0 };
	const struct gfp_cred cred = {
		.pid = 1234, .uid = 1000, .gid = 100,
		.group_count = 2, .groups = { groups, sizeof(groups) },
		.lk_owner = { owner, sizeof(owner) },
	};
	uint8_t body[GFP_CRED_MAX];
	const struct gfp_call call = {
		.xid = 7, .program = program, .version = version, .proc = proc,
		.cred_flavour = GFP_AUTH_GLUSTERFS_V3,
		.cred = { body, gfp_cred_write(body, GFP_AUTH_GLUSTERFS_V3,
					       &cred) },
	};

	b->len += gfp_call_write(b->at + b->len, &call);
}

static inline void put_reply_head(struct bytes *b)
{
	gfp_reply_head_write(b->at + b->len, 7);
	b->len += GFP_REPLY_HEAD_SIZE;
}

struct trace_sample {
	struct bytes call, reply;
};

/* A call of the row and its reply, each member with something in it. */
static inline void sample_row(struct trace_sample *s,
			      const struct gfp_program *program,
			      const struct gfp_proc *proc)
{
	s->call.len = s->call.length_count = 0;
	s->reply.len = s->reply.length_count = 0;
	put_call_head(&s->call, program->number, program->version,
		      proc->number);
	put_members(&s->call, proc->call);
	put_reply_head(&s->reply);
	put_members(&s->reply, proc->reply);
	if (proc->payload == GFP_PAYLOAD_CALL)
		put_raw(&s->call, "payload", 7);
	if (proc->payload == GFP_PAYLOAD_REPLY)
		put_raw(&s->reply, "payload", 7);
}

static inline struct trace_item item_of(struct gfp_span call,
					struct gfp_span reply)
{
	return (struct trace_item){
		.meta = {
			.time_us = 1769860800123456,
			.latency_us = 412,
			.session = 12,
			.client = "127.0.0.1:49151",
			.brick = "127.0.0.1:49152",
			.client_xid = 7,
			.brick_xid = 1042,
			.call_size = (uint32_t)call.len,
			.reply_size = (uint32_t)reply.len,
		},
		.call = call,
		.reply = reply,
	};
}

/* A READ of the size that a FUSE client asks for, answered at end of file. */
static inline void sample_read(struct trace_sample *s)
{
	s->call.len = s->reply.len = 0;
	put_call_head(&s->call, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_READ);
	for (unsigned int i = 0; i < 16; i++)
		put_u8(&s->call, i * 17);
	put_u64(&s->call, 3);
	put_u64(&s->call, 1ull << 40);
	put_u32(&s->call, 131072);
	put_u32(&s->call, 0x8000);
	put_raw(&s->call, "\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 12);
	put_reply_head(&s->reply);
	put_u32(&s->reply, 5);
	put_u32(&s->reply, 2);
	for (unsigned int i = 0; i < 16; i++)
		put_u8(&s->reply, i * 17);
	put_u64(&s->reply, 0x17ff);
	put_u64(&s->reply, 0x8899aabbccddeeff);
	put_u64(&s->reply, 64769);
	put_u64(&s->reply, 0);
	put_u64(&s->reply, (1ull << 40) + 5);
	put_u64(&s->reply, 8);
	put_fill(&s->reply, 16, 0);
	for (uint64_t i = 0; i < 3; i++)
		put_u64(&s->reply, 1700000000 + i);
	put_u64(&s->reply, 0);
	for (uint32_t i = 0; i < 3; i++)
		put_u32(&s->reply, 5 + i);
	put_u32(&s->reply, 0);
	put_u32(&s->reply, 1);
	put_u32(&s->reply, 1000);
	put_u32(&s->reply, 100);
	put_u32(&s->reply, 4096);
	put_u32(&s->reply, 0100644);
	put_u32(&s->reply, 5);
	put_raw(&s->reply, "\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 12);
	put_raw(&s->reply, "hello", 5);
}

#endif
