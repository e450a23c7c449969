/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fop - the rows of the .def files as tables, and what can be asked of a row.
 *
 * Holds constants only, allocates nothing.
 */
#include "config.h"

#include <string.h>

#include "proto/dict.h"
#include "proto/fop.h"

/* The words of the .def files; no macro, as payload and guard say it too. */
enum { NONE = GFP_NONE };
#define FIELD(name, kind) { #name, GFP_K_##kind },
#define RET(name) FIELD(name, RET)
#define ERRNO(name) FIELD(name, ERRNO)
#define I32(name) FIELD(name, I32)
#define U32(name) FIELD(name, U32)
#define HEX32(name) FIELD(name, HEX32)
#define OFLAGS(name) FIELD(name, OFLAGS)
#define MODE(name) FIELD(name, MODE)
#define LKCMD(name) FIELD(name, LKCMD)
#define LKTYPE(name) FIELD(name, LKTYPE)
#define I64(name) FIELD(name, I64)
#define U64(name) FIELD(name, U64)
#define FD(name) FIELD(name, FD)
#define GFID(name) FIELD(name, GFID)
#define IATTX(name) FIELD(name, IATTX)
#define IATT3(name) FIELD(name, IATT3)
#define STATFS(name) FIELD(name, STATFS)
#define LEASE(name) FIELD(name, LEASE)
#define STR(name) FIELD(name, STR)
#define OPAQUE(name) FIELD(name, OPAQUE)
#define FLOCK(name) FIELD(name, FLOCK)
#define DICTX(name) FIELD(name, DICTX)
#define BLOB(name) FIELD(name, BLOB)
#define DIRLIST(name) FIELD(name, DIRLIST)
#define DIRPLIST(name) FIELD(name, DIRPLIST)
#define DIRPLIST3(name) FIELD(name, DIRPLIST3)
#define LOCKLIST(name) FIELD(name, LOCKLIST)
#define PROGLIST(name) FIELD(name, PROGLIST)

#define LAYOUT(...) \
	((const struct gfp_field[]){ __VA_ARGS__ { NULL, GFP_K_END } })
#define CALL(fields) LAYOUT(fields)
#define REPLY(fields) LAYOUT(fields)
#define EMPTY LAYOUT()

/* How results begin: in version 330 and the small programs, in version 400. */
#define RESULT RET(op_ret) ERRNO(op_errno)
#define HEAD RESULT DICTX(xdata)

#define ROW(no, text, gfid, gfid2, fd, fd2, payld, grd, args, results) \
	[no] = &(const struct gfp_proc){                               \
		.number = (no), .name = (text),                        \
		.gfid_off = (gfid), .gfid2_off = (gfid2),              \
		.fd_off = (fd), .fd2_off = (fd2),                      \
		.payload = GFP_PAYLOAD_##payld,                        \
		.guard = GFP_GUARD_##grd,                              \
		.call = (args), .reply = (results),                    \
	},

/* Version 400: xdata before the attributes. */
#define REPLY_C REPLY(HEAD)
#define REPLY_I1 REPLY(HEAD IATTX(stat))
#define REPLY_I2 REPLY(HEAD IATTX(pre) IATTX(post))
#define REPLY_I3 REPLY(HEAD IATTX(stat) IATTX(prep) IATTX(postp))
#define REPLY_CD REPLY(HEAD DICTX(dict) IATTX(pre) IATTX(post))
#define FOP(id, ...) ROW(__VA_ARGS__)
static const struct gfp_proc *const procs_400[] = {
#include "proto/fops.def"
};
#undef REPLY_C
#undef REPLY_I1
#undef REPLY_I2
#undef REPLY_I3
#undef REPLY_CD

/* Version 330: xdata last. */
#define REPLY_C REPLY(RESULT BLOB(xdata))
#define REPLY_I1 REPLY(RESULT IATT3(stat) BLOB(xdata))
#define REPLY_I2 REPLY(RESULT IATT3(pre) IATT3(post) BLOB(xdata))
#define REPLY_I3 REPLY(RESULT IATT3(stat) IATT3(prep) IATT3(postp) BLOB(xdata))
#define REPLY_CD REPLY(RESULT BLOB(dict) BLOB(xdata))
#undef HEAD
#define HEAD RESULT
#define FOP330(id, ...) ROW(__VA_ARGS__)
static const struct gfp_proc *const procs_330[] = {
#include "proto/fops330.def"
};

