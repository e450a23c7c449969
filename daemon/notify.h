/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify - tell the service manager how the daemon is, where there is one.
 */
#ifndef FOREBRICK_DAEMON_NOTIFY_H
#define FOREBRICK_DAEMON_NOTIFY_H

void notify_ready(void);	/* also when a reload is over */
void notify_reloading(void);
void notify_stopping(void);

#endif
