/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring - one worker's way to the trace.
 *
 * A note is the kept part of a call. Most are small and come from a free list,
 * larger ones from malloc(); both count against the budget while they are held,
 * those on the list too. A finished record is copied into the ring in one
 * piece: facts, addresses, call, reply.
 *
 * Owns: its ring and notes. The functions of trace.h run on the worker's
 * thread, those of trace_ring.h on the writing thread.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/trace_ring.h"

struct trace_note {
	struct trace_note *next;	/* on the free list */
	size_t len, cap;
	bool is_cut;
	uint8_t bytes[];
};

enum {
	/* A call with a FUSE client's credential takes 120 to 250 bytes. */
	NOTE_SMALL = 512 - sizeof(struct trace_note),
	FREE_MAX = 1024,	/* notes on the free list */
	ADDRESS_MAX = 256,	/* bytes of client and brick that are kept */
	BUFFER_MIN = 8192,	/* facts, addresses and a call find room */
};

/* What stands before the bytes of a record in the ring. */
struct entry {
	struct trace_meta meta;	/* its strings are in bytes */
	uint64_t lost_before;
	uint32_t client_len, brick_len, call_len, reply_len;
	bool is_cut;
	uint8_t bytes[];	/* client, NUL, brick, NUL, call, reply */
};

struct trace_ring *trace_ring_new(struct trace_shared *shared, size_t buffer)
{
	/* The counters of the ring want their own cache lines. */
	struct trace_ring *r = aligned_alloc(SPSC_LINE, sizeof(*r));

	assert(buffer >= BUFFER_MIN);
	if (r == NULL)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->shared = shared;
	r->budget = buffer / 2;
	if (!spsc_open(&r->q, buffer / 2)) {
		free(r);
		return NULL;
	}
	return r;
}

static void note_free(struct trace_ring *r, struct trace_note *note)
{
	r->held -= sizeof(*note) + note->cap;
	free(note);
}

static void drop_free_notes(struct trace_ring *r)
{
	while (r->free_notes != NULL) {
		struct trace_note *note = r->free_notes;

		r->free_notes = note->next;
		note_free(r, note);
	}
	r->free_count = 0;
}

void trace_wake(struct trace_shared *shared)
{
	uint64_t one = 1;

	/* Fails only when the counter is full, and then it wakes anyway. */
	if (write(shared->wake_fd, &one, sizeof(one)) < 0)
		return;
}

void trace_ring_close(struct trace_ring *r)
{
	/* Once it is closed the other thread may free it. */
	struct trace_shared *shared = r->shared;

	drop_free_notes(r);
	assert(r->held == 0);
	atomic_store(&r->is_closed, true);
	trace_wake(shared);
}

void trace_ring_free(struct trace_ring *r)
{
	spsc_close(&r->q);
	free(r);
}

bool trace_is_on(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->shared->is_on, memory_order_relaxed);
}

uint32_t trace_payload_wanted(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->shared->payload, memory_order_relaxed);
}

static void count_lost(struct trace_ring *r)
{
	atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
}

/* May size more bytes be held? Unused notes make way. */
static bool has_budget(struct trace_ring *r, size_t size)
{
	if (size <= r->budget - r->held)
		return true;
	drop_free_notes(r);
	return size <= r->budget - r->held;
}

static struct trace_note *note_alloc(struct trace_ring *r, size_t cap)
{
	struct trace_note *note = r->free_notes;

	if (cap <= NOTE_SMALL) {
		if (note != NULL) {
			r->free_notes = note->next;
			r->free_count--;
			return note;
		}
		cap = NOTE_SMALL;
	}
	if (!has_budget(r, sizeof(*note) + cap))
		return NULL;
	note = malloc(sizeof(*note) + cap);
	if (note == NULL)
		return NULL;
	r->held += sizeof(*note) + cap;
	note->cap = cap;
	return note;
}

/* What one call may take: half of what the largest record may. */
static size_t note_max(const struct trace_ring *r)
{
	return spsc_entry_max(&r->q) / 2;
}

/* The worker alone writes it. Who sees zero sees all records before it. */
static void count_note(struct trace_ring *r, size_t change)
{
	size_t count = atomic_load_explicit(&r->open_notes,
					    memory_order_relaxed);

	atomic_store_explicit(&r->open_notes, count + change,
			      memory_order_release);
}

struct trace_note *trace_note_new(struct trace_ring *r, struct gfp_span call)
{
	size_t len = call.len < note_max(r) ? call.len : note_max(r);
	struct trace_note *note = note_alloc(r, len);

	if (note == NULL) {
		count_lost(r);
		return NULL;
	}
	note->len = len;
	note->is_cut = len < call.len;
	if (len > 0)
		memcpy(note->bytes, call.ptr, len);
	count_note(r, 1);
	return note;
}

