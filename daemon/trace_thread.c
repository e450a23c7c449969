/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_thread - the thread that turns the workers' records into lines.
 *
 *   trace_note_finish -> ring -> drain_some -> trace_format_line
 *                                           -> trace_file_flush
 *
 * It goes round the rings, some records of each at a time, and writes when
 * there is enough or nothing more is waiting. Then it naps for some
 * milliseconds, so that busy workers need not wake it, and sleeps when the nap
 * brought nothing.
 *
 * Owns: the file, and the rings once they are closed.
 */
#include "config.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/trace_thread.h"

enum {
	RING_TURN = 64,		/* records of one ring before the next's turn */
	NAP_MS = 4,
	TELL_US = 100 * 1000,	/* between two lines about losses, when busy */
	BLOCKED_US = 2 * 1000 * 1000,	/* at the end, for a pipe's reader */
};

static struct trace_ring *first_ring(struct trace *t)
{
	struct trace_ring *r;

	pthread_mutex_lock(&t->lock);
	r = SLIST_FIRST(&t->rings);
	pthread_mutex_unlock(&t->lock);
	return r;
}

static void note_losses(struct trace *t, struct trace_ring *r, uint64_t lost)
{
	t->file.untold_room += lost - r->lost_seen;
	r->lost_seen = lost;
}

/* A line that says what is missing before it. */
static void tell_losses(struct trace *t)
{
	struct trace_file *f = &t->file;
	struct trace_file_line line = { .lost_room = f->untold_room,
					.lost_write = f->untold_write };

	if (line.lost_room + line.lost_write == 0 || !trace_file_is_ready(f))
		return;
	if (!trace_format_lost(&f->out, t->format, clock_real_us(),
			       line.lost_room, line.lost_write))
		return;
	trace_file_end_line(f, line);
	f->untold_room = f->untold_write = 0;
	t->told_us = clock_mono_us();
	if (line.lost_room > 0)
		log_limited(LOG_LEVEL_WARN, NULL,
			    "trace: %llu records lost for want of room "
			    "(trace_buffer)",
			    (unsigned long long)line.lost_room);
}

static void write_item(struct trace *t, const struct trace_item *item)
{
	uint32_t payload = atomic_load_explicit(&t->shared.payload,
						memory_order_relaxed);
	struct trace_file_line line = { .is_record = true };

	if (!trace_file_is_ready(&t->file)) {
		trace_file_lose(&t->file);
	} else if (trace_format_line(&t->file.out, t->format, item, payload)) {
		trace_file_end_line(&t->file, line);
	} else {
		atomic_fetch_add_explicit(&t->lost_memory, 1,
					  memory_order_relaxed);
		t->file.untold_room++;
	}
}

/* The next record of a ring; false when there is none. */
static bool drain_one(struct trace *t, struct trace_ring *r)
{
	struct trace_file *f = &t->file;
	struct trace_taken taken;

	if (!trace_ring_take(r, &taken)) {
		note_losses(t, r, trace_ring_lost(r));
		return false;
	}
	if (taken.lost_before != r->lost_seen) {
		note_losses(t, r, taken.lost_before);
		if (clock_mono_us() - t->told_us >= TELL_US)
			tell_losses(t);
	}
	write_item(t, &taken.item);
	trace_ring_drop(r);
	if (trace_file_is_full(f) && trace_file_is_ready(f))
		trace_file_flush(f);
	return true;
}

/* One turn of each ring. Returns how many records that brought. */
static size_t drain_some(struct trace *t)
{
	size_t count = 0;

	for (struct trace_ring *r = first_ring(t); r != NULL;
	     r = SLIST_NEXT(r, next))
		for (int i = 0; i < RING_TURN && !t->file.is_blocked; i++) {
			if (!drain_one(t, r))
				break;
			count++;
		}
	return count;
}

