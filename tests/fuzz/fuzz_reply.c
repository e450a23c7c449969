/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_reply - a reply's header.
 */
#include "config.h"

#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gfp_span in = { data, size };
	struct gfp_reply reply, cut;
	bool has_results;

	if (gfp_reply_parse(in, &reply) != GFP_OK)
		return 0;
	ENSURE(size >= GFP_RECORD_MIN);
	has_results = reply.reply_status == GFP_ACCEPTED &&
		      reply.detail == GFP_SUCCESS;
	ENSURE(has_results == (reply.results_off != 0));
	if (!has_results)
		return 0;
	ENSURE(reply.results_off >= GFP_REPLY_HEAD_SIZE);
	ENSURE(reply.results_off <= size);
	in.len = reply.results_off - 1;
	ENSURE(gfp_reply_parse(in, &cut) == GFP_SHORT);
	return 0;
}
