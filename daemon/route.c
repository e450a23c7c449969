/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route - what a listener's sessions need to know: settings and brick.
 *
 * Owns: a reference to the settings. Any thread.
 */
#include "config.h"

#include <stdlib.h>

#include "daemon/route.h"

struct route *route_new(struct settings *s,
			const struct listener_settings *listener,
			struct settings_error *error)
{
	struct addr_spec spec;
	const char *why = "out of memory";
	struct route *r = calloc(1, sizeof(*r));

	if (r != NULL && addr_parse(listener->brick, &spec, &why))
		r->brick_count = addr_resolve(&spec, false, r->bricks, &why);
	if (r == NULL || r->brick_count == 0) {
		snprintf(error->text, sizeof(error->text),
			 "listener %s: brick %s: %s", listener->name,
			 listener->brick, why);
		free(r);
		return NULL;
	}
	atomic_init(&r->refs, 1);
	r->settings = settings_get(s);
	r->listener = listener;
	return r;
}

struct route *route_get(struct route *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void route_put(struct route *r)
{
	if (r == NULL ||
	    atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	settings_put(r->settings);
	free(r);
}
