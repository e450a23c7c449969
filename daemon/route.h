/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route - what a listener's sessions need to know: settings and brick.
 *
 * Made when a configuration takes effect, never changed, counted; a session
 * keeps the one it began with.
 */
#ifndef FOREBRICK_DAEMON_ROUTE_H
#define FOREBRICK_DAEMON_ROUTE_H

#include <stdatomic.h>

#include "daemon/addr.h"
#include "daemon/settings.h"

struct route {
	_Atomic unsigned refs;
	struct settings *settings;	/* one reference; holds what follows */
	const struct listener_settings *listener;
	size_t brick_count;
	struct addr bricks[ADDR_RESOLVED_MAX];	/* in the order to be tried */
};

/*
 * Resolve the brick of one listener of s. Blocks on name service.
 * Returns one reference, or NULL with the cause in the error.
 */
struct route *route_new(struct settings *s,
			const struct listener_settings *listener,
			struct settings_error *error);
struct route *route_get(struct route *r);
void route_put(struct route *r);	/* NULL is allowed */

#endif
