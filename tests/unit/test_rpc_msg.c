/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rpc_msg - headers of calls and replies, credentials, statuses.
 */
#include "config.h"

#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/unit/bytes.h"
#include "tests/unit/test.h"

/* ---- calls ---- */

/* A call of READ with a credential and a verifier of the given sizes. */
static void put_call(struct bytes *b, size_t cred_len, size_t verf_len)
{
	static const uint8_t zeros[1024];

	put_u32(b, 0x11223344);
	put_u32(b, GFP_CALL);
	put_u32(b, 2);
	put_u32(b, 1298437);
	put_u32(b, 400);
	put_u32(b, 12);
	put_u32(b, GFP_AUTH_GLUSTERFS_V3);
	put_opaque(b, zeros, cred_len);
	put_u32(b, 0);
	put_opaque(b, zeros, verf_len);
}

static enum gfp_status parse_call_cut(const struct bytes *b, size_t len,
				      struct gfp_call *call)
{
	struct gfp_span view = view_of(span_of(b), len);
	enum gfp_status status = gfp_call_parse(view, call);

	drop(view);
	return status;
}

static void a_call_is_parsed_and_its_arguments_found(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_call call;

	(void)state;
	put_call(&b, 40, 0);
	put_fill(&b, 16, 0xee);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_OK);
	assert_int_equal(call.xid, 0x11223344);
	assert_int_equal(call.rpc_version, 2);
	assert_int_equal(call.program, 1298437);
	assert_int_equal(call.version, 400);
	assert_int_equal(call.proc, 12);
	assert_int_equal(call.cred_flavour, 390040);
	assert_ptr_equal(call.cred.ptr, b.at + 32);
	assert_int_equal(call.cred.len, 40);
	assert_int_equal(call.verf_flavour, 0);
	assert_int_equal(call.verf.len, 0);
	assert_int_equal(call.args_off, 80);
	assert_int_equal(b.at[call.args_off], 0xee);
}

static void padding_belongs_to_no_credential(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_call call;

	(void)state;
	put_call(&b, 5, 3);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_OK);
	assert_int_equal(call.cred.len, 5);
	assert_int_equal(call.verf.len, 3);
	assert_int_equal(call.args_off, 40 + 8 + 4);
}

static void every_truncation_of_a_call_is_short(void **state)
{
	static const size_t lengths[][2] = {
		{ 0, 0 }, { 40, 0 }, { 24, 0 }, { 5, 3 }, { 400, 400 },
	};
	struct gfp_call call;

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct bytes b = { .len = 0 };

		put_call(&b, lengths[i][0], lengths[i][1]);
		for (size_t cut = 0; cut < b.len; cut++)
			assert_int_equal(parse_call_cut(&b, cut, &call),
					 GFP_SHORT);
		assert_int_equal(parse_call_cut(&b, b.len, &call), GFP_OK);
		assert_int_equal(call.args_off, b.len);
		assert_true(call.args_off <= GFP_CALL_HEAD_MAX);
	}
}

static void no_call_needs_more_bytes_than_the_stated_maximum(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_call call;

	(void)state;
	put_call(&b, GFP_CRED_MAX, GFP_CRED_MAX);
	assert_int_equal(b.len, GFP_CALL_HEAD_MAX);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_OK);
}

static void an_oversize_credential_is_refused_by_name(void **state)
{
	static const uint32_t lengths[] = { 401, 424, 0x7fffffff, 0xfffffffd,
					    0xffffffff };
	struct gfp_call call;

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct bytes b = { .len = 0 };

		put_call(&b, 0, 0);
		gfp_put_be32(b.at + 28, lengths[i]);
		assert_int_equal(gfp_call_parse(span_of(&b), &call),
				 GFP_TOO_BIG);
		assert_int_equal(call.xid, 0x11223344);
		assert_int_equal(call.program, 1298437);
		assert_int_equal(call.version, 400);
		assert_int_equal(call.proc, 12);
		assert_int_equal(call.cred_flavour, 390040);
		assert_int_equal(call.args_off, 0);
		/* and from the first 32 bytes alone */
		assert_int_equal(parse_call_cut(&b, 32, &call), GFP_TOO_BIG);
	}
}

