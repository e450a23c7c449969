/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker - a thread with an event loop and the sessions on it.
 *
 * Nothing is shared between workers. Others reach one by leaving a message.
 */
#ifndef FOREBRICK_DAEMON_WORKER_H
#define FOREBRICK_DAEMON_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/addr.h"
#include "daemon/route.h"
#include "daemon/trace.h"

struct worker;

/*
 * Start a worker's thread.
 *
 *   trace  its ring is opened here and closed by worker_stop()
 *   live   count of the process's sessions; each one's end takes one off
 *
 * Returns NULL, and logs why, when it cannot be started.
 */
struct worker *worker_start(unsigned number, struct trace *trace,
			    _Atomic size_t *live);

/* Hand over an accepted socket. False without memory: fd is the caller's. */
bool worker_adopt(struct worker *w, int fd, const struct addr *client,
		  struct route *route, uint64_t id);

/* Sessions that it has, roughly. */
size_t worker_load(const struct worker *w);

/* Drain all sessions; what is left at deadline_us (monotonic) is closed. */
void worker_drain(struct worker *w, uint64_t deadline_us);

/* Close what is left, end the thread and free it. */
void worker_stop(struct worker *w);

#endif
