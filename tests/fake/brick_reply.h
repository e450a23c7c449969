/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brick_reply - what a brick with endless files answers to a call.
 *
 * Every procedure of the table succeeds, with the layout that a 10.3 brick
 * gives its results. Every file has the same size and the same bytes: the one
 * at offset o is o % BRICK_PATTERN. Nothing is remembered but how many fds were
 * handed out.
 */
#ifndef FOREBRICK_TESTS_FAKE_BRICK_REPLY_H
#define FOREBRICK_TESTS_FAKE_BRICK_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/span.h"

enum {
	/* A prime, so that bytes from elsewhere differ. */
	BRICK_PATTERN = 251,
	/* Room for any reply without its payload. */
	BRICK_REPLY_MAX = 2048,
};

struct brick {
	uint64_t file_size;
	uint64_t next_fd;	/* of a connection; the caller swaps it in */
};

struct brick_reply {
	size_t len;		/* of the head, mark included; 0: no answer */
	size_t payload_len;	/* of what follows it; counted in the mark */
	uint64_t payload_off;	/* in the file */
};

/*
 * Answer the call in record (mark excluded) into out, BRICK_REPLY_MAX bytes.
 * What a brick does not answer, or cannot be read, gets a reply of length 0.
 */
struct brick_reply brick_answer(struct brick *brick, struct gfp_span record,
				uint8_t *out);

#endif
