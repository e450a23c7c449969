/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_msg - RPC call and reply headers, and GlusterFS credentials.
 *
 * Offsets count from the first byte after the record mark. Nothing here
 * allocates; every span in an output points into the input.
 * Source: RFC 5531 section 9; the credential layouts are those that GlusterFS
 * 10.3 peers send (AUTH_GLUSTERFS v2 and v3).
 */
#ifndef FOREBRICK_PROTO_RPC_MSG_H
#define FOREBRICK_PROTO_RPC_MSG_H

#include "proto/span.h"
#include "proto/status.h"

enum gfp_msg_type { GFP_CALL = 0, GFP_REPLY = 1 };
enum gfp_reply_status { GFP_ACCEPTED = 0, GFP_DENIED = 1 };

enum gfp_accept_status {
	GFP_SUCCESS = 0,
	GFP_PROG_UNAVAIL = 1,
	GFP_PROG_MISMATCH = 2,
	GFP_PROC_UNAVAIL = 3,
	GFP_GARBAGE_ARGS = 4,
	GFP_SYSTEM_ERR = 5,
};

enum gfp_reject_status { GFP_RPC_MISMATCH = 0, GFP_AUTH_ERROR = 1 };
enum gfp_auth_status { GFP_AUTH_BADCRED = 1, GFP_AUTH_TOOWEAK = 5 };

enum gfp_auth_flavour {
	GFP_AUTH_NONE = 0,
	GFP_AUTH_SYS = 1,
	GFP_AUTH_GLUSTERFS = 5,
	GFP_AUTH_GLUSTERFS_V2 = 390039,
	GFP_AUTH_GLUSTERFS_V3 = 390040,
};

enum {
	GFP_CRED_MAX = 400,	/* bytes; bricks never answer a longer one */
	/* Where the arguments begin at the latest: 40 bytes, credential and
	   verifier. All peers send an empty verifier and so begin at 440 at the
	   latest, but a brick takes one and even sends it back. */
	GFP_CALL_HEAD_MAX = 840,
	/* Results of an accepted reply with an empty verifier begin here. */
	GFP_REPLY_HEAD_SIZE = 24,
	GFP_RPC_VERSION = 2,
};

struct gfp_call {
	uint32_t xid;
	uint32_t rpc_version;
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	uint32_t cred_flavour;
	struct gfp_span cred;	/* body, padding excluded */
	uint32_t verf_flavour;
	struct gfp_span verf;
	size_t args_off;	/* where the arguments begin */
};

/*
 * Parse the header of a call.
 *
 *   in    the record from its first byte on, or a prefix of it
 *
 * Returns GFP_OK; GFP_SHORT when in ends inside the header; GFP_TOO_BIG when
 * credential or verifier exceed GFP_CRED_MAX (xid, program, version, proc and
 * the flavour are set then, so that the call can be refused by name); GFP_BAD
 * when it is no call. rpc_version is reported, not judged.
 */
GFP_MUST_CHECK enum gfp_status gfp_call_parse(struct gfp_span in,
					      struct gfp_call *call);

struct gfp_reply {
	uint32_t xid;
	uint32_t reply_status;	/* enum gfp_reply_status */
	uint32_t detail;	/* accept status, or reject status if denied */
	uint32_t auth_status;	/* of a denial for GFP_AUTH_ERROR, else 0 */
	uint32_t low, high;	/* of the two mismatches, else 0 */
	size_t results_off;	/* where results begin; 0 without results */
};

/*
 * As gfp_call_parse(), for a reply. GFP_BAD also for a reply or reject status
 * that is none; an accept status that is none is reported as it came.
 */
GFP_MUST_CHECK enum gfp_status gfp_reply_parse(struct gfp_span in,
					       struct gfp_reply *reply);

/*
 * Build whole reply records, mark included, without results.
 *
 *   out    GFP_REPLY_RECORD_MAX bytes or more
 *
 * Returns the bytes written. For GFP_PROG_MISMATCH low and high are written as
 * zero, as bricks do. gfp_reply_head_write() writes an accepted, successful
 * header of GFP_REPLY_HEAD_SIZE bytes without a mark; results follow it.
 */
enum { GFP_REPLY_RECORD_MAX = 64 };
size_t gfp_reply_accepted(uint8_t *out, uint32_t xid,
			  enum gfp_accept_status status);
size_t gfp_reply_denied(uint8_t *out, uint32_t xid,
			enum gfp_auth_status status);
void gfp_reply_head_write(uint8_t *out, uint32_t xid);

/*
 * Write the header of a call, without a record mark.
 *
 *   out    40 + GFP_CRED_MAX bytes or more
 *   call   xid, program, version, proc, cred_flavour and cred are used; cred
 *          must not exceed GFP_CRED_MAX; the verifier is written as none
 *
 * Returns the bytes written, which is where the arguments go.
 */
size_t gfp_call_write(uint8_t *out, const struct gfp_call *call);

/* Who calls, from a credential of either GlusterFS flavour. */
struct gfp_cred {
	int32_t pid;		/* negative: an internal client */
	uint32_t uid;
	uint32_t gid;
	uint32_t time_flags;	/* v3: which times to set; 0 in v2 */
	uint32_t ctime_nsec;
	uint64_t ctime_sec;
	uint32_t group_count;
	struct gfp_span groups;	/* group_count big-endian words */
	struct gfp_span lk_owner;
};

/*
 * Parse a credential body.
 *
 * Returns GFP_OK; GFP_END when the flavour carries no GlusterFS identity (none,
 * AUTH_SYS, unknown: cred is all zero); GFP_SHORT or GFP_TOO_BIG when a length
 * inside points beyond the body.
 */
GFP_MUST_CHECK enum gfp_status gfp_cred_parse(uint32_t flavour,
					      struct gfp_span body,
					      struct gfp_cred *cred);

/*
 * Write a v2 or v3 credential body; the inverse of gfp_cred_parse().
 *
 *   out    GFP_CRED_MAX bytes
 *
 * Returns the bytes written, or 0 when it would exceed GFP_CRED_MAX or the
 * flavour is neither.
 */
size_t gfp_cred_write(uint8_t *out, uint32_t flavour,
		      const struct gfp_cred *cred);

#endif
