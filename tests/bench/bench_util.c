/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_util - what the programs of tests/bench/ have in common.
 *
 * Owns: nothing; sockets and samples are the caller's.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/bench_util.h"

struct unit {
	const char *name;
	double factor;
};

void die(int error, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (error != 0)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(1);
}

static bool parse_with_unit(const char *text, const struct unit *units,
			    uint64_t *out)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0))
		return false;
	for (; units->name != NULL; units++) {
		double scaled = value * units->factor;

		if (strcmp(end, units->name) != 0)
			continue;
		if (scaled > 9e18)
			return false;
		*out = (uint64_t)(scaled + 0.5);
		return true;
	}
	return false;
}

bool parse_time_ns(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
		{ NULL, 0 },
	};

	if (strcmp(text, "0") == 0) {
		*out = 0;
		return true;
	}
	return parse_with_unit(text, units, out);
}

bool parse_size(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "K", 1024 }, { "KiB", 1024 },
		{ "M", 1048576 }, { "MiB", 1048576 },
		{ "G", 1073741824 }, { "GiB", 1073741824 },
		{ NULL, 0 },
	};

	return parse_with_unit(text, units, out);
}

/* The first address of HOST:PORT. */
static struct addrinfo *resolve(const char *where, int flags)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = flags };
	const char *colon = strrchr(where, ':');
	struct addrinfo *found = NULL;
	char host[256];
	size_t len;
	int rc;

	if (colon == NULL || (size_t)(colon - where) >= sizeof(host))
		die(0, "%s is not HOST:PORT", where);
	len = (size_t)(colon - where);
	memcpy(host, where, len);
	host[len] = '\0';
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		memmove(host, host + 1, len - 1);
	}
	rc = getaddrinfo(len ? host : NULL, colon + 1, &hints, &found);
	if (rc != 0)
		die(0, "%s: %s", where, gai_strerror(rc));
	return found;
}

void tcp_nodelay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int tcp_listen(const char *where, unsigned *port)
{
	struct addrinfo *ai = resolve(where, AI_PASSIVE);
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int on = 1, fd;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		die(errno, "no socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, 4096) < 0)
		die(errno, "cannot listen on %s", where);
	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		die(errno, "getsockname");
	*port = ntohs(ss.ss_family == AF_INET6 ?
			      ((struct sockaddr_in6 *)&ss)->sin6_port :
			      ((struct sockaddr_in *)&ss)->sin_port);
	freeaddrinfo(ai);
	return fd;
}

int tcp_dial(const char *where, bool nonblocking)
{
	struct addrinfo *ai = resolve(where, 0);
	int flags = SOCK_STREAM | SOCK_CLOEXEC;
	int fd, rc = 0;

	if (nonblocking)
		flags |= SOCK_NONBLOCK;
	fd = socket(ai->ai_family, flags, 0);
	if (fd < 0) {
		freeaddrinfo(ai);
		return -errno;
	}
	tcp_nodelay(fd);
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 &&
	    errno != EINPROGRESS)
		rc = -errno;
	freeaddrinfo(ai);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

void samples_add(struct samples *s, uint64_t value)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 4096;
		s->values = realloc(s->values, s->cap * sizeof(*s->values));
		if (s->values == NULL)
			die(ENOMEM, "samples");
	}
	s->values[s->count++] = value;
	s->is_sorted = false;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t samples_percentile(struct samples *s, double part)
{
	size_t at;

	if (s->count == 0)
		return 0;
	if (!s->is_sorted)
		qsort(s->values, s->count, sizeof(*s->values), compare);
	s->is_sorted = true;
	at = (size_t)(part * (double)s->count);
	return s->values[at < s->count ? at : s->count - 1];
}

double samples_mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += (double)s->values[i];
	return s->count ? sum / (double)s->count : 0;
}

void samples_clear(struct samples *s)
{
	free(s->values);
	*s = (struct samples){ .values = NULL };
}
