/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_socket - sockets are where and as the settings want them.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/socket.h"
#include "tests/unit/test.h"

struct fixture {
	char dir[64];
	char path[96];		/* of a unix socket in it */
	char listen[112];	/* "unix:" and the path */
	struct listener_settings set;
	struct settings_error error;
	struct addr bound;
};

static char name[] = "main";

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_socket.XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/s", f->dir);
	snprintf(f->listen, sizeof(f->listen), "unix:%s", f->path);
	f->set.name = name;
	f->set.listen = f->listen;
	f->set.backlog = 10;
	f->set.unix_mode = 0600;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	int rc;

	unlink(f->path);
	rc = rmdir(f->dir);
	free(f);
	return rc;
}

static int listen_at(struct fixture *f, char *where)
{
	f->set.listen = where;
	return socket_listen(&f->set, &f->bound, &f->error);
}

static void a_chosen_port_is_reported(void **state)
{
	static char where[] = "127.0.0.1:0";
	struct fixture *f = *state;
	int fd = listen_at(f, where), to;
	char text[ADDR_TEXT_MAX];

	assert_true(fd >= 0);
	addr_text(&f->bound, text);
	assert_memory_equal(text, "127.0.0.1:", 10);
	assert_string_not_equal(text, where);
	to = socket_dial(&f->bound, &f->set);
	assert_true(to >= 0);
	close(to);
	close(fd);
}

static void one_socket_serves_both_families(void **state)
{
	static char where[] = ":0";
	struct fixture *f = *state;
	int fd = listen_at(f, where);
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	int to = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	/* The port is at the same place for both families. */
	v4.sin_port = ((struct sockaddr_in *)&f->bound.ss)->sin_port;
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(to, (struct sockaddr *)&v4, sizeof(v4)), 0);
	close(to);
	close(fd);
}

static void a_port_in_use_is_refused_with_its_name(void **state)
{
	static char where[] = "127.0.0.1:0";
	char again[ADDR_TEXT_MAX];
	struct fixture *f = *state;
	int fd = listen_at(f, where);

	addr_text(&f->bound, again);
	assert_int_equal(listen_at(f, again), -1);
	assert_non_null(strstr(f->error.text, "listener main"));
	assert_non_null(strstr(f->error.text, again));
	assert_non_null(strstr(f->error.text, "in use"));
	close(fd);
}

static void a_unix_socket_has_its_mode(void **state)
{
	static const uint32_t modes[] = { 0600, 0660, 0666, 0 };
	struct fixture *f = *state;
	mode_t mask = umask(022);

	for (size_t i = 0; i < COUNT(modes); i++) {
		struct stat st;
		int fd;

		f->set.unix_mode = modes[i];
		fd = listen_at(f, f->listen);
		assert_true(fd >= 0);
		assert_int_equal(stat(f->path, &st), 0);
		assert_true(S_ISSOCK(st.st_mode));
		assert_int_equal(st.st_mode & 0777, modes[i]);
		close(fd);
		unlink(f->path);
	}
	assert_int_equal(umask(mask), 022);
}

static void a_stale_unix_socket_is_replaced(void **state)
{
	struct fixture *f = *state;
	int fd = listen_at(f, f->listen), again, to;

	assert_true(fd >= 0);
	close(fd);		/* its file stays */
	again = listen_at(f, f->listen);
	assert_true(again >= 0);
	to = socket_dial(&f->bound, &f->set);
	assert_true(to >= 0);
	close(to);
	close(again);
}

static void a_unix_socket_in_use_is_left_alone(void **state)
{
	struct fixture *f = *state;
	int fd = listen_at(f, f->listen), to;

	assert_true(fd >= 0);
	assert_int_equal(listen_at(f, f->listen), -1);
	assert_non_null(strstr(f->error.text, "in use"));
	to = socket_dial(&f->bound, &f->set);
	assert_true(to >= 0);
	close(to);
	close(fd);
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
	struct fixture *f = *state;
	int fd = open(f->path, O_CREAT | O_WRONLY, 0600);
	struct stat st;

	close(fd);
	assert_int_equal(listen_at(f, f->listen), -1);
	assert_int_equal(stat(f->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static int option(int fd, int level, int which)
{
	socklen_t len = sizeof(int);
	int v = -1;

	assert_int_equal(getsockopt(fd, level, which, &v, &len), 0);
	return v;
}

static void a_tcp_socket_is_tuned(void **state)
{
	static char where[] = "127.0.0.1:0";
	struct fixture *f = *state;
	int fd = listen_at(f, where), to;

	f->set.keepalive_time_us = 20500000;
	f->set.keepalive_interval_us = 2000000;
	f->set.keepalive_count = 9;
	f->set.user_timeout_us = 42000000;
	to = socket_dial(&f->bound, &f->set);
	assert_true(to >= 0);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(to, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPIDLE), 21);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPINTVL), 2);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPCNT), 9);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_USER_TIMEOUT), 42000);
	assert_true(fcntl(to, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(to, F_GETFD) & FD_CLOEXEC);
	close(to);
	f->set.keepalive_time_us = f->set.user_timeout_us = 0;
	to = socket_dial(&f->bound, &f->set);
	assert_int_equal(option(to, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
	close(to);
	close(fd);
}

/* What is longest in the settings is not more than the system takes. */
static void the_longest_times_are_taken(void **state)
{
	static char where[] = "127.0.0.1:0";
	const uint64_t nine_hours = 9ull * 3600 * 1000000;
	struct fixture *f = *state;
	int fd = listen_at(f, where), to;

	f->set.keepalive_time_us = f->set.keepalive_interval_us = nine_hours;
	f->set.keepalive_count = 127;
	f->set.user_timeout_us = nine_hours;
	to = socket_dial(&f->bound, &f->set);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPIDLE), 9 * 3600);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPINTVL), 9 * 3600);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_KEEPCNT), 127);
	assert_int_equal(option(to, IPPROTO_TCP, TCP_USER_TIMEOUT),
			 9 * 3600 * 1000);
	close(to);
	close(fd);
}

static void dialling_a_unix_socket_that_is_not_there_fails_at_once(void **state)
{
	struct fixture *f = *state;
	int fd = listen_at(f, f->listen);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(socket_dial(&f->bound, &f->set), -ECONNREFUSED);
	unlink(f->path);
	assert_int_equal(socket_dial(&f->bound, &f->set), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_chosen_port_is_reported),
		TEST(one_socket_serves_both_families),
		TEST(a_port_in_use_is_refused_with_its_name),
		TEST(a_unix_socket_has_its_mode),
		TEST(a_stale_unix_socket_is_replaced),
		TEST(a_unix_socket_in_use_is_left_alone),
		TEST(a_file_that_is_no_socket_is_left_alone),
		TEST(a_tcp_socket_is_tuned),
		TEST(the_longest_times_are_taken),
		TEST(dialling_a_unix_socket_that_is_not_there_fails_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
