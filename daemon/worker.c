/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker - a thread with an event loop and the sessions on it.
 *
 * Owns: its loop, its sessions, its ring to the trace. worker_run() and what it
 * calls run on the worker's thread; the public functions on the main thread.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/session.h"
#include "daemon/worker.h"

enum {
	MAINTAIN_MS = 50,	/* how exactly deadlines are kept */
	TRIM_INTERVAL_US = 1000000,
};

struct message {
	STAILQ_ENTRY(message) link;
	void (*handle)(struct worker *w, struct message *m);
	int fd;
	struct addr client;
	struct route *route;
	uint64_t id;
	uint64_t deadline_us;
};
STAILQ_HEAD(message_list, message);

struct worker {
	struct session_host host;
	pthread_t thread;
	struct event *wake_event, *timer;
	int wake_fd;
	bool timer_runs;
	bool has_freed;			/* sessions, since the last trim */
	bool is_stopping;
	uint64_t trimmed_us;		/* when that was, monotonic */
	_Atomic size_t load;
	pthread_mutex_t lock;		/* of inbox */
	struct message_list inbox;
};

static bool post(struct worker *w, struct message m)
{
	struct message *copy = malloc(sizeof(*copy));
	uint64_t one = 1;

	if (copy == NULL)
		return false;
	*copy = m;
	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->inbox, copy, link);
	pthread_mutex_unlock(&w->lock);
	/* It can only fail when the counter is full: then it is awake. */
	if (write(w->wake_fd, &one, sizeof(one)) < 0)
		return true;
	return true;
}

static void handle_adopt(struct worker *w, struct message *m)
{
	session_open(&w->host, m->route, m->fd, &m->client, m->id);
	route_put(m->route);
}

static void close_all(struct worker *w)
{
	for (int state = SESSION_YOUNG; state < SESSION_DEAD; state++) {
		struct session *s;

		while ((s = TAILQ_FIRST(&w->host.lists[state])) != NULL)
			session_close(s, CLOSE_STOPPED, NULL);
	}
}

static void handle_drain(struct worker *w, struct message *m)
{
	for (int state = SESSION_YOUNG; state <= SESSION_MOUNTED; state++) {
		struct session *s, *next;

		for (s = TAILQ_FIRST(&w->host.lists[state]); s != NULL;
		     s = next) {
			next = TAILQ_NEXT(s, link);
			session_drain(s, m->deadline_us);
		}
	}
}

static void handle_stop(struct worker *w, struct message *m)
{
	(void)m;
	close_all(w);
	w->is_stopping = true;
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	struct message_list taken = STAILQ_HEAD_INITIALIZER(taken);
	struct message *m;
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&w->lock);
	STAILQ_CONCAT(&taken, &w->inbox);
	pthread_mutex_unlock(&w->lock);
	while ((m = STAILQ_FIRST(&taken)) != NULL) {
		STAILQ_REMOVE_HEAD(&taken, link);
		m->handle(w, m);
		free(m);
	}
}

/*
 * The C library keeps what lies below something that is still in use: after
 * many slow clients at a time that is most of what they took.
 */
static void trim_heap(struct worker *w)
{
	uint64_t now = clock_mono_us();

	if (!w->has_freed || now - w->trimmed_us < TRIM_INTERVAL_US)
		return;
	w->has_freed = false;
	w->trimmed_us = now;
	malloc_trim(0);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	(void)fd;
	(void)what;
	session_host_expire(&w->host);
	trim_heap(w);
}

/* After each pass: free what died, and run the timer only while it is needed. */
static void worker_maintain(struct worker *w)
{
	struct timeval tick = { 0, MAINTAIN_MS * 1000 };
	bool wanted;

	w->has_freed |= session_host_free_dead(&w->host);
	wanted = session_host_has_deadlines(&w->host) || w->has_freed;
	atomic_store_explicit(&w->load,
			      w->host.counts[SESSION_YOUNG] +
				      w->host.counts[SESSION_MOUNTED],
			      memory_order_relaxed);
	if (wanted == w->timer_runs)
		return;
	w->timer_runs = wanted;
	if (wanted)
		event_add(w->timer, &tick);
	else
		event_del(w->timer);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	while (!w->is_stopping) {
		event_base_loop(w->host.base, EVLOOP_ONCE);
		worker_maintain(w);
	}
	return NULL;
}

static void worker_free(struct worker *w)
{
	if (w->wake_event != NULL)
		event_free(w->wake_event);
	if (w->timer != NULL)
		event_free(w->timer);
	if (w->host.base != NULL)
		event_base_free(w->host.base);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	if (w->host.trace != NULL)
		trace_ring_close(w->host.trace);
	buf_pool_clear(&w->host.pool);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* One thread per base: libevent needs no locks, and takes none. */
static struct event_base *make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (config == NULL)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static bool worker_prepare(struct worker *w, struct trace *trace,
			   _Atomic size_t *live)
{
	session_host_init(&w->host);
	STAILQ_INIT(&w->inbox);
	pthread_mutex_init(&w->lock, NULL);
	w->host.live = live;
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	w->host.base = make_base();
	w->host.trace = trace_ring_open(trace);
	if (w->wake_fd < 0 || w->host.base == NULL || w->host.trace == NULL)
		return false;
	w->wake_event = event_new(w->host.base, w->wake_fd,
				  EV_READ | EV_PERSIST, on_wake, w);
	w->timer = event_new(w->host.base, -1, EV_PERSIST, on_timer, w);
	return w->wake_event != NULL && w->timer != NULL &&
	       event_add(w->wake_event, NULL) == 0;
}

struct worker *worker_start(unsigned number, struct trace *trace,
			    _Atomic size_t *live)
{
	struct worker *w = calloc(1, sizeof(*w));
	int rc = ENOMEM;

	/* Behind another malloc(), a sanitizer's, the C library's heap is made
	   by the first call, which two threads must not be the first to do. */
	malloc_trim(0);
	if (w == NULL || !worker_prepare(w, trace, live) ||
	    (rc = pthread_create(&w->thread, NULL, worker_run, w)) != 0) {
		log_error(NULL, "worker %u cannot be started: %s", number,
			  strerror(rc));
		if (w != NULL)
			worker_free(w);
		return NULL;
	}
	return w;
}

bool worker_adopt(struct worker *w, int fd, const struct addr *client,
		  struct route *route, uint64_t id)
{
	struct message m = { .handle = handle_adopt, .fd = fd, .id = id,
			     .client = *client, .route = route_get(route) };

	if (post(w, m)) {
		/* Until its next pass says better. */
		atomic_fetch_add_explicit(&w->load, 1, memory_order_relaxed);
		return true;
	}
	route_put(route);
	return false;
}

size_t worker_load(const struct worker *w)
{
	return atomic_load_explicit(&w->load, memory_order_relaxed);
}

void worker_drain(struct worker *w, uint64_t deadline_us)
{
	post(w, (struct message){ .handle = handle_drain,
				  .deadline_us = deadline_us });
}

void worker_stop(struct worker *w)
{
	/* Without memory for a message it could not be told to stop. */
	while (!post(w, (struct message){ .handle = handle_stop }))
		usleep(1000);
	pthread_join(w->thread, NULL);
	worker_free(w);
}
