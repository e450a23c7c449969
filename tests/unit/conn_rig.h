/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_rig - two connections that pass records to each other.
 *
 * "left" and "right" are under test, each with a peer at the other end of its
 * socket. What the handler does with a record is each test's own.
 */
#ifndef FOREBRICK_TESTS_UNIT_CONN_RIG_H
#define FOREBRICK_TESTS_UNIT_CONN_RIG_H

#include "daemon/conn.h"
#include "tests/unit/peer.h"

enum {
	MAX_RECORD = 4 << 20,
	MAX_REASSEMBLY = 64 * 1024,
	MAX_QUEUE = 256 * 1024,
	SMALL_BUFFER = 1,	/* the system makes the smallest of it */
};

struct side;
typedef enum record_fate (*decide_fn)(struct side *side, struct record *r);

/* One of the two, with what its handler saw. */
struct side {
	struct conn_rig *f;
	struct conn conn;
	struct peer peer;
	decide_fn decide;
	size_t records, ends, errors, bads, connects, sents;
	bool was_clean;
	int error;
	enum gfp_status why;
	uint64_t number;
	uint32_t last_seed, last_size;
	size_t last_have;
	size_t rest;		/* bytes that came to on_rest */
	size_t waits;		/* how often a test still says WAIT */
	struct stream answer;	/* what a test answers with */
};

struct conn_rig {
	struct event_base *base;
	struct buf_pool pool;
	struct conn_limits limits;
	struct side left, right;
	struct stream in, want;
};

/* Functions of a fixture: *state is a struct conn_rig with a fresh pair. */
int conn_rig_set_up(void **state);
int conn_rig_tear_down(void **state);

/* Begin again with fresh connections and empty streams. */
void conn_rig_restart(struct conn_rig *f, int sndbuf);

/* What the sides' connections have; for tests that change a row of it. */
extern const struct conn_handler conn_rig_handler;

void conn_rig_close_both(struct side *side);

/* A record that is to pass as it is. */
void conn_rig_add(struct conn_rig *f, uint32_t size, uint32_t seed);

/* One record in fragments that end at each of the cuts, in rising order. */
void conn_rig_add_split(struct conn_rig *f, uint32_t size, uint32_t seed,
			const uint32_t *cuts, size_t count);

/* A few records with each feature in them, 1,000 bytes in all. */
void conn_rig_add_mixed(struct conn_rig *f);

/*
 * Send f->in at from in steps; read at to until all of f->want is there. Both
 * connections are idle then, and hold no block.
 */
void conn_rig_transfer(struct conn_rig *f, struct side *from, struct side *to,
		       size_t write_step, size_t read_step);

#endif
