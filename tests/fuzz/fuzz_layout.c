/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_layout - arguments and results of any row.
 *
 * The first byte is the place of the program in gfp_programs[], the second the
 * procedure, the third: 0 results, 1 arguments.
 */
#include "config.h"

#include "proto/fop.h"
#include "tests/fuzz/fuzz.h"

enum { SELECTOR_SIZE = 3 };

static const struct gfp_proc *select_row(const uint8_t *data)
{
	size_t count = 0;
	const struct gfp_program *program;

	while (gfp_programs[count] != NULL)
		count++;
	program = gfp_programs[data[0] % count];
	return program->procs[data[1] % program->proc_limit];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gfp_field *fields;
	const struct gfp_proc *proc;
	enum gfp_status status;
	struct gfp_span in;
	size_t off, payload_off;
	bool is_call;

	if (size < SELECTOR_SIZE)
		return 0;
	proc = select_row(data);
	if (proc == NULL)
		return 0;
	is_call = data[2] % 2 == 1;
	fields = is_call ? proc->call : proc->reply;
	in = (struct gfp_span){ data + SELECTOR_SIZE, size - SELECTOR_SIZE };

	status = fuzz_members(fields, in, &off);
	ENSURE(gfp_payload_off(proc, is_call, in, &payload_off) ==
	       (status == GFP_END ? GFP_OK : status));
	if (status != GFP_END)
		return 0;
	ENSURE(payload_off == off);
	if (off > 0) {
		in.len = off - 1;
		ENSURE(fuzz_members(fields, in, &off) == GFP_SHORT);
	}
	return 0;
}
