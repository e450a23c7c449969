/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session - calls go to the brick and replies come back, as they are.
 *
 * Everything runs with the brick at a TCP socket and again at a unix socket.
 */
#include "config.h"

#include <string.h>

#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

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
		rig_add_fragments(&d->calls, call);
		rig_add_fragments(&d->replies, reply);
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
	rig_restart(rig, 0);
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
		rig_restart(rig, 0);
		play(rig, &rig->client, &d.calls, &rig->brick,
		     &d.calls_at_brick, SIZE_MAX, step ? 511 : SIZE_MAX);
		play(rig, &rig->brick, &d.replies, &rig->client,
		     &d.replies_at_client, SIZE_MAX, step ? 511 : SIZE_MAX);
	}
	free_dialogue(&d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, \
	rig_tear_down)
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
	};
	int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);

	rig_on_unix = true;
	return failed + cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
