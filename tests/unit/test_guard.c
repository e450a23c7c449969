/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_guard - what a brick does not survive is answered, all else passes.
 */
#include "config.h"

#include <string.h>

#include "daemon/conn.h"
#include "daemon/guard.h"
#include "tests/unit/rpc_bytes.h"
#include "tests/unit/sample.h"
#include "tests/unit/test.h"

enum { XID = 0x01020304 };

static struct guard_answer answer;

/* Judge the record in b as a session does that sees its first have bytes. */
static enum guard_verdict judge(const struct bytes *b, size_t have)
{
	struct gfp_span head = view_of(span_of(b), have);
	const struct gfp_proc *proc;
	enum guard_verdict verdict;
	struct gfp_call call;
	enum gfp_status st;

	st = gfp_call_parse(head, &call);
	proc = gfp_proc_find(call.program, call.version, call.proc);
	memset(&answer, 0xee, sizeof(answer));
	verdict = guard_call(st, &call, proc, head, have == b->len,
			     (uint32_t)b->len, &answer);
	drop(head);
	return verdict;
}

static enum guard_verdict judge_whole(const struct bytes *b)
{
	return judge(b, b->len);
}

static void assert_answer(const struct bytes *want)
{
	assert_int_equal(answer.len, want->len);
	assert_memory_equal(answer.bytes, want->at, want->len);
	assert_non_null(answer.reason);
}

static void put_sample_call(struct bytes *b, const struct gfp_program *program,
			    const struct gfp_proc *proc)
{
	b->len = b->length_count = 0;
	put_plain_head(b, XID, program->number, program->version,
		       proc->number);
}

/* The arguments of a row, with the fd at off set to value. */
static void put_args(struct bytes *b, const struct gfp_proc *proc, int off,
		     uint64_t value)
{
	size_t args = b->len;

	put_members(b, proc->call);
	if (off == GFP_NONE)
		return;
	for (size_t i = 0; i < 8; i++)
		b->at[args + (size_t)off + i] =
			(uint8_t)(value >> (56 - 8 * i));
}

typedef void (*row_fn)(const struct gfp_program *program,
		       const struct gfp_proc *proc, int fd_off);

/* Every fd of every row that has one; returns how many. */
static size_t each_fd(row_fn use)
{
	size_t count = 0;

	for (size_t i = 0; gfp_programs[i] != NULL; i++) {
		const struct gfp_program *program = gfp_programs[i];

		for (uint32_t n = 0; n < program->proc_limit; n++) {
			const struct gfp_proc *proc = program->procs[n];

			if (proc == NULL)
				continue;
			if (proc->fd_off != GFP_NONE) {
				use(program, proc, proc->fd_off);
				count++;
			}
			if (proc->fd2_off != GFP_NONE) {
				use(program, proc, proc->fd2_off);
				count++;
			}
		}
	}
	return count;
}

static void check_negative_fds(const struct gfp_program *program,
			       const struct gfp_proc *proc, int fd_off)
{
	static const int64_t fds[] = { -1, -3, -4, -100, INT64_MIN,
				       INT64_MIN + 1 };
	static struct bytes b, want;

	want.len = 0;
	put_bad_fd(&want, XID, proc);
	for (size_t i = 0; i < COUNT(fds); i++) {
		put_sample_call(&b, program, proc);
		put_args(&b, proc, fd_off, (uint64_t)fds[i]);
		assert_int_equal(judge_whole(&b), GUARD_REFUSE);
		assert_answer(&want);
	}
}

static void a_negative_fd_is_answered_ebadf_in_every_row(void **state)
{
	(void)state;
	assert_true(each_fd(check_negative_fds) >= 40);
}

static void check_other_fds(const struct gfp_program *program,
			    const struct gfp_proc *proc, int fd_off)
{
	static const int64_t fds[] = { 0, 1, -2, 1ll << 62, UINT32_MAX,
				       INT64_MAX };
	static struct bytes b;

	if (proc->number == GFP_FOP_WRITE)
		return;		/* its size is looked at as well */
	for (size_t i = 0; i < COUNT(fds); i++) {
		put_sample_call(&b, program, proc);
		put_args(&b, proc, fd_off, (uint64_t)fds[i]);
		assert_int_equal(judge_whole(&b), GUARD_PASS);
	}
}

