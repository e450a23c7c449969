/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join - a record that arrives in several fragments, made into one.
 *
 * Real peers send one fragment a record, and corrupt data when they receive a
 * payload in two; so fragments are collected here, up to a bound, and the
 * record leaves whole.
 */
#ifndef FOREBRICK_DAEMON_JOIN_H
#define FOREBRICK_DAEMON_JOIN_H

#include "daemon/buf.h"
#include "proto/span.h"
#include "proto/status.h"

struct join;

/* NULL without memory. */
GFP_MUST_CHECK struct join *join_new(void);
void join_free(struct join *j);		/* NULL is allowed */

/*
 * Take bytes of fragments, marks included.
 *
 *   limit  most bytes of a joined record
 *   used   how many bytes of in were taken; at most to the record's end
 *   whole  on GFP_OK the record with one mark before it, in a block of exactly
 *          that size; the reference is the caller's
 *
 * Returns GFP_OK; GFP_SHORT (more is to come); GFP_TOO_BIG; GFP_BAD for a
 * record that is too short, or that comes in absurdly many fragments. Memory
 * grows with the bytes received, not with what a mark promises.
 */
GFP_MUST_CHECK enum gfp_status join_add(struct join *j, struct gfp_span in,
					uint64_t limit, size_t *used,
					struct buf **whole);

/* Bytes that the fragments so far hold or promise. */
uint64_t join_size(const struct join *j);

/*
 * Hand a record back that cannot be passed on yet: the next join_add() returns
 * it again, without taking any bytes. Takes the reference.
 */
void join_keep(struct join *j, struct buf *whole);

#endif
