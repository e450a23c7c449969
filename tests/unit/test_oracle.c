/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle - our XDR types against libgfxdr, GlusterFS's own.
 *
 * For both sides of every procedure: bytes in which no two members are alike
 * become a struct of ours and a struct of theirs; the two structs agree member
 * by member (oracle.def pairs the names), and each encodes to the bytes that
 * the other was decoded from.
 */
#include "config.h"

#include <string.h>
#include <rpc/rpc.h>
#include <glusterfs/rpc/glusterfs3-xdr.h>
#include <glusterfs/rpc/glusterfs4-xdr.h>
#include <glusterfs/rpc/portmap-xdr.h>
#include <glusterfs/rpc/rpc-common-xdr.h>

#include "proto/fop.h"
#include "proto/gfx_codec.h"
#include "proto/rpc_msg.h"
#include "tests/unit/different.h"
#include "tests/unit/test.h"

/* ---- do two structs agree ---- */

/* What is compared, for the message of a failure. */
static const char *subject = "";

#define SAME(holds) \
	do { if (!(holds)) fail_msg("%s: not %s", subject, #holds); } while (0)

static void same_iatt(const gfx_iatt *a, const gfx_iattx *b)
{
	SAME(memcmp(a->gfid, b->ia_gfid, sizeof(a->gfid)) == 0);
	SAME(a->valid == b->ia_flags);
	SAME(a->ino == b->ia_ino);
	SAME(a->dev == b->ia_dev);
	SAME(a->rdev == b->ia_rdev);
	SAME(a->size == b->ia_size);
	SAME(a->blocks == b->ia_blocks);
	SAME(a->attributes == b->ia_attributes);
	SAME(a->attributes_mask == b->ia_attributes_mask);
	SAME(a->atime == b->ia_atime && a->atime_nsec == b->ia_atime_nsec);
	SAME(a->mtime == b->ia_mtime && a->mtime_nsec == b->ia_mtime_nsec);
	SAME(a->ctime == b->ia_ctime && a->ctime_nsec == b->ia_ctime_nsec);
	SAME(a->btime == b->ia_btime && a->btime_nsec == b->ia_btime_nsec);
	SAME(a->nlink == b->ia_nlink);
	SAME(a->uid == b->ia_uid && a->gid == b->ia_gid);
	SAME(a->blksize == b->ia_blksize);
	SAME(a->mode == b->mode);
}

static void same_iatt3(const gfx_iatt3 *a, const gf_iatt *b)
{
	SAME(memcmp(a->gfid, b->ia_gfid, sizeof(a->gfid)) == 0);
	SAME(a->ino == b->ia_ino);
	SAME(a->dev == b->ia_dev);
	SAME(a->mode == b->mode);
	SAME(a->nlink == b->ia_nlink);
	SAME(a->uid == b->ia_uid && a->gid == b->ia_gid);
	SAME(a->rdev == b->ia_rdev);
	SAME(a->size == b->ia_size);
	SAME(a->blksize == b->ia_blksize);
	SAME(a->blocks == b->ia_blocks);
	SAME(a->atime == b->ia_atime && a->atime_nsec == b->ia_atime_nsec);
	SAME(a->mtime == b->ia_mtime && a->mtime_nsec == b->ia_mtime_nsec);
	SAME(a->ctime == b->ia_ctime && a->ctime_nsec == b->ia_ctime_nsec);
}

static void same_bytes(const char *a, u_int a_len, const char *b, u_int b_len)
{
	SAME(a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0));
}

static void same_item(const gfx_item *a, const gfx_value *b)
{
	SAME((int)a->type == b->type);
	switch (a->type) {
	case GFX_TAG_INT:
		SAME(a->gfx_item_u.i == b->gfx_value_u.value_int);
		break;
	case GFX_TAG_UINT:
		SAME(a->gfx_item_u.u == b->gfx_value_u.value_uint);
		break;
	case GFX_TAG_DOUBLE:
		SAME(memcmp(&a->gfx_item_u.d, &b->gfx_value_u.value_dbl,
			    8) == 0);
		break;
	case GFX_TAG_STR:
		same_bytes(a->gfx_item_u.bytes.bytes_val,
			   a->gfx_item_u.bytes.bytes_len,
			   b->gfx_value_u.val_string.val_string_val,
			   b->gfx_value_u.val_string.val_string_len);
		break;
	case GFX_TAG_STR_OLD:
	case GFX_TAG_PTR:
		same_bytes(a->gfx_item_u.bytes.bytes_val,
			   a->gfx_item_u.bytes.bytes_len,
			   b->gfx_value_u.other.other_val,
			   b->gfx_value_u.other.other_len);
		break;
	case GFX_TAG_GFID:
		SAME(memcmp(a->gfx_item_u.gfid, b->gfx_value_u.uuid, 16) == 0);
		break;
	case GFX_TAG_IATT:
		same_iatt(&a->gfx_item_u.iatt, &b->gfx_value_u.iatt);
		break;
	case GFX_TAG_MDATA:
		SAME(a->gfx_item_u.mdata.mtime ==
		     b->gfx_value_u.mdata_iatt.ia_mtime);
		SAME(a->gfx_item_u.mdata.ctime_nsec ==
		     b->gfx_value_u.mdata_iatt.ia_ctime_nsec);
		break;
	case GFX_TAG_UNKNOWN:
		break;
	}
}

static void same_dict(const gfx_dictx *a, const gfx_dict *b)
{
	SAME(a->xdr_size == b->xdr_size);
	SAME(a->count == b->count);
	SAME(a->pairs.pairs_len == b->pairs.pairs_len);
	for (u_int i = 0; i < a->pairs.pairs_len; i++) {
		same_bytes(a->pairs.pairs_val[i].key.key_val,
			   a->pairs.pairs_val[i].key.key_len,
			   b->pairs.pairs_val[i].key.key_val,
			   b->pairs.pairs_val[i].key.key_len);
		same_item(&a->pairs.pairs_val[i].value,
			  &b->pairs.pairs_val[i].value);
	}
}

static void same_flock(const gfx_flock *a, const gf_proto_flock *b)
{
	SAME(a->type == b->type && a->whence == b->whence);
	SAME(a->start == b->start && a->len == b->len);
	SAME(a->pid == b->pid);
	same_bytes(a->lk_owner.lk_owner_val, a->lk_owner.lk_owner_len,
		   b->lk_owner.lk_owner_val, b->lk_owner.lk_owner_len);
}

static void same_lease(const gfx_lease *a, const gf_proto_lease *b)
{
	SAME(a->cmd == b->cmd && a->type == b->lease_type);
	SAME(memcmp(a->lease_id, b->lease_id, sizeof(a->lease_id)) == 0);
	SAME(a->flags == b->lease_flags);
}

static void same_statfs(const gfx_statfs *a, const gf_statfs *b)
{
	SAME(a->bsize == b->bsize && a->frsize == b->frsize);
	SAME(a->blocks == b->blocks && a->bfree == b->bfree);
	SAME(a->bavail == b->bavail && a->files == b->files);
	SAME(a->ffree == b->ffree && a->favail == b->favail);
	SAME(a->fsid == b->fsid && a->flag == b->flag);
	SAME(a->namemax == b->namemax);
}

/* Our array against their chain; more holds what an entry has beside. */
#define SAME_ENTRIES(a, b, more)					\
	do {								\
		u_int i_;						\
		for (i_ = 0; i_ < (a)->len; i_++, (b) = (b)->nextentry) {\
			SAME((b) != NULL);				\
			SAME((a)->val[i_].ino == (b)->d_ino);		\
			SAME((a)->val[i_].offset == (b)->d_off);	\
			SAME((a)->val[i_].namelen == (b)->d_len);	\
			SAME((a)->val[i_].type == (b)->d_type);		\
			SAME(strcmp((a)->val[i_].name, (b)->name) == 0);\
			more						\
		}							\
		SAME((b) == NULL);					\
	} while (0)

static void same_dirents(const gfx_dirents *a, const gfx_dirlist *b)
{
	SAME_ENTRIES(a, b, );
}

static void same_dirents3(const gfx_dirents *a, const gfs3_dirlist *b)
{
	SAME_ENTRIES(a, b, );
}

static void same_direntps(const gfx_direntps *a, const gfx_dirplist *b)
{
	SAME_ENTRIES(a, b,
		     same_iatt(&a->val[i_].stat, &b->stat);
		     same_dict(&a->val[i_].dict, &b->dict););
}

static void same_direntps3(const gfx_v3_direntps *a, const gfs3_dirplist *b)
{
	SAME_ENTRIES(a, b,
		     same_iatt3(&a->val[i_].stat, &b->stat);
		     same_bytes(a->val[i_].dict.gfx_blob_val,
				a->val[i_].dict.gfx_blob_len,
				b->dict.dict_val, b->dict.dict_len););
}

static void same_locks(const gfx_lockents *a, const gfs3_locklist *b)
{
	for (u_int i = 0; i < a->len; i++, b = b->nextentry) {
		SAME(b != NULL);
		same_flock(&a->val[i].flock, &b->flock);
		SAME(strcmp(a->val[i].client, b->client_uid) == 0);
		SAME(a->val[i].flags == b->lk_flags);
	}
	SAME(b == NULL);
}

static void same_programs(const gfx_progents *a, const gf_prog_detail *b)
{
	for (u_int i = 0; i < a->len; i++, b = b->next) {
		SAME(b != NULL);
		SAME(strcmp(a->val[i].name, b->progname) == 0);
		SAME(a->val[i].prognum == b->prognum);
		SAME(a->val[i].progver == b->progver);
	}
	SAME(b == NULL);
}

/* ---- the rows ---- */

/* CREATE's fd has a sign only in ours */
#define M(x, y)		SAME(a->x == (__typeof__(a->x))b->y);
#define N(x)		M(x, x)
#define G(x)		SAME(memcmp(a->x, b->x, 16) == 0);
#define S(x)		SAME(strcmp(a->x, b->x) == 0);
#define D(x)		same_dict(&a->x, &b->x);
#define BB(x, y)	same_bytes(a->x.gfx_blob_val, a->x.gfx_blob_len, \
				   b->y.y##_val, b->y.y##_len);
#define B(x)		BB(x, x)
#define SUM(x, y)	same_bytes(a->x.x##_val, a->x.x##_len, \
				   b->y.y##_val, b->y.y##_len);
#define A(x, y)		same_iatt(&a->x, &b->y);
#define A3(x, y)	same_iatt3(&a->x, &b->y);
#define FLOCK(x)	same_flock(&a->x, &b->x);
#define LEASE(x)	same_lease(&a->x, &b->x);
#define STATFS(x)	same_statfs(&a->x, &b->x);
#define DIRENTS(x, y)	same_dirents(&a->x, b->y);
#define DIRENTS3(x, y)	same_dirents3(&a->x, b->y);
#define DIRENTPS(x, y)	same_direntps(&a->x, b->y);
#define DIRENTPS3(x, y)	same_direntps3(&a->x, b->y);
#define LOCKS(x, y)	same_locks(&a->x, b->y);
#define PROGRAMS(x, y)	same_programs(&a->x, b->y);

#define CALL400(name, number, ours, theirs, ...)	\
	ROW(FOP, 400, name, number, call, gfx_##ours, theirs, __VA_ARGS__)
#define REPLY400(name, number, ours, theirs, ...)	\
	ROW(FOP, 400, name, number, reply, gfx_##ours, theirs, __VA_ARGS__)
#define CALL330(name, number, ours, theirs, ...)	\
	ROW(FOP, 330, name, number, call, gfx_v3_##ours, theirs, __VA_ARGS__)
#define REPLY330(name, number, ours, theirs, ...)	\
	ROW(FOP, 330, name, number, reply, gfx_v3_##ours, theirs, __VA_ARGS__)
#define CALL(program, version, name, number, ours, theirs, ...)	\
	ROW(program, version, name, number, call, gfx_##ours, theirs,	\
	    __VA_ARGS__)
#define REPLY(program, version, name, number, ours, theirs, ...)	\
	ROW(program, version, name, number, reply, gfx_##ours, theirs,	\
	    __VA_ARGS__)

#define ROW(program, version, name, number, side, ours, theirs, ...)	\
	static void same_##program##version##name##_##side(		\
		const void *our, const void *their)			\
	{								\
		const ours *a = our;					\
		const theirs *b = their;				\
		__VA_ARGS__						\
	}
#include "tests/unit/oracle.def"
#undef ROW

static const struct row {
	uint32_t program, version, number;
	bool is_call;
	const char *ours;
	struct gfx_type theirs;
	void (*same)(const void *our, const void *their);
} rows[] = {
#define IS_call true
#define IS_reply false
#define ROW(program, version, name, number, side, ours, theirs, ...)	\
	{ GFP_PROG_##program, version, number, IS_##side, #ours,	\
	  { #theirs, (xdrproc_t)xdr_##theirs, sizeof(theirs) },		\
	  same_##program##version##name##_##side },
#include "tests/unit/oracle.def"
#undef ROW
};

/* Fill a struct from bytes, encode it, and get the same bytes. */
static void check_codec(struct gfx_type type, struct gfp_span in, void *obj)
{
	static uint8_t out[BYTES_MAX];
	size_t used, len;

	SAME(gfx_decode(type, in, obj, &used) == GFP_OK);
	SAME(used == in.len);
	SAME(gfx_encode(type, obj, out, sizeof(out), &len) == GFP_OK);
	SAME(len == in.len);
	SAME(memcmp(out, in.ptr, len) == 0);
}

static void check_row(const struct row *row)
{
	static union { gfx_rename_reply align; uint8_t at[4096]; } our, their;
	const struct gfp_proc *proc = gfp_proc_find(row->program, row->version,
						    row->number);
	const struct gfx_proc *types = gfx_proc_find(row->program, row->version,
						     row->number);
	const struct gfp_field *fields;
	struct gfx_type ours;
	struct bytes b = { .len = 0 };

	subject = row->theirs.name;
	SAME(proc != NULL && types != NULL);
	ours = row->is_call ? types->call : types->reply;
	SAME(strcmp(ours.name, row->ours) == 0);
	fields = row->is_call ? proc->call : proc->reply;
	for (; fields->kind != GFP_K_END; fields++)
		put_kind(&b, fields->kind);
	SAME(ours.size <= sizeof(our) && row->theirs.size <= sizeof(their));
	check_codec(ours, span_of(&b), &our);
	check_codec(row->theirs, span_of(&b), &their);
	row->same(&our, &their);
	gfx_free(ours, &our);
	gfx_free(row->theirs, &their);
}

static void every_message_means_the_same_to_both(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check_row(&rows[i]);
}

static bool has_row(const struct gfx_proc *p, bool is_call)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].program == p->program &&
		    rows[i].version == p->version &&
		    rows[i].number == p->number && rows[i].is_call == is_call)
			return true;
	}
	return false;
}

static void every_message_with_members_has_a_row(void **state)
{
	(void)state;
	for (const struct gfx_proc *p = gfx_procs; p->call.xdr != NULL; p++) {
		subject = p->call.name;
		SAME(has_row(p, true) == (p->call.size > 0));
		SAME(has_row(p, false) == (p->reply.size > 0));
	}
}

/* Theirs has no arm for tag 0, as no sender emits it; ours reads it. */
static void both_know_the_same_tags_but_for_unknown(void **state)
{
	uint8_t in[160] = { 0 };
	struct gfp_span span = { in, sizeof(in) };
	gfx_value value;
	gfx_item item;
	size_t used;

	(void)state;
	for (uint8_t tag = 0; tag < 20; tag++) {
		in[3] = tag;
		assert_int_equal(gfx_decode(GFX_TYPE(gfx_value), span, &value,
					    &used),
				 tag > 0 && tag < GFP_D_TYPE_LIMIT ? GFP_OK
								   : GFP_BAD);
		assert_int_equal(gfx_decode(GFX_TYPE(gfx_item), span, &item,
					    &used),
				 tag < GFP_D_TYPE_LIMIT ? GFP_OK : GFP_BAD);
	}
}

static const struct gfp_cred some_cred = {
	.pid = -3, .uid = 1000, .gid = 1001, .time_flags = 0x15,
	.ctime_nsec = 999999999, .ctime_sec = 0x123456789ab, .group_count = 3,
	.groups = { (const uint8_t *)"\0\0\0\1\0\0\0\2\0\0\0\3", 12 },
	.lk_owner = { (const uint8_t *)"owner---", 8 },
};

/* The body that rpc_msg.h writes of it. */
static struct gfp_span cred_body(uint32_t flavour)
{
	static uint8_t out[GFP_CRED_MAX];
	size_t len = gfp_cred_write(out, flavour, &some_cred);

	assert_true(len > 0);
	return (struct gfp_span){ out, len };
}

static void a_v2_credential_means_the_same_to_both(void **state)
{
	auth_glusterfs_parms_v2 b;
	struct gfp_span body = cred_body(GFP_AUTH_GLUSTERFS_V2);
	gfx_cred_v2 a;

	(void)state;
	subject = "credential v2";
	check_codec(GFX_TYPE(gfx_cred_v2), body, &a);
	check_codec(GFX_TYPE(auth_glusterfs_parms_v2), body, &b);
	SAME(a.pid == b.pid && a.uid == b.uid && a.gid == b.gid);
	SAME(b.pid == some_cred.pid && b.gid == some_cred.gid);
	SAME(b.groups.groups_len == 3 && b.groups.groups_val[2] == 3);
	SAME(memcmp(b.lk_owner.lk_owner_val, "owner---", 8) == 0);
	gfx_free(GFX_TYPE(gfx_cred_v2), &a);
	gfx_free(GFX_TYPE(auth_glusterfs_parms_v2), &b);
}

static void a_v3_credential_means_the_same_to_both(void **state)
{
	auth_glusterfs_params_v3 b;
	struct gfp_span body = cred_body(GFP_AUTH_GLUSTERFS_V3);
	gfx_cred_v3 a;

	(void)state;
	subject = "credential v3";
	check_codec(GFX_TYPE(gfx_cred_v3), body, &a);
	check_codec(GFX_TYPE(auth_glusterfs_params_v3), body, &b);
	SAME(a.pid == b.pid && a.uid == b.uid && a.gid == b.gid);
	SAME(a.time_flags == b.flags && b.flags == 0x15);
	SAME(a.ctime_nsec == b.ctime_nsec && a.ctime_sec == b.ctime_sec);
	SAME(b.ctime_sec == some_cred.ctime_sec);
	SAME(b.groups.groups_len == 3 && b.groups.groups_val[2] == 3);
	SAME(memcmp(b.lk_owner.lk_owner_val, "owner---", 8) == 0);
	gfx_free(GFX_TYPE(gfx_cred_v3), &a);
	gfx_free(GFX_TYPE(auth_glusterfs_params_v3), &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_means_the_same_to_both),
		cmocka_unit_test(every_message_with_members_has_a_row),
		cmocka_unit_test(both_know_the_same_tags_but_for_unknown),
		cmocka_unit_test(a_v2_credential_means_the_same_to_both),
		cmocka_unit_test(a_v3_credential_means_the_same_to_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
