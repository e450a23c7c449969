/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_server - listeners, workers and their threads, from start to stop.
 *
 * Clients and bricks are plain sockets of this thread, which also runs the main
 * loop. What the workers do is waited for with a deadline.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/server.h"
#include "tests/unit/peer.h"
#include "tests/unit/rpc_bytes.h"
#include "tests/unit/test.h"

enum {
	CONNS_MAX = 256,
	PATIENCE_US = 20 * 1000 * 1000,
	REPLY_SIZE = 48,
	CALL_SIZE = 96,
};

/* A brick that answers each call, unless it is told to be silent. */
struct brick {
	const char *path;
	int listen_fd;
	bool is_silent;
	struct peer conns[CONNS_MAX];
	size_t count;		/* accepted so far */
	size_t calls;
};

static char dir[64];		/* of all the sockets and files */

struct fixture {
	char front[2][112];	/* "unix:..." of up to two listeners */
	char back[2][112];
	struct brick bricks[2];
	struct event_base *base;
	struct server *server;
	struct settings_error error;
	struct peer clients[CONNS_MAX];
};

static void open_brick(struct brick *b, const char *where)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	b->path = where + strlen("unix:");
	memcpy(un.sun_path, b->path, strlen(b->path) + 1);
	b->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(b->listen_fd, (struct sockaddr *)&un,
			      sizeof(un)), 0);
	assert_int_equal(listen(b->listen_fd, 1024), 0);
	for (int i = 0; i < CONNS_MAX; i++)
		b->conns[i].fd = -1;
}

static void close_brick(struct brick *b)
{
	close(b->listen_fd);
	unlink(b->path);
	for (int i = 0; i < CONNS_MAX; i++)
		peer_close(&b->conns[i]);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(dir, "/tmp/test_server.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	for (int i = 0; i < 2; i++) {
		snprintf(f->front[i], sizeof(f->front[i]), "unix:%s/front%d",
			 dir, i);
		snprintf(f->back[i], sizeof(f->back[i]), "unix:%s/back%d",
			 dir, i);
		open_brick(&f->bricks[i], f->back[i]);
	}
	for (int i = 0; i < CONNS_MAX; i++)
		f->clients[i].fd = -1;
	f->base = event_base_new();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[128];

	for (int i = 0; i < CONNS_MAX; i++)
		peer_close(&f->clients[i]);
	if (f->server != NULL)
		server_stop(f->server);
	event_base_free(f->base);
	for (int i = 0; i < 2; i++)
		close_brick(&f->bricks[i]);
	log_close();
	snprintf(path, sizeof(path), "%s/conf", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/log", dir);
	unlink(path);
	/* Listeners have taken their sockets' files with them. */
	assert_int_equal(rmdir(dir), 0);
	free(f);
	return 0;
}

/* A configuration of lines before the listeners, and up to two of these. */
static struct settings *configure(struct fixture *f, const char *globals,
				  const char *front0, const char *back0,
				  const char *front1, const char *back1)
{
	char path[128];
	struct settings *s;
	FILE *file;

	snprintf(path, sizeof(path), "%s/conf", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "workers = 3\nlog_file = \"%s/log\"\n%s\n", dir,
		globals);
	fprintf(file, "listener \"a\" {\n listen = \"%s\"\n "
		"brick = \"%s\"\n}\n", front0, back0);
	if (front1 != NULL)
		fprintf(file, "listener \"b\" {\n listen = \"%s\"\n "
			"brick = \"%s\"\n}\n", front1, back1);
	fclose(file);
	s = settings_load(path, NULL, 0, &f->error);
	if (s == NULL)
		fail_msg("%s", f->error.text);
	return s;
}

static void start(struct fixture *f, const char *globals)
{
	struct settings *s = configure(f, globals, f->front[0], f->back[0],
				       NULL, NULL);

	assert_true(log_open(s->log_file, LOG_LEVEL_INFO));
	f->server = server_start(f->base, s, &f->error);
	if (f->server == NULL)
		fail_msg("%s", f->error.text);
	settings_put(s);
}

static bool reload(struct fixture *f, struct settings *s)
{
	bool ok = server_reload(f->server, s, &f->error);

	settings_put(s);
	return ok;
}

/* Records in, replies out. */
static void serve(struct brick *b, struct peer *p)
{
	size_t at = 0;

	while (p->len - at >= CALL_SIZE + 4 && !b->is_silent) {
		struct bytes reply = { .len = 0 };
		size_t mark = begin_record(&reply);

		put_reply_head(&reply, gfp_be32(p->got + at + 4));
		put_fill(&reply, REPLY_SIZE - 24, 0x11);
		end_record(&reply, mark);
		peer_write(p, span_of(&reply));
		at += CALL_SIZE + 4;
		b->calls++;
	}
	peer_forget(p, at);
}

static void brick_pass(struct brick *b)
{
	int fd;

	while (b->count < CONNS_MAX &&
	       (fd = accept(b->listen_fd, NULL, NULL)) >= 0)
		peer_start(&b->conns[b->count++], fd);
	for (size_t i = 0; i < b->count; i++) {
		if (b->conns[i].fd < 0)
			continue;
		peer_read(&b->conns[i], SIZE_MAX);
		serve(b, &b->conns[i]);
		if (b->conns[i].has_ended)
			peer_close(&b->conns[i]);
	}
}

static void pass(struct fixture *f)
{
	loop_pass(f->base);
	for (int i = 0; i < 2; i++)
		brick_pass(&f->bricks[i]);
	for (int i = 0; i < CONNS_MAX; i++)
		if (f->clients[i].fd >= 0)
			peer_read(&f->clients[i], SIZE_MAX);
	poll(NULL, 0, 1);	/* the workers need the processor, too */
}

#define UNTIL(f, condition)                                                \
	do {                                                               \
		uint64_t until_ = clock_mono_us() + PATIENCE_US;           \
		while (!(condition) && clock_mono_us() < until_)           \
			pass(f);                                           \
		assert_true(condition);                                    \
	} while (0)

static bool dial(struct fixture *f, int i, const char *where)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(un.sun_path, where + strlen("unix:"));
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) != 0) {
		close(fd);
		return false;
	}
	peer_start(&f->clients[i], fd);
	return true;
}

