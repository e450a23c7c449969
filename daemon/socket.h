/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket - sockets as this daemon wants them: listening, dialling, tuned.
 */
#ifndef FOREBRICK_DAEMON_SOCKET_H
#define FOREBRICK_DAEMON_SOCKET_H

#include "daemon/addr.h"
#include "daemon/settings.h"

/*
 * Listen where a listener's settings say. A unix socket that nobody answers on
 * is replaced; one that is in use is not.
 *
 *   bound  where it listens, the port the system chose included
 *
 * Returns the descriptor, or -1 with the cause in the error.
 */
int socket_listen(const struct listener_settings *set, struct addr *bound,
		  struct settings_error *error);

/* Begin to connect. Returns the descriptor or -errno. Never blocks. */
int socket_dial(const struct addr *to, const struct listener_settings *set);

/* Small calls leave at once, and a dead peer is noticed. TCP only. */
void socket_tune(int fd, const struct addr *peer,
		 const struct listener_settings *set);

#endif