static void every_other_fd_passes_the_anonymous_one_too(void **state)
{
	(void)state;
	each_fd(check_other_fds);
}

static void check_cut_before_fd(const struct gfp_program *program,
				const struct gfp_proc *proc, int fd_off)
{
	static struct bytes b;
	size_t args;

	put_sample_call(&b, program, proc);
	args = b.len;
	put_members(&b, proc->call);
	for (b.len = args; b.len < args + (size_t)fd_off + 8; b.len++)
		assert_int_not_equal(judge_whole(&b), GUARD_BAD);
}

static void a_call_cut_off_before_its_fd_is_the_bricks_to_answer(void **state)
{
	(void)state;
	each_fd(check_cut_before_fd);
}

/*
 * A brick takes a verifier of any size up to 400 bytes, and that moves the fd
 * away from where it mostly is.
 */
static void check_fd_behind_verifier(const struct gfp_program *program,
				     const struct gfp_proc *proc, int fd_off)
{
	static const size_t lengths[][2] = {
		{ 1, 60 }, { 90, 0 }, { 90, 60 }, { 90, 76 }, { 90, 84 },
		{ 90, 100 }, { 90, 130 }, { 90, 397 }, { 0, 400 },
	};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		static struct bytes b, cred, want;
		struct call_head h = { .xid = XID, .program = program->number,
				       .version = program->version,
				       .proc = proc->number,
				       .flavour = GFP_AUTH_GLUSTERFS_V3,
				       .verf_len = lengths[i][1] };

		b.len = b.length_count = cred.len = cred.length_count = 0;
		put_cred_v3(&cred, (uint32_t)lengths[i][0], 1);
		h.cred = span_of(&cred);
		put_call_head(&b, &h);
		put_args(&b, proc, fd_off, UINT64_MAX);
		put_fill(&b, 2000, 0x5a);
		want.len = 0;
		put_bad_fd(&want, XID, proc);
		if (judge(&b, CONN_HEAD_MAX) == GUARD_WHOLE)
			assert_int_equal(judge_whole(&b), GUARD_REFUSE);
		assert_answer(&want);
	}
}

static void no_verifier_hides_an_fd(void **state)
{
	(void)state;
	each_fd(check_fd_behind_verifier);
}

static void what_kills_a_brick_is_unavailable(void **state)
{
	static const uint32_t procs[] = { GFP_FOP_NAMELINK,
					  GFP_FOP_SETACTIVELK };
	static struct bytes b, want;

	(void)state;
	for (size_t i = 0; i < COUNT(procs); i++) {
		b.len = want.len = 0;
		put_plain_head(&b, XID, GFP_PROG_FOP, GFP_FOP_V400, procs[i]);
		put_fill(&b, 40, 0);
		put_unaccepted(&want, XID, GFP_PROC_UNAVAIL);
		assert_int_equal(judge_whole(&b), GUARD_REFUSE);
		assert_answer(&want);
	}
}

static void put_call_with_cred(struct bytes *b, uint32_t flavour,
			       const struct bytes *cred)
{
	struct call_head h = { .xid = XID, .program = GFP_PROG_FOP,
			       .version = GFP_FOP_V400, .proc = GFP_FOP_STAT,
			       .flavour = flavour, .cred = span_of(cred) };

	b->len = b->length_count = 0;
	put_call_head(b, &h);
	put_fill(b, 16, 1);
	put_dictx_null(b);
}

static void assert_denied(const struct bytes *b)
{
	static struct bytes want;

	want.len = 0;
	put_denied(&want, XID);
	assert_int_equal(judge_whole(b), GUARD_REFUSE);
	assert_answer(&want);
}

static void a_credential_over_400_bytes_is_denied(void **state)
{
	static const size_t sizes[] = { 401, 404, 424, 2048, 7000 };
	static struct bytes b, cred;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		cred.len = 0;
		put_fill(&cred, sizes[i], 0);
		put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V3, &cred);
		assert_denied(&b);
		put_call_with_cred(&b, GFP_AUTH_NONE, &cred);
		assert_denied(&b);
		/* The head alone says it too. */
		assert_int_equal(judge(&b, 64), GUARD_REFUSE);
	}
}

