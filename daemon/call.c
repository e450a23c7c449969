/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - RPCs in flight of one session, and the xids they go under.
 *
 * Owns: the slots. Notes of live calls belong to the session, which ends them.
 * One worker's thread only.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/call.h"

enum {
	CAP_FIRST = 8,
	/* A larger table is given back when it is empty: idle sessions are
	   many, and a burst does not last. */
	CAP_KEEP = 32,
	NO_SLOT = UINT32_MAX,
};

static bool table_grow(struct call_table *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : CAP_FIRST;
	struct call *calls;

	if (cap > CALL_SLOT_LIMIT)
		return false;
	calls = realloc(t->calls, cap * sizeof(*calls));
	if (calls == NULL)
		return false;
	for (uint32_t i = t->cap; i < cap; i++)
		calls[i] = (struct call){
			.next_free = i + 1 < cap ? i + 1 : NO_SLOT,
		};
	t->first_free = t->cap;
	t->calls = calls;
	t->cap = cap;
	return true;
}

struct call *call_new(struct call_table *t)
{
	struct call *call;
	uint32_t slot;

	if (t->live == t->cap && !table_grow(t))
		return NULL;
	slot = t->first_free;
	call = &t->calls[slot];
	t->first_free = call->next_free;
	t->live++;
	/* The next generation: the bits above the slot count up and wrap. */
	*call = (struct call){
		.brick_xid = ++t->generation << CALL_SLOT_BITS | slot,
		.is_live = true,
	};
	return call;
}

struct call *call_find(const struct call_table *t, uint32_t brick_xid)
{
	uint32_t slot = brick_xid & (CALL_SLOT_LIMIT - 1);

	if (slot >= t->cap || t->calls[slot].brick_xid != brick_xid ||
	    !t->calls[slot].is_live)
		return NULL;
	return &t->calls[slot];
}

void call_end(struct call_table *t, struct call *call)
{
	assert(call->is_live && t->live > 0);
	call->is_live = false;
	call->note = NULL;
	call->next_free = t->first_free;
	t->first_free = (uint32_t)(call - t->calls);
	if (--t->live == 0 && t->cap > CAP_KEEP)
		call_table_clear(t);
}

static struct call *first_from(const struct call_table *t, uint32_t i)
{
	for (; i < t->cap; i++)
		if (t->calls[i].is_live)
			return &t->calls[i];
	return NULL;
}

struct call *call_first(const struct call_table *t)
{
	return first_from(t, 0);
}

struct call *call_next(const struct call_table *t, const struct call *call)
{
	return first_from(t, (uint32_t)(call - t->calls) + 1);
}

void call_table_clear(struct call_table *t)
{
	free(t->calls);
	*t = (struct call_table){ .generation = t->generation };
}