static void send_call(struct fixture *f, int i, uint32_t xid)
{
	struct bytes b = { .len = 0 };
	size_t at = begin_record(&b);

	put_plain_head(&b, xid, 0x20000001, 1, 7);
	put_fill(&b, CALL_SIZE + 4 - b.len, 0);
	end_record(&b, at);
	assert_int_equal(peer_write(&f->clients[i], span_of(&b)), b.len);
}

static bool has_reply(const struct fixture *f, int i)
{
	return f->clients[i].len >= REPLY_SIZE + 4;
}

static void take_reply(struct fixture *f, int i, uint32_t xid)
{
	UNTIL(f, has_reply(f, i));
	assert_int_equal(gfp_be32(f->clients[i].got + 4), xid);
	peer_forget(&f->clients[i], REPLY_SIZE + 4);
}

static void exchange(struct fixture *f, int i, uint32_t xid)
{
	send_call(f, i, xid);
	take_reply(f, i, xid);
}

static size_t open_conns(const struct brick *b)
{
	size_t open = 0;

	for (size_t i = 0; i < b->count; i++)
		open += b->conns[i].fd >= 0;
	return open;
}

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		count++;
	closedir(d);
	return count;
}

static size_t logged(const char *text)
{
	char path[128], line[4096];
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/log", dir);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

/* ---- service ---- */

static void clients_on_all_workers_get_their_own_replies(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	for (int i = 0; i < 60; i++)
		assert_true(dial(f, i, f->front[0]));
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 60; i++)
			send_call(f, (int)i, i << 16 | round);
		for (uint32_t i = 0; i < 60; i++)
			take_reply(f, (int)i, i << 16 | round);
	}
	assert_int_equal(f->bricks[0].calls, 1200);
	assert_int_equal(f->bricks[0].count, 60);
	for (int i = 0; i < 60; i++)
		peer_close(&f->clients[i]);
	UNTIL(f, open_conns(&f->bricks[0]) == 0);
}

