/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_read - the reading half of a connection: from bytes to records.
 *
 *   conn_readable -> read_once -> split -> split_record -> dispatch
 *                                            handler->on_record
 *                                            pass_on -> the peer's outq
 *                 -> flush_both -> conn_flush(peer)
 *
 * A handler may close the session in any of its functions. Memory of a session
 * is freed only after the loop's pass, so what is needed afterwards is to ask
 * conn_is_open() before going on.
 *
 * Owns: the input block and the fragments of a connection. Called on the
 * worker's thread only.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/conn.h"
#include "daemon/join.h"
#include "proto/record.h"

/* Reads in one wake-up, so that a busy peer cannot starve others. */
enum { READS_PER_WAKE = 4 };

/* Bytes of the record under way, from the input block or a joined one. */
static void pass_on(struct conn *c, struct buf *buf, uint8_t *ptr, size_t len,
		    bool is_last)
{
	if (c->is_dropping)
		return;
	if (!outq_pass(&c->peer->out, buf, ptr, len, is_last))
		c->handler->on_error(c, ENOMEM);
}

static void pass_rest(struct conn *c)
{
	size_t len = c->in_end - c->in_start;
	uint8_t *ptr = c->in->bytes + c->in_start;
	bool is_last;

	if (len >= c->rest)
		len = c->rest;
	is_last = len == c->rest;
	if (c->handler->on_rest != NULL)
		c->handler->on_rest(c, (struct gfp_span){ ptr, len }, is_last);
	c->rest -= (uint32_t)len;
	c->in_start += len;
	pass_on(c, c->in, ptr, len, is_last);
}

/*
 * A record whose head lies at mark + 4 in buf, have bytes of it. Returns the
 * fate; for PASS and DROP those bytes are dealt with and c->rest is set.
 */
static enum record_fate dispatch(struct conn *c, struct buf *buf, uint8_t *mark,
				 size_t have, uint32_t size)
{
	struct record r = { .bytes = mark + GFP_MARK_SIZE, .have = have,
			    .size = size };
	enum record_fate fate = c->handler->on_record(c, &r);

	if (fate != RECORD_PASS && fate != RECORD_DROP)
		return fate;
	c->needs_whole = false;
	c->is_dropping = fate == RECORD_DROP;
	c->rest = size - (uint32_t)have;
	pass_on(c, buf, mark, GFP_MARK_SIZE + have, c->rest == 0);
	return fate;
}

static void bad_record(struct conn *c, enum gfp_status why, uint64_t number)
{
	c->handler->on_bad_record(c, why, number);
}

/* One whole fragment or a piece of one. False: stop splitting. */
static bool split_fragment(struct conn *c)
{
	struct gfp_span in = { c->in ? c->in->bytes + c->in_start : NULL,
			       c->in_end - c->in_start };
	struct buf *whole = NULL;
	enum record_fate fate;
	size_t used = 0;
	enum gfp_status st;

	if (c->join == NULL && (c->join = join_new()) == NULL) {
		c->handler->on_error(c, ENOMEM);
		return false;
	}
	st = join_add(c->join, in, c->limits->max_reassembly, &used, &whole);
	c->in_start += used;
	if (st == GFP_SHORT)
		return used > 0;
	if (st != GFP_OK) {
		bad_record(c, st, join_size(c->join));
		return false;
	}
	fate = dispatch(c, whole, whole->bytes, whole->cap - GFP_MARK_SIZE,
			(uint32_t)(whole->cap - GFP_MARK_SIZE));
	if (fate == RECORD_WAIT) {
		join_keep(c->join, whole);
		return false;
	}
	buf_put(whole);
	if (fate == RECORD_DEAD)
		return false;
	join_free(c->join);
	c->join = NULL;
	return true;
}

/* One record's head. False: stop splitting. */
static bool split_record(struct conn *c)
{
	size_t avail = c->in_end - c->in_start, need;
	struct gfp_mark mark;
	uint8_t *at;

	if (c->join != NULL)
		return split_fragment(c);
	if (avail < GFP_MARK_SIZE)
		return false;
	at = c->in->bytes + c->in_start;
	mark = gfp_mark_read(at);
	if (!mark.is_last)
		return split_fragment(c);
	if (mark.len < GFP_RECORD_MIN || mark.len > c->limits->max_record) {
		bad_record(c, mark.len < GFP_RECORD_MIN ? GFP_BAD : GFP_TOO_BIG,
			   mark.len);
		return false;
	}
	need = c->needs_whole ? CONN_WHOLE_MAX : CONN_HEAD_MAX;
	if (need > mark.len)
		need = mark.len;
	if (avail < GFP_MARK_SIZE + need)
		return false;

	avail -= GFP_MARK_SIZE;
	if (avail > mark.len)
		avail = mark.len;
	switch (dispatch(c, c->in, at, avail, mark.len)) {
	case RECORD_PASS:
	case RECORD_DROP:
		c->in_start += GFP_MARK_SIZE + avail;
		return true;
	case RECORD_WHOLE:
		assert(!c->needs_whole);
		c->needs_whole = true;
		return true;
	case RECORD_WAIT:
	case RECORD_DEAD:
		break;
	}
	return false;
}

