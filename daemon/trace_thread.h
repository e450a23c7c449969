/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_thread - the thread that turns the workers' records into lines.
 *
 * What trace.c and the thread have in common; of no concern to anybody else.
 */
#ifndef FOREBRICK_DAEMON_TRACE_THREAD_H
#define FOREBRICK_DAEMON_TRACE_THREAD_H

#include <pthread.h>

#include "daemon/trace_file.h"
#include "daemon/trace_ring.h"

/* What the thread is to do. */
struct trace_orders {
	bool is_changed;	/* path and format are new */
	char *path;		/* owned; NULL: no trace */
	enum trace_format format;
	bool wants_reopen;
	bool wants_stop;	/* stays set */
};

struct trace {
	struct trace_shared shared;
	size_t buffer;
	pthread_t thread;

	pthread_mutex_t lock;	/* of the following */
	struct trace_orders orders;
	SLIST_HEAD(, trace_ring) rings;	/* links: changed by the thread alone */
	uint64_t lost_gone;	/* of rings that are no more */

	/* the thread's */
	struct trace_file file;
	enum trace_format format;
	bool is_leaving;	/* trace is off: close once all is written */
	bool is_tired;		/* a nap has brought nothing */
	uint64_t told_us;
	_Atomic uint64_t lost_memory;	/* no memory for a line */
};

/* Do what was ordered. Returns true when the thread shall stop. */
bool trace_thread_take_orders(struct trace *t);

/* The thread's whole life; arg is the trace. */
void *trace_thread_run(void *arg);

#endif
