/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz - what the libFuzzer targets share: promises, and walks that keep them.
 *
 * A target is more than "does not crash": what a decoder hands out must lie in
 * the input, and what it says of a whole input must fit what it says of a part.
 */
#ifndef FOREBRICK_TESTS_FUZZ_FUZZ_H
#define FOREBRICK_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "proto/layout.h"
#include "proto/span.h"

/* A promise of the library; breaking it is a finding. */
#define ENSURE(condition)                \
	do {                             \
		if (!(condition))        \
			abort();         \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* True when part is empty or lies in whole. */
bool fuzz_lies_in(struct gfp_span part, struct gfp_span whole);

/* Walk a dict of either form; returns how the walk ended. */
enum gfp_status fuzz_dictx(struct gfp_span dict);
enum gfp_status fuzz_blob(struct gfp_span dict);

/*
 * Walk in by a layout, and into every dict, list and composite; off: bytes
 * taken. Returns how the walk ended.
 */
enum gfp_status fuzz_members(const struct gfp_field *fields, struct gfp_span in,
			     size_t *off);

#endif
