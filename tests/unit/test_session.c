/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session - calls go to the brick and replies come back, as they are.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/sample.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

static bool is_unix;

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (rig == NULL)
		return -1;
	rig_init(rig, is_unix);
	rig_option(rig, "max_queue", "64KiB");
	rig_option(rig, "max_reassembly", "64KiB");
	rig_option(rig, "max_record", "2MiB");
	rig_option(rig, "max_calls", "16");
	rig_open(rig);
	rig_connect(rig);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	rig_close(*state);
	free(*state);
	return 0;
}

static void restart(struct rig *rig, int client_buffer)
{
	rig_disconnect(rig);
	rig->client_buffer = client_buffer;
	rig_connect(rig);
}

/* ---- forwarding ---- */

static void a_call_and_its_reply_pass_but_for_the_xid(void **state)
{
	struct rig *rig = *state;
	static const uint32_t sizes[] = { 92, 100, 511, 512, 513, 4096, 65536,
					  139264, 1 << 20, 2 << 20 };

	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		uint32_t xid = 0xfffffff0u + i, at_brick;

		rig_call(rig, xid, sizes[i]);
		at_brick = rig_expect_call(rig, xid, sizes[i]);
		rig_reply(rig, at_brick, sizes[i]);
		rig_expect_reply(rig, xid, at_brick, sizes[i]);
		assert_int_equal(rig_session(rig)->calls.live, 0);
	}
	rig_idle(rig);
	assert_int_equal(rig->client.len + rig->brick.len, 0);
	assert_int_equal(rig->host.pool.live, 0);
}

static void equal_xids_are_told_apart(void **state)
{
	struct rig *rig = *state;
	uint32_t at_brick[12];

	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		rig_call(rig, 77, 100 + i);
		at_brick[i] = rig_expect_call(rig, 77, 100 + i);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(at_brick[i], at_brick[k]);
	}
	/* In the order in which the brick answers: 5, 0, 7, 2, ... */
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		uint32_t k = (5 + 7 * i) % COUNT(at_brick);

		rig_reply(rig, at_brick[k], 100 + k);
	}
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		uint32_t k = (5 + 7 * i) % COUNT(at_brick);

		rig_expect_reply(rig, 77, at_brick[k], 100 + k);
	}
}

static void replies_of_every_kind_pass(void **state)
{
	struct rig *rig = *state;

	rig_mount(rig);
	for (uint32_t status = 0; status < 9; status++) {
		struct bytes b = { .len = 0 };
		uint32_t at_brick;

		rig_call(rig, 9, 100);
		at_brick = rig_expect_call(rig, 9, 100);
		if (status < 8)
			put_unaccepted(&b, at_brick, status);
		else
			put_denied(&b, at_brick);
		rig_send(rig, &rig->brick, span_of(&b));
		rig_until_received(rig, &rig->client, b.len);
		gfp_put_be32(b.at + 4, 9);
		assert_memory_equal(rig->client.got, b.at, b.len);
		peer_forget(&rig->client, b.len);
	}
}

static void callbacks_pass_as_they_are(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };

	rig_mount(rig);
	rig_add_callback(&s, 0, 40);
	rig_add_callback(&s, 0x80000001, 2000);
	rig_add_callback(&s, 3, 200000);
	rig_send(rig, &rig->brick, stream_span(&s));
	rig_until_received(rig, &rig->client, s.len);
	assert_received(&rig->client, &s);
	stream_free(&s);
}

static void a_reply_from_the_client_passes_as_it_is(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };

	rig_mount(rig);
	rig_add_reply(&s, 4711, 100);
	rig_add_reply(&s, 4711, 100000);
	rig_send(rig, &rig->client, stream_span(&s));
	rig_until_received(rig, &rig->brick, s.len);
	assert_received(&rig->brick, &s);
	assert_int_equal(rig_session(rig)->calls.live, 0);
	stream_free(&s);
}

static void no_brick_is_dialled_before_a_call(void **state)
{
	struct rig *rig = *state;
	struct stream s = { 0 };

	rig_add_call(&s, 1, 600);
	rig_send(rig, &rig->client, (struct gfp_span){ s.at, 500 });
	rig_idle(rig);
	assert_int_equal(rig->brick.fd, -1);
	assert_false(conn_is_open(&rig_session(rig)->brick));
	rig_send(rig, &rig->client, gfp_span_from(stream_span(&s), 500));
	rig_expect_call(rig, 1, 600);
	stream_free(&s);
}