/* Make room for more bytes if the budget allows it. */
static void note_grow(struct trace_ring *r, struct trace_note **note,
		      size_t len)
{
	struct trace_note *old = *note, *larger;
	size_t cap = 2 * old->cap;

	if (cap < len)
		cap = len;
	if (cap > note_max(r))
		cap = note_max(r);
	if (cap <= old->cap || !has_budget(r, cap - old->cap))
		return;
	larger = realloc(old, sizeof(*old) + cap);
	if (larger == NULL)
		return;
	r->held += cap - larger->cap;
	larger->cap = cap;
	*note = larger;
}

void trace_note_add(struct trace_ring *r, struct trace_note **note,
		    struct gfp_span bytes)
{
	struct trace_note *n = *note;

	if (n == NULL || bytes.len == 0)
		return;
	if (bytes.len > n->cap - n->len) {
		note_grow(r, note, n->len + bytes.len);
		n = *note;
	}
	if (bytes.len > n->cap - n->len) {
		bytes.len = n->cap - n->len;
		n->is_cut = true;
	}
	memcpy(n->bytes + n->len, bytes.ptr, bytes.len);
	n->len += bytes.len;
}

static void note_release(struct trace_ring *r, struct trace_note *note)
{
	if (note->cap == NOTE_SMALL && r->free_count < FREE_MAX) {
		note->next = r->free_notes;
		r->free_notes = note;
		r->free_count++;
	} else {
		note_free(r, note);
	}
	count_note(r, (size_t)-1);
}

static uint32_t address_len(const char *text)
{
	return text == NULL ? 0 : (uint32_t)strnlen(text, ADDRESS_MAX);
}

static uint8_t *put(uint8_t *p, const void *bytes, size_t len)
{
	if (len > 0)
		memcpy(p, bytes, len);
	return p + len;
}

/* Copy a record into the ring; false without room. */
static bool put_entry(struct trace_ring *r, const struct trace_note *note,
		      const struct trace_meta *meta, struct gfp_span reply)
{
	uint32_t client_len = address_len(meta->client);
	uint32_t brick_len = address_len(meta->brick);
	size_t size = sizeof(struct entry) + client_len + brick_len + 2 +
		      note->len;
	size_t room = spsc_entry_max(&r->q) - size;
	bool is_cut = note->is_cut || reply.len > room;
	struct entry *e;
	uint8_t *p;

	if (reply.len > room)
		reply.len = room;
	e = spsc_reserve(&r->q, size + reply.len);
	if (e == NULL)
		return false;
	e->meta = *meta;
	e->lost_before = atomic_load_explicit(&r->lost, memory_order_relaxed);
	e->client_len = client_len;
	e->brick_len = brick_len;
	e->call_len = (uint32_t)note->len;
	e->reply_len = (uint32_t)reply.len;
	e->is_cut = is_cut;
	p = put(e->bytes, meta->client, client_len);
	*p++ = '\0';
	p = put(p, meta->brick, brick_len);
	*p++ = '\0';
	p = put(p, note->bytes, note->len);
	put(p, reply.ptr, reply.len);
	return true;
}

/* The thread sleeps: who finds it so first wakes it. */
static void wake_if_asleep(struct trace_ring *r, size_t used)
{
	struct trace_shared *shared = r->shared;
	int sleep = atomic_load(&shared->sleep);

	if (sleep == TRACE_AWAKE ||
	    (sleep == TRACE_NAPPING && used < r->q.size / 2))
		return;
	if (atomic_exchange(&shared->sleep, TRACE_AWAKE) != TRACE_AWAKE)
		trace_wake(shared);
}

void trace_note_finish(struct trace_ring *r, struct trace_note *note,
		       const struct trace_meta *meta, struct gfp_span reply)
{
	if (note == NULL)
		return;
	if (put_entry(r, note, meta, reply))
		wake_if_asleep(r, spsc_publish(&r->q));
	else
		count_lost(r);
	note_release(r, note);
}

bool trace_ring_take(struct trace_ring *r, struct trace_taken *out)
{
	struct entry *e = spsc_peek(&r->q);
	const uint8_t *p;

	if (e == NULL)
		return false;
	out->lost_before = e->lost_before;
	out->item.meta = e->meta;
	out->item.is_cut = e->is_cut;
	p = e->bytes;
	out->item.meta.client = (const char *)p;
	p += e->client_len + 1;
	out->item.meta.brick = (const char *)p;
	p += e->brick_len + 1;
	out->item.call = (struct gfp_span){ p, e->call_len };
	p += e->call_len;
	out->item.reply = (struct gfp_span){ p, e->reply_len };
	return true;
}

void trace_ring_drop(struct trace_ring *r)
{
	spsc_pop(&r->q);
}

bool trace_ring_is_quiet(struct trace_ring *r)
{
	return atomic_load_explicit(&r->open_notes, memory_order_acquire) ==
		       0 &&
	       spsc_is_empty(&r->q);
}

uint64_t trace_ring_lost(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->lost, memory_order_relaxed);
}