static void split(struct conn *c)
{
	while (conn_is_open(c) && (c->in != NULL || c->join != NULL)) {
		if (c->rest > 0) {
			if (c->in_start == c->in_end)
				break;
			pass_rest(c);
			continue;
		}
		if (c->stops_at_record && c->join == NULL) {
			conn_block(c, CONN_BLOCK_END);
			break;
		}
		if (c->blocks & (CONN_BLOCK_START | CONN_BLOCK_END))
			break;
		if (!split_record(c))
			break;
	}
}

/* Room to read into, with the beginning of a record moved to its front. */
static bool make_room(struct conn *c)
{
	size_t left = c->in_end - c->in_start;
	struct buf *fresh;

	if (c->in != NULL && c->in->pool != NULL) {
		if (left == 0 && c->in->refs == 1)
			c->in_start = c->in_end = 0;
		/* Half a block is worth a read; less is not. */
		if (c->in->cap - c->in_end >= BUF_POOLED_SIZE / 2)
			return true;
	}
	assert(left <= GFP_MARK_SIZE + CONN_WHOLE_MAX ||
	       left < BUF_POOLED_SIZE);
	fresh = buf_new(c->pool);
	if (fresh == NULL)
		return false;
	if (left > 0)
		memcpy(fresh->bytes, c->in->bytes + c->in_start, left);
	buf_put(c->in);
	c->in = fresh;
	c->in_start = 0;
	c->in_end = left;
	return true;
}

/*
 * Between wake-ups a connection keeps no block, only the bytes of a head that
 * is not complete: thousands of idle connections cost next to nothing.
 */
static void stash_input(struct conn *c)
{
	size_t left;
	struct buf *small = NULL;

	if (c->in == NULL || c->in->pool == NULL)
		return;
	left = c->in_end - c->in_start;
	if (left > BUF_POOLED_SIZE / 2)
		return;		/* waits for its brick: worth its block */
	if (left > 0) {
		small = buf_new_sized(left);
		if (small == NULL)
			return;
		memcpy(small->bytes, c->in->bytes + c->in_start, left);
	}
	buf_put(c->in);
	c->in = small;
	c->in_start = 0;
	c->in_end = left;
}

/* True while there may be more to read at once. */
static bool read_once(struct conn *c)
{
	size_t room;
	ssize_t n;

	if (!make_room(c)) {
		c->handler->on_error(c, ENOMEM);
		return false;
	}
	room = c->in->cap - c->in_end;
	n = c->ops->recv(c, c->in->bytes + c->in_end, room);
	if (n == -EAGAIN)
		return false;
	if (n < 0) {
		c->handler->on_error(c, (int)-n);
		return false;
	}
	if (n == 0) {
		c->has_ended = true;
		event_del(&c->read_event);
		c->handler->on_end(c, !conn_is_inside_record(c));
		return false;
	}
	c->in_end += (size_t)n;
	split(c);
	return conn_is_open(c) && c->blocks == 0 && (size_t)n == room;
}

/* Send what the input led to; the peer first, as most goes there. */
static void flush_both(struct conn *c)
{
	struct buf *in = c->in;

	if (conn_is_open(c->peer)) {
		conn_flush(c->peer);
		if (in != NULL && c->in == in && conn_is_open(c->peer) &&
		    in->refs > 1)
			outq_unpin(&c->peer->out, in);
	}
	if (conn_is_open(c) && c->out.bytes > 0)
		conn_flush(c);
}

/*
 * What passes the other way is no reason: somebody who reads only when he has
 * sent all would wait for ever.
 */
static void block_on_queues(struct conn *c)
{
	if (c->peer->out.bytes > c->limits->max_queue ||
	    (c->has_answers && c->out.bytes > c->limits->max_queue))
		conn_block(c, CONN_BLOCK_QUEUE);
}

void conn_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	bool more = conn_is_open(c);

	(void)fd;
	(void)what;
	for (int i = 0; more && i < READS_PER_WAKE; i++) {
		if (c->blocks != 0)
			break;
		more = read_once(c);
		if (!conn_is_open(c))
			return;
		flush_both(c);
		if (!conn_is_open(c) || c->drops_input)
			return;
		block_on_queues(c);
	}
	if (conn_is_open(c))
		stash_input(c);
}

void conn_read_pending(struct conn *c)
{
	if (c->in_end == c->in_start && c->join == NULL)
		return;
	split(c);
	if (conn_is_open(c) && c->peer->out.ready.count > 0 &&
	    conn_is_open(c->peer) && !c->peer->wants_send)
		conn_flush(c->peer);
	if (conn_is_open(c)) {
		block_on_queues(c);
		stash_input(c);
	}
}

bool conn_is_inside_record(const struct conn *c)
{
	return c->rest > 0 || c->join != NULL || c->in_end > c->in_start;
}

void conn_drop_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	uint8_t scrap[16 * 1024];
	ssize_t n;

	(void)fd;
	(void)what;
	if (!conn_is_open(c))
		return;
	n = c->ops->recv(c, scrap, sizeof(scrap));
	if (n > 0 || n == -EAGAIN)
		return;
	c->has_ended = true;
	event_del(&c->read_event);
	c->handler->on_end(c, true);
}

void conn_forget_input(struct conn *c)
{
	c->rest = 0;
	join_free(c->join);
	c->join = NULL;
	buf_put(c->in);
	c->in = NULL;
	c->in_start = c->in_end = 0;
}
