/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_rig - two connections that pass records to each other.
 */
#include "config.h"

#include <stdlib.h>

#include "proto/record.h"
#include "tests/unit/conn_rig.h"
#include "tests/unit/test.h"

static enum record_fate pass_all(struct side *side, struct record *r)
{
	(void)side;
	(void)r;
	return RECORD_PASS;
}

static enum record_fate on_record(struct conn *c, struct record *r)
{
	struct side *side = c->owner;

	assert_true(r->size >= GFP_RECORD_MIN);
	assert_true(r->have <= r->size);
	assert_true(r->have == r->size || r->have >= CONN_HEAD_MAX);
	side->last_seed = gfp_be32(r->bytes);
	side->last_size = r->size;
	side->last_have = r->have;
	side->records++;
	return side->decide(side, r);
}

static void on_rest(struct conn *c, struct gfp_span bytes, bool is_last)
{
	struct side *side = c->owner;

	(void)is_last;
	side->rest += bytes.len;
}

static void on_end(struct conn *c, bool is_clean)
{
	struct side *side = c->owner;

	side->ends++;
	side->was_clean = is_clean;
}

static void on_error(struct conn *c, int error)
{
	struct side *side = c->owner;

	side->errors++;
	side->error = error;
}

void conn_rig_close_both(struct side *side)
{
	conn_close(&side->f->left.conn);
	conn_close(&side->f->right.conn);
}

static void on_bad_record(struct conn *c, enum gfp_status why, uint64_t number)
{
	struct side *side = c->owner;

	side->bads++;
	side->why = why;
	side->number = number;
	conn_rig_close_both(side);
}

static void on_connect(struct conn *c, int error)
{
	struct side *side = c->owner;

	side->connects++;
	side->error = error;
}

static void on_sent(struct conn *c)
{
	struct side *side = c->owner;

	assert_int_equal(c->out.bytes, 0);
	side->sents++;
}

const struct conn_handler conn_rig_handler = {
	.on_record = on_record,
	.on_rest = on_rest,
	.on_end = on_end,
	.on_error = on_error,
	.on_bad_record = on_bad_record,
	.on_connect = on_connect,
	.on_sent = on_sent,
};

static void open_side(struct conn_rig *f, struct side *side, struct side *other,
		      int sndbuf)
{
	int fds[2];

	pair_open(fds, sndbuf);
	*side = (struct side){ .f = f, .decide = pass_all };
	peer_start(&side->peer, fds[1]);
	conn_init(&side->conn, &conn_rig_handler, side, &f->limits, &f->pool,
		  &other->conn);
	conn_start(&side->conn, f->base, &conn_ops_plain, fds[0]);
}

static void open_pair(struct conn_rig *f, int sndbuf)
{
	open_side(f, &f->left, &f->right, sndbuf);
	open_side(f, &f->right, &f->left, sndbuf);
	conn_unblock(&f->left.conn, CONN_BLOCK_START);
	conn_unblock(&f->right.conn, CONN_BLOCK_START);
}

static void close_pair(struct conn_rig *f)
{
	conn_close(&f->left.conn);
	conn_close(&f->right.conn);
	conn_close(&f->right.conn);
	peer_close(&f->left.peer);
	peer_close(&f->right.peer);
	stream_free(&f->left.answer);
	stream_free(&f->right.answer);
	assert_int_equal(f->pool.live, 0);
}

int conn_rig_set_up(void **state)
{
	struct conn_rig *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -1;
	f->base = event_base_new();
	f->limits = (struct conn_limits){ MAX_RECORD, MAX_REASSEMBLY,
					  MAX_QUEUE };
	open_pair(f, 0);
	*state = f;
	return 0;
}

int conn_rig_tear_down(void **state)
{
	struct conn_rig *f = *state;

	close_pair(f);
	stream_free(&f->in);
	stream_free(&f->want);
	buf_pool_clear(&f->pool);
	event_base_free(f->base);
	free(f);
	return 0;
}

void conn_rig_restart(struct conn_rig *f, int sndbuf)
{
	close_pair(f);
	f->in.len = f->want.len = 0;
	open_pair(f, sndbuf);
}

void conn_rig_transfer(struct conn_rig *f, struct side *from, struct side *to,
		       size_t write_step, size_t read_step)
{
	size_t sent = 0;

	for (int i = 0; i < PASSES_MAX; i++) {
		size_t n = f->in.len - sent;

		if (n > write_step)
			n = write_step;
		sent += peer_write(&from->peer, (struct gfp_span){
					   f->in.at + sent, n });
		loop_pass(f->base);
		peer_read(&to->peer, read_step);
		if (sent == f->in.len && to->peer.len >= f->want.len)
			break;
	}
	loop_idle(f->base);
	peer_read(&to->peer, SIZE_MAX);
	assert_int_equal(sent, f->in.len);
	assert_received(&to->peer, &f->want);
	assert_int_equal(f->left.conn.out.bytes, 0);
	assert_int_equal(f->right.conn.out.bytes, 0);
	assert_int_equal(from->bads, 0);
	assert_int_equal(f->pool.live, 0);
}

void conn_rig_add(struct conn_rig *f, uint32_t size, uint32_t seed)
{
	stream_add_record(&f->in, size, seed);
	stream_add_record(&f->want, size, seed);
}

void conn_rig_add_split(struct conn_rig *f, uint32_t size, uint32_t seed,
			const uint32_t *cuts, size_t count)
{
	struct stream body = { 0 };
	uint32_t from = 0;

	stream_add_body(&body, size, seed);
	for (size_t i = 0; i <= count; i++) {
		uint32_t to = i < count ? cuts[i] : size;

		stream_add_mark(&f->in, to - from, i == count);
		stream_add(&f->in, (struct gfp_span){ body.at + from,
						      to - from });
		from = to;
	}
	stream_free(&body);
	stream_add_record(&f->want, size, seed);
}

void conn_rig_add_mixed(struct conn_rig *f)
{
	static const uint32_t thirds[] = { 10, 10, 25 };

	conn_rig_add(f, 20, 1);
	conn_rig_add(f, 33, 2);
	conn_rig_add(f, CONN_HEAD_MAX + 200, 3);
	conn_rig_add(f, 24, 4);
	conn_rig_add_split(f, 41, 5, thirds, COUNT(thirds));
	conn_rig_add_split(f, 20, 6, thirds, 1);
	conn_rig_add(f, 28, 7);
}