static void nothing_is_left_after_a_stop(void **state)
{
	struct fixture *f = *state;
	size_t fds = 0, threads = 0;

	for (int round = 0; round < 4; round++) {
		start(f, "");
		f->bricks[0].is_silent = false;
		for (int i = 0; i < 10; i++) {
			assert_true(dial(f, i, f->front[0]));
			exchange(f, i, 1);
		}
		f->bricks[0].is_silent = true;
		for (int i = 0; i < 10; i++)	/* with calls in flight */
			send_call(f, i, 2);
		pass(f);
		server_stop(f->server);
		f->server = NULL;
		for (int i = 0; i < 10; i++) {
			UNTIL(f, f->clients[i].has_ended);
			peer_close(&f->clients[i]);
		}
		UNTIL(f, open_conns(&f->bricks[0]) == 0);
		assert_false(dial(f, 0, f->front[0]));
		log_close();
		if (round > 0)
			assert_int_equal(fds, count_entries("/proc/self/fd"));
		fds = count_entries("/proc/self/fd");
		if (round > 0)
			assert_int_equal(threads,
					 count_entries("/proc/self/task"));
		threads = count_entries("/proc/self/task");
	}
}

/* Sockets whose numbers are used again at once, by clients of any fate. */
static void storms_of_short_clients_disturb_nobody(void **state)
{
	struct fixture *f = *state;
	size_t before;

	start(f, "");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	before = count_entries("/proc/self/fd");
	for (uint32_t round = 0; round < 20; round++) {
		for (int i = 1; i < 40; i++) {
			assert_true(dial(f, i, f->front[0]));
			if (i % 3 == 0)
				send_call(f, i, 5);
			if (i % 3 == 1)
				peer_close(&f->clients[i]);
		}
		exchange(f, 0, round);
		for (int i = 1; i < 40; i++)
			peer_close(&f->clients[i]);
		f->bricks[0].is_silent = false;
		exchange(f, 0, round);
		UNTIL(f, open_conns(&f->bricks[0]) <= 1);
		/* Forget the ended ones, so that there is room for more. */
		for (size_t i = 1; i < f->bricks[0].count; i++)
			peer_close(&f->bricks[0].conns[i]);
		f->bricks[0].count = 1;
		UNTIL(f, count_entries("/proc/self/fd") == before);
	}
}

static void at_the_limit_of_sessions_clients_wait(void **state)
{
	struct fixture *f = *state;

	start(f, "max_sessions = 2");
	for (int i = 0; i < 3; i++)
		assert_true(dial(f, i, f->front[0]));
	exchange(f, 0, 1);
	exchange(f, 1, 1);
	send_call(f, 2, 7);
	for (int i = 0; i < 300; i++)
		pass(f);
	assert_false(has_reply(f, 2));
	assert_false(f->clients[2].has_ended);
	exchange(f, 0, 2);
	peer_close(&f->clients[1]);
	take_reply(f, 2, 7);
	assert_in_range(logged("max_sessions"), 1, 12);
}

