/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_msg - headers and credentials, read from and written to plain bytes.
 *
 * Both headers are parsed once per message, so they go by offsets. Holds no
 * state, allocates nothing.
 */
#include "config.h"

#include <string.h>

#include "proto/record.h"
#include "proto/rpc_msg.h"

/* Where the words of a header stand. */
enum {
	XID_OFF = 0,
	TYPE_OFF = 4,
	/* call */
	RPC_VERSION_OFF = 8,
	PROGRAM_OFF = 12,
	VERSION_OFF = 16,
	PROC_OFF = 20,
	CRED_OFF = 24,
	CALL_FIXED_SIZE = 32,	/* up to and with the credential's length */
	/* reply */
	STATUS_OFF = 8,
	VERF_OFF = 12,
	REJECT_OFF = 12,
	REJECT_DETAIL_OFF = 16,
};

/*
 * Read the flavour, length and body at off, and say where what follows begins.
 * The flavour is set as soon as it is there.
 */
static enum gfp_status parse_auth(struct gfp_span in, size_t off,
				  uint32_t *flavour, struct gfp_span *body,
				  size_t *next)
{
	enum gfp_status status;

	if (!gfp_span_u32(in, off, flavour))
		return GFP_SHORT;
	off += 4;
	status = gfp_span_opaque(in, &off, GFP_CRED_MAX, body);
	if (status == GFP_OK)
		*next = off;
	return status;
}

enum gfp_status gfp_call_parse(struct gfp_span in, struct gfp_call *call)
{
	enum gfp_status status;
	uint32_t type;
	size_t off;

	memset(call, 0, sizeof(*call));
	if (gfp_span_u32(in, TYPE_OFF, &type) && type != GFP_CALL)
		return GFP_BAD;
	if (in.len < CALL_FIXED_SIZE)
		return GFP_SHORT;
	call->xid = gfp_be32(in.ptr + XID_OFF);
	call->rpc_version = gfp_be32(in.ptr + RPC_VERSION_OFF);
	call->program = gfp_be32(in.ptr + PROGRAM_OFF);
	call->version = gfp_be32(in.ptr + VERSION_OFF);
	call->proc = gfp_be32(in.ptr + PROC_OFF);
	status = parse_auth(in, CRED_OFF, &call->cred_flavour, &call->cred,
			    &off);
	if (status != GFP_OK)
		return status;
	return parse_auth(in, off, &call->verf_flavour, &call->verf,
			  &call->args_off);
}

/* The two words that some statuses carry. */
static enum gfp_status parse_range(struct gfp_span in, size_t off,
				   struct gfp_reply *reply)
{
	if (!gfp_span_u32(in, off, &reply->low) ||
	    !gfp_span_u32(in, off + 4, &reply->high))
		return GFP_SHORT;
	return GFP_OK;
}

static enum gfp_status parse_accepted(struct gfp_span in,
				      struct gfp_reply *reply)
{
	enum gfp_status status;
	struct gfp_span verf;
	uint32_t flavour;
	size_t off;

	status = parse_auth(in, VERF_OFF, &flavour, &verf, &off);
	if (status != GFP_OK)
		return status;
	if (!gfp_span_u32(in, off, &reply->detail))
		return GFP_SHORT;
	off += 4;
	if (reply->detail == GFP_SUCCESS)
		reply->results_off = off;
	if (reply->detail == GFP_PROG_MISMATCH)
		return parse_range(in, off, reply);
	return GFP_OK;
}

static enum gfp_status parse_denied(struct gfp_span in, struct gfp_reply *reply)
{
	if (!gfp_span_u32(in, REJECT_OFF, &reply->detail))
		return GFP_SHORT;
	if (reply->detail == GFP_RPC_MISMATCH)
		return parse_range(in, REJECT_DETAIL_OFF, reply);
	if (reply->detail != GFP_AUTH_ERROR)
		return GFP_BAD;
	if (!gfp_span_u32(in, REJECT_DETAIL_OFF, &reply->auth_status))
		return GFP_SHORT;
	return GFP_OK;
}

enum gfp_status gfp_reply_parse(struct gfp_span in, struct gfp_reply *reply)
{
	uint32_t type;

	memset(reply, 0, sizeof(*reply));
	if (!gfp_span_u32(in, XID_OFF, &reply->xid) ||
	    !gfp_span_u32(in, TYPE_OFF, &type))
		return GFP_SHORT;
	if (type != GFP_REPLY)
		return GFP_BAD;
	if (!gfp_span_u32(in, STATUS_OFF, &reply->reply_status))
		return GFP_SHORT;
	if (reply->reply_status == GFP_ACCEPTED)
		return parse_accepted(in, reply);
	if (reply->reply_status == GFP_DENIED)
		return parse_denied(in, reply);
	return GFP_BAD;
}

/* Write the words and say how many bytes they took. */
static size_t put_words(uint8_t *out, const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gfp_put_be32(out + 4 * i, words[i]);
	return 4 * count;
}

