/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - arguments and results as a list of named fields, read in place.
 *
 * Every procedure's row (fop.h) names the members of its arguments and results
 * in wire order. A cursor walks the bytes by that list; no copy is made, and no
 * length is believed before it has been compared with what is there. The XDR
 * routines of gfx.x know the same layouts; a test holds the two together.
 */
#ifndef FOREBRICK_PROTO_LAYOUT_H
#define FOREBRICK_PROTO_LAYOUT_H

#include "proto/span.h"
#include "proto/status.h"

enum {
	/* No string, opaque or dict on the wire is longer: a volfile is the
	   longest of them. Nothing is allocated by it. */
	GFP_BYTES_MAX = 64 << 20,
	GFP_OWNER_MAX = 1024,	/* of a lock, in the peers' own structures */
};

enum gfp_kind {
	GFP_K_END,	/* closes a list of fields */
	/* 32 bits */
	GFP_K_RET,	/* i32, op_ret */
	GFP_K_ERRNO,	/* i32, op_errno: a name where negative op_ret */
	GFP_K_I32,
	GFP_K_U32,
	GFP_K_HEX32,	/* u32 shown in hex: masks and raw flags */
	GFP_K_OFLAGS,	/* u32, open flags in wire numbering */
	GFP_K_MODE,	/* u32, st_mode, shown octal */
	GFP_K_LKCMD,	/* u32, lock command of LK, (F)INODELK */
	GFP_K_LKTYPE,	/* u32, 0 read, 1 write, 2 unlock */
	/* 64 bits */
	GFP_K_I64,
	GFP_K_U64,
	GFP_K_FD,	/* i64, remote fd */
	/* fixed composites */
	GFP_K_GFID,	/* 16 bytes */
	GFP_K_IATTX,	/* 148 bytes */
	GFP_K_IATT3,	/* 100 bytes */
	GFP_K_STATFS,	/* 88 bytes */
	GFP_K_LEASE,	/* 28 bytes */
	/* of variable length */
	GFP_K_STR,
	GFP_K_OPAQUE,
	GFP_K_FLOCK,
	GFP_K_DICTX,	/* typed dict of version 400 */
	GFP_K_BLOB,	/* 3.x dict inside an opaque<> */
	GFP_K_DIRLIST,	/* linked entries, closed by a zero word */
	GFP_K_DIRPLIST,
	GFP_K_DIRPLIST3,
	GFP_K_LOCKLIST,
	GFP_K_PROGLIST,	/* what DUMP answers */
	GFP_KIND_LIMIT
};

/*
 * The fewest bytes that a member of the kind takes: its size where that is
 * fixed, else the form with nothing in it, which is all zero but for a dictx.
 */
size_t gfp_kind_min_size(enum gfp_kind kind);

/* True when all members of the kind have the same size. */
bool gfp_kind_is_fixed(enum gfp_kind kind);

struct gfp_field {
	const char *name;
	enum gfp_kind kind;
};

struct gfp_value {
	const struct gfp_field *field;
	struct gfp_span raw;	/* the member as it is on the wire, all of it */
	/* what counts in it: raw itself for fixed kinds, dicts and lists;
	   the bytes alone, no length word and no padding, for STR, OPAQUE and
	   BLOB */
	struct gfp_span body;
	uint64_t num;		/* 32 and 64 bit kinds; signed ones extended */
};

struct gfp_cursor {
	const struct gfp_field *next;
	struct gfp_span in;
	size_t off;		/* bytes of in consumed so far */
};

/* Start at the first field of a list, on the first byte of in. */
void gfp_cursor_start(struct gfp_cursor *c, const struct gfp_field *fields,
		      struct gfp_span in);

/*
 * Read the next field.
 *
 * Returns GFP_OK; GFP_END behind the last field (c->off tells where a payload
 * begins); GFP_SHORT when in ends inside the field; GFP_TOO_BIG or GFP_BAD when
 * a length or count in it is impossible. After anything but GFP_OK the cursor
 * stays where it is.
 */
GFP_MUST_CHECK enum gfp_status gfp_field_next(struct gfp_cursor *c,
					      struct gfp_value *v);

/* File attributes of either version in one form. */
struct gfp_iatt {
	uint8_t gfid[16];
	uint64_t valid;		/* which fields count; all, for iatt3 */
	uint64_t ino, dev, rdev, size, blocks, attributes, attributes_mask;
	int64_t atime, mtime, ctime, btime;
	uint32_t atime_nsec, mtime_nsec, ctime_nsec, btime_nsec;
	uint32_t nlink, uid, gid, blksize, mode;
};
enum { GFP_IATTX_SIZE = 148, GFP_IATT3_SIZE = 100, GFP_GFID_SIZE = 16 };

/* p holds GFP_IATTX_SIZE, GFP_IATT3_SIZE bytes. */
void gfp_iattx_read(const uint8_t *p, struct gfp_iatt *out);
void gfp_iatt3_read(const uint8_t *p, struct gfp_iatt *out);

struct gfp_flock {
	uint32_t type, whence;
	uint64_t start, len;
	uint32_t pid;
	struct gfp_span lk_owner;
};
GFP_MUST_CHECK enum gfp_status gfp_flock_read(struct gfp_span raw,
					      struct gfp_flock *out);

/*
 * Walk the lists. raw is a value's raw span and *off starts at 0.
 * GFP_OK with the next entry, GFP_END after the last one.
 */
struct gfp_dirent {
	uint64_t ino;
	uint64_t cookie;
	uint32_t type;
	struct gfp_span name;
	/* DIRPLIST: iattx, dictx; DIRPLIST3: iatt3, blob body; else empty */
	struct gfp_span iatt;
	struct gfp_span dict;
};
GFP_MUST_CHECK enum gfp_status gfp_dirent_next(enum gfp_kind kind,
					       struct gfp_span raw, size_t *off,
					       struct gfp_dirent *out);
struct gfp_lockent {
	struct gfp_flock flock;
	struct gfp_span client;
	uint32_t flags;
};
GFP_MUST_CHECK enum gfp_status gfp_lockent_next(struct gfp_span raw,
						size_t *off,
						struct gfp_lockent *out);
struct gfp_progent {
	struct gfp_span name;
	uint64_t program, version;
};
GFP_MUST_CHECK enum gfp_status gfp_progent_next(struct gfp_span raw,
						size_t *off,
						struct gfp_progent *out);

#endif
