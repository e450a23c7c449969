/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify - tell the service manager how the daemon is, where there is one.
 *
 * Without libsystemd, or when NOTIFY_SOCKET is not set, nothing is sent.
 *
 * Owns: nothing. Main thread only.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/notify.h"

#ifdef HAVE_SYSTEMD
#define send_state(...) check_sent(sd_notifyf(0, __VA_ARGS__))

static void check_sent(int rc)
{
	if (rc < 0)
		log_warn(NULL, "the service manager cannot be told: %s",
			 strerror(-rc));
}
#else
__attribute__((format(printf, 1, 2)))
static void send_state(const char *fmt, ...)
{
	(void)fmt;
}
#endif

void notify_ready(void)
{
	send_state("READY=1\nSTATUS=serving\n");
}

/* The time tells the manager this reload from an earlier one. */
void notify_reloading(void)
{
	send_state("RELOADING=1\nMONOTONIC_USEC=%" PRIu64
		   "\nSTATUS=reloading the configuration\n", clock_mono_us());
}

void notify_stopping(void)
{
	send_state("STOPPING=1\nSTATUS=draining: waiting for outstanding "
		   "calls\n");
}
