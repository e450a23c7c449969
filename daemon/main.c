/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main - options, signals, start and end of forebrickd; nothing else.
 *
 * Owns: the main loop, and through the server everything that runs.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon/args.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/server.h"
#include "daemon/settings.h"

struct daemon {
	struct args args;
	struct event_base *base;
	struct server *server;
	bool is_draining;
};

static struct settings *load(const struct args *args,
			     struct settings_error *error)
{
	return settings_load(args->file, args->overrides, args->override_count,
			     error);
}

static void log_refusal(char *problems)
{
	char *save = NULL;

	for (char *line = strtok_r(problems, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		log_error(NULL, "%s", line);
	log_error(NULL, "reload refused, the running configuration stays");
}

static void reload(struct daemon *d)
{
	struct settings_error error = { "" };
	struct settings *s;

	notify_reloading();
	s = load(&d->args, &error);
	if (s != NULL && server_reload(d->server, s, &error))
		log_info(NULL, "configuration reloaded");
	else
		log_refusal(error.text);
	settings_put(s);
	notify_ready();
}

static void on_hangup(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)sig;
	(void)what;
	if (!d->is_draining)
		reload(d);
}

static void on_reopen(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)sig;
	(void)what;
	server_reopen(d->server);
}

/* The first one drains, the second one does not wait. */
static void on_terminate(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	if (d->is_draining) {
		log_info(NULL, "stopping at once");
		event_base_loopbreak(d->base);
		return;
	}
	d->is_draining = true;
	log_info(NULL, "draining: %s", strsignal(sig));
	notify_stopping();
	server_drain(d->server);
}

/* Workers must not be the ones that are interrupted. */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(how, &set, NULL);
}

static bool watch_signals(struct daemon *d)
{
	static const struct {
		int number;
		event_callback_fn handle;
	} rows[] = {
		{ SIGHUP, on_hangup },
		{ SIGUSR1, on_reopen },
		{ SIGTERM, on_terminate },
		{ SIGINT, on_terminate },
	};

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event *ev = evsignal_new(d->base, rows[i].number,
						rows[i].handle, d);

		if (ev == NULL || event_add(ev, NULL) < 0)
			return false;
	}
	return true;
}

/* Each session takes two descriptors. */
static void raise_descriptor_limit(int64_t max_sessions)
{
	const rlim_t spare = 64;
	rlim_t wanted = (rlim_t)max_sessions * 2 + spare;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < wanted)
		log_warn(NULL, "descriptor limit %llu serves %llu sessions, "
			 "max_sessions is %lld",
			 (unsigned long long)limit.rlim_cur,
			 (unsigned long long)((limit.rlim_cur - spare) / 2),
			 (long long)max_sessions);
}

static int run(struct daemon *d, struct settings *s)
{
	struct settings_error error = { "" };

	if (!log_open(s->log_file, (enum log_level)s->log_level))
		return EX_CANTCREAT;
	raise_descriptor_limit(s->max_sessions);
	d->base = event_base_new();
	if (d->base == NULL || !watch_signals(d)) {
		log_error(NULL, "no event loop: %s", strerror(errno));
		return EX_OSERR;
	}
	block_signals(SIG_BLOCK);
	d->server = server_start(d->base, s, &error);
	block_signals(SIG_UNBLOCK);
	if (d->server == NULL) {
		log_error(NULL, "%s", error.text);
		return EX_UNAVAILABLE;
	}
	fputs("ready\n", stderr);
	notify_ready();
	event_base_dispatch(d->base);
	server_stop(d->server);
	log_info(NULL, "stopped");
	return EX_OK;
}

int main(int argc, char **argv)
{
	struct daemon d = { .is_draining = false };
	struct settings_error error = { "" };
	struct settings *s;
	int rc;

	if (!args_parse(argc, argv, &d.args, &rc))
		return rc;
	s = load(&d.args, &error);
	if (s == NULL) {
		fprintf(stderr, "%s\n", error.text);
		args_free(&d.args);
		return EX_CONFIG;
	}
	if (d.args.print_config) {
		settings_print(s, stdout);
		rc = EX_OK;
	} else if (d.args.check_only) {
		printf("%s: configuration is valid\n",
		       d.args.file ? d.args.file : "command line");
		rc = EX_OK;
	} else {
		rc = run(&d, s);
	}
	settings_put(s);
	log_close();
	args_free(&d.args);
	return rc;
}