static void a_credential_that_claims_more_than_there_is_is_denied(void **state)
{
	static const uint32_t claims[] = { 401, 2048, 1u << 31, UINT32_MAX };
	static struct bytes b, cred;

	(void)state;
	put_cred_v3(&cred, 0, 8);
	for (size_t i = 0; i < COUNT(claims); i++) {
		put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V3, &cred);
		gfp_put_be32(b.at + 28, claims[i]);
		assert_denied(&b);
	}
}

/* What a 10.3 brick's arithmetic takes, byte for word. */
static void groups_and_owner_are_bounded_as_the_brick_bounds_them(void **state)
{
	static struct bytes b, cred;

	(void)state;
	for (uint32_t owner = 0; owner <= 100; owner++) {
		for (uint32_t groups = 0; groups <= 92; groups++) {
			cred.len = 0;
			put_cred_v3(&cred, groups, owner);
			if (cred.len > GFP_CRED_MAX)
				break;
			put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V3, &cred);
			if (owner + groups > 91)
				assert_denied(&b);
			else
				assert_int_equal(judge_whole(&b), GUARD_PASS);
		}
		for (uint32_t groups = 0; groups <= 96; groups++) {
			cred.len = 0;
			put_cred_v2(&cred, groups, owner);
			if (cred.len > GFP_CRED_MAX)
				break;
			put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V2, &cred);
			if (owner + groups > 95)
				assert_denied(&b);
			else
				assert_int_equal(judge_whole(&b), GUARD_PASS);
		}
	}
}

static void a_malformed_credential_is_denied(void **state)
{
	static struct bytes b, cred, whole;

	(void)state;
	put_cred_v3(&whole, 3, 8);
	for (size_t len = 0; len < whole.len; len++) {
		cred = whole;
		cred.len = len;
		put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V3, &cred);
		assert_denied(&b);
	}
	for (size_t off = 28; off <= 28 + 4 + 3 * 4; off += 16) {
		cred = whole;
		gfp_put_be32(cred.at + off, UINT32_MAX);
		put_call_with_cred(&b, GFP_AUTH_GLUSTERFS_V3, &cred);
		assert_denied(&b);
	}
}

static void other_flavours_pass_whatever_is_in_them(void **state)
{
	static const uint32_t flavours[] = { GFP_AUTH_NONE, GFP_AUTH_SYS,
					     GFP_AUTH_GLUSTERFS, 4242 };
	static struct bytes b, cred;

	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++) {
		for (size_t len = 0; len <= GFP_CRED_MAX; len += 40) {
			cred.len = 0;
			put_fill(&cred, len, 0xff);
			put_call_with_cred(&b, flavours[i], &cred);
			assert_int_equal(judge_whole(&b), GUARD_PASS);
		}
	}
}

/* A WRITE of the given version that claims claimed bytes and has payload. */
static void put_write(struct bytes *b, uint32_t version, uint32_t claimed,
		      size_t xdata, size_t payload)
{
	b->len = b->length_count = 0;
	put_plain_head(b, XID, GFP_PROG_FOP, version, GFP_FOP_WRITE);
	put_fill(b, 16, 7);
	put_u64(b, 3);
	put_u64(b, 4096);
	put_u32(b, claimed);
	put_u32(b, 0);
	if (version == GFP_FOP_V330) {
		put_u32(b, (uint32_t)xdata);
		put_fill(b, xdata, 0);
	} else if (xdata == 0) {
		put_dictx_null(b);
	} else {
		put_u32(b, (uint32_t)xdata);
		put_u32(b, 1);
		put_u32(b, (uint32_t)xdata);
		put_u32(b, 1);			/* a key of one byte, */
		put_u32(b, 4);			/* its value a string */
		put_raw(b, "k\0\0\0", 4);
		put_u32(b, (uint32_t)xdata - 16);
		put_fill(b, xdata - 16, 'v');
	}
	put_fill(b, payload, 0x99);
}