static void without_descriptors_clients_wait_and_nothing_spins(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, none;
	struct rusage from, to;
	int fd;
	long us;

	start(f, "");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	assert_true(dial(f, 1, f->front[0]));
	send_call(f, 1, 9);
	fd = dup(0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	getrusage(RUSAGE_SELF, &from);
	for (int i = 0; i < 300; i++) {
		struct timeval wait = { 0, 1000 };

		/* As the daemon runs it: asleep unless there is something. */
		event_base_loopexit(f->base, &wait);
		event_base_loop(f->base, 0);
	}
	getrusage(RUSAGE_SELF, &to);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	us = (to.ru_utime.tv_sec + to.ru_stime.tv_sec - from.ru_utime.tv_sec -
	      from.ru_stime.tv_sec) * 1000000 +
	     to.ru_utime.tv_usec + to.ru_stime.tv_usec - from.ru_utime.tv_usec -
	     from.ru_stime.tv_usec;
	assert_true(us < 200000);
	assert_in_range(logged("accept: Too many open files"), 1, 12);
	take_reply(f, 1, 9);
	exchange(f, 0, 2);
}

/* ---- draining ---- */

static bool has_left_loop(const struct fixture *f)
{
	return event_base_got_exit(f->base);
}

static void draining_answers_what_is_out_then_leaves_the_loop(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	for (int i = 0; i < 9; i++) {
		assert_true(dial(f, i, f->front[0]));
		exchange(f, i, 1);
	}
	f->bricks[0].is_silent = true;
	for (int i = 0; i < 9; i += 2)
		send_call(f, i, 5);
	UNTIL(f, f->bricks[0].conns[8].len > 0);
	server_drain(f->server);
	assert_false(dial(f, 10, f->front[0]));
	for (int i = 1; i < 9; i += 2)
		UNTIL(f, f->clients[i].has_ended);
	assert_false(f->clients[0].has_ended);
	assert_false(has_left_loop(f));
	f->bricks[0].is_silent = false;
	for (int i = 0; i < 9; i += 2) {
		take_reply(f, i, 5);
		UNTIL(f, f->clients[i].has_ended);
	}
	for (int i = 0; i < 9; i++)
		peer_close(&f->clients[i]);
	UNTIL(f, has_left_loop(f));
	assert_int_equal(open_conns(&f->bricks[0]), 0);
}

static void draining_does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;

	start(f, "drain_timeout = 100ms");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	f->bricks[0].is_silent = true;
	send_call(f, 0, 5);
	UNTIL(f, f->bricks[0].conns[0].len > 0);
	server_drain(f->server);
	UNTIL(f, has_left_loop(f));
	UNTIL(f, f->clients[0].has_ended);
	assert_int_equal(f->clients[0].len, 0);
}

static void an_idle_server_drains_at_once(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	server_drain(f->server);
	UNTIL(f, has_left_loop(f));
}

/* ---- reload ---- */

static void a_reload_adds_and_takes_away_listeners(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	assert_true(reload(f, configure(f, "", f->front[0], f->back[0],
					f->front[1], f->back[1])));
	assert_true(dial(f, 1, f->front[1]));
	exchange(f, 1, 1);
	assert_int_equal(f->bricks[1].count, 1);
	assert_true(reload(f, configure(f, "", f->front[1], f->back[1], NULL,
					NULL)));
	assert_false(dial(f, 2, f->front[0]));
	exchange(f, 0, 2);		/* the session stays */
	exchange(f, 1, 2);
}

static void a_new_brick_is_for_new_sessions(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	assert_true(reload(f, configure(f, "", f->front[0], f->back[1], NULL,
					NULL)));
	assert_true(dial(f, 1, f->front[0]));
	exchange(f, 1, 1);
	exchange(f, 0, 2);
	assert_int_equal(f->bricks[0].calls, 2);
	assert_int_equal(f->bricks[1].calls, 1);
}

static void a_reload_that_cannot_be_changes_nothing(void **state)
{
	struct fixture *f = *state;
	char taken[128];
	size_t fds;

	start(f, "");
	assert_true(dial(f, 0, f->front[0]));
	exchange(f, 0, 1);
	fds = count_entries("/proc/self/fd");
	/* what needs a restart */
	assert_false(reload(f, configure(f, "trace_buffer = 1MiB",
					 f->front[0], f->back[0], NULL,
					 NULL)));
	assert_non_null(strstr(f->error.text, "trace_buffer"));
	/* a listener that cannot be had, beside one that could */
	snprintf(taken, sizeof(taken), "unix:%s", f->bricks[1].path);
	assert_false(reload(f, configure(f, "", f->front[1], f->back[1], taken,
					 f->back[0])));
	assert_non_null(strstr(f->error.text, "in use"));
	assert_false(dial(f, 1, f->front[1]));
	/* a brick without an address */
	assert_false(reload(f, configure(f, "", f->front[0], "bad..name:1",
					 NULL, NULL)));
	assert_int_equal(count_entries("/proc/self/fd"), fds);
	exchange(f, 0, 2);
	assert_true(dial(f, 1, f->front[0]));
	exchange(f, 1, 3);
}

