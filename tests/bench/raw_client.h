/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_client - a raw GlusterFS client: one connection, calls, answers.
 *
 * It blocks, allocates nothing per call and looks at an answer's head alone:
 * what it costs itself stays small against what it measures. A failure ends the
 * process with a message.
 *
 * Owns: its socket and buffers. One thread.
 */
#ifndef FOREBRICK_TESTS_BENCH_RAW_CLIENT_H
#define FOREBRICK_TESTS_BENCH_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/fop.h"
#include "proto/span.h"

enum {
	RAW_HEAD_MAX = 8192,	/* bytes of an answer that can be looked at */
	RAW_CALL_MAX = 4096,	/* of a call, mark and head included */
};

struct raw_client {
	int fd;
	uint32_t next_xid;
	uint8_t *in;		/* received, not yet looked at */
	size_t start, end;
	uint8_t head[RAW_HEAD_MAX];
};

struct raw_answer {
	uint32_t xid;
	size_t size;		/* of the record */
	struct gfp_span results;	/* as far as the head goes */
};

/* Connect; nothing is sent. */
void raw_open(struct raw_client *c, const char *where);
void raw_close(struct raw_client *c);

/* DUMP, and SETVOLUME of that brick. number makes the client's name unique. */
void raw_mount(struct raw_client *c, const char *subvolume, unsigned number);

/* Send a call; args are its arguments on the wire. Returns the xid. */
uint32_t raw_send(struct raw_client *c, uint32_t program, uint32_t version,
		  uint32_t proc, struct gfp_span args);

/* The next answer, whole: its payload is read and forgotten. */
void raw_receive(struct raw_client *c, struct raw_answer *answer);

/*
 * Call and wait. call and reply are structs of gfx_proc.def; reply is the
 * caller's to gfx_free(). op_ret and op_errno are not judged.
 */
void raw_call(struct raw_client *c, uint32_t program, uint32_t version,
	      uint32_t proc, const void *call, void *reply);

/* op_ret of an answer; *op_errno says why when it is negative. */
int32_t raw_op_ret(const struct raw_answer *answer, uint32_t *op_errno);

#endif
