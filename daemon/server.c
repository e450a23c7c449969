/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server - the running daemon: listeners, workers, trace, and their reload.
 *
 * Owns: all three. Main thread only.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/listener.h"
#include "daemon/server.h"
#include "daemon/trace.h"
#include "daemon/worker.h"

enum { DRAIN_CHECK_MS = 20 };

struct server {
	struct event_base *base;
	struct settings *settings;
	struct trace *trace;
	struct worker **workers;
	unsigned worker_count;
	struct listener_list listeners;
	struct event *drain_timer;
	_Atomic size_t live;		/* sessions of all workers */
	uint64_t next_id;
};

static bool may_accept(void *arg)
{
	struct server *sv = arg;

	return atomic_load(&sv->live) < (size_t)sv->settings->max_sessions;
}

static struct worker *least_loaded(const struct server *sv)
{
	struct worker *best = sv->workers[0];

	for (unsigned i = 1; i < sv->worker_count; i++)
		if (worker_load(sv->workers[i]) < worker_load(best))
			best = sv->workers[i];
	return best;
}

static bool take_client(void *arg, int fd, const struct addr *client,
			struct route *route)
{
	struct server *sv = arg;

	atomic_fetch_add(&sv->live, 1);
	if (worker_adopt(least_loaded(sv), fd, client, route, ++sv->next_id))
		return true;
	atomic_fetch_sub(&sv->live, 1);
	return false;
}

static struct listener *find_listener(const struct server *sv,
				      const char *listen)
{
	struct listener *l;

	TAILQ_FOREACH(l, &sv->listeners, link)
		if (strcmp(l->route->listener->listen, listen) == 0)
			return l;
	return NULL;
}

static bool is_configured(const struct settings *s, const char *listen)
{
	for (size_t i = 0; i < s->listener_count; i++)
		if (strcmp(s->listeners[i].listen, listen) == 0)
			return true;
	return false;
}

static void close_listeners(struct listener_list *list)
{
	struct listener *l;

	while ((l = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, l, link);
		listener_close(l);
	}
}

/*
 * A plan for each listener of the new configuration: the route it gets, made
 * before anything is changed, and its socket where it is a new one.
 */
static bool plan_routes(struct settings *s, struct route **routes,
			struct settings_error *error)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		routes[i] = route_new(s, &s->listeners[i], error);
		if (routes[i] == NULL)
			return false;
	}
	return true;
}

static bool open_new(struct server *sv, const struct settings *s,
		     struct route **routes, struct listener_list *fresh,
		     struct settings_error *error)
{
	for (size_t i = 0; i < s->listener_count; i++) {
		struct listener *l;

		if (find_listener(sv, s->listeners[i].listen) != NULL)
			continue;
		l = listener_open(sv->base, routes[i], take_client, may_accept,
				  sv, error);
		if (l == NULL)
			return false;
		TAILQ_INSERT_TAIL(fresh, l, link);
	}
	return true;
}

static void close_vanished(struct server *sv, const struct settings *s)
{
	struct listener *l, *next;

	for (l = TAILQ_FIRST(&sv->listeners); l != NULL; l = next) {
		next = TAILQ_NEXT(l, link);
		if (is_configured(s, l->route->listener->listen))
			continue;
		TAILQ_REMOVE(&sv->listeners, l, link);
		log_info(NULL, "no longer listening on %s", l->text);
		listener_close(l);
	}
}

/* All listeners of s, or none of the changes. */
static bool apply_listeners(struct server *sv, struct settings *s,
			    struct settings_error *error)
{
	struct route **routes = calloc(s->listener_count, sizeof(*routes));
	struct listener_list fresh = TAILQ_HEAD_INITIALIZER(fresh);
	bool ok = routes != NULL && plan_routes(s, routes, error) &&
		  open_new(sv, s, routes, &fresh, error);

