/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfx_proc - which XDR types a procedure's arguments and results have.
 *
 * Owns nothing; the table is constant.
 */
#include "config.h"

#include "proto/fop.h"
#include "proto/gfx_proc.h"
#include "proto/gfx_xdr.h"

/* Types of no bytes, so that every row names one. */
typedef struct {} gfx_empty;
typedef struct {} gfx_never;
#define xdr_gfx_never	NULL

static bool_t xdr_gfx_empty(XDR *xdrs, gfx_empty *none)
{
	(void)xdrs;
	(void)none;
	return TRUE;
}

#define TYPE(t)		{ #t, (xdrproc_t)xdr_##t, sizeof(t) }

const struct gfx_proc gfx_procs[] = {
#define FOP(name, number, call, reply)				\
	{ GFP_PROG_FOP, GFP_FOP_V400, number,			\
	  TYPE(gfx_##call), TYPE(gfx_##reply) },		\
	{ GFP_PROG_FOP, GFP_FOP_V330, number,			\
	  TYPE(gfx_v3_##call), TYPE(gfx_v3_##reply) },
#define FOP400(name, number, call, reply)			\
	{ GFP_PROG_FOP, GFP_FOP_V400, number,			\
	  TYPE(gfx_##call), TYPE(gfx_##reply) },
#define PROC(program, version, name, number, call, reply)	\
	{ GFP_PROG_##program, version, number,			\
	  TYPE(gfx_##call), TYPE(gfx_##reply) },
#include "proto/gfx_proc.def"
	{ 0, 0, 0, TYPE(gfx_never), TYPE(gfx_never) },
};

const struct gfx_proc *gfx_proc_find(uint32_t program, uint32_t version,
				     uint32_t number)
{
	for (const struct gfx_proc *p = gfx_procs; p->call.xdr != NULL; p++) {
		if (p->program == program && p->version == version &&
		    p->number == number)
			return p;
	}
	return NULL;
}