static void an_oversize_verifier_is_too_big(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_call call;

	(void)state;
	put_call(&b, 8, 0);
	gfp_put_be32(b.at + 32 + 8 + 4, 401);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_TOO_BIG);
	gfp_put_be32(b.at + 32 + 8 + 4, UINT32_MAX);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_TOO_BIG);
	assert_int_equal(call.proc, 12);
}

static void what_is_no_call_is_bad(void **state)
{
	static const uint32_t types[] = { 1, 2, 0x80000000, 0xffffffff };
	struct gfp_call call;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		struct bytes b = { .len = 0 };

		put_call(&b, 0, 0);
		gfp_put_be32(b.at + 4, types[i]);
		assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_BAD);
	}
}

static void another_rpc_version_is_reported_not_judged(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_call call;

	(void)state;
	put_call(&b, 0, 0);
	gfp_put_be32(b.at + 8, 3);
	assert_int_equal(gfp_call_parse(span_of(&b), &call), GFP_OK);
	assert_int_equal(call.rpc_version, 3);
}

static void a_written_call_parses_back(void **state)
{
	static const uint8_t cred[GFP_CRED_MAX] = { 1, 2, 3 };
	uint8_t out[40 + GFP_CRED_MAX];
	struct gfp_call in = {
		.xid = 9, .program = 1298437, .version = 400, .proc = 27,
		.cred_flavour = GFP_AUTH_GLUSTERFS_V3,
	};
	struct gfp_call back;

	(void)state;
	for (size_t len = 0; len <= GFP_CRED_MAX; len++) {
		size_t size;

		in.cred = (struct gfp_span){ cred, len };
		size = gfp_call_write(out, &in);
		assert_int_equal(size, 40 + len + gfp_xdr_pad(len));
		assert_int_equal(
			gfp_call_parse((struct gfp_span){ out, size }, &back),
			GFP_OK);
		assert_int_equal(back.xid, 9);
		assert_int_equal(back.rpc_version, 2);
		assert_int_equal(back.program, 1298437);
		assert_int_equal(back.version, 400);
		assert_int_equal(back.proc, 27);
		assert_int_equal(back.cred_flavour, 390040);
		assert_int_equal(back.cred.len, len);
		assert_memory_equal(back.cred.ptr, cred, len);
		assert_int_equal(back.verf.len, 0);
		assert_int_equal(back.args_off, size);
	}
}

/* ---- replies ---- */

static struct gfp_reply parse_reply(const uint8_t *record, size_t len)
{
	struct gfp_span body;
	struct gfp_reply reply;

	assert_int_equal(gfp_record_next((struct gfp_span){ record, len }, 1000,
					 &body), GFP_OK);
	assert_int_equal(body.len, len - GFP_MARK_SIZE);
	assert_int_equal(gfp_reply_parse(body, &reply), GFP_OK);
	/* no byte of it is too much */
	for (size_t cut = 0; cut < body.len; cut++) {
		struct gfp_span view = view_of(body, cut);
		struct gfp_reply ignored;

		assert_int_equal(gfp_reply_parse(view, &ignored), GFP_SHORT);
		drop(view);
	}
	return reply;
}

static void every_accept_status_is_built_and_parsed(void **state)
{
	uint8_t out[GFP_REPLY_RECORD_MAX];

	(void)state;
	for (uint32_t status = 0; status <= GFP_SYSTEM_ERR; status++) {
		size_t len = gfp_reply_accepted(out, 7 + status,
						(enum gfp_accept_status)status);
		struct gfp_reply reply = parse_reply(out, len);

		assert_int_equal(len, status == GFP_PROG_MISMATCH ? 36 : 28);
		assert_int_equal(reply.xid, 7 + status);
		assert_int_equal(reply.reply_status, GFP_ACCEPTED);
		assert_int_equal(reply.detail, status);
		assert_int_equal(reply.results_off,
				 status == GFP_SUCCESS ? 24 : 0);
		assert_int_equal(reply.auth_status, 0);
	}
}