/* ---- the same, cut ---- */

/* A dialogue: what each side sends and must receive. */
struct dialogue {
	struct stream calls, calls_at_brick, replies, replies_at_client;
};

static void add_fragments(struct stream *to, const struct stream *record)
{
	size_t size = record->len - 4;

	stream_add_mark(to, 9, false);
	stream_add(to, (struct gfp_span){ record->at + 4, 9 });
	stream_add_mark(to, 0, false);
	stream_add_mark(to, (uint32_t)size - 9, true);
	stream_add(to, gfp_span_from(stream_span(record), 4 + 9));
}

static void set_xid(struct stream *record, uint32_t xid)
{
	gfp_put_be32(record->at + 4, xid);
}

/* One call and its reply, each as it is or in fragments; both are freed. */
static void add_exchange(struct dialogue *d, struct stream *call,
			 struct stream *reply, bool is_split)
{
	uint32_t xid = gfp_be32(call->at + 4);

	if (is_split) {
		add_fragments(&d->calls, call);
		add_fragments(&d->replies, reply);
	} else {
		stream_add(&d->calls, stream_span(call));
		stream_add(&d->replies, stream_span(reply));
	}
	set_xid(call, gfp_be32(reply->at + 4));
	stream_add(&d->calls_at_brick, stream_span(call));
	set_xid(reply, xid);
	stream_add(&d->replies_at_client, stream_span(reply));
	stream_free(call);
	stream_free(reply);
}

/*
 * A mount, and a few calls. The xids at the brick are those that a fresh
 * session gives, found out by the first run.
 */
static void make_dialogue(struct dialogue *d, const uint32_t *at_brick)
{
	struct stream call = { 0 }, reply = { 0 }, callback = { 0 };

	*d = (struct dialogue){ 0 };
	rig_add_setvolume(&call, 100);
	rig_add_setvolume_reply(&reply, at_brick[0], 0);
	add_exchange(d, &call, &reply, false);
	rig_add_callback(&callback, 5, 60);
	stream_add(&d->replies, stream_span(&callback));
	stream_add(&d->replies_at_client, stream_span(&callback));
	stream_free(&callback);
	rig_add_call(&call, 101, 700);
	rig_add_reply(&reply, at_brick[1], 40);
	add_exchange(d, &call, &reply, false);
	rig_add_call(&call, 102, 92);
	rig_add_reply(&reply, at_brick[2], 900);
	add_exchange(d, &call, &reply, false);
}

static void free_dialogue(struct dialogue *d)
{
	stream_free(&d->calls);
	stream_free(&d->calls_at_brick);
	stream_free(&d->replies);
	stream_free(&d->replies_at_client);
}

/* Send up to cut, then the rest, in steps; nothing may differ for it. */
static void play(struct rig *rig, struct peer *from, const struct stream *out,
		 const struct peer *to, const struct stream *want, size_t cut,
		 size_t step)
{
	size_t at = 0;

	while (at < out->len) {
		size_t end = at < cut && cut < out->len ? cut : out->len;
		size_t n = end - at;

		if (n > step)
			n = step;
		rig_send(rig, from, (struct gfp_span){ out->at + at, n });
		at += n;
		rig_pass(rig);
		rig_pass(rig);
	}
	rig_until_received(rig, to, want->len);
	assert_received(to, want);
}

static void play_dialogue(struct rig *rig, const struct dialogue *d,
			  size_t call_cut, size_t reply_cut, size_t step)
{
	restart(rig, 0);
	play(rig, &rig->client, &d->calls, &rig->brick, &d->calls_at_brick,
	     call_cut, step);
	play(rig, &rig->brick, &d->replies, &rig->client,
	     &d->replies_at_client, reply_cut, step);
	assert_int_equal(rig_session(rig)->state, SESSION_MOUNTED);
	assert_int_equal(rig_session(rig)->calls.live, 0);
	rig_idle(rig);
	assert_int_equal(rig->host.pool.live, 0);
}

/* What a fresh session calls its first calls. */
static void learn_xids(struct rig *rig, uint32_t *at_brick, size_t count)
{
	struct session *s = rig_session(rig);
	struct call_table t = { 0 };

	assert_int_equal(s->call_count, 0);
	for (size_t i = 0; i < count; i++)
		at_brick[i] = call_new(&t)->brick_xid;
	call_table_clear(&t);
}

