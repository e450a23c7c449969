/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener - a listening socket and the route its clients take.
 *
 * Listeners live on the main thread, accept there, and hand each connection to
 * whoever takes it (the server, which picks a worker).
 */
#ifndef FOREBRICK_DAEMON_LISTENER_H
#define FOREBRICK_DAEMON_LISTENER_H

#include <event2/event.h>
#include <sys/queue.h>

#include "daemon/addr.h"
#include "daemon/log.h"
#include "daemon/route.h"

/*
 * Takes an accepted socket. False: it cannot be served now; the socket is the
 * listener's again.
 */
typedef bool (*listener_take_fn)(void *arg, int fd, const struct addr *client,
				 struct route *route);
/* May another connection be accepted? */
typedef bool (*listener_may_fn)(void *arg);

struct listener {
	struct log_obj log;
	TAILQ_ENTRY(listener) link;
	struct route *route;
	struct event_base *base;
	struct event *accept_event;
	struct event *pause_timer;
	int fd;
	struct addr bound;
	dev_t dev;		/* of a unix socket's name, with ino */
	ino_t ino;
	char text[ADDR_TEXT_MAX];
	listener_take_fn take;
	listener_may_fn may;
	void *arg;
};
TAILQ_HEAD(listener_list, listener);

/*
 * Open the listener of a route; it accepts from the loop's next pass on.
 * Returns NULL with the cause in the error.
 */
struct listener *listener_open(struct event_base *base, struct route *route,
			       listener_take_fn take, listener_may_fn may,
			       void *arg, struct settings_error *error);

/* Sessions from now on take another route; a reference is kept. */
void listener_set_route(struct listener *l, struct route *route);

/*
 * Stop listening; a unix socket's name goes too, if it is still this socket's.
 * Sessions stay.
 */
void listener_close(struct listener *l);

#endif
