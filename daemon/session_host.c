/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_host - all sessions of a worker: deadlines, and freeing the dead.
 *
 * Owns: dead sessions. Called on the worker's thread only.
 */
#include "config.h"

#include <stdlib.h>

#include "daemon/clock.h"
#include "daemon/session.h"

void session_host_init(struct session_host *host)
{
	for (int i = 0; i < SESSION_STATE_LIMIT; i++)
		TAILQ_INIT(&host->lists[i]);
}

bool session_host_free_dead(struct session_host *host)
{
	struct session_list *dead = &host->lists[SESSION_DEAD];
	bool any = !TAILQ_EMPTY(dead);
	struct session *s;

	while ((s = TAILQ_FIRST(dead)) != NULL) {
		TAILQ_REMOVE(dead, s, link);
		host->counts[SESSION_DEAD]--;
		call_table_clear(&s->calls);
		route_put(s->route);
		free(s);
	}
	return any;
}

void session_host_expire(struct session_host *host)
{
	static const enum session_state with_deadline[] = { SESSION_YOUNG,
							    SESSION_ENDING };
	uint64_t now = clock_mono_us();

	for (size_t i = 0; i < 2; i++) {
		struct session *s, *next;

		for (s = TAILQ_FIRST(&host->lists[with_deadline[i]]); s != NULL;
		     s = next) {
			next = TAILQ_NEXT(s, link);
			if (s->deadline_us <= now)
				session_expire(s, now);
		}
	}
}

bool session_host_has_deadlines(const struct session_host *host)
{
	return host->counts[SESSION_YOUNG] + host->counts[SESSION_ENDING] > 0;
}
