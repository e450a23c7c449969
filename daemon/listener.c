/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener - a listening socket and the route its clients take.
 *
 * Owns: its socket and events, a reference to the route. Main thread only.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/listener.h"
#include "daemon/socket.h"

enum {
	ACCEPTS_PER_WAKE = 64,
	/* Rest when a connection cannot be taken; nothing spins meanwhile. */
	PAUSE_MS = 100,
};

static void describe_listener(const struct log_obj *obj, char *out, size_t cap)
{
	const struct listener *l = (const struct listener *)obj;

	snprintf(out, cap, "listener %s", l->text);
}

static void pause_accepting(struct listener *l)
{
	struct timeval rest = { 0, PAUSE_MS * 1000 };

	event_del(l->accept_event);
	event_add(l->pause_timer, &rest);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	event_add(l->accept_event, NULL);
}

/* False: nothing more can be accepted at the moment. */
static bool listener_accept(struct listener *l)
{
	struct addr client = { .len = sizeof(client.ss) };
	int fd;

	if (!l->may(l->arg)) {
		log_limited(LOG_LEVEL_WARN, &l->log,
			    "max_sessions is reached, clients wait");
		pause_accepting(l);
		return false;
	}
	fd = accept4(l->fd, (struct sockaddr *)&client.ss, &client.len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EAGAIN)
			return false;
		if (errno == ECONNABORTED || errno == EINTR)
			return true;
		log_limited(LOG_LEVEL_ERROR, &l->log, "accept: %s",
			    strerror(errno));
		pause_accepting(l);
		return false;
	}
	if (l->take(l->arg, fd, &client, l->route))
		return true;
	close(fd);
	return false;
}

static void on_acceptable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++)
		if (!listener_accept(arg))
			return;
}

static const char *unix_path(const struct listener *l)
{
	const struct sockaddr_un *un =
		(const struct sockaddr_un *)&l->bound.ss;

	return l->bound.ss.ss_family == AF_UNIX ? un->sun_path : NULL;
}

static void note_name(struct listener *l)
{
	const char *path = unix_path(l);
	struct stat st;

	if (path == NULL || lstat(path, &st) < 0)
		return;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
}

/* Unless the name was taken away and is that of another daemon by now. */
static void remove_name(const struct listener *l)
{
	const char *path = unix_path(l);
	struct stat st;

	if (path != NULL && lstat(path, &st) == 0 && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlink(path);
}

struct listener *listener_open(struct event_base *base, struct route *route,
			       listener_take_fn take, listener_may_fn may,
			       void *arg, struct settings_error *error)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return NULL;
	}
	l->log = (struct log_obj){ "listener", describe_listener };
	l->base = base;
	l->take = take;
	l->may = may;
	l->arg = arg;
	l->fd = socket_listen(route->listener, &l->bound, error);
	if (l->fd < 0) {
		free(l);
		return NULL;
	}
	addr_text(&l->bound, l->text);
	note_name(l);
	l->route = route_get(route);
	l->accept_event = event_new(base, l->fd, EV_READ | EV_PERSIST,
				    on_acceptable, l);
	l->pause_timer = event_new(base, -1, 0, on_pause_over, l);
	if (l->accept_event == NULL || l->pause_timer == NULL ||
	    event_add(l->accept_event, NULL) < 0) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		listener_close(l);
		return NULL;
	}
	log_info(NULL, "listening on %s for brick %s", l->text,
		 route->listener->brick);
	return l;
}

void listener_set_route(struct listener *l, struct route *route)
{
	struct route *old = l->route;

	l->route = route_get(route);
	route_put(old);
}

void listener_close(struct listener *l)
{
	if (l->accept_event != NULL)
		event_free(l->accept_event);
	if (l->pause_timer != NULL)
		event_free(l->pause_timer);
	remove_name(l);
	close(l->fd);
	route_put(l->route);
	free(l);
}