/* Before the file changes: what is finished by now belongs into the old. */
static void drain_finished(struct trace *t)
{
	struct trace_ring *r, *first = first_ring(t);

	for (r = first; r != NULL; r = SLIST_NEXT(r, next))
		r->mark = spsc_mark(&r->q);
	for (r = first; r != NULL; r = SLIST_NEXT(r, next))
		while (trace_file_is_ready(&t->file) &&
		       !spsc_has_read(&r->q, r->mark))
			if (!drain_one(t, r))
				break;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void change_file(struct trace *t, const char *path)
{
	drain_finished(t);
	trace_file_close(&t->file);
	trace_file_open(&t->file, path);
}

static void take_change(struct trace *t, const struct trace_orders *o)
{
	t->is_leaving = o->path == NULL;
	if (!t->is_leaving && !is_same(o->path, t->file.path))
		change_file(t, o->path);
	else
		drain_finished(t);
	t->format = o->format;
	/* Not before there is a file: a worker's first record would be lost. */
	atomic_store_explicit(&t->shared.is_on, !t->is_leaving,
			      memory_order_relaxed);
}

static void reopen(struct trace *t)
{
	char *path = t->file.path == NULL ? NULL : strdup(t->file.path);

	/* Without memory the former file stays, which is better than none. */
	if (path != NULL)
		change_file(t, path);
	free(path);
}

bool trace_thread_take_orders(struct trace *t)
{
	struct trace_orders o;

	pthread_mutex_lock(&t->lock);
	o = t->orders;
	t->orders = (struct trace_orders){ .wants_stop = o.wants_stop };
	pthread_mutex_unlock(&t->lock);
	if (o.is_changed)
		take_change(t, &o);
	if (o.wants_reopen)
		reopen(t);
	free(o.path);
	return o.wants_stop;
}

/* Free the rings that are closed and empty. */
static void reap_rings(struct trace *t)
{
	struct trace_ring *r, *after;

	for (r = first_ring(t); r != NULL; r = after) {
		after = SLIST_NEXT(r, next);
		if (!atomic_load(&r->is_closed) || !trace_ring_is_quiet(r))
			continue;
		note_losses(t, r, trace_ring_lost(r));
		pthread_mutex_lock(&t->lock);
		SLIST_REMOVE(&t->rings, r, trace_ring, next);
		t->lost_gone += trace_ring_lost(r);
		pthread_mutex_unlock(&t->lock);
		trace_ring_free(r);
	}
}

static bool is_quiet(struct trace *t)
{
	for (struct trace_ring *r = first_ring(t); r != NULL;
	     r = SLIST_NEXT(r, next))
		if (!trace_ring_is_quiet(r))
			return false;
	return true;
}

static bool has_records(struct trace *t)
{
	for (struct trace_ring *r = first_ring(t); r != NULL;
	     r = SLIST_NEXT(r, next))
		if (!spsc_is_empty(&r->q))
			return true;
	return false;
}

/* Milliseconds until the broken file is to be tried again; -1: never. */
static int until_retry(const struct trace_file *f)
{
	uint64_t now = clock_mono_us();

	if (f->retry_us == 0)
		return -1;
	return f->retry_us <= now ? 0 : (int)((f->retry_us - now) / 1000) + 1;
}

static void wait_for(struct trace *t, int timeout_ms)
{
	struct pollfd p[2] = {
		{ .fd = t->shared.wake_fd, .events = POLLIN },
		{ .fd = t->file.is_blocked ? t->file.fd : -1,
		  .events = POLLOUT },
	};
	uint64_t count;

	poll(p, 2, timeout_ms);
	atomic_store(&t->shared.sleep, TRACE_AWAKE);
	if (p[0].revents != 0 &&
	    read(t->shared.wake_fd, &count, sizeof(count)) < 0)
		return;
}

/* Nap after work; sleep when there was none. Orders wake it always. */
static void rest(struct trace *t)
{
	if (t->file.is_blocked) {
		wait_for(t, BLOCKED_US / 1000);
	} else if (!t->is_tired) {
		t->is_tired = true;
		atomic_store(&t->shared.sleep, TRACE_NAPPING);
		wait_for(t, NAP_MS);
	} else {
		atomic_store(&t->shared.sleep, TRACE_ASLEEP);
		/* A worker that saw it awake has published before. */
		wait_for(t, has_records(t) ? 0 : until_retry(&t->file));
	}
}

/* The thread is to end: a pipe whose reader stands still is not waited for. */
static bool may_stop(struct trace *t)
{
	struct trace_file *f = &t->file;

	if (!f->is_blocked)
		return first_ring(t) == NULL;
	if (clock_mono_us() - f->blocked_us >= BLOCKED_US)
		trace_file_give_up(f);
	return false;
}

/* One round; false when it was the last. */
static bool pass(struct trace *t)
{
	bool is_stopping = trace_thread_take_orders(t);
	struct trace_file *f = &t->file;

	if (f->is_blocked)
		trace_file_flush(f);
	else
		trace_file_retry(f);
	if (!f->is_blocked && drain_some(t) > 0) {
		t->is_tired = false;
		return true;
	}
	reap_rings(t);
	if (trace_file_is_ready(f)) {
		tell_losses(t);
		trace_file_flush(f);
	}
	if (t->is_leaving && is_quiet(t)) {
		trace_file_close(f);
		t->is_leaving = false;
	}
	if (is_stopping && may_stop(t))
		return false;
	rest(t);
	return true;
}

void *trace_thread_run(void *arg)
{
	struct trace *t = arg;

	while (pass(t))
		;
	trace_file_close(&t->file);
	return NULL;
}