static void a_denial_is_built_as_bricks_send_it(void **state)
{
	/* a brick's answer to AUTH_SYS with an empty body, but for the cause */
	static const uint8_t brick[] = {
		0x80, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1,
		0, 0, 0, 1, 0, 0, 0, 0,
	};
	uint8_t out[GFP_REPLY_RECORD_MAX];
	size_t len = gfp_reply_denied(out, 7, GFP_AUTH_TOOWEAK);
	struct gfp_reply reply = parse_reply(out, len);

	(void)state;
	assert_int_equal(reply.xid, 7);
	assert_int_equal(reply.reply_status, GFP_DENIED);
	assert_int_equal(reply.detail, GFP_AUTH_ERROR);
	assert_int_equal(reply.auth_status, GFP_AUTH_TOOWEAK);
	assert_int_equal(reply.results_off, 0);

	assert_int_equal(len, sizeof(brick));
	out[len - 1] = 0;
	assert_memory_equal(out, brick, sizeof(brick));
	assert_int_equal(parse_reply(brick, sizeof(brick)).auth_status, 0);
}

static void a_version_mismatch_carries_low_and_high(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_reply reply;

	(void)state;
	put_u32(&b, 0x80000000 + 24);
	put_u32(&b, 5);
	put_u32(&b, GFP_REPLY);
	put_u32(&b, GFP_DENIED);
	put_u32(&b, GFP_RPC_MISMATCH);
	put_u32(&b, 2);
	put_u32(&b, 3);
	reply = parse_reply(b.at, b.len);
	assert_int_equal(reply.detail, GFP_RPC_MISMATCH);
	assert_int_equal(reply.low, 2);
	assert_int_equal(reply.high, 3);

	b.len = 0;
	put_u32(&b, 0x80000000 + 32);
	put_u32(&b, 5);
	put_u32(&b, GFP_REPLY);
	put_u32(&b, GFP_ACCEPTED);
	put_u64(&b, 0);
	put_u32(&b, GFP_PROG_MISMATCH);
	put_u32(&b, 330);
	put_u32(&b, 400);
	reply = parse_reply(b.at, b.len);
	assert_int_equal(reply.low, 330);
	assert_int_equal(reply.high, 400);
	assert_int_equal(reply.results_off, 0);
}

static void a_verifier_moves_the_results(void **state)
{
	for (uint32_t len = 0; len <= 400; len++) {
		struct bytes b = { .len = 0 };
		struct gfp_reply reply;

		put_u32(&b, 5);
		put_u32(&b, GFP_REPLY);
		put_u32(&b, GFP_ACCEPTED);
		put_u32(&b, 0);
		put_u32(&b, len);
		put_fill(&b, len + gfp_xdr_pad(len), 0xcc);
		put_u32(&b, GFP_SUCCESS);
		assert_int_equal(gfp_reply_parse(span_of(&b), &reply), GFP_OK);
		assert_int_equal(reply.results_off, b.len);
		b.len--;
		assert_int_equal(gfp_reply_parse(span_of(&b), &reply),
				 GFP_SHORT);
	}
	(void)state;
}

static void an_oversize_verifier_of_a_reply_is_too_big(void **state)
{
	static const uint32_t lengths[] = { 401, 0x7fffffff, 0xffffffff };
	uint8_t out[GFP_REPLY_RECORD_MAX];
	struct gfp_reply reply;

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t len = gfp_reply_accepted(out, 1, GFP_SUCCESS);

		gfp_put_be32(out + 4 + 16, lengths[i]);
		assert_int_equal(gfp_reply_parse((struct gfp_span){
					out + 4, len - 4 }, &reply),
				 GFP_TOO_BIG);
	}
}

static void statuses_without_a_layout_are_bad(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_reply reply;

	(void)state;
	put_u32(&b, 5);
	put_u32(&b, GFP_REPLY);
	put_u32(&b, 2);
	put_fill(&b, 20, 0);
	assert_int_equal(gfp_reply_parse(span_of(&b), &reply), GFP_BAD);
	gfp_put_be32(b.at + 8, GFP_DENIED);
	gfp_put_be32(b.at + 12, 2);
	assert_int_equal(gfp_reply_parse(span_of(&b), &reply), GFP_BAD);
	gfp_put_be32(b.at + 4, GFP_CALL);
	assert_int_equal(gfp_reply_parse(span_of(&b), &reply), GFP_BAD);
}

static void an_unknown_accept_status_is_reported(void **state)
{
	uint8_t out[GFP_REPLY_RECORD_MAX];
	size_t len = gfp_reply_accepted(out, 1, GFP_SYSTEM_ERR);
	struct gfp_reply reply;

	(void)state;
	gfp_put_be32(out + 4 + 20, 77);
	reply = parse_reply(out, len);
	assert_int_equal(reply.detail, 77);
	assert_int_equal(reply.results_off, 0);
}

