/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_addr - addresses as they are written, resolved and shown.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/addr.h"
#include "tests/unit/test.h"

static void host_and_port_are_taken_apart(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} rows[] = {
		{ "127.0.0.1:49152", "127.0.0.1", 49152 },
		{ "brick-1.example:24007", "brick-1.example", 24007 },
		{ "[::1]:24007", "::1", 24007 },
		{ "[fe80::1%eth0]:1", "fe80::1%eth0", 1 },
		{ ":24007", "", 24007 },
		{ "host:0", "host", 0 },
		{ "host:65535", "host", 65535 },
		{ "host:00080", "host", 80 },
		{ "unix:80", NULL, 0 },		/* never a host named unix */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct addr_spec spec;
		const char *why = NULL;

		if (rows[i].host == NULL) {
			assert_false(addr_parse(rows[i].text, &spec, &why));
			assert_non_null(why);
			continue;
		}
		assert_true(addr_parse(rows[i].text, &spec, &why));
		assert_false(spec.is_unix);
		assert_string_equal(spec.host, rows[i].host);
		assert_int_equal(spec.port, rows[i].port);
	}
}

static void what_is_no_address_is_refused_with_a_reason(void **state)
{
	static const char *const texts[] = {
		"", "host", "host:", "host:x", "host:1x", "host: 1", "host:+1",
		"host:-1", "host:65536", "host:99999999999999999999999",
		"::1:80", "::1", "[::1]", "[::1:80", "[::1]80", "[", "[]",
		"[:1",
		"unix:", "unix:relative", "unix:./x", "1.2.3.4:80 ",
	};
	char longer[400];
	struct addr_spec spec;
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		why = NULL;
		assert_false(addr_parse(texts[i], &spec, &why));
		assert_non_null(why);
	}
	memset(longer, 'a', sizeof(longer));
	memcpy(longer + 256, ":80", 4);
	why = NULL;
	assert_false(addr_parse(longer, &spec, &why));
	assert_non_null(why);
	assert_true(addr_parse(longer + 1, &spec, &why));
	assert_int_equal(strlen(spec.host), 255);
}

static void a_unix_path_has_at_most_107_bytes(void **state)
{
	char text[5 + 109];
	struct addr_spec spec;
	struct addr out[ADDR_RESOLVED_MAX];
	const char *why = NULL;
	char shown[ADDR_TEXT_MAX];

	(void)state;
	memset(text, 'p', sizeof(text));
	memcpy(text, "unix:/", 6);
	text[5 + 108] = '\0';
	assert_false(addr_parse(text, &spec, &why));
	text[5 + 107] = '\0';
	assert_true(addr_parse(text, &spec, &why));
	assert_true(spec.is_unix);
	assert_string_equal(spec.path, text + 5);
	assert_int_equal(addr_resolve(&spec, false, out, &why), 1);
	addr_text(&out[0], shown);
	assert_string_equal(shown, text);
}

static size_t resolve(const char *text, bool is_listen, struct addr *out)
{
	struct addr_spec spec;
	const char *why = NULL;
	size_t n;

	assert_true(addr_parse(text, &spec, &why));
	n = addr_resolve(&spec, is_listen, out, &why);
	if (n == 0)
		assert_non_null(why);
	return n;
}

static void numbers_resolve_to_themselves(void **state)
{
	static const char *const texts[] = { "127.0.0.1:49152", "[::1]:24007",
					     "unix:/run/brick.socket",
					     "10.0.0.255:0" };
	struct addr out[ADDR_RESOLVED_MAX];
	char shown[ADDR_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		memset(out, 0xee, sizeof(out));
		assert_int_equal(resolve(texts[i], i % 2 == 0, out), 1);
		addr_text(&out[0], shown);
		assert_string_equal(shown, texts[i]);
	}
}

static void to_listen_anywhere_is_v6_for_both_then_v4(void **state)
{
	struct addr out[ADDR_RESOLVED_MAX];
	char shown[ADDR_TEXT_MAX];

	(void)state;
	assert_int_equal(resolve(":24007", true, out), 2);
	addr_text(&out[0], shown);
	assert_string_equal(shown, "[::]:24007");
	addr_text(&out[1], shown);
	assert_string_equal(shown, "0.0.0.0:24007");
}

static void to_dial_nowhere_is_this_host(void **state)
{
	struct addr out[ADDR_RESOLVED_MAX];
	char shown[ADDR_TEXT_MAX];
	size_t n = resolve(":24007", false, out);

	(void)state;
	assert_true(n >= 1);
	for (size_t i = 0; i < n; i++) {
		addr_text(&out[i], shown);
		assert_true(strcmp(shown, "[::1]:24007") == 0 ||
			    strcmp(shown, "127.0.0.1:24007") == 0);
	}
}

static void no_address_comes_twice(void **state)
{
	struct addr out[ADDR_RESOLVED_MAX];
	size_t n = resolve("localhost:24007", false, out);

	(void)state;
	assert_true(n >= 1);
	for (size_t i = 1; i < n; i++)
		assert_false(out[i].len == out[i - 1].len &&
			     memcmp(&out[i].ss, &out[i - 1].ss, out[i].len) ==
				     0);
}

static void a_bad_name_gives_a_reason(void **state)
{
	struct addr out[ADDR_RESOLVED_MAX];

	(void)state;
	assert_int_equal(resolve("bad..name:1", false, out), 0);
}

static void a_mapped_address_is_shown_as_v4(void **state)
{
	struct addr a = { .len = sizeof(struct sockaddr_in6) };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a.ss;
	char shown[ADDR_TEXT_MAX];

	(void)state;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(1023);
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.7",
				   &in6->sin6_addr), 1);
	addr_text(&a, shown);
	assert_string_equal(shown, "192.0.2.7:1023");
}

static void a_unix_client_has_no_path(void **state)
{
	struct addr a = { .len = sizeof(a.ss) };
	char shown[ADDR_TEXT_MAX];
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(getpeername(fds[0], (struct sockaddr *)&a.ss, &a.len),
			 0);
	addr_text(&a, shown);
	assert_string_equal(shown, "unix:");
	close(fds[0]);
	close(fds[1]);
}

static void what_is_not_known_is_said_so(void **state)
{
	struct addr a = { .len = 0 };
	char shown[ADDR_TEXT_MAX];

	(void)state;
	addr_text(&a, shown);
	assert_string_equal(shown, "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_port_are_taken_apart),
		cmocka_unit_test(what_is_no_address_is_refused_with_a_reason),
		cmocka_unit_test(a_unix_path_has_at_most_107_bytes),
		cmocka_unit_test(numbers_resolve_to_themselves),
		cmocka_unit_test(to_listen_anywhere_is_v6_for_both_then_v4),
		cmocka_unit_test(to_dial_nowhere_is_this_host),
		cmocka_unit_test(no_address_comes_twice),
		cmocka_unit_test(a_bad_name_gives_a_reason),
		cmocka_unit_test(a_mapped_address_is_shown_as_v4),
		cmocka_unit_test(a_unix_client_has_no_path),
		cmocka_unit_test(what_is_not_known_is_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
