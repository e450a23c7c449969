/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fop - the table of procedures: one row says everything about one.
 *
 * Rows live in fops.def (FOP version 400), fops330.def (version 330) and
 * programs.def (handshake, portmap, dump, callbacks). Code asks the row and
 * does not know procedures by name, unless it treats that one alone.
 */
#ifndef FOREBRICK_PROTO_FOP_H
#define FOREBRICK_PROTO_FOP_H

#include "proto/layout.h"
#include "proto/span.h"

enum {
	GFP_PROG_FOP = 1298437,
	GFP_PROG_HNDSK = 14398633,
	GFP_PROG_PMAP = 34123456,
	GFP_PROG_DUMP = 123451501,
	GFP_PROG_CBK = 52743234,
	GFP_FOP_V400 = 400,
	GFP_FOP_V330 = 330,
};

#define GFP_NONE (-1)

/* Where raw bytes follow the XDR members. */
enum gfp_payload { GFP_PAYLOAD_NONE, GFP_PAYLOAD_CALL, GFP_PAYLOAD_REPLY };

/* What a brick (10.3) survives. */
enum gfp_guard {
	GFP_GUARD_NONE,
	GFP_GUARD_FD,		/* fd -1 in it can kill the brick */
	GFP_GUARD_REFUSE,	/* kills the brick as clients send it */
};

struct gfp_proc {
	uint32_t number;
	const char *name;	/* "copy_file_range" */
	/* byte offsets in the arguments, GFP_NONE without one */
	int gfid_off, gfid2_off, fd_off, fd2_off;
	enum gfp_payload payload;
	enum gfp_guard guard;
	const struct gfp_field *call;	/* closed by GFP_K_END */
	const struct gfp_field *reply;
};

struct gfp_program {
	/* "fop", "handshake", "portmap", "dump", "callback" */
	const char *name;
	uint32_t number, version;
	uint32_t proc_limit;	/* one more than the highest number */
	const struct gfp_proc *const *procs; /* by number; NULL: no such row */
};

/* The program, or NULL for one that this table does not know. */
const struct gfp_program *gfp_program_find(uint32_t program, uint32_t version);

/* All programs, closed by NULL, for loops over every row. */
extern const struct gfp_program *const gfp_programs[];

/* The row, or NULL for a procedure that this table does not know. */
const struct gfp_proc *gfp_proc_find(uint32_t program, uint32_t version,
				     uint32_t proc);

/*
 * Where the payload begins.
 *
 *   body    arguments or results from their first byte on, or a prefix
 *   is_call which of the two
 *   off     on GFP_OK the offset of the first payload byte in body; equal to
 *           the size of the XDR members where there is no payload
 *
 * GFP_SHORT when the prefix does not reach that far.
 */
GFP_MUST_CHECK enum gfp_status gfp_payload_off(const struct gfp_proc *proc,
					       bool is_call,
					       struct gfp_span body,
					       size_t *off);

/*
 * Build the results of a failed call: op_ret -1, op_errno, all else zero and
 * dicts NULL, as a brick does it.
 *
 *   out    cap bytes; GFP_ERROR_RESULTS_MAX suffice for every row
 *
 * Returns the bytes written; 0 when cap is too small or the procedure's reply
 * has no op_ret.
 */
enum { GFP_ERROR_RESULTS_MAX = 1024 };
size_t gfp_error_results(const struct gfp_proc *proc, uint32_t wire_errno,
			 uint8_t *out, size_t cap);

/* Numbers that code treats alone, by the rows' identifiers. */
enum gfp_fop_number {
#define FOP(id, number, ...) GFP_FOP_##id = (number),
#include "proto/fops.def"
#undef FOP
};
enum gfp_small_number {
#define PROC(program, id, number, ...) GFP_##program##_##id = (number),
#include "proto/programs.def"
#undef PROC
};

#endif
