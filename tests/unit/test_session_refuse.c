/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_refuse - what the proxy answers itself, and what it ends for.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 */
#include "config.h"

#include <string.h>

#include "tests/unit/sample.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

/* ---- calls that are answered here ---- */

/* Send what is in b, then a good call; only that may reach the brick. */
static void assert_refused(struct rig *rig, struct gfp_span call,
			   const struct bytes *answer)
{
	uint32_t at_brick;

	rig_send(rig, &rig->client, call);
	rig_call(rig, 0x600d, 100);
	rig_until_received(rig, &rig->client, answer->len);
	assert_memory_equal(rig->client.got, answer->at, answer->len);
	peer_forget(&rig->client, answer->len);
	at_brick = rig_expect_call(rig, 0x600d, 100);
	rig_reply(rig, at_brick, 48);
	rig_expect_reply(rig, 0x600d, at_brick, 48);
	rig_idle(rig);
	assert_int_equal(rig->client.len + rig->brick.len, 0);
	assert_int_equal(rig_session(rig)->calls.live, 0);
}

static void put_call_on_fd(struct bytes *b, const struct gfp_program *program,
			   const struct gfp_proc *proc, int fd_off)
{
	size_t at = begin_record(b), args;

	put_plain_head(b, 31, program->number, program->version, proc->number);
	args = b->len;
	put_members(b, proc->call);
	memset(b->at + args + fd_off, 0xff, 8);
	put_fill(b, 800, 0x3c);
	end_record(b, at);
}

static void no_call_on_fd_minus_one_reaches_the_brick(void **state)
{
	struct rig *rig = *state;
	size_t count = 0;

	for (size_t i = 0; gfp_programs[i] != NULL; i++) {
		const struct gfp_program *program = gfp_programs[i];

		for (uint32_t n = 0; n < program->proc_limit; n++) {
			const struct gfp_proc *proc = program->procs[n];
			int offs[2];

			if (proc == NULL)
				continue;
			offs[0] = proc->fd_off;
			offs[1] = proc->fd2_off;
			for (int k = 0; k < 2; k++) {
				struct bytes b = { .len = 0 };
				struct bytes want = { .len = 0 };

				if (offs[k] == GFP_NONE)
					continue;
				put_call_on_fd(&b, program, proc, offs[k]);
				put_bad_fd(&want, 31, proc);
				assert_refused(rig, span_of(&b), &want);
				count++;
			}
		}
	}
	assert_true(count >= 40);
}

/* Runs first: lines of a kind are limited for the whole process. */
static void a_refusal_is_logged_with_who_sent_it(void **state)
{
	struct rig *rig = *state;
	struct bytes b = { .len = 0 }, want = { .len = 0 };
	const struct gfp_program *program =
		gfp_program_find(GFP_PROG_FOP, GFP_FOP_V400);
	const struct gfp_proc *proc = program->procs[GFP_FOP_READ];

	put_call_on_fd(&b, program, proc, proc->fd_off);
	put_bad_fd(&want, 31, proc);
	assert_refused(rig, span_of(&b), &want);
	assert_int_equal(rig_logged(rig, "warn session 1 unix:: refused read "
				    "(1298437/400/12) xid 31: negative fd"), 1);
}

static void what_kills_a_brick_does_not_reach_it(void **state)
{
	struct rig *rig = *state;
	struct bytes b = { .len = 0 }, want = { .len = 0 };
	size_t at = begin_record(&b);

	put_plain_head(&b, 32, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_NAMELINK);
	put_fill(&b, 200, 0);
	end_record(&b, at);
	put_unaccepted(&want, 32, GFP_PROC_UNAVAIL);
	assert_refused(rig, span_of(&b), &want);
}

static void put_cred_call(struct bytes *b, const struct bytes *cred,
			  size_t args)
{
	struct call_head h = { .xid = 33, .program = GFP_PROG_FOP,
			       .version = GFP_FOP_V400, .proc = GFP_FOP_STAT,
			       .flavour = GFP_AUTH_GLUSTERFS_V3,
			       .cred = span_of(cred) };
	size_t at = begin_record(b);

	put_call_head(b, &h);
	put_fill(b, args, 1);
	end_record(b, at);
}