static void a_write_of_another_size_than_its_payload_is_refused(void **state)
{
	static const uint32_t versions[] = { GFP_FOP_V400, GFP_FOP_V330 };
	static struct bytes b, want;

	(void)state;
	put_unaccepted(&want, XID, GFP_GARBAGE_ARGS);
	for (size_t i = 0; i < COUNT(versions); i++) {
		for (uint32_t len = 0; len < 40; len++) {
			put_write(&b, versions[i], len, 0, len);
			assert_int_equal(judge_whole(&b), GUARD_PASS);
			put_write(&b, versions[i], len + 1, 0, len);
			assert_int_equal(judge_whole(&b), GUARD_REFUSE);
			assert_answer(&want);
			put_write(&b, versions[i], len, 0, len + 1);
			assert_int_equal(judge_whole(&b), GUARD_REFUSE);
			put_write(&b, versions[i], UINT32_MAX - len, 0, 40);
			assert_int_equal(judge_whole(&b), GUARD_REFUSE);
		}
	}
}

static void a_write_with_long_xdata_is_looked_at_whole(void **state)
{
	static struct bytes b;

	(void)state;
	put_write(&b, GFP_FOP_V400, 100, 2000, 100);
	assert_int_equal(judge(&b, CONN_HEAD_MAX), GUARD_WHOLE);
	assert_int_equal(judge_whole(&b), GUARD_PASS);
	put_write(&b, GFP_FOP_V400, 101, 2000, 100);
	assert_int_equal(judge(&b, CONN_HEAD_MAX), GUARD_WHOLE);
	assert_int_equal(judge_whole(&b), GUARD_REFUSE);
}

static void a_write_is_judged_by_its_head_if_that_suffices(void **state)
{
	static struct bytes b;

	(void)state;
	put_write(&b, GFP_FOP_V400, 4000, 0, 4000);
	assert_int_equal(judge(&b, CONN_HEAD_MAX), GUARD_PASS);
	put_write(&b, GFP_FOP_V400, 4000, 0, 4001);
	assert_int_equal(judge(&b, CONN_HEAD_MAX), GUARD_REFUSE);
}

static void what_is_no_call_is_bad(void **state)
{
	static struct bytes b;

	(void)state;
	put_plain_head(&b, XID, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_STAT);
	gfp_put_be32(b.at + 4, GFP_REPLY);
	assert_int_equal(judge_whole(&b), GUARD_BAD);
	gfp_put_be32(b.at + 4, 2);
	assert_int_equal(judge_whole(&b), GUARD_BAD);
	assert_non_null(answer.reason);
	gfp_put_be32(b.at + 4, GFP_CALL);
	for (b.len = 20; b.len < 40; b.len++)
		assert_int_equal(judge_whole(&b), GUARD_BAD);
}

static void unknown_programs_and_procedures_pass(void **state)
{
	static const uint32_t numbers[][3] = {
		{ GFP_PROG_FOP, GFP_FOP_V400, 200 },
		{ GFP_PROG_FOP, GFP_FOP_V400, UINT32_MAX },
		{ GFP_PROG_FOP, 500, GFP_FOP_READ },
		{ GFP_PROG_HNDSK, 2, 100 },
		{ 0x12345678, 1, 1 },
	};
	static struct bytes b;

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		b.len = b.length_count = 0;
		put_plain_head(&b, XID, numbers[i][0], numbers[i][1],
			       numbers[i][2]);
		put_fill(&b, 64, 0xff);
		assert_int_equal(judge_whole(&b), GUARD_PASS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_negative_fd_is_answered_ebadf_in_every_row),
		cmocka_unit_test(every_other_fd_passes_the_anonymous_one_too),
		cmocka_unit_test(
			a_call_cut_off_before_its_fd_is_the_bricks_to_answer),
		cmocka_unit_test(no_verifier_hides_an_fd),
		cmocka_unit_test(what_kills_a_brick_is_unavailable),
		cmocka_unit_test(a_credential_over_400_bytes_is_denied),
		cmocka_unit_test(
			a_credential_that_claims_more_than_there_is_is_denied),
		cmocka_unit_test(
			groups_and_owner_are_bounded_as_the_brick_bounds_them),
		cmocka_unit_test(a_malformed_credential_is_denied),
		cmocka_unit_test(other_flavours_pass_whatever_is_in_them),
		cmocka_unit_test(
			a_write_of_another_size_than_its_payload_is_refused),
		cmocka_unit_test(a_write_with_long_xdata_is_looked_at_whole),
		cmocka_unit_test(
			a_write_is_judged_by_its_head_if_that_suffices),
		cmocka_unit_test(what_is_no_call_is_bad),
		cmocka_unit_test(unknown_programs_and_procedures_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
