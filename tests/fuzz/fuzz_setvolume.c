/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_setvolume - the handshake's dict, asked for what a proxy needs of it.
 *
 * The first byte: 0 results, 1 arguments.
 */
#include "config.h"

#include "proto/dict.h"
#include "proto/fop.h"
#include "tests/fuzz/fuzz.h"

static void ask(struct gfp_span dict)
{
	static const char *const keys[] = {
		"remote-subvolume", "process-uuid", "fops-version",
		"client-version", "ERROR", "volume-id",
	};
	enum gfp_status whole = fuzz_blob(dict);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct gfp_pair pair;
		enum gfp_status status = gfp_blob_find(dict, keys[i], &pair);

		ENSURE(status == GFP_OK ? whole == GFP_END : status == whole);
		if (status == GFP_OK)
			ENSURE(fuzz_lies_in(pair.value, dict));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gfp_proc *proc =
		gfp_proc_find(GFP_PROG_HNDSK, 2, GFP_HNDSK_SETVOLUME);
	const struct gfp_field *fields;
	struct gfp_cursor c;
	struct gfp_value v;
	struct gfp_span in;
	size_t off;

	if (size == 0)
		return 0;
	fields = data[0] % 2 == 1 ? proc->call : proc->reply;
	in = (struct gfp_span){ data + 1, size - 1 };
	fuzz_members(fields, in, &off);
	gfp_cursor_start(&c, fields, in);
	while (gfp_field_next(&c, &v) == GFP_OK) {
		if (v.field->kind == GFP_K_BLOB)
			ask(v.body);
	}
	return 0;
}