	if (routes == NULL)
		snprintf(error->text, sizeof(error->text), "out of memory");
	if (ok) {
		close_vanished(sv, s);
		for (size_t i = 0; i < s->listener_count; i++) {
			struct listener *l =
				find_listener(sv, s->listeners[i].listen);

			if (l != NULL)
				listener_set_route(l, routes[i]);
		}
		TAILQ_CONCAT(&sv->listeners, &fresh, link);
	} else {
		close_listeners(&fresh);
	}
	for (size_t i = 0; routes != NULL && i < s->listener_count; i++)
		route_put(routes[i]);
	free(routes);
	return ok;
}

static bool start_workers(struct server *sv, struct settings_error *error)
{
	long count = sv->settings->workers;

	if (count == 0)
		count = sysconf(_SC_NPROCESSORS_ONLN);
	if (count < 1)
		count = 1;
	sv->workers = calloc((size_t)count, sizeof(struct worker *));
	while (sv->workers != NULL && sv->worker_count < (unsigned)count) {
		struct worker *w = worker_start(sv->worker_count, sv->trace,
						&sv->live);

		if (w == NULL)
			break;
		sv->workers[sv->worker_count++] = w;
	}
	if (sv->worker_count == (unsigned)count)
		return true;
	snprintf(error->text, sizeof(error->text),
		 "only %u of %ld workers could be started", sv->worker_count,
		 count);
	return false;
}

struct server *server_start(struct event_base *base, struct settings *s,
			    struct settings_error *error)
{
	struct server *sv = calloc(1, sizeof(*sv));

	if (sv == NULL) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return NULL;
	}
	sv->base = base;
	sv->settings = settings_get(s);
	TAILQ_INIT(&sv->listeners);
	sv->trace = trace_open(s);
	if (sv->trace == NULL) {
		snprintf(error->text, sizeof(error->text),
			 "the trace cannot be started");
		server_stop(sv);
		return NULL;
	}
	if (!start_workers(sv, error) || !apply_listeners(sv, s, error)) {
		server_stop(sv);
		return NULL;
	}
	return sv;
}

/* The log is first, as it can be put back. */
bool server_reload(struct server *sv, struct settings *s,
		   struct settings_error *error)
{
	const struct settings *old = sv->settings;

	if (!settings_can_reload(old, s, error))
		return false;
	if (!log_open(s->log_file, (enum log_level)s->log_level)) {
		snprintf(error->text, sizeof(error->text),
			 "log_file %s cannot be opened", s->log_file);
		return false;
	}
	if (!apply_listeners(sv, s, error)) {
		if (!log_open(old->log_file, (enum log_level)old->log_level))
			log_warn(NULL, "the log stays here");
		return false;
	}
	trace_apply(sv->trace, s);
	settings_put(sv->settings);
	sv->settings = settings_get(s);
	return true;
}

static void on_drain_check(evutil_socket_t fd, short what, void *arg)
{
	struct server *sv = arg;

	(void)fd;
	(void)what;
	if (atomic_load(&sv->live) == 0)
		event_base_loopexit(sv->base, NULL);
}

void server_drain(struct server *sv)
{
	struct timeval tick = { 0, DRAIN_CHECK_MS * 1000 };
	uint64_t deadline = clock_mono_us() + sv->settings->drain_timeout_us;

	close_listeners(&sv->listeners);
	for (unsigned i = 0; i < sv->worker_count; i++)
		worker_drain(sv->workers[i], deadline);
	sv->drain_timer = event_new(sv->base, -1, EV_PERSIST, on_drain_check,
				    sv);
	if (sv->drain_timer == NULL || event_add(sv->drain_timer, &tick) < 0)
		event_base_loopexit(sv->base, NULL);
}

void server_reopen(struct server *sv)
{
	log_reopen();
	trace_reopen(sv->trace);
}

void server_stop(struct server *sv)
{
	close_listeners(&sv->listeners);
	for (unsigned i = 0; i < sv->worker_count; i++)
		worker_stop(sv->workers[i]);
	free(sv->workers);
	if (sv->drain_timer != NULL)
		event_free(sv->drain_timer);
	if (sv->trace != NULL)
		trace_close(sv->trace);
	settings_put(sv->settings);
	free(sv);
}