/* A configuration like the present one, but with another log. */
static struct settings *with_log(struct fixture *f, const char *log,
				 const char *front1)
{
	struct settings *s = configure(f, "", f->front[0], f->back[0], front1,
				       f->back[1]);

	free(s->log_file);
	s->log_file = strdup(log);
	return s;
}

static void a_refused_reload_leaves_the_log_as_it_was(void **state)
{
	struct fixture *f = *state;
	char taken[128], other[128], first[128];
	struct stat before, after;

	start(f, "");
	snprintf(other, sizeof(other), "%s/none/log", dir);
	assert_false(reload(f, with_log(f, other, f->front[1])));
	assert_non_null(strstr(f->error.text, other));
	assert_false(dial(f, 1, f->front[1]));

	snprintf(first, sizeof(first), "%s/log", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(taken, sizeof(taken), "unix:%s", f->bricks[1].path);
	assert_false(reload(f, with_log(f, other, taken)));
	assert_int_equal(stat(first, &before), 0);
	log_error(NULL, "where does this go?");
	assert_int_equal(stat(first, &after), 0);
	assert_true(after.st_size > before.st_size);
	unlink(other);
}

static void reloads_under_load_disturb_nobody(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	for (int i = 0; i < 6; i++)
		assert_true(dial(f, i, f->front[0]));
	for (uint32_t round = 0; round < 60; round++) {
		for (int i = 0; i < 6; i++)
			send_call(f, i, round);
		assert_true(reload(f, configure(f, "", f->front[0], f->back[0],
						round % 2 ? f->front[1] : NULL,
						f->back[1])));
		server_reopen(f->server);
		for (int i = 0; i < 6; i++)
			take_reply(f, i, round);
	}
}

static void a_name_that_is_another_socket_by_now_stays(void **state)
{
	struct fixture *f = *state;
	const char *path = f->front[0] + strlen("unix:");
	struct brick other = { 0 };

	start(f, "");
	assert_int_equal(unlink(path), 0);
	open_brick(&other, f->front[0]);
	assert_true(reload(f, configure(f, "", f->front[1], f->back[1], NULL,
					NULL)));
	assert_int_equal(access(path, F_OK), 0);
	close_brick(&other);
}

/* ---- what cannot start ---- */

static void a_start_that_fails_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	char taken[128];
	size_t fds = 0, threads = 0;

	snprintf(taken, sizeof(taken), "unix:%s", f->bricks[1].path);
	for (int round = 0; round < 3; round++) {
		struct settings *s = configure(f, "", f->front[0], f->back[0],
					       taken, f->back[1]);

		assert_true(log_open(s->log_file, LOG_LEVEL_INFO));
		assert_null(server_start(f->base, s, &f->error));
		assert_non_null(strstr(f->error.text, "in use"));
		settings_put(s);
		assert_false(dial(f, 0, f->front[0]));
		log_close();
		if (round > 0) {
			assert_int_equal(count_entries("/proc/self/fd"), fds);
			assert_int_equal(count_entries("/proc/self/task"),
					 threads);
		}
		fds = count_entries("/proc/self/fd");
		threads = count_entries("/proc/self/task");
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(clients_on_all_workers_get_their_own_replies),
		TEST(nothing_is_left_after_a_stop),
		TEST(storms_of_short_clients_disturb_nobody),
		TEST(at_the_limit_of_sessions_clients_wait),
		TEST(without_descriptors_clients_wait_and_nothing_spins),
		TEST(draining_answers_what_is_out_then_leaves_the_loop),
		TEST(draining_does_not_wait_for_ever),
		TEST(an_idle_server_drains_at_once),
		TEST(a_reload_adds_and_takes_away_listeners),
		TEST(a_new_brick_is_for_new_sessions),
		TEST(a_reload_that_cannot_be_changes_nothing),
		TEST(a_refused_reload_leaves_the_log_as_it_was),
		TEST(reloads_under_load_disturb_nobody),
		TEST(a_name_that_is_another_socket_by_now_stays),
		TEST(a_start_that_fails_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
