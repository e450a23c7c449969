/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_bytes - calls and replies put together byte by byte, for tests.
 *
 * Not with the code under test. A record begins with begin_record() and gets
 * its mark from end_record().
 */
#ifndef FOREBRICK_TESTS_UNIT_RPC_BYTES_H
#define FOREBRICK_TESTS_UNIT_RPC_BYTES_H

#include "proto/fop.h"
#include "proto/rpc_msg.h"
#include "tests/unit/bytes.h"

/* Whose call: everything before the arguments. */
struct call_head {
	uint32_t xid, program, version, proc;
	uint32_t flavour;
	struct gfp_span cred;
	size_t verf_len;
};

static inline size_t begin_record(struct bytes *b)
{
	put_u32(b, 0);
	return b->len - 4;
}

/* From the place that begin_record() gave to the end: one fragment. */
static inline void end_record(struct bytes *b, size_t at)
{
	uint32_t mark = 0x80000000u | (uint32_t)(b->len - at - 4);

	for (int i = 0; i < 4; i++)
		b->at[at + (size_t)i] = (uint8_t)(mark >> (24 - 8 * i));
}

/* A version 3 credential of root, as a FUSE client sends it. */
static inline void put_cred_v3(struct bytes *b, uint32_t groups,
			       size_t owner_len)
{
	put_u32(b, 4711);		/* pid, uid, gid */
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, 0);			/* flags, ctime */
	put_u32(b, 0);
	put_u64(b, 0);
	put_u32(b, groups);
	for (uint32_t i = 0; i < groups; i++)
		put_u32(b, 1000 + i);
	put_u32(b, (uint32_t)owner_len);
	put_fill(b, (owner_len + 3) / 4 * 4, 0);
}

static inline void put_cred_v2(struct bytes *b, uint32_t groups,
			       size_t owner_len)
{
	put_u32(b, 4711);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, groups);
	for (uint32_t i = 0; i < groups; i++)
		put_u32(b, 1000 + i);
	put_u32(b, (uint32_t)owner_len);
	put_fill(b, (owner_len + 3) / 4 * 4, 0);
}

static inline void put_call_head(struct bytes *b, const struct call_head *h)
{
	put_u32(b, h->xid);
	put_u32(b, GFP_CALL);
	put_u32(b, 2);
	put_u32(b, h->program);
	put_u32(b, h->version);
	put_u32(b, h->proc);
	put_u32(b, h->flavour);
	put_opaque(b, h->cred.ptr, h->cred.len);
	put_u32(b, 0);
	put_u32(b, (uint32_t)h->verf_len);
	put_fill(b, (h->verf_len + 3) / 4 * 4, 0x77);
}

/* The head of a call with a plain version 3 credential. */
static inline void put_plain_head(struct bytes *b, uint32_t xid,
				  uint32_t program, uint32_t version,
				  uint32_t proc)
{
	struct bytes cred = { .len = 0 };
	struct call_head h = { .xid = xid, .program = program,
			       .version = version, .proc = proc,
			       .flavour = GFP_AUTH_GLUSTERFS_V3 };

	put_cred_v3(&cred, 0, 8);
	h.cred = span_of(&cred);
	put_call_head(b, &h);
}

static inline void put_dictx_null(struct bytes *b)
{
	put_u32(b, 0);
	put_u32(b, UINT32_MAX);
	put_u32(b, 0);
}

/* The head of an accepted, successful reply. */
static inline void put_reply_head(struct bytes *b, uint32_t xid)
{
	put_u32(b, xid);
	put_u32(b, GFP_REPLY);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u32(b, 0);
}

/* Records that the proxy answers with itself. */
static inline void put_denied(struct bytes *b, uint32_t xid)
{
	size_t at = begin_record(b);

	put_u32(b, xid);
	put_u32(b, GFP_REPLY);
	put_u32(b, 1);		/* denied */
	put_u32(b, 1);		/* for the credential */
	put_u32(b, 1);		/* which is bad */
	end_record(b, at);
}

static inline void put_unaccepted(struct bytes *b, uint32_t xid,
				  uint32_t status)
{
	size_t at = begin_record(b);

	put_reply_head(b, xid);
	b->len -= 4;
	put_u32(b, status);
	end_record(b, at);
}

/* The answer to a call on fd -1: EBADF, and nothing else in it. */
static inline void put_bad_fd(struct bytes *b, uint32_t xid,
			      const struct gfp_proc *proc)
{
	size_t at = begin_record(b);
	const struct gfp_field *f;

	put_reply_head(b, xid);
	for (f = proc->reply; f->kind != GFP_K_END; f++) {
		if (f->kind == GFP_K_RET)
			put_u32(b, UINT32_MAX);
		else if (f->kind == GFP_K_ERRNO)
			put_u32(b, 9);
		else if (f->kind == GFP_K_DICTX)
			put_dictx_null(b);
		else
			put_fill(b, gfp_kind_min_size(f->kind), 0);
	}
	end_record(b, at);
}

#endif
