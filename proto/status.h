/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status - the one way in which proto/ reports how a call went.
 */
#ifndef FOREBRICK_PROTO_STATUS_H
#define FOREBRICK_PROTO_STATUS_H

enum gfp_status {
	GFP_OK,		/* done; every output is set */
	GFP_END,	/* an iterator has nothing more; the input was whole */
	GFP_SHORT,	/* the input ends too early; more bytes could help */
	GFP_SPLIT,	/* not the last fragment of its record: join first */
	GFP_TOO_BIG,	/* a length in the input exceeds its stated maximum */
	GFP_BAD,	/* not what the protocol allows, whatever may follow */
	GFP_STATUS_LIMIT
};

/* A short text for logs, such as "length over the limit". Never NULL. */
const char *gfp_status_text(enum gfp_status status);

#endif
