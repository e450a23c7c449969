/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace - the trace as the rest of the daemon knows it: on and off, its file,
 * its rings.
 *
 * Changes of settings reach the thread (trace_thread.c) as orders under a lock.
 *
 * Owns: the thread, and what it works with.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/trace_thread.h"

/* Signals are for the main thread. Returns 0 or an errno. */
static int start_thread(struct trace *t)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->thread, NULL, trace_thread_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void trace_free(struct trace *t)
{
	if (t->shared.wake_fd >= 0)
		close(t->shared.wake_fd);
	pthread_mutex_destroy(&t->lock);
	free(t->orders.path);
	trace_text_free(&t->file.out);
	free(t);
}

struct trace *trace_open(const struct settings *s)
{
	struct trace *t = aligned_alloc(SPSC_LINE, sizeof(*t));
	int rc;

	if (t == NULL) {
		log_error(NULL, "trace: out of memory");
		return NULL;
	}
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->file.fd = -1;
	t->buffer = s->trace_buffer;
	t->shared.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = t->shared.wake_fd < 0 ? errno : 0;
	if (rc == 0) {
		/* The file is there before the first session is. */
		trace_apply(t, s);
		trace_thread_take_orders(t);
		rc = start_thread(t);
	}
	if (rc != 0) {
		log_error(NULL, "the trace cannot be started: %s",
			  strerror(rc));
		trace_file_close(&t->file);
		trace_free(t);
		return NULL;
	}
	return t;
}

void trace_apply(struct trace *t, const struct settings *s)
{
	const char *file = s->trace_file;
	char *path = NULL;
	bool is_on = file != NULL && file[0] != '\0';

	if (is_on && (path = strdup(file)) == NULL) {
		log_error(NULL, "the trace stays as it is: out of memory");
		return;
	}
	pthread_mutex_lock(&t->lock);
	free(t->orders.path);
	t->orders.path = path;
	t->orders.format = (enum trace_format)s->trace_format;
	t->orders.is_changed = true;
	pthread_mutex_unlock(&t->lock);
	atomic_store_explicit(&t->shared.payload, (uint32_t)s->trace_payload,
			      memory_order_relaxed);
	if (!is_on)
		atomic_store_explicit(&t->shared.is_on, false,
				      memory_order_relaxed);
	trace_wake(&t->shared);
}

void trace_reopen(struct trace *t)
{
	pthread_mutex_lock(&t->lock);
	t->orders.wants_reopen = true;
	pthread_mutex_unlock(&t->lock);
	trace_wake(&t->shared);
}

/* The last word about losses, which a full disk does not take. */
static void log_counts(const struct trace *t)
{
	struct trace_counts n;

	trace_count(t, &n);
	if (n.written + n.lost_room + n.lost_write == 0)
		return;
	log_at(n.lost_room + n.lost_write > 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
	       NULL, NULL,
	       "trace: %llu records written, %llu lost for want of room, "
	       "%llu lost in writing",
	       (unsigned long long)n.written, (unsigned long long)n.lost_room,
	       (unsigned long long)n.lost_write);
}

void trace_close(struct trace *t)
{
	struct trace_ring *r;

	pthread_mutex_lock(&t->lock);
	SLIST_FOREACH(r, &t->rings, next)
		assert(atomic_load(&r->is_closed));
	t->orders.wants_stop = true;
	pthread_mutex_unlock(&t->lock);
	trace_wake(&t->shared);
	pthread_join(t->thread, NULL);
	assert(SLIST_EMPTY(&t->rings));
	log_counts(t);
	trace_free(t);
}

struct trace_ring *trace_ring_open(struct trace *t)
{
	struct trace_ring *r = trace_ring_new(&t->shared, t->buffer);

	if (r == NULL) {
		log_error(NULL, "trace: out of memory");
		return NULL;
	}
	pthread_mutex_lock(&t->lock);
	SLIST_INSERT_HEAD(&t->rings, r, next);
	pthread_mutex_unlock(&t->lock);
	return r;
}

void trace_count(const struct trace *t, struct trace_counts *out)
{
	/* The lock is no part of what a count leaves unchanged. */
	struct trace *own = (struct trace *)(uintptr_t)t;
	struct trace_ring *r;

	*out = (struct trace_counts){
		.written = atomic_load(&t->file.written),
		.lost_write = atomic_load(&t->file.lost_write),
		.lost_room = atomic_load(&t->lost_memory),
	};
	pthread_mutex_lock(&own->lock);
	out->lost_room += t->lost_gone;
	SLIST_FOREACH(r, &t->rings, next)
		out->lost_room += trace_ring_lost(r);
	pthread_mutex_unlock(&own->lock);
}