static void one_byte_at_a_time_is_the_same(void **state)
{
	struct rig *rig = *state;
	struct dialogue d;
	uint32_t at_brick[3];

	learn_xids(rig, at_brick, 3);
	make_dialogue(&d, at_brick);
	play_dialogue(rig, &d, SIZE_MAX, SIZE_MAX, SIZE_MAX);
	play_dialogue(rig, &d, SIZE_MAX, SIZE_MAX, 1);
	free_dialogue(&d);
}

static void a_cut_anywhere_is_the_same(void **state)
{
	struct rig *rig = *state;
	struct dialogue d;
	uint32_t at_brick[3];
	size_t longer;

	learn_xids(rig, at_brick, 3);
	make_dialogue(&d, at_brick);
	longer = d.calls.len > d.replies.len ? d.calls.len : d.replies.len;
	for (size_t cut = 1; cut < longer; cut++)
		play_dialogue(rig, &d, cut < d.calls.len ? cut : SIZE_MAX,
			      cut < d.replies.len ? cut : SIZE_MAX, SIZE_MAX);
	free_dialogue(&d);
}

static void fragments_leave_as_one_both_ways(void **state)
{
	struct rig *rig = *state;
	struct stream call = { 0 }, reply = { 0 };
	struct dialogue d = { 0 };
	uint32_t at_brick[4];

	learn_xids(rig, at_brick, 4);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t sizes[] = { 92, 600, 40000, 65000 };

		rig_add_call(&call, 1000, sizes[i]);
		rig_add_reply(&reply, at_brick[i], sizes[3 - i]);
		add_exchange(&d, &call, &reply, true);
	}
	for (int step = 0; step < 2; step++) {
		restart(rig, 0);
		play(rig, &rig->client, &d.calls, &rig->brick,
		     &d.calls_at_brick, SIZE_MAX, step ? 511 : SIZE_MAX);
		play(rig, &rig->brick, &d.replies, &rig->client,
		     &d.replies_at_client, SIZE_MAX, step ? 511 : SIZE_MAX);
	}
	free_dialogue(&d);
}

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
	add_fragments(&split, &call);
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

/* ---- bounds ---- */

static void a_client_that_does_not_read_stops_the_brick(void **state)
{
	struct rig *rig = *state;
	struct stream replies = { 0 };
	uint32_t at_brick[10];
	size_t sent = 0;
	struct session *s;

	restart(rig, 1);
	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
		rig_add_reply(&replies, at_brick[i], 2000000);
	}
	rig_client_reads = 0;
	for (int i = 0; i < 3000; i++) {
		sent += peer_write(&rig->brick,
				   gfp_span_from(stream_span(&replies), sent));
		rig_pass(rig);
		assert_true(s->client.out.bytes <=
			    s->limits.max_queue + BUF_POOLED_SIZE);
		assert_true(rig->host.pool.live <= 8);
	}
	assert_true(sent < replies.len);
	assert_int_equal(s->brick.blocks, CONN_BLOCK_QUEUE);
	rig_client_reads = 100000;
	for (uint32_t i = 0; i < COUNT(at_brick); i++) {
		while (rig->client.len < 2000004) {
			sent += peer_write(&rig->brick, gfp_span_from(
						   stream_span(&replies),
						   sent));
			rig_pass(rig);
			assert_true(s->client.out.bytes <=
				    s->limits.max_queue + BUF_POOLED_SIZE);
		}
		rig_expect_reply(rig, i, at_brick[i], 2000000);
	}
	assert_int_equal(s->brick.blocks, 0);
	stream_free(&replies);
}

static void a_brick_that_does_not_read_stops_the_client(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	struct session *s;
	size_t sent = 0;

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < 10; i++)
		rig_add_call(&calls, i, 2000000);
	rig_brick_reads = 0;
	for (int i = 0; i < 3000; i++) {
		sent += peer_write(&rig->client,
				   gfp_span_from(stream_span(&calls), sent));
		rig_pass(rig);
		assert_true(s->brick.out.bytes <=
			    s->limits.max_queue + BUF_POOLED_SIZE);
	}
	assert_true(sent < calls.len);
	assert_int_equal(s->client.blocks, CONN_BLOCK_QUEUE);
	rig_brick_reads = 100000;
	for (uint32_t i = 0; i < 10; i++) {
		while (rig->brick.len < 2000004) {
			sent += peer_write(&rig->client, gfp_span_from(
						   stream_span(&calls), sent));
			rig_pass(rig);
			assert_true(s->brick.out.bytes <=
				    s->limits.max_queue + BUF_POOLED_SIZE);
		}
		rig_expect_call(rig, i, 2000000);
	}
	assert_int_equal(s->client.blocks, 0);
	stream_free(&calls);
}

