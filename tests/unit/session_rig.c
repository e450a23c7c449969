/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_rig - a session between a scripted client and a scripted brick.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/session_rig.h"
#include "tests/unit/test.h"

enum { PATIENCE_US = 10 * 1000 * 1000 };

bool rig_on_unix;
size_t rig_client_reads = SIZE_MAX, rig_brick_reads = SIZE_MAX;

void rig_init(struct rig *rig, bool is_unix)
{
	*rig = (struct rig){ .is_unix = is_unix, .listen_fd = -1 };
	rig->client.fd = rig->brick.fd = -1;
	rig_client_reads = rig_brick_reads = SIZE_MAX;
}

void rig_option(struct rig *rig, const char *name, const char *value)
{
	assert_true(rig->option_count < RIG_OPTIONS_MAX);
	rig->options[rig->option_count++] =
		(struct settings_override){ name, value };
}

static void listen_as_brick(struct rig *rig, char text[ADDR_TEXT_MAX])
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)&rig->listen_at.ss;
	struct sockaddr_un *un = (struct sockaddr_un *)&rig->listen_at.ss;
	struct addr *at = &rig->listen_at;

	if (rig->is_unix) {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s/brick",
			 rig->dir);
		at->len = sizeof(*un);
	} else {
		in4->sin_family = AF_INET;
		in4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		at->len = sizeof(*in4);
	}
	rig->listen_fd = socket(at->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK |
				SOCK_CLOEXEC, 0);
	assert_int_equal(bind(rig->listen_fd, (struct sockaddr *)&at->ss,
			      at->len), 0);
	assert_int_equal(listen(rig->listen_fd, 8), 0);
	assert_int_equal(getsockname(rig->listen_fd,
				     (struct sockaddr *)&at->ss, &at->len), 0);
	addr_text(at, text);
}

/* The settings and the route as the daemon makes them of its options. */
static struct settings *make_route(struct rig *rig)
{
	char listen[96], brick[ADDR_TEXT_MAX];
	struct settings_error error;
	struct settings *s;

	snprintf(listen, sizeof(listen), "unix:%s/front", rig->dir);
	listen_as_brick(rig, brick);
	rig->options[rig->option_count] =
		(struct settings_override){ "listen", listen };
	rig->options[rig->option_count + 1] =
		(struct settings_override){ "brick", brick };
	s = settings_load(NULL, rig->options, rig->option_count + 2, &error);
	if (s == NULL)
		fail_msg("%s", error.text);
	rig->route = route_new(s, &s->listeners[0], &error);
	assert_non_null(rig->route);
	return s;
}