static void a_head_for_results_is_a_successful_one(void **state)
{
	uint8_t out[GFP_REPLY_HEAD_SIZE];
	struct gfp_reply reply;

	(void)state;
	gfp_reply_head_write(out, 99);
	assert_int_equal(gfp_reply_parse((struct gfp_span){ out, sizeof(out) },
					 &reply), GFP_OK);
	assert_int_equal(reply.xid, 99);
	assert_int_equal(reply.results_off, GFP_REPLY_HEAD_SIZE);
}

/* ---- credentials ---- */

static struct gfp_cred sample_cred(void)
{
	static const uint8_t groups[] = { 0, 0, 0, 10, 0, 0, 1, 0 };
	static const uint8_t owner[] = { 1, 2, 3, 4, 5 };

	return (struct gfp_cred){
		.pid = -4, .uid = 1000, .gid = 1001,
		.time_flags = 7, .ctime_nsec = 999999999,
		.ctime_sec = 0x123456789abcdef0,
		.group_count = 2, .groups = { groups, sizeof(groups) },
		.lk_owner = { owner, sizeof(owner) },
	};
}

static void check_cred(const struct gfp_cred *got, uint32_t flavour)
{
	struct gfp_cred want = sample_cred();
	int is_v3 = flavour == GFP_AUTH_GLUSTERFS_V3;

	assert_int_equal(got->pid, want.pid);
	assert_int_equal(got->uid, want.uid);
	assert_int_equal(got->gid, want.gid);
	assert_int_equal(got->time_flags, is_v3 ? want.time_flags : 0);
	assert_int_equal(got->ctime_nsec, is_v3 ? want.ctime_nsec : 0);
	assert_true(got->ctime_sec == (is_v3 ? want.ctime_sec : 0));
	assert_int_equal(got->group_count, 2);
	assert_int_equal(got->groups.len, 8);
	assert_memory_equal(got->groups.ptr, want.groups.ptr, 8);
	assert_int_equal(got->lk_owner.len, 5);
	assert_memory_equal(got->lk_owner.ptr, want.lk_owner.ptr, 5);
}

static const uint32_t flavours[] = { GFP_AUTH_GLUSTERFS_V2,
				     GFP_AUTH_GLUSTERFS_V3 };

static void a_credential_survives_writing_and_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++) {
		uint8_t out[GFP_CRED_MAX];
		struct gfp_cred in = sample_cred(), back;
		size_t len = gfp_cred_write(out, flavours[i], &in);

		assert_int_equal(len, (i == 0 ? 20 : 36) + 8 + 8);
		assert_int_equal(gfp_cred_parse(flavours[i],
						(struct gfp_span){ out, len },
						&back), GFP_OK);
		check_cred(&back, flavours[i]);
	}
}

static void every_truncation_of_a_credential_is_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++) {
		uint8_t out[GFP_CRED_MAX];
		struct gfp_cred in = sample_cred(), back;
		size_t len = gfp_cred_write(out, flavours[i], &in);

		/* the owner ends three bytes before its padding does */
		for (size_t cut = 0; cut < len - 3; cut++) {
			struct gfp_span view = view_of(
				(struct gfp_span){ out, len }, cut);

			assert_int_equal(gfp_cred_parse(flavours[i], view,
							&back), GFP_SHORT);
			drop(view);
		}
	}
}

static void counts_that_no_credential_can_have_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++) {
		size_t groups_off = i == 0 ? 12 : 28;
		uint8_t out[GFP_CRED_MAX];
		struct gfp_cred in = sample_cred(), back;
		struct gfp_span body = { out, 0 };

		body.len = gfp_cred_write(out, flavours[i], &in);
		gfp_put_be32(out + groups_off, 90);
		assert_int_equal(gfp_cred_parse(flavours[i], body, &back),
				 GFP_SHORT);
		gfp_put_be32(out + groups_off, UINT32_MAX);
		assert_int_equal(gfp_cred_parse(flavours[i], body, &back),
				 GFP_TOO_BIG);
		gfp_put_be32(out + groups_off, 0x40000000);
		assert_int_equal(gfp_cred_parse(flavours[i], body, &back),
				 GFP_TOO_BIG);
		gfp_put_be32(out + groups_off, 2);
		gfp_put_be32(out + groups_off + 12, 9);
		assert_int_equal(gfp_cred_parse(flavours[i], body, &back),
				 GFP_SHORT);
		gfp_put_be32(out + groups_off + 12, UINT32_MAX);
		assert_int_equal(gfp_cred_parse(flavours[i], body, &back),
				 GFP_TOO_BIG);
	}
}

