/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_proc - which XDR types a procedure's arguments and results have.
 *
 * The table is gfx_proc.def: every procedure of FOP 400 and 330, and of the
 * small programs. fop.h describes the same procedures by their fields, for code
 * that reads in place; this one is for code that wants whole structs.
 */
#ifndef FOREBRICK_PROTO_GFX_PROC_H
#define FOREBRICK_PROTO_GFX_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <rpc/rpc.h>

struct gfx_type {
	const char *name;	/* "gfx_open_call", "gfx_empty" */
	xdrproc_t xdr;		/* NULL: there is no such message */
	size_t size;		/* of the struct; 0 for no members */
};

struct gfx_proc {
	uint32_t program, version, number;
	struct gfx_type call;
	struct gfx_type reply;	/* callbacks have none: xdr is NULL */
};

/* Every row, closed by one whose call.xdr is NULL. */
extern const struct gfx_proc gfx_procs[];

/* The row, or NULL for a procedure without one. A linear search. */
const struct gfx_proc *gfx_proc_find(uint32_t program, uint32_t version,
				     uint32_t number);

#endif
