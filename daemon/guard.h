/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard - calls that a brick does not survive or never answers.
 *
 * They are answered here, with the error that the protocol has for them.
 */
#ifndef FOREBRICK_DAEMON_GUARD_H
#define FOREBRICK_DAEMON_GUARD_H

#include <stdint.h>

#include "proto/fop.h"
#include "proto/rpc_msg.h"

enum guard_verdict {
	GUARD_PASS,
	GUARD_REFUSE,	/* answer holds the reply, reason says why */
	GUARD_WHOLE,	/* cannot tell from the head alone */
	GUARD_BAD,	/* not a call at all: close; reason says why */
};

enum { GUARD_ANSWER_MAX = 2048 };

struct guard_answer {
	const char *reason;	/* static text for the log */
	uint8_t bytes[GUARD_ANSWER_MAX];	/* a record with its mark */
	size_t len;
};

/*
 * Judge a call.
 *
 *   parsed  what gfp_call_parse() said, with call as far as it got
 *   head    the record's first bytes; is_whole: there are no more, or no more
 *           can be had
 *   size    of the whole record
 *   proc    its row, or NULL
 */
enum guard_verdict guard_call(enum gfp_status parsed,
			      const struct gfp_call *call,
			      const struct gfp_proc *proc, struct gfp_span head,
			      bool is_whole, uint32_t size,
			      struct guard_answer *answer);

#endif