static void no_credential_that_a_brick_ignores_reaches_it(void **state)
{
	struct rig *rig = *state;
	struct bytes want = { .len = 0 };

	put_denied(&want, 33);
	for (int kind = 0; kind < 4; kind++) {
		struct bytes b = { .len = 0 }, cred = { .len = 0 };

		if (kind == 0)
			put_fill(&cred, 401, 0);	/* too long */
		else if (kind == 1)
			put_fill(&cred, 6000, 0);
		else if (kind == 2)
			put_cred_v3(&cred, 80, 12);	/* too many groups */
		else
			put_fill(&cred, 20, 0);		/* malformed */
		put_cred_call(&b, &cred, 28);
		assert_refused(rig, span_of(&b), &want);
	}
}

static void put_write(struct bytes *b, uint32_t claimed, size_t payload)
{
	size_t at = begin_record(b);

	put_plain_head(b, 34, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_WRITE);
	put_fill(b, 16, 7);
	put_u64(b, 3);
	put_u64(b, 4096);
	put_u32(b, claimed);
	put_u32(b, 0);
	put_dictx_null(b);
	put_fill(b, payload, 0x99);
	end_record(b, at);
}

static void a_write_of_another_size_does_not_reach_the_brick(void **state)
{
	struct rig *rig = *state;
	struct bytes b = { .len = 0 }, want = { .len = 0 };

	put_unaccepted(&want, 34, GFP_GARBAGE_ARGS);
	put_write(&b, 7000, 7001);
	assert_refused(rig, span_of(&b), &want);
	b.len = 0;
	put_write(&b, 100, 99);
	assert_refused(rig, span_of(&b), &want);
}

static void the_rest_of_a_refused_call_goes_nowhere(void **state)
{
	struct rig *rig = *state;
	struct bytes want = { .len = 0 };
	struct stream call = { 0 }, split = { 0 };

	/* A megabyte behind the head, whole and in fragments. */
	rig_add_call(&call, 35, 1 << 20);
	gfp_put_be32(call.at + 4 + 28, 401);
	put_denied(&want, 35);
	assert_refused(rig, stream_span(&call), &want);
	call.len = 0;
	rig_add_call(&call, 35, 60000);
	gfp_put_be32(call.at + 4 + 28, 401);
	rig_add_fragments(&split, &call);
	assert_refused(rig, stream_span(&split), &want);
	stream_free(&call);
	stream_free(&split);
}

static void an_answer_does_not_cut_into_a_reply(void **state)
{
	struct rig *rig = *state;
	struct stream reply = { 0 };
	struct bytes b = { .len = 0 }, want = { .len = 0 };
	size_t at = 0, i;
	uint32_t at_brick;

	rig_mount(rig);
	rig_call(rig, 40, 100);
	at_brick = rig_expect_call(rig, 40, 100);
	rig_add_reply(&reply, at_brick, 50000);
	put_write(&b, 1, 2);
	put_unaccepted(&want, 34, GFP_GARBAGE_ARGS);
	for (i = 0; at < reply.len; i++) {
		size_t n = reply.len - at < 9000 ? reply.len - at : 9000;

		rig_send(rig, &rig->brick,
			 (struct gfp_span){ reply.at + at, n });
		at += n;
		rig_until_received(rig, &rig->client, at);
		if (at < reply.len) {
			rig_send(rig, &rig->client, span_of(&b));
			rig_idle(rig);
		}
	}
	rig_expect_reply(rig, 40, at_brick, 50000);
	for (; i > 1; i--) {
		rig_until_received(rig, &rig->client, want.len);
		assert_memory_equal(rig->client.got, want.at, want.len);
		peer_forget(&rig->client, want.len);
	}
	rig_idle(rig);
	assert_int_equal(rig->client.len + rig->brick.len, 0);
	stream_free(&reply);
}

/* ---- what is wrong ends the session ---- */

static void assert_ends(struct rig *rig, struct peer *from,
			struct gfp_span bytes, enum close_reason reason)
{
	rig->reason = CLOSE_REASON_LIMIT;
	rig_send(rig, from, bytes);
	rig_until_dead(rig);
	rig_until_ended(rig, &rig->client);
	if (rig->brick.fd >= 0)
		rig_until_ended(rig, &rig->brick);
	assert_int_equal(rig->reason, reason);
	assert_int_equal(rig->host.pool.live, 0);
	rig_restart(rig, 0);
}