enum small_program { HNDSK, PMAP, DUMP, CBK, SMALL_LIMIT };
enum { SMALL_PROCS = 12 };
#define PROC(program, id, no, text, args, results)                     \
	[program][no] = &(const struct gfp_proc){                      \
		.number = (no), .name = (text),                        \
		.gfid_off = NONE, .gfid2_off = NONE,                   \
		.fd_off = NONE, .fd2_off = NONE,                       \
		.call = (args), .reply = (results),                    \
	},
static const struct gfp_proc *const procs_small[SMALL_LIMIT][SMALL_PROCS] = {
#include "proto/programs.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct gfp_program fop_400 = {
	"fop", GFP_PROG_FOP, GFP_FOP_V400, COUNT(procs_400), procs_400,
};
static const struct gfp_program fop_330 = {
	"fop", GFP_PROG_FOP, GFP_FOP_V330, COUNT(procs_330), procs_330,
};
static const struct gfp_program hndsk = {
	"handshake", GFP_PROG_HNDSK, 2, GFP_HNDSK_GET_SNAPSHOT_INFO + 1,
	procs_small[HNDSK],
};
static const struct gfp_program pmap = {
	"portmap", GFP_PROG_PMAP, 1, GFP_PMAP_SIGNOUT + 1, procs_small[PMAP],
};
static const struct gfp_program dump = {
	"dump", GFP_PROG_DUMP, 1, GFP_DUMP_PING + 1, procs_small[DUMP],
};
static const struct gfp_program cbk = {
	"callback", GFP_PROG_CBK, 1, GFP_CBK_ENTRYLK_CONTENTION + 1,
	procs_small[CBK],
};

/* The busiest first. */
const struct gfp_program *const gfp_programs[] = {
	&fop_400, &fop_330, &dump, &hndsk, &cbk, &pmap, NULL,
};

const struct gfp_program *gfp_program_find(uint32_t program, uint32_t version)
{
	const struct gfp_program *const *p;

	for (p = gfp_programs; *p != NULL; p++) {
		if ((*p)->number == program && (*p)->version == version)
			return *p;
	}
	return NULL;
}

const struct gfp_proc *gfp_proc_find(uint32_t program, uint32_t version,
				     uint32_t proc)
{
	const struct gfp_program *p = gfp_program_find(program, version);

	if (p == NULL || proc >= p->proc_limit)
		return NULL;
	return p->procs[proc];
}

enum gfp_status gfp_payload_off(const struct gfp_proc *proc, bool is_call,
				struct gfp_span body, size_t *off)
{
	enum gfp_status status;
	struct gfp_cursor cursor;
	struct gfp_value value;

	gfp_cursor_start(&cursor, is_call ? proc->call : proc->reply, body);
	do {
		status = gfp_field_next(&cursor, &value);
	} while (status == GFP_OK);
	if (status != GFP_END)
		return status;
	*off = cursor.off;
	return GFP_OK;
}

/* A member of failed results; every kind but these is zero then. */
static void put_error_field(enum gfp_kind kind, uint32_t wire_errno,
			    uint8_t *out)
{
	memset(out, 0, gfp_kind_min_size(kind));
	if (kind == GFP_K_RET)
		gfp_put_be32(out, UINT32_MAX);
	if (kind == GFP_K_ERRNO)
		gfp_put_be32(out, wire_errno);
	if (kind == GFP_K_DICTX)
		memcpy(out, gfp_dictx_null, GFP_DICTX_HEAD);
}

size_t gfp_error_results(const struct gfp_proc *proc, uint32_t wire_errno,
			 uint8_t *out, size_t cap)
{
	const struct gfp_field *field;
	bool has_ret = false;
	size_t len = 0;

	for (field = proc->reply; field->kind != GFP_K_END; field++) {
		size_t size = gfp_kind_min_size(field->kind);

		if (size > cap - len)
			return 0;
		put_error_field(field->kind, wire_errno, out + len);
		has_ret |= field->kind == GFP_K_RET;
		len += size;
	}
	return has_ret ? len : 0;
}
