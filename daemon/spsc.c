/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spsc - a ring of byte entries between one writing and one reading thread.
 *
 * Owns: the bytes. Each function is of one side, as the header says; open and
 * close are called while there is only one.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/spsc.h"

/* Before each entry, and before what is skipped at the end. */
struct entry_head {
	uint32_t size;	/* with this head; a multiple of eight */
	uint32_t is_skip;
};

enum { HEAD_SIZE = sizeof(struct entry_head) };

static size_t round_up(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

bool spsc_open(struct spsc *q, size_t size)
{
	*q = (struct spsc){ .size = size & ~(size_t)7 };
	assert(q->size >= 4 * HEAD_SIZE && q->size <= UINT32_MAX);
	/* Not touched here: an idle ring takes no memory. */
	q->bytes = malloc(q->size);
	return q->bytes != NULL;
}

void spsc_close(struct spsc *q)
{
	free(q->bytes);
	q->bytes = NULL;
}

size_t spsc_entry_max(const struct spsc *q)
{
	/* Wherever an empty ring stands, one side of it is that large. */
	return (q->size / 2 & ~(size_t)7) - HEAD_SIZE;
}

static struct entry_head *head_at(const struct spsc *q, size_t at)
{
	return (struct entry_head *)(void *)(q->bytes + at);
}

static bool has_room(struct spsc *q, size_t need)
{
	size_t written = atomic_load_explicit(&q->written,
					      memory_order_relaxed);

	if (need <= q->size - (written - q->read_seen))
		return true;
	q->read_seen = atomic_load_explicit(&q->read, memory_order_acquire);
	return need <= q->size - (written - q->read_seen);
}

void *spsc_reserve(struct spsc *q, size_t size)
{
	size_t need, gap = q->size - q->write_at;
	struct entry_head *head;

	if (size > spsc_entry_max(q))
		return NULL;
	need = HEAD_SIZE + round_up(size);
	if (!has_room(q, need <= gap ? need : gap + need))
		return NULL;
	q->pending = need;
	if (need > gap) {
		head = head_at(q, q->write_at);
		head->size = (uint32_t)gap;
		head->is_skip = 1;
		q->pending += gap;
		q->write_at = 0;
	}
	head = head_at(q, q->write_at);
	head->size = (uint32_t)need;
	head->is_skip = 0;
	return head + 1;
}

size_t spsc_publish(struct spsc *q)
{
	size_t written = atomic_load_explicit(&q->written,
					      memory_order_relaxed);

	q->write_at += head_at(q, q->write_at)->size;
	if (q->write_at == q->size)
		q->write_at = 0;
	written += q->pending;
	atomic_store(&q->written, written);
	return written - q->read_seen;
}

static void step(struct spsc *q, size_t size)
{
	size_t read = atomic_load_explicit(&q->read, memory_order_relaxed);

	q->read_at += size;
	if (q->read_at == q->size)
		q->read_at = 0;
	atomic_store_explicit(&q->read, read + size, memory_order_release);
}

static bool has_entry(struct spsc *q)
{
	size_t read = atomic_load_explicit(&q->read, memory_order_relaxed);

	if (read != q->written_seen)
		return true;
	q->written_seen = atomic_load(&q->written);
	return read != q->written_seen;
}

void *spsc_peek(struct spsc *q)
{
	struct entry_head *head;

	if (!has_entry(q))
		return NULL;
	head = head_at(q, q->read_at);
	if (head->is_skip) {
		/* What is skipped was published with the entry behind it. */
		step(q, head->size);
		head = head_at(q, q->read_at);
	}
	return head + 1;
}

void spsc_pop(struct spsc *q)
{
	step(q, head_at(q, q->read_at)->size);
}

bool spsc_is_empty(struct spsc *q)
{
	return !has_entry(q);
}

size_t spsc_mark(struct spsc *q)
{
	return atomic_load_explicit(&q->written, memory_order_acquire);
}

bool spsc_has_read(const struct spsc *q, size_t mark)
{
	size_t read = atomic_load_explicit(&q->read, memory_order_relaxed);

	/* Both count on for ever; the difference may wrap. */
	return (ptrdiff_t)(read - mark) >= 0;
}