static void bytes_that_are_no_record_end_the_session(void **state)
{
	static const char *const texts[] = {
		"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x80\0\0\0",
		"\x80\0\0\x13", "GET / HTTP/1.0\r\n\r\n",
		"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct gfp_span bytes = { (const uint8_t *)texts[i], 4 };

		assert_ends(rig, &rig->client, bytes, CLOSE_BAD_RECORD);
		rig_mount(rig);
		assert_ends(rig, &rig->client, bytes, CLOSE_BAD_RECORD);
		rig_mount(rig);
		assert_ends(rig, &rig->brick, bytes, CLOSE_BAD_RECORD);
	}
}

static void what_is_no_call_ends_the_session(void **state)
{
	struct rig *rig = *state;

	for (uint32_t type = 1; type < 4; type++) {
		struct stream s = { 0 };

		rig_add_call(&s, 1, 100);
		gfp_put_be32(s.at + 8, type);
		assert_ends(rig, &rig->client, stream_span(&s),
			    CLOSE_BAD_CALL);
		if (type > 1) {
			rig_mount(rig);
			assert_ends(rig, &rig->client, stream_span(&s),
				    CLOSE_BAD_CALL);
		}
		stream_free(&s);
	}
}

static void a_call_without_a_whole_head_ends_the_session(void **state)
{
	struct rig *rig = *state;

	for (uint32_t size = 20; size < 84; size += 4) {
		struct stream s = { 0 };

		rig_add_call(&s, 1, 100);
		gfp_put_be32(s.at, 0x80000000u | size);
		s.len = 4 + size;
		assert_ends(rig, &rig->client, stream_span(&s),
			    CLOSE_BAD_CALL);
		stream_free(&s);
	}
}

static void an_unknown_xid_ends_the_session(void **state)
{
	struct rig *rig = *state;

	for (int kind = 0; kind < 3; kind++) {
		struct stream s = { 0 };
		uint32_t at_brick;

		rig_mount(rig);
		rig_call(rig, 1, 100);
		at_brick = rig_expect_call(rig, 1, 100);
		if (kind == 0) {
			at_brick++;
		} else if (kind == 1) {
			at_brick = 1;		/* the client's own */
		} else {
			rig_reply(rig, at_brick, 60);
			rig_expect_reply(rig, 1, at_brick, 60);
		}
		rig_add_reply(&s, at_brick, 60);
		assert_ends(rig, &rig->brick, stream_span(&s),
			    CLOSE_UNKNOWN_XID);
		stream_free(&s);
	}
}

static void a_record_that_is_neither_call_nor_reply_ends_it(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };
	uint32_t at_brick;

	rig_mount(rig);
	rig_call(rig, 1, 100);
	at_brick = rig_expect_call(rig, 1, 100);
	rig_add_reply(&s, at_brick, 60);
	gfp_put_be32(s.at + 8, 2);
	assert_ends(rig, &rig->brick, stream_span(&s), CLOSE_BAD_REPLY);
	stream_free(&s);
}

static void fragments_without_end_end_the_session(void **state)
{
	static const uint8_t empty[400];
	struct rig *rig = *state;
	struct gfp_span bytes = { empty, sizeof(empty) };

	assert_ends(rig, &rig->client, bytes, CLOSE_BAD_RECORD);
	rig_mount(rig);
	assert_ends(rig, &rig->brick, bytes, CLOSE_BAD_RECORD);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(no_call_on_fd_minus_one_reaches_the_brick),
		TEST(what_kills_a_brick_does_not_reach_it),
		TEST(no_credential_that_a_brick_ignores_reaches_it),
		TEST(a_write_of_another_size_does_not_reach_the_brick),
		TEST(the_rest_of_a_refused_call_goes_nowhere),
		TEST(an_answer_does_not_cut_into_a_reply),
		TEST(bytes_that_are_no_record_end_the_session),
		TEST(what_is_no_call_ends_the_session),
		TEST(a_call_without_a_whole_head_ends_the_session),
		TEST(an_unknown_xid_ends_the_session),
		TEST(a_record_that_is_neither_call_nor_reply_ends_it),
		TEST(fragments_without_end_end_the_session),
	};
	const struct CMUnitTest first[] = {
		TEST(a_refusal_is_logged_with_who_sent_it),
	};
	int failed = cmocka_run_group_tests_name("log", first, NULL, NULL);

	failed += cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