static void other_flavours_carry_no_identity(void **state)
{
	static const uint32_t others[] = { GFP_AUTH_NONE, GFP_AUTH_SYS,
					   GFP_AUTH_GLUSTERFS, 390041,
					   UINT32_MAX };
	static const struct gfp_cred zero;
	static const uint8_t body[64] = { 0xff };

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		struct gfp_cred cred;

		memset(&cred, 0xff, sizeof(cred));
		assert_int_equal(gfp_cred_parse(others[i], (struct gfp_span){
						body, sizeof(body) }, &cred),
				 GFP_END);
		assert_memory_equal(&cred, &zero, sizeof(zero));
		assert_int_equal(gfp_cred_write((uint8_t[64]){ 0 }, others[i],
						&zero), 0);
	}
}

static void a_credential_grows_to_400_bytes_and_no_further(void **state)
{
	static const uint8_t bytes[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++) {
		uint32_t most = i == 0 ? 95 : 91;
		uint8_t out[GFP_CRED_MAX];
		struct gfp_cred cred = {
			.group_count = most, .groups = { bytes, 4 * most },
		};

		assert_int_equal(gfp_cred_write(out, flavours[i], &cred),
				 GFP_CRED_MAX);
		cred.lk_owner = (struct gfp_span){ bytes, 1 };
		assert_int_equal(gfp_cred_write(out, flavours[i], &cred), 0);
		cred.group_count = UINT32_MAX;
		assert_int_equal(gfp_cred_write(out, flavours[i], &cred), 0);
		cred.group_count = 0;
		cred.lk_owner.len = SIZE_MAX;
		assert_int_equal(gfp_cred_write(out, flavours[i], &cred), 0);
	}
}

static void a_body_over_400_bytes_is_too_big(void **state)
{
	static const uint8_t body[GFP_CRED_MAX + 1];
	struct gfp_cred cred;

	(void)state;
	for (size_t i = 0; i < COUNT(flavours); i++)
		assert_int_equal(gfp_cred_parse(flavours[i], (struct gfp_span){
						body, sizeof(body) }, &cred),
				 GFP_TOO_BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_parsed_and_its_arguments_found),
		cmocka_unit_test(padding_belongs_to_no_credential),
		cmocka_unit_test(every_truncation_of_a_call_is_short),
		cmocka_unit_test(
			no_call_needs_more_bytes_than_the_stated_maximum),
		cmocka_unit_test(an_oversize_credential_is_refused_by_name),
		cmocka_unit_test(an_oversize_verifier_is_too_big),
		cmocka_unit_test(what_is_no_call_is_bad),
		cmocka_unit_test(another_rpc_version_is_reported_not_judged),
		cmocka_unit_test(a_written_call_parses_back),
		cmocka_unit_test(every_accept_status_is_built_and_parsed),
		cmocka_unit_test(a_denial_is_built_as_bricks_send_it),
		cmocka_unit_test(a_version_mismatch_carries_low_and_high),
		cmocka_unit_test(a_verifier_moves_the_results),
		cmocka_unit_test(an_oversize_verifier_of_a_reply_is_too_big),
		cmocka_unit_test(statuses_without_a_layout_are_bad),
		cmocka_unit_test(an_unknown_accept_status_is_reported),
		cmocka_unit_test(a_head_for_results_is_a_successful_one),
		cmocka_unit_test(a_credential_survives_writing_and_reading),
		cmocka_unit_test(every_truncation_of_a_credential_is_short),
		cmocka_unit_test(
			counts_that_no_credential_can_have_are_refused),
		cmocka_unit_test(other_flavours_carry_no_identity),
		cmocka_unit_test(
			a_credential_grows_to_400_bytes_and_no_further),
		cmocka_unit_test(a_body_over_400_bytes_is_too_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
