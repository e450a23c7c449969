/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr - where to listen and whom to dial: texts, names and socket addresses.
 *
 * Owns: nothing. Any thread.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/addr.h"

static bool parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long v;

	if (*text < '0' || *text > '9')
		return false;
	v = strtoul(text, &end, 10);
	if (*end != '\0' || v > 65535)
		return false;
	*port = (uint16_t)v;
	return true;
}

static bool parse_unix(const char *path, struct addr_spec *spec,
		       const char **why)
{
	size_t len = strlen(path);

	if (len == 0 || path[0] != '/') {
		*why = "a unix socket needs an absolute path: unix:/PATH";
		return false;
	}
	if (len >= sizeof(spec->path)) {
		*why = "the path of a unix socket has at most 107 bytes";
		return false;
	}
	spec->is_unix = true;
	memcpy(spec->path, path, len + 1);
	return true;
}

bool addr_parse(const char *text, struct addr_spec *spec, const char **why)
{
	const char *host = text, *host_end, *colon;

	memset(spec, 0, sizeof(*spec));
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text + 5, spec, why);

	colon = strrchr(text, ':');
	if (colon == NULL) {
		*why = "the port is missing: ADDR:PORT";
		return false;
	}
	host_end = colon;
	if (text[0] == '[') {
		if (colon == text + 1 || colon[-1] != ']') {
			*why = "an address in brackets is written [ADDR]:PORT";
			return false;
		}
		host = text + 1;
		host_end = colon - 1;
	} else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
		*why = "an IPv6 address needs brackets: [ADDR]:PORT";
		return false;
	}
	if ((size_t)(host_end - host) >= sizeof(spec->host)) {
		*why = "the host name is longer than 255 bytes";
		return false;
	}
	memcpy(spec->host, host, (size_t)(host_end - host));
	if (!parse_port(colon + 1, &spec->port)) {
		*why = "the port must be a number from 0 to 65535";
		return false;
	}
	return true;
}

static size_t resolve_unix(const struct addr_spec *spec, struct addr *out)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->ss;

	memset(&out->ss, 0, sizeof(out->ss));
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, spec->path, sizeof(un->sun_path));
	out->len = sizeof(*un);
	return 1;
}

/* One socket on :: serves both families, so it alone is wanted for "any". */
static size_t resolve_any(const struct addr_spec *spec, struct addr *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&out[0].ss;
	struct sockaddr_in *in4 = (struct sockaddr_in *)&out[1].ss;

	memset(out, 0, 2 * sizeof(*out));
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_any;
	in6->sin6_port = htons(spec->port);
	out[0].len = sizeof(*in6);
	in4->sin_family = AF_INET;	/* where the kernel has no IPv6 */
	in4->sin_addr.s_addr = htonl(INADDR_ANY);
	in4->sin_port = htons(spec->port);
	out[1].len = sizeof(*in4);
	return 2;
}

size_t addr_resolve(const struct addr_spec *spec, bool is_listen,
		    struct addr out[ADDR_RESOLVED_MAX], const char **why)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	char port[8];
	size_t n = 0;
	int rc;

	if (spec->is_unix)
		return resolve_unix(spec, out);
	if (spec->host[0] == '\0' && is_listen)
		return resolve_any(spec, out);

	snprintf(port, sizeof(port), "%u", spec->port);
	hints.ai_flags = AI_NUMERICSERV | (is_listen ? AI_PASSIVE : 0);
	rc = getaddrinfo(spec->host[0] ? spec->host : NULL, port, &hints,
			 &list);
	if (rc != 0) {
		*why = gai_strerror(rc);
		return 0;
	}
	for (ai = list; ai != NULL && n < ADDR_RESOLVED_MAX; ai = ai->ai_next) {
		memset(&out[n].ss, 0, sizeof(out[n].ss));
		memcpy(&out[n].ss, ai->ai_addr, ai->ai_addrlen);
		out[n].len = ai->ai_addrlen;
		n++;
	}
	freeaddrinfo(list);
	return n;
}

void addr_text(const struct addr *a, char out[ADDR_TEXT_MAX])
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)&a->ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->ss;
	const struct sockaddr_un *un = (const struct sockaddr_un *)&a->ss;
	char host[INET6_ADDRSTRLEN];

	switch (a->ss.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
		snprintf(out, ADDR_TEXT_MAX, "%s:%u", host,
			 ntohs(in4->sin_port));
		return;
	case AF_INET6:
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], host,
				  sizeof(host));
			snprintf(out, ADDR_TEXT_MAX, "%s:%u", host,
				 ntohs(in6->sin6_port));
			return;
		}
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(out, ADDR_TEXT_MAX, "[%s]:%u", host,
			 ntohs(in6->sin6_port));
		return;
	case AF_UNIX:
		/* A client's end has no path of its own. */
		snprintf(out, ADDR_TEXT_MAX, "unix:%s",
			 a->len > sizeof(sa_family_t) ? un->sun_path : "");
		return;
	default:
		snprintf(out, ADDR_TEXT_MAX, "unknown");
	}
}
