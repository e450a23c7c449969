/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture - the records of tests/wire/, for loops over all of them.
 */
#ifndef FOREBRICK_TESTS_UNIT_FIXTURE_H
#define FOREBRICK_TESTS_UNIT_FIXTURE_H

#include "proto/fop.h"
#include "proto/gfx_proc.h"
#include "proto/span.h"

struct fixture {
	const char *path;	/* "fop400/11-open.call.hex", for messages */
	struct gfp_span record;	/* the whole record, mark excluded */
	bool is_call;
	const struct gfp_proc *proc;
	const struct gfx_type *type;	/* of the body */
	/* Arguments or results, and the payload; ptr is NULL for a reply that
	   has none as the call was not accepted. */
	struct gfp_span body;
};

typedef void (*fixture_fn)(const struct fixture *f);

/*
 * Hand every fixture to use(), in the order of their names; all it points to
 * ends with that call. Fails the test when a file does not parse. Returns how
 * many there were. Files are looked for under $srcdir.
 */
size_t fixture_each(fixture_fn use);

#endif
