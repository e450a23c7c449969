/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard - calls that a brick does not survive or never answers.
 *
 * What a 10.3 brick does with them, tried: READ and others on fd -1 crash it,
 * so do NAMELINK and SETACTIVELK; a credential that is over 400 bytes, or that
 * its own arithmetic takes for too long, gets no answer at all; a WRITE whose
 * size is not that of its payload writes the payload.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <errno.h>

#include "daemon/guard.h"
#include "proto/record.h"

enum {
	WRITE_SIZE_OFF = 32,	/* of WRITE's size in its arguments, 400 and 330 */
};

static enum guard_verdict refuse_accepted(struct guard_answer *answer,
					  const struct gfp_call *call,
					  enum gfp_accept_status status,
					  const char *reason)
{
	answer->reason = reason;
	answer->len = gfp_reply_accepted(answer->bytes, call->xid, status);
	return GUARD_REFUSE;
}

static enum guard_verdict refuse_denied(struct guard_answer *answer,
					const struct gfp_call *call,
					const char *reason)
{
	answer->reason = reason;
	answer->len = gfp_reply_denied(answer->bytes, call->xid,
				       GFP_AUTH_BADCRED);
	return GUARD_REFUSE;
}

static enum guard_verdict refuse_errno(struct guard_answer *answer,
				       const struct gfp_call *call,
				       const struct gfp_proc *proc,
				       uint32_t wire_errno, const char *reason)
{
	uint8_t *head = answer->bytes + GFP_MARK_SIZE;
	size_t results = gfp_error_results(
		proc, wire_errno, head + GFP_REPLY_HEAD_SIZE,
		sizeof(answer->bytes) - GFP_MARK_SIZE - GFP_REPLY_HEAD_SIZE);

	if (results == 0)
		return refuse_accepted(answer, call, GFP_GARBAGE_ARGS, reason);
	answer->reason = reason;
	gfp_reply_head_write(head, call->xid);
	gfp_mark_write(answer->bytes, (uint32_t)(GFP_REPLY_HEAD_SIZE + results));
	answer->len = GFP_MARK_SIZE + GFP_REPLY_HEAD_SIZE + results;
	return GUARD_REFUSE;
}

/*
 * No brick hands out a negative fd; of those only the anonymous one is known to
 * it, and some of the others it does not survive (READ on -1, FSETATTR on any).
 */
static bool has_bad_fd(struct gfp_span args, int fd_off)
{
	const int64_t anonymous = -2;
	uint64_t fd;

	return fd_off != GFP_NONE && gfp_span_u64(args, (size_t)fd_off, &fd) &&
	       (int64_t)fd < 0 && (int64_t)fd != anonymous;
}

/* True when args end before the fd; a long verifier moves them that far. */
static bool lacks_fd(struct gfp_span args, int fd_off)
{
	return fd_off != GFP_NONE && !gfp_span_has(args, (size_t)fd_off, 8);
}

/*
 * The brick counts the owner's bytes as if they were words when it computes how
 * many groups fit (95 and 91 for the two flavours).
 */
static bool cred_is_overlong(uint32_t flavour, const struct gfp_cred *cred)
{
	uint32_t words = flavour == GFP_AUTH_GLUSTERFS_V3 ? 91 : 95;

	return cred->lk_owner.len > words ||
	       cred->group_count > words - cred->lk_owner.len;
}

static const char *cred_fault(const struct gfp_call *call)
{
	struct gfp_cred cred;

	switch (gfp_cred_parse(call->cred_flavour, call->cred, &cred)) {
	case GFP_OK:
		if (cred_is_overlong(call->cred_flavour, &cred))
			return "credential with more groups than a brick takes";
		return NULL;
	case GFP_END:
		return NULL;
	default:
		return "malformed credential";
	}
}

static enum guard_verdict check_write_size(const struct gfp_call *call,
					   const struct gfp_proc *proc,
					   struct gfp_span args, bool is_whole,
					   uint32_t size,
					   struct guard_answer *answer)
{
	uint32_t claimed;
	size_t off;

	if (gfp_payload_off(proc, true, args, &off) != GFP_OK ||
	    !gfp_span_u32(args, WRITE_SIZE_OFF, &claimed))
		return is_whole ? GUARD_PASS : GUARD_WHOLE;
	if (call->args_off + off + claimed == size)
		return GUARD_PASS;
	return refuse_accepted(answer, call, GFP_GARBAGE_ARGS,
			       "write whose size is not that of its payload");
}

enum guard_verdict guard_call(enum gfp_status parsed,
			      const struct gfp_call *call,
			      const struct gfp_proc *proc, struct gfp_span head,
			      bool is_whole, uint32_t size,
			      struct guard_answer *answer)
{
	struct gfp_span args;
	const char *fault;

	if (parsed == GFP_SHORT && !is_whole)
		return GUARD_WHOLE;	/* a long verifier; no client has one */
	if (parsed == GFP_TOO_BIG)
		return refuse_denied(answer, call, "credential over 400 bytes");
	if (parsed != GFP_OK) {
		answer->reason = "malformed call header";
		return GUARD_BAD;
	}
	fault = cred_fault(call);
	if (fault != NULL)
		return refuse_denied(answer, call, fault);
	if (proc == NULL || proc->guard == GFP_GUARD_NONE)
		return GUARD_PASS;
	if (proc->guard == GFP_GUARD_REFUSE)
		return refuse_accepted(answer, call, GFP_PROC_UNAVAIL,
				       "procedure that a brick does not survive");

	args = gfp_span_from(head, call->args_off);
	if (!is_whole && (lacks_fd(args, proc->fd_off) ||
			  lacks_fd(args, proc->fd2_off)))
		return GUARD_WHOLE;
	if (has_bad_fd(args, proc->fd_off) || has_bad_fd(args, proc->fd2_off))
		return refuse_errno(answer, call, proc, EBADF,
				    "negative fd");
	if (call->program == GFP_PROG_FOP && proc->number == GFP_FOP_WRITE)
		return check_write_size(call, proc, args, is_whole, size,
					answer);
	return GUARD_PASS;
}
