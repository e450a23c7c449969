/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_record - a byte stream cut into records.
 */
#include "config.h"

#include "proto/record.h"
#include "tests/fuzz/fuzz.h"

enum { LIMIT = 65536 };

/* What the whole says must fit what a part of it says. */
static void check_cut(struct gfp_span in, enum gfp_status whole)
{
	struct gfp_span cut = { in.ptr, in.len / 2 }, body;
	enum gfp_status part = gfp_record_next(cut, LIMIT, &body);

	if (whole != GFP_OK)
		ENSURE(part == whole || part == GFP_SHORT);
	else
		ENSURE(part == GFP_OK || part == GFP_SHORT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gfp_span in = { data, size }, body;
	enum gfp_status status;

	for (;;) {
		status = gfp_record_next(in, LIMIT, &body);
		check_cut(in, status);
		if (status != GFP_OK)
			break;
		ENSURE(body.ptr == in.ptr + GFP_MARK_SIZE);
		ENSURE(fuzz_lies_in(body, in));
		ENSURE(body.len >= GFP_RECORD_MIN && body.len <= LIMIT);
		in = gfp_span_from(in, GFP_MARK_SIZE + body.len);
	}
	ENSURE(status != GFP_END);
	return 0;
}
