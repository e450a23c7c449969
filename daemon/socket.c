/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket - sockets as this daemon wants them: listening, dialling, tuned.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/socket.h"

static void set_int(int fd, int level, int option, int64_t value)
{
	int v = value > INT32_MAX ? INT32_MAX : (int)value;

	/* What the system does not know costs comfort, not correctness. */
	(void)setsockopt(fd, level, option, &v, sizeof(v));
}

static int64_t whole_seconds(uint64_t us)
{
	return (int64_t)((us + 999999) / 1000000);
}

void socket_tune(int fd, const struct addr *peer,
		 const struct listener_settings *set)
{
	if (peer->ss.ss_family == AF_UNIX)
		return;
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		(int64_t)(set->user_timeout_us / 1000));
	if (set->keepalive_time_us == 0)
		return;
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE,
		whole_seconds(set->keepalive_time_us));
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
		whole_seconds(set->keepalive_interval_us));
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, set->keepalive_count);
}

int socket_dial(const struct addr *to, const struct listener_settings *set)
{
	int fd = socket(to->ss.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	socket_tune(fd, to, set);
	if (connect(fd, (const struct sockaddr *)&to->ss, to->len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Does somebody answer on this unix socket? */
static bool is_in_use(const struct addr *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool refused;

	if (fd < 0)
		return true;
	refused = connect(fd, (const struct sockaddr *)&a->ss, a->len) < 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return !refused;
}

static int bind_unix(int fd, const struct addr *a, uint32_t mode)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&a->ss;
	mode_t old = umask((mode_t)(~mode & 0777));
	int rc = bind(fd, (const struct sockaddr *)&a->ss, a->len);

	if (rc < 0 && errno == EADDRINUSE && !is_in_use(a)) {
		struct stat st;

		if (lstat(un->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		    unlink(un->sun_path) == 0)
			rc = bind(fd, (const struct sockaddr *)&a->ss, a->len);
	}
	umask(old);
	return rc;
}

static int bind_tcp(int fd, const struct addr *a)
{
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (a->ss.ss_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	return bind(fd, (const struct sockaddr *)&a->ss, a->len);
}

static int listen_on(const struct addr *a, const struct listener_settings *set)
{
	int fd = socket(a->ss.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc, error;

	if (fd < 0)
		return -errno;
	rc = a->ss.ss_family == AF_UNIX ? bind_unix(fd, a, set->unix_mode) :
					  bind_tcp(fd, a);
	if (rc == 0)
		rc = listen(fd, (int)set->backlog);
	if (rc == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

int socket_listen(const struct listener_settings *set, struct addr *bound,
		  struct settings_error *error)
{
	struct addr at[ADDR_RESOLVED_MAX];
	struct addr_spec spec;
	const char *why = "";
	size_t n = 0;
	int fd = -EADDRNOTAVAIL;

	if (addr_parse(set->listen, &spec, &why))
		n = addr_resolve(&spec, true, at, &why);
	for (size_t i = 0; i < n && fd < 0; i++)
		fd = listen_on(&at[i], set);
	if (fd < 0) {
		snprintf(error->text, sizeof(error->text),
			 "listener %s: cannot listen on %s: %s", set->name,
			 set->listen, n == 0 ? why : strerror(-fd));
		return -1;
	}
	memset(bound, 0, sizeof(*bound));
	bound->len = sizeof(bound->ss);
	if (getsockname(fd, (struct sockaddr *)&bound->ss, &bound->len) < 0)
		bound->len = 0;
	return fd;
}
