/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log - what a log line looks like, and when there is none.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "tests/unit/test.h"

enum { TEXT_MAX = 1 << 20, THREADS = 4, LINES_EACH = 500 };

struct fixture {
	char dir[64];
	char path[80];
	char text[TEXT_MAX];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_log.XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/log", f->dir);
	if (!log_open(f->path, LOG_LEVEL_INFO))
		return -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char old[96];

	log_close();
	snprintf(old, sizeof(old), "%s.1", f->path);
	unlink(old);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static const char *read_file(struct fixture *f, const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, f->text, sizeof(f->text) - 1);
	assert_true(n >= 0);
	f->text[n] = '\0';
	close(fd);
	return f->text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what)) != NULL) {
		n++;
		text += strlen(what);
	}
	return n;
}

/* What follows the time stamp, which is checked. */
static const char *after_stamp(const char *line)
{
	static const char shape[] = "0000-00-00T00:00:00.000000Z ";

	for (size_t i = 0; shape[i] != '\0'; i++) {
		if (shape[i] == '0')
			assert_in_range(line[i], '0', '9');
		else
			assert_int_equal(line[i], shape[i]);
	}
	return line + sizeof(shape) - 1;
}

struct thing {
	struct log_obj log;
	int number;
};

static void describe_thing(const struct log_obj *obj, char *out, size_t cap)
{
	snprintf(out, cap, "thing %d", ((const struct thing *)obj)->number);
}

static void a_line_has_time_level_object_text(void **state)
{
	struct fixture *f = *state;
	struct thing t = { { "thing", describe_thing }, 12 };

	log_warn(&t.log, "brick refused %d calls", 3);
	assert_string_equal(after_stamp(read_file(f, f->path)),
			    "warn thing 12: brick refused 3 calls\n");
}

static void an_object_without_describe_is_its_name(void **state)
{
	struct fixture *f = *state;
	struct log_obj obj = { "trace", NULL };

	log_error(&obj, "disk full");
	assert_string_equal(after_stamp(read_file(f, f->path)),
			    "error trace: disk full\n");
}

static int evaluated;

static int evaluate(void)
{
	return ++evaluated;
}

static void a_level_that_is_off_evaluates_nothing(void **state)
{
	struct fixture *f = *state;

	log_debug(NULL, "%d", evaluate());
	assert_int_equal(evaluated, 0);
	assert_true(log_open(f->path, LOG_LEVEL_DEBUG));
	log_debug(NULL, "%d", evaluate());
	assert_int_equal(evaluated, 1);
	assert_string_equal(after_stamp(read_file(f, f->path)), "debug 1\n");
	assert_true(log_open(f->path, LOG_LEVEL_ERROR));
	log_warn(NULL, "%d", evaluate());
	assert_int_equal(evaluated, 1);
}

static void bytes_of_a_peer_cannot_forge_a_line(void **state)
{
	struct fixture *f = *state;

	log_info(NULL, "user %s", "x\n2026 error: y\r\t\x1b[2J\x7f\xc2\x9b\\n");
	assert_string_equal(after_stamp(read_file(f, f->path)),
			    "info user x\\x0a2026 error: y\\x0d\\x09\\x1b[2J"
			    "\\x7f\\xc2\\x9b\\x5cn\n");
}

static void a_long_line_is_cut_and_marked(void **state)
{
	struct fixture *f = *state;
	char long_text[3000];
	const char *line;

	for (int c = 'a'; c >= 1; c -= 'a' - 1) {
		memset(long_text, c, sizeof(long_text) - 1);
		long_text[sizeof(long_text) - 1] = '\0';
		log_info(NULL, "%s", long_text);
	}
	line = read_file(f, f->path);
	assert_int_equal(count(line, "\n"), 2);
	assert_int_equal(count(line, "...\n"), 2);
	for (; *line != '\0'; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line < 2048);
}

static void log_keeps_errno(void **state)
{
	(void)state;
	errno = EXDEV;
	log_info(NULL, "x");
	assert_int_equal(errno, EXDEV);
}

static void log_many(int lines)
{
	for (int i = 0; i < lines; i++)
		log_limited(LOG_LEVEL_WARN, NULL, "again");
}

static void a_call_site_is_limited_and_counted(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = { 0, 0 };
	const char *text;

	for (int i = 0; i < 27; i++)
		log_at(LOG_LEVEL_WARN, NULL, &limit, "same");
	text = read_file(f, f->path);
	assert_int_equal(count(text, "warn same\n"), 10);
	assert_int_equal(limit.left_out, 17);

	atomic_store(&limit.next_us, 0);	/* a long time later */
	log_at(LOG_LEVEL_WARN, NULL, &limit, "same");
	log_at(LOG_LEVEL_WARN, NULL, &limit, "same");
	text = read_file(f, f->path);
	assert_int_equal(count(text, "warn same (17 more like this)\n"), 1);
	assert_int_equal(count(text, "warn same\n"), 11);
}

