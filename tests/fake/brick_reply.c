/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brick_reply - what a brick with endless files answers to a call.
 *
 * Results are built as those of a failed call, whose layout the table knows,
 * and then the fields that say something are filled in.
 *
 * Owns: nothing.
 */
#include "config.h"

#include <string.h>
#include <sys/stat.h>

#include "proto/dict.h"
#include "proto/fop.h"
#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/fake/brick_reply.h"

enum {
	/* Of READ and WRITE in their arguments, versions 400 and 330. */
	OFFSET_OFF = 24,
	SIZE_OFF = 32,
	/* In iattx and iatt3. */
	SIZE_IN_IATTX = 48,
	MODE_IN_IATTX = 144,
	SIZE_IN_IATT3 = 56,
	MODE_IN_IATT3 = 32,
	EOF_MARK = 2,
};

/* One call under way. */
struct answer {
	struct brick *brick;
	const struct gfp_proc *proc;
	struct gfp_span args;
	uint8_t *results;
	struct brick_reply *reply;
};

static size_t put_str(uint8_t *out, const char *text)
{
	size_t len = strlen(text);

	gfp_put_be32(out, (uint32_t)len);
	memset(out + 4, 0, len + gfp_xdr_pad(len));
	memcpy(out + 4, text, len);
	return 4 + len + gfp_xdr_pad(len);
}

/* Results of DUMP; the proxy and its clients look at version 400 alone. */
static size_t put_programs(uint8_t *out)
{
	static const struct {
		const char *name;
		uint32_t number, version;
	} rows[] = {
		{ "GlusterFS 4.x v1", GFP_PROG_FOP, GFP_FOP_V400 },
		{ "GlusterFS 3.3", GFP_PROG_FOP, GFP_FOP_V330 },
		{ "GF-DUMP", GFP_PROG_DUMP, 1 },
		{ "GlusterFS Handshake", GFP_PROG_HNDSK, 2 },
	};
	size_t len = 16;

	memset(out, 0, len);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gfp_put_be32(out + len, 1);
		len += 4;
		len += put_str(out + len, rows[i].name);
		gfp_put_be64(out + len, rows[i].number);
		gfp_put_be64(out + len + 8, rows[i].version);
		len += 16;
	}
	gfp_put_be32(out + len, 0);
	return len + 4;
}

/* Results of SETVOLUME, with the keys that a client looks for. */
static size_t put_welcome(uint8_t *out)
{
	struct gfp_blob_builder b;
	uint8_t blob[512];
	size_t padded;

	gfp_blob_start(&b, blob, sizeof(blob));
	gfp_blob_add_str(&b, "ERROR", "Success");
	gfp_blob_add_str(&b, "child_up", "1");
	gfp_blob_add_str(&b, "clnt-lk-version", "0");
	gfp_blob_add_str(&b, "transport-ptr", "1");
	gfp_blob_add_str(&b, "process-uuid",
			 "6b1d7e20-0000-4000-8000-00000000b51c");
	padded = b.len + gfp_xdr_pad(b.len);
	gfp_put_be32(out, 0);
	gfp_put_be32(out + 4, 22);	/* stale, as bricks send it */
	gfp_put_be32(out + 8, (uint32_t)b.len);
	memset(out + 12, 0, padded);
	memcpy(out + 12, blob, b.len);
	return 12 + padded;
}

static void fill_iatt(const struct answer *a, uint8_t *iatt, bool is_iattx)
{
	int gfid_off = a->proc->gfid_off;

	if (gfid_off != GFP_NONE &&
	    gfp_span_has(a->args, (size_t)gfid_off, GFP_GFID_SIZE))
		memcpy(iatt, a->args.ptr + gfid_off, GFP_GFID_SIZE);
	gfp_put_be64(iatt + (is_iattx ? SIZE_IN_IATTX : SIZE_IN_IATT3),
		     a->brick->file_size);
	gfp_put_be32(iatt + (is_iattx ? MODE_IN_IATTX : MODE_IN_IATT3),
		     S_IFREG | 0644);
}

/* What READ and WRITE say of their sizes. */
static void fill_transfer(const struct answer *a, uint8_t *size_field)
{
	uint64_t off, left = 0;
	uint32_t size;

	if (!gfp_span_u64(a->args, OFFSET_OFF, &off) ||
	    !gfp_span_u32(a->args, SIZE_OFF, &size))
		return;
	if (size_field != NULL) {
		if (off < a->brick->file_size)
			left = a->brick->file_size - off;
		if (size >= left) {
			size = (uint32_t)left;
			gfp_put_be32(a->results + 4, EOF_MARK);
		}
		a->reply->payload_off = off;
		a->reply->payload_len = size;
		gfp_put_be32(size_field, size);
	}
	gfp_put_be32(a->results, size);
}

/* From failed results to those of success. */
static void fill_results(const struct answer *a, size_t len)
{
	struct gfp_span results = { a->results, len };
	uint8_t *size_field = NULL;
	struct gfp_cursor cursor;
	struct gfp_value v;

	gfp_cursor_start(&cursor, a->proc->reply, results);
	while (gfp_field_next(&cursor, &v) == GFP_OK) {
		uint8_t *at = a->results + (v.raw.ptr - results.ptr);

		if (v.field->kind == GFP_K_RET)
			gfp_put_be32(at, 0);
		else if (v.field->kind == GFP_K_FD)
			gfp_put_be64(at, a->brick->next_fd++);
		else if (v.field->kind == GFP_K_IATTX)
			fill_iatt(a, at, true);
		else if (v.field->kind == GFP_K_IATT3)
			fill_iatt(a, at, false);
		else if (v.field->kind == GFP_K_U32)
			size_field = at;
	}
	if (a->proc->number == GFP_FOP_READ)
		fill_transfer(a, size_field);
	else if (a->proc->number == GFP_FOP_WRITE)
		fill_transfer(a, NULL);
}

static size_t put_results(const struct answer *a, const struct gfp_call *call)
{
	size_t len;

	if (call->program == GFP_PROG_DUMP && call->proc == GFP_DUMP_DUMP)
		return put_programs(a->results);
	if (call->program == GFP_PROG_HNDSK &&
	    call->proc == GFP_HNDSK_SETVOLUME)
		return put_welcome(a->results);
	len = gfp_error_results(a->proc, 0, a->results, GFP_ERROR_RESULTS_MAX);
	if (call->program == GFP_PROG_FOP)
		fill_results(a, len);
	else if (len > 0)
		gfp_put_be32(a->results, 0);
	return len;
}

struct brick_reply brick_answer(struct brick *brick, struct gfp_span record,
				uint8_t *out)
{
	struct brick_reply reply = { 0 };
	uint8_t *head = out + GFP_MARK_SIZE;
	struct answer a = { .brick = brick, .reply = &reply };
	struct gfp_call call;
	size_t len;

	if (gfp_call_parse(record, &call) != GFP_OK)
		return reply;
	a.proc = gfp_proc_find(call.program, call.version, call.proc);
	if (a.proc == NULL) {
		reply.len = gfp_reply_accepted(
			out, call.xid,
			gfp_program_find(call.program, call.version) ?
				GFP_PROC_UNAVAIL : GFP_PROG_UNAVAIL);
		return reply;
	}
	a.args = gfp_span_from(record, call.args_off);
	a.results = head + GFP_REPLY_HEAD_SIZE;
	gfp_reply_head_write(head, call.xid);
	len = GFP_REPLY_HEAD_SIZE + put_results(&a, &call);
	gfp_mark_write(out, (uint32_t)(len + reply.payload_len));
	reply.len = GFP_MARK_SIZE + len;
	return reply;
}
