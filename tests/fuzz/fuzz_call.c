/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_call - a call's header and its credential.
 */
#include "config.h"

#include <string.h>

#include "proto/rpc_msg.h"
#include "tests/fuzz/fuzz.h"

/* A credential that was read is written with the same bytes but for padding. */
static void check_cred(const struct gfp_call *call)
{
	uint8_t out[GFP_CRED_MAX];
	struct gfp_cred cred, again;
	size_t len;

	if (gfp_cred_parse(call->cred_flavour, call->cred, &cred) != GFP_OK)
		return;
	ENSURE(fuzz_lies_in(cred.groups, call->cred));
	ENSURE(fuzz_lies_in(cred.lk_owner, call->cred));
	ENSURE(cred.groups.len == 4 * (size_t)cred.group_count);
	len = gfp_cred_write(out, call->cred_flavour, &cred);
	ENSURE(len > 0 && len <= call->cred.len + gfp_xdr_pad(call->cred.len));
	ENSURE(gfp_cred_parse(call->cred_flavour, (struct gfp_span){ out, len },
			      &again) == GFP_OK);
	ENSURE(again.pid == cred.pid);
	ENSURE(again.lk_owner.len == cred.lk_owner.len);
	len -= gfp_xdr_pad(cred.lk_owner.len);
	ENSURE(memcmp(out, call->cred.ptr, len) == 0);
}

/* A header that was read is written with the same fields. */
static void check_written(const struct gfp_call *call)
{
	uint8_t out[40 + GFP_CRED_MAX];
	size_t len = gfp_call_write(out, call);
	struct gfp_call again;

	ENSURE(len <= sizeof(out));
	ENSURE(gfp_call_parse((struct gfp_span){ out, len }, &again) == GFP_OK);
	ENSURE(again.xid == call->xid && again.program == call->program);
	ENSURE(again.version == call->version && again.proc == call->proc);
	ENSURE(again.cred.len == call->cred.len && again.args_off == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gfp_span in = { data, size };
	struct gfp_call call, cut;

	if (gfp_call_parse(in, &call) != GFP_OK)
		return 0;
	ENSURE(call.args_off >= 40 && call.args_off <= size);
	ENSURE(call.args_off <= GFP_CALL_HEAD_MAX);
	ENSURE(fuzz_lies_in(call.cred, in) && fuzz_lies_in(call.verf, in));
	in.len = call.args_off - 1;
	ENSURE(gfp_call_parse(in, &cut) == GFP_SHORT);
	check_cred(&call);
	check_written(&call);
	return 0;
}
