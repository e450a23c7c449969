/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server - the running daemon: listeners, workers, trace, and their reload.
 */
#ifndef FOREBRICK_DAEMON_SERVER_H
#define FOREBRICK_DAEMON_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/settings.h"

struct server;

/*
 * Start everything that s asks for. Returns NULL with the cause in the error,
 * and nothing is left running then. Keeps a reference to s.
 */
struct server *server_start(struct event_base *base, struct settings *s,
			    struct settings_error *error);

/*
 * Go over to another configuration. Either all of it takes effect or, with the
 * cause in the error, nothing does.
 */
bool server_reload(struct server *sv, struct settings *s,
		   struct settings_error *error);

/*
 * Stop listening and end every session when its calls are answered, or at the
 * drain timeout; the loop is left (event_base_loopexit) when none is there.
 */
void server_drain(struct server *sv);

/* Open log and trace files anew. */
void server_reopen(struct server *sv);

/* Close what is left and free everything. */
void server_stop(struct server *sv);

#endif