static void after_a_burst_there_is_one_line_a_second(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = { 0, 0 };
	uint64_t now;

	for (int i = 0; i < 20; i++)
		log_at(LOG_LEVEL_WARN, NULL, &limit, "same");
	now = clock_mono_us();
	atomic_store(&limit.next_us, now + 9 * 1000000);  /* 1 s later */
	for (int i = 0; i < 20; i++)
		log_at(LOG_LEVEL_WARN, NULL, &limit, "same");
	assert_int_equal(count(read_file(f, f->path), "warn same"), 11);
}

static void each_call_site_has_its_own_limit(void **state)
{
	struct fixture *f = *state;

	log_many(50);
	log_limited(LOG_LEVEL_WARN, NULL, "other");
	assert_int_equal(count(read_file(f, f->path), "warn again"), 10);
	assert_int_equal(count(read_file(f, f->path), "warn other"), 1);
}

static void reopen_follows_a_rotation(void **state)
{
	struct fixture *f = *state;
	char old[96];

	snprintf(old, sizeof(old), "%s.1", f->path);
	log_info(NULL, "first");
	assert_int_equal(rename(f->path, old), 0);
	log_info(NULL, "second");
	assert_true(log_reopen());
	log_info(NULL, "third");
	assert_int_equal(count(read_file(f, old), "\n"), 2);
	assert_string_equal(after_stamp(read_file(f, f->path)), "info third\n");
}

static void what_cannot_be_opened_changes_nothing(void **state)
{
	struct fixture *f = *state;
	char bad[128], *too_long = calloc(1, 5000);

	snprintf(bad, sizeof(bad), "%s/no/such", f->dir);
	assert_false(log_open(bad, LOG_LEVEL_DEBUG));
	memset(too_long, 'x', 4999);
	assert_false(log_open(too_long, LOG_LEVEL_DEBUG));
	free(too_long);
	log_debug(NULL, "not seen");
	log_info(NULL, "still here");
	assert_int_equal(count(read_file(f, f->path), "cannot open the log"),
			 2);
	assert_int_equal(count(f->text, "not seen"), 0);
	assert_int_equal(count(f->text, "still here"), 1);
}

static void the_log_moves_to_standard_error_and_back(void **state)
{
	struct fixture *f = *state;
	int saved = dup(STDERR_FILENO), pipe_fds[2];
	char line[256];
	ssize_t n;

	assert_int_equal(pipe(pipe_fds), 0);
	assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
	assert_true(log_open(NULL, LOG_LEVEL_INFO));
	log_info(NULL, "on standard error");
	assert_true(log_open(f->path, LOG_LEVEL_INFO));
	log_info(NULL, "in the file");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	assert_string_equal(after_stamp(line), "info on standard error\n");
	assert_int_equal(read(pipe_fds[0], line, sizeof(line)), 0);
	close(pipe_fds[0]);
	assert_string_equal(after_stamp(read_file(f, f->path)),
			    "info in the file\n");
}

static void *log_from_thread(void *arg)
{
	for (int i = 0; i < LINES_EACH; i++)
		log_info(NULL, "thread %d begin %s end", *(int *)arg,
			 "some text between that is the same in all of them");
	return NULL;
}

static void threads_and_reopening_never_mix_lines(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	int numbers[THREADS];
	const char *text;

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL,
						log_from_thread, &numbers[i]),
				 0);
	}
	for (int i = 0; i < 200; i++)
		assert_true(log_reopen());
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	text = read_file(f, f->path);
	assert_int_equal(count(text, "\n"), THREADS * LINES_EACH);
	assert_int_equal(count(text, " end\n"), THREADS * LINES_EACH);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		assert_memory_equal(after_stamp(line), "info thread ", 12);
}

#define WITH_FILE(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_line_has_time_level_object_text),
		WITH_FILE(an_object_without_describe_is_its_name),
		WITH_FILE(a_level_that_is_off_evaluates_nothing),
		WITH_FILE(bytes_of_a_peer_cannot_forge_a_line),
		WITH_FILE(a_long_line_is_cut_and_marked),
		WITH_FILE(log_keeps_errno),
		WITH_FILE(a_call_site_is_limited_and_counted),
		WITH_FILE(after_a_burst_there_is_one_line_a_second),
		WITH_FILE(each_call_site_has_its_own_limit),
		WITH_FILE(reopen_follows_a_rotation),
		WITH_FILE(what_cannot_be_opened_changes_nothing),
		WITH_FILE(the_log_moves_to_standard_error_and_back),
		WITH_FILE(threads_and_reopening_never_mix_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