/* A brick that reads its next call only when its reply has been taken. */
static void a_brick_that_waits_to_be_read_is_read(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	uint32_t at_brick;
	struct session *s;
	size_t sent = 0;

	rig_mount(rig);
	s = rig_session(rig);
	rig_call(rig, 1, 100);
	at_brick = rig_expect_call(rig, 1, 100);
	for (uint32_t i = 2; i < 12; i++)
		rig_add_call(&calls, i, 1000000);
	rig_brick_reads = 0;
	for (int i = 0; i < 1000; i++) {
		sent += peer_write(&rig->client,
				   gfp_span_from(stream_span(&calls), sent));
		rig_pass(rig);
	}
	assert_true(s->brick.out.bytes > s->limits.max_queue);
	rig_reply(rig, at_brick, 2000000);
	rig_expect_reply(rig, 1, at_brick, 2000000);
	stream_free(&calls);
}

static void too_many_calls_stop_the_client(void **state)
{
	struct rig *rig = *state;
	struct session *s;
	uint32_t at_brick[17];

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 1; i <= 16; i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
	}
	assert_int_equal(s->client.blocks, CONN_BLOCK_CALLS);
	rig_call(rig, 17, 100);
	rig_idle(rig);
	assert_int_equal(rig->brick.len, 0);
	for (uint32_t i = 1; i <= 8; i++) {
		assert_int_equal(s->calls.live, 17 - i);
		rig_reply(rig, at_brick[i], 60);
		rig_expect_reply(rig, i, at_brick[i], 60);
	}
	rig_expect_call(rig, 17, 100);
	assert_int_equal(s->client.blocks, 0);
}

static void a_burst_above_the_limit_is_one_block_at_most(void **state)
{
	struct rig *rig = *state;
	struct stream calls = { 0 };
	struct session *s;

	rig_mount(rig);
	s = rig_session(rig);
	for (uint32_t i = 0; i < 4000; i++)
		rig_add_call(&calls, i, 96);
	rig_send(rig, &rig->client,
		 (struct gfp_span){ calls.at, calls.len / 8 });
	rig_idle(rig);
	assert_in_range(s->calls.live, 16, BUF_POOLED_SIZE / 100);
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t at_brick = rig_expect_call(rig, i, 96);

		rig_reply(rig, at_brick, 40);
		rig_expect_reply(rig, i, at_brick, 40);
	}
	assert_int_equal(s->client.blocks, 0);
	assert_int_equal(s->calls.live, 0);
	stream_free(&calls);
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
	restart(rig, 0);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_call_and_its_reply_pass_but_for_the_xid),
		TEST(equal_xids_are_told_apart),
		TEST(replies_of_every_kind_pass),
		TEST(callbacks_pass_as_they_are),
		TEST(a_reply_from_the_client_passes_as_it_is),
		TEST(no_brick_is_dialled_before_a_call),
		TEST(one_byte_at_a_time_is_the_same),
		TEST(a_cut_anywhere_is_the_same),
		TEST(fragments_leave_as_one_both_ways),
		TEST(no_call_on_fd_minus_one_reaches_the_brick),
		TEST(what_kills_a_brick_does_not_reach_it),
		TEST(no_credential_that_a_brick_ignores_reaches_it),
		TEST(a_write_of_another_size_does_not_reach_the_brick),
		TEST(the_rest_of_a_refused_call_goes_nowhere),
		TEST(an_answer_does_not_cut_into_a_reply),
		TEST(a_client_that_does_not_read_stops_the_brick),
		TEST(a_brick_that_does_not_read_stops_the_client),
		TEST(a_brick_that_waits_to_be_read_is_read),
		TEST(too_many_calls_stop_the_client),
		TEST(a_burst_above_the_limit_is_one_block_at_most),
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
	is_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