#define PUT_WORDS(out, ...)                                             \
	put_words(out, (const uint32_t[]){ __VA_ARGS__ },               \
		  sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

size_t gfp_reply_accepted(uint8_t *out, uint32_t xid,
			  enum gfp_accept_status status)
{
	uint8_t *body = out + GFP_MARK_SIZE;
	size_t len = PUT_WORDS(body, xid, GFP_REPLY, GFP_ACCEPTED,
			       GFP_AUTH_NONE, 0, status);

	if (status == GFP_PROG_MISMATCH)
		len += PUT_WORDS(body + len, 0, 0);
	gfp_mark_write(out, (uint32_t)len);
	return GFP_MARK_SIZE + len;
}

size_t gfp_reply_denied(uint8_t *out, uint32_t xid, enum gfp_auth_status status)
{
	size_t len = PUT_WORDS(out + GFP_MARK_SIZE, xid, GFP_REPLY, GFP_DENIED,
			       GFP_AUTH_ERROR, status);

	gfp_mark_write(out, (uint32_t)len);
	return GFP_MARK_SIZE + len;
}

void gfp_reply_head_write(uint8_t *out, uint32_t xid)
{
	PUT_WORDS(out, xid, GFP_REPLY, GFP_ACCEPTED, GFP_AUTH_NONE, 0,
		  GFP_SUCCESS);
}

/* Bytes, zero-padded to a word; returns what they took. */
static size_t put_padded(uint8_t *out, struct gfp_span bytes)
{
	size_t pad = gfp_xdr_pad(bytes.len);

	if (bytes.len > 0)
		memcpy(out, bytes.ptr, bytes.len);
	memset(out + bytes.len, 0, pad);
	return bytes.len + pad;
}

size_t gfp_call_write(uint8_t *out, const struct gfp_call *call)
{
	size_t len = PUT_WORDS(out, call->xid, GFP_CALL, GFP_RPC_VERSION,
			       call->program, call->version, call->proc,
			       call->cred_flavour, (uint32_t)call->cred.len);

	len += put_padded(out + len, call->cred);
	len += PUT_WORDS(out + len, GFP_AUTH_NONE, 0);
	return len;
}

/* Groups and lk_owner, which end a credential of either flavour. */
static enum gfp_status parse_groups(struct gfp_span body, size_t off,
				    struct gfp_cred *cred)
{
	uint32_t count, len;
	size_t owner_off;

	if (!gfp_span_u32(body, off, &count))
		return GFP_SHORT;
	if (count > GFP_CRED_MAX / 4)
		return GFP_TOO_BIG;
	owner_off = off + 4 + 4 * (size_t)count;
	if (!gfp_span_u32(body, owner_off, &len))
		return GFP_SHORT;
	if (len > GFP_CRED_MAX)
		return GFP_TOO_BIG;
	if (!gfp_span_has(body, owner_off + 4, len))
		return GFP_SHORT;
	cred->group_count = count;
	cred->groups = (struct gfp_span){ body.ptr + off + 4, 4 * count };
	cred->lk_owner = (struct gfp_span){ body.ptr + owner_off + 4, len };
	return GFP_OK;
}

enum gfp_status gfp_cred_parse(uint32_t flavour, struct gfp_span body,
			       struct gfp_cred *cred)
{
	bool is_v3 = flavour == GFP_AUTH_GLUSTERFS_V3;
	size_t groups_off = is_v3 ? 28 : 12;

	memset(cred, 0, sizeof(*cred));
	if (!is_v3 && flavour != GFP_AUTH_GLUSTERFS_V2)
		return GFP_END;
	if (body.len > GFP_CRED_MAX)
		return GFP_TOO_BIG;
	if (body.len < groups_off)
		return GFP_SHORT;
	cred->pid = (int32_t)gfp_be32(body.ptr);
	cred->uid = gfp_be32(body.ptr + 4);
	cred->gid = gfp_be32(body.ptr + 8);
	if (is_v3) {
		cred->time_flags = gfp_be32(body.ptr + 12);
		cred->ctime_nsec = gfp_be32(body.ptr + 16);
		cred->ctime_sec = gfp_be64(body.ptr + 20);
	}
	return parse_groups(body, groups_off, cred);
}

size_t gfp_cred_write(uint8_t *out, uint32_t flavour,
		      const struct gfp_cred *cred)
{
	bool is_v3 = flavour == GFP_AUTH_GLUSTERFS_V3;
	struct gfp_span groups = { cred->groups.ptr,
				   4 * (size_t)cred->group_count };
	size_t owner_len = cred->lk_owner.len;
	size_t len = is_v3 ? 36 : 20;	/* all but groups and owner */

	if (!is_v3 && flavour != GFP_AUTH_GLUSTERFS_V2)
		return 0;
	if (owner_len > GFP_CRED_MAX || cred->group_count > GFP_CRED_MAX / 4 ||
	    len + groups.len + owner_len + gfp_xdr_pad(owner_len) >
		    GFP_CRED_MAX)
		return 0;
	len = PUT_WORDS(out, (uint32_t)cred->pid, cred->uid, cred->gid);
	if (is_v3)
		len += PUT_WORDS(out + len, cred->time_flags, cred->ctime_nsec,
				 (uint32_t)(cred->ctime_sec >> 32),
				 (uint32_t)cred->ctime_sec);
	len += PUT_WORDS(out + len, cred->group_count);
	len += put_padded(out + len, groups);
	len += PUT_WORDS(out + len, (uint32_t)owner_len);
	return len + put_padded(out + len, cred->lk_owner);
}
