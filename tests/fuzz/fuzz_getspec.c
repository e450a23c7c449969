/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_getspec - the request for a volfile, and the volfile that comes back.
 *
 * The first byte: 0 results, 1 arguments.
 */
#include "config.h"

#include "proto/dict.h"
#include "proto/fop.h"
#include "tests/fuzz/fuzz.h"

/* What a client would take of the text: as many bytes as op_ret says. */
static void read_spec(struct gfp_span spec, int64_t op_ret)
{
	volatile uint8_t sum = 0;
	size_t len = spec.len;

	if (op_ret < 0)
		return;
	if ((uint64_t)op_ret < len)
		len = (size_t)op_ret;
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + spec.ptr[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gfp_proc *proc =
		gfp_proc_find(GFP_PROG_HNDSK, 2, GFP_HNDSK_GETSPEC);
	const struct gfp_field *fields;
	int64_t op_ret = -1;
	struct gfp_cursor c;
	struct gfp_value v;
	struct gfp_pair pair;
	struct gfp_span in;
	size_t off;

	if (size == 0)
		return 0;
	fields = data[0] % 2 == 1 ? proc->call : proc->reply;
	in = (struct gfp_span){ data + 1, size - 1 };
	fuzz_members(fields, in, &off);
	gfp_cursor_start(&c, fields, in);
	while (gfp_field_next(&c, &v) == GFP_OK) {
		if (v.field->kind == GFP_K_RET)
			op_ret = (int64_t)v.num;
		if (v.field->kind == GFP_K_STR)
			read_spec(v.body, op_ret);
		if (v.field->kind == GFP_K_BLOB &&
		    gfp_blob_find(v.body, "servers-list", &pair) == GFP_OK)
			ENSURE(fuzz_lies_in(pair.value, v.body));
	}
	return 0;
}