void rig_open(struct rig *rig)
{
	struct settings *s;

	strcpy(rig->dir, "/tmp/test_session.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->log_path, sizeof(rig->log_path), "%s/log", rig->dir);
	snprintf(rig->trace_path, sizeof(rig->trace_path), "%s/trace",
		 rig->dir);
	for (size_t i = 0; i < rig->option_count; i++)
		if (strcmp(rig->options[i].name, "trace_file") == 0)
			rig->options[i].value = rig->trace_path;
	assert_true(log_open(rig->log_path, LOG_LEVEL_DEBUG));
	s = make_route(rig);
	rig->trace = trace_open(s);
	assert_non_null(rig->trace);
	settings_put(s);
	rig->base = event_base_new();
	rig->host.base = rig->base;
	rig->host.live = &rig->live;
	rig->host.trace = trace_ring_open(rig->trace);
	assert_non_null(rig->host.trace);
	session_host_init(&rig->host);
}

void rig_stop_trace(struct rig *rig)
{
	if (rig->trace == NULL)
		return;
	assert_null(rig_session(rig));
	session_host_free_dead(&rig->host);
	trace_ring_close(rig->host.trace);
	trace_close(rig->trace);
	rig->trace = NULL;
}

static void remove_file(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

void rig_close(struct rig *rig)
{
	rig_disconnect(rig);
	assert_int_equal(rig->live, 0);
	assert_int_equal(rig->host.pool.live, 0);
	for (int i = 0; i < SESSION_STATE_LIMIT; i++)
		assert_int_equal(rig->host.counts[i], 0);
	rig_stop_trace(rig);
	buf_pool_clear(&rig->host.pool);
	assert_int_equal(rig->route->refs, 1);
	route_put(rig->route);
	event_base_free(rig->base);
	close(rig->listen_fd);
	log_close();
	remove_file(rig->dir, "brick");
	remove_file(rig->dir, "log");
	remove_file(rig->dir, "trace");
	assert_int_equal(rmdir(rig->dir), 0);
}

void rig_connect(struct rig *rig)
{
	struct addr from = { .len = sizeof(sa_family_t) };
	int fds[2];

	from.ss.ss_family = AF_UNIX;
	pair_open(fds, rig->client_buffer);
	peer_start(&rig->client, fds[1]);
	rig->brick.fd = -1;
	rig->live++;
	rig->reason = CLOSE_REASON_LIMIT;
	session_open(&rig->host, rig->route, fds[0], &from, ++rig->next_id);
}

struct session *rig_session(const struct rig *rig)
{
	for (int i = SESSION_DEAD - 1; i >= 0; i--) {
		struct session *s =
			TAILQ_LAST(&rig->host.lists[i], session_list);

		if (s != NULL)
			return s;
	}
	return NULL;
}

void rig_disconnect(struct rig *rig)
{
	peer_close(&rig->client);
	peer_close(&rig->brick);
	while (rig_session(rig) != NULL) {
		/* Deadlines have their own tests. */
		rig_session(rig)->deadline_us = 0;
		rig_idle(rig);
		session_host_expire(&rig->host);
		if (rig_session(rig) != NULL)
			session_close(rig_session(rig), CLOSE_STOPPED, NULL);
		rig_idle(rig);
	}
	session_host_free_dead(&rig->host);
}

void rig_restart(struct rig *rig, int client_buffer)
{
	rig_disconnect(rig);
	rig->client_buffer = client_buffer;
	rig_connect(rig);
}

static void bury(struct rig *rig)
{
	const struct session *s;

	TAILQ_FOREACH(s, &rig->host.lists[SESSION_DEAD], link)
		rig->reason = s->ending;
	session_host_free_dead(&rig->host);
}

static void accept_brick(struct rig *rig)
{
	int fd;

	if (rig->brick.fd >= 0 || rig->listen_fd < 0)
		return;
	fd = accept(rig->listen_fd, NULL, NULL);
	if (fd >= 0)
		peer_start(&rig->brick, fd);
}

void rig_pass(struct rig *rig)
{
	loop_pass(rig->base);
	bury(rig);
	accept_brick(rig);
	if (rig->client.fd >= 0)
		peer_read(&rig->client, rig_client_reads);
	if (rig->brick.fd >= 0)
		peer_read(&rig->brick, rig_brick_reads);
}

void rig_idle(struct rig *rig)
{
	for (int i = 0; i < PASSES_IDLE; i++)
		rig_pass(rig);
}

#define UNTIL(rig, condition)                                              \
	do {                                                               \
		uint64_t until_ = clock_mono_us() + PATIENCE_US;           \
		while (!(condition) && clock_mono_us() < until_)           \
			rig_pass(rig);                                     \
		assert_true(condition);                                    \
	} while (0)

void rig_until_accepted(struct rig *rig)
{
	UNTIL(rig, rig->brick.fd >= 0);
}

void rig_until_received(struct rig *rig, const struct peer *p, size_t len)
{
	UNTIL(rig, p->len >= len);
}

void rig_until_ended(struct rig *rig, const struct peer *p)
{
	UNTIL(rig, p->has_ended);
}

void rig_until_dead(struct rig *rig)
{
	UNTIL(rig, rig_session(rig) == NULL);
}

void rig_send(struct rig *rig, struct peer *p, struct gfp_span bytes)
{
	size_t sent = 0;

	while (sent < bytes.len) {
		size_t before = sent;

		UNTIL(rig, (sent += peer_write(p, gfp_span_from(bytes, sent))) >
			   before);
	}
}

void rig_assert_dead(struct rig *rig, enum close_reason reason)
{
	rig_until_dead(rig);
	rig_pass(rig);
	assert_int_equal(rig->reason, reason);
	assert_int_equal(rig->live, 0);
	assert_int_equal(rig->host.pool.live, 0);
}

void rig_expire(struct rig *rig)
{
	rig_session(rig)->deadline_us = clock_mono_us();
	session_host_expire(&rig->host);
	rig_pass(rig);
}

void rig_send_stream(struct rig *rig, struct peer *p, struct stream *s)
{
	rig_send(rig, p, stream_span(s));
	stream_free(s);
}

static void add_bytes(struct stream *s, const struct bytes *head, uint32_t size)
{
	assert_true(size >= head->len);
	stream_add_mark(s, size, true);
	stream_add(s, span_of(head));
}

/* A head, then bytes that follow from the seed. */
static void add_record(struct stream *s, const struct bytes *head,
		       uint32_t size, uint32_t seed)
{
	struct stream body = { 0 };

	add_bytes(s, head, size);
	stream_add_body(&body, size, seed);
	stream_add(s, gfp_span_from(stream_span(&body), head->len));
	stream_free(&body);
}

void rig_add_call(struct stream *s, uint32_t xid, uint32_t size)
{
	struct bytes head = { .len = 0 };

	/* Of a program that is not known: no bytes of it mean anything. */
	put_plain_head(&head, xid, 0x20000001, 1, 7);
	add_record(s, &head, size, xid);
}

void rig_add_reply(struct stream *s, uint32_t xid, uint32_t size)
{
	struct bytes head = { .len = 0 };

	put_reply_head(&head, xid);
	add_record(s, &head, size, xid);
}

void rig_add_callback(struct stream *s, uint32_t xid, uint32_t size)
{
	struct call_head h = { .xid = xid, .program = GFP_PROG_CBK,
			       .version = 1, .proc = 5 };
	struct bytes head = { .len = 0 };

	put_call_head(&head, &h);
	add_record(s, &head, size, xid);
}

void rig_add_setvolume(struct stream *s, uint32_t xid)
{
	static const char *const pairs[][2] = {
		{ "remote-subvolume", "/bricks/a" },
		{ "process-uuid", "CTX_ID:1-GRAPH_ID:0-PID:1-HOST:h" },
	};
	struct bytes head = { .len = 0 }, blob = { .len = 0 };

	put_plain_head(&head, xid, GFP_PROG_HNDSK, 2, 1);
	put_u32(&blob, 2);
	for (int i = 0; i < 2; i++) {
		size_t value = strlen(pairs[i][1]) + 1;

		put_u32(&blob, (uint32_t)strlen(pairs[i][0]));
		put_u32(&blob, (uint32_t)value);
		put_raw(&blob, pairs[i][0], strlen(pairs[i][0]) + 1);
		put_raw(&blob, pairs[i][1], value);
	}
	put_opaque(&head, blob.at, blob.len);
	add_bytes(s, &head, (uint32_t)head.len);
}

void rig_add_setvolume_reply(struct stream *s, uint32_t xid, uint32_t op_ret)
{
	struct bytes head = { .len = 0 };

	put_reply_head(&head, xid);
	put_u32(&head, op_ret);
	put_u32(&head, op_ret == 0 ? 0 : 22);
	put_u32(&head, 0);
	add_bytes(s, &head, (uint32_t)head.len);
}

void rig_add_fragments(struct stream *to, const struct stream *record)
{
	size_t size = record->len - 4;

	stream_add_mark(to, 9, false);
	stream_add(to, (struct gfp_span){ record->at + 4, 9 });
	stream_add_mark(to, 0, false);
	stream_add_mark(to, (uint32_t)size - 9, true);
	stream_add(to, gfp_span_from(stream_span(record), 4 + 9));
}

void rig_call(struct rig *rig, uint32_t xid, uint32_t size)
{
	struct stream s = { 0 };

	rig_add_call(&s, xid, size);
	rig_send(rig, &rig->client, stream_span(&s));
	stream_free(&s);
}

void rig_reply(struct rig *rig, uint32_t brick_xid, uint32_t size)
{
	struct stream s = { 0 };

	rig_add_reply(&s, brick_xid, size);
	rig_send(rig, &rig->brick, stream_span(&s));
	stream_free(&s);
}

/* The first record that a peer has is want, apart from its xid. */
static uint32_t take_record(struct rig *rig, struct peer *p,
			    struct stream *want)
{
	uint32_t xid;

	rig_until_received(rig, p, want->len);
	xid = gfp_be32(p->got + 4);
	gfp_put_be32(want->at + 4, xid);
	assert_memory_equal(p->got, want->at, want->len);
	peer_forget(p, want->len);
	stream_free(want);
	return xid;
}

uint32_t rig_expect_call(struct rig *rig, uint32_t xid, uint32_t size)
{
	struct stream want = { 0 };

	rig_until_accepted(rig);
	rig_add_call(&want, xid, size);
	return take_record(rig, &rig->brick, &want);
}

void rig_expect_reply(struct rig *rig, uint32_t xid, uint32_t brick_xid,
		      uint32_t size)
{
	struct stream want = { 0 };

	rig_add_reply(&want, brick_xid, size);
	assert_int_equal(take_record(rig, &rig->client, &want), xid);
}

void rig_make_calls(struct rig *rig, uint32_t *at_brick, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rig_call(rig, i, 100);
		at_brick[i] = rig_expect_call(rig, i, 100);
	}
}

void rig_mount(struct rig *rig)
{
	struct stream s = { 0 };
	uint32_t xid;

	rig_add_setvolume(&s, 0x5e7);
	rig_send(rig, &rig->client, stream_span(&s));
	rig_until_accepted(rig);
	xid = take_record(rig, &rig->brick, &s);
	rig_add_setvolume_reply(&s, xid, 0);
	rig_send(rig, &rig->brick, stream_span(&s));
	assert_int_equal(take_record(rig, &rig->client, &s), 0x5e7);
	assert_int_equal(rig_session(rig)->state, SESSION_MOUNTED);
}

int rig_set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (rig == NULL)
		return -1;
	rig_init(rig, rig_on_unix);
	rig_option(rig, "max_queue", "64KiB");
	rig_option(rig, "max_reassembly", "64KiB");
	rig_option(rig, "max_record", "2MiB");
	rig_option(rig, "max_calls", "16");
	rig_open(rig);
	rig_connect(rig);
	*state = rig;
	return 0;
}

int rig_tear_down(void **state)
{
	rig_close(*state);
	free(*state);
	return 0;
}

size_t rig_logged(const struct rig *rig, const char *text)
{
	FILE *f = fopen(rig->log_path, "r");
	char line[4096];
	size_t count = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		count += strstr(line, text) != NULL;
	fclose(f);
	return count;
}

size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}
