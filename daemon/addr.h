/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr - where to listen and whom to dial: texts, names and socket addresses.
 */
#ifndef FOREBRICK_DAEMON_ADDR_H
#define FOREBRICK_DAEMON_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "proto/span.h"

enum {
	ADDR_TEXT_MAX = 128,	/* any addr_text(), NUL included */
	ADDR_RESOLVED_MAX = 8,	/* addresses of one name that are kept */
};

/* An address as somebody wrote it; nothing resolved yet. */
struct addr_spec {
	bool is_unix;
	char host[256];		/* empty: any address */
	uint16_t port;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

struct addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/*
 * Take HOST:PORT, [ADDR]:PORT, :PORT or unix:PATH apart.
 *
 *   why    on false, what was wrong and what would be right; static text
 */
GFP_MUST_CHECK bool addr_parse(const char *text, struct addr_spec *spec,
			       const char **why);

/*
 * Resolve; blocks on name service, so not for a worker.
 *
 *   is_listen  for bind(): an empty host is every address, v4 and v6
 *   out        up to ADDR_RESOLVED_MAX, in the order to be tried
 *   why        on 0, the cause; static text
 *
 * Returns how many.
 */
GFP_MUST_CHECK size_t addr_resolve(const struct addr_spec *spec, bool is_listen,
				   struct addr out[ADDR_RESOLVED_MAX],
				   const char **why);

/* "127.0.0.1:49152", "[::1]:49152", "unix:/run/x"; v4-mapped shown as v4. */
void addr_text(const struct addr *a, char out[ADDR_TEXT_MAX]);

#endif
