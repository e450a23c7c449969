/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delay_relay - a TCP relay that makes the way longer, not narrower.
 *
 *   delay_relay --listen 127.0.0.1:0 --to 127.0.0.1:49152 --rtt 5ms
 *
 * relay.h says what peers see of it. It prints its port on standard output and
 * then "ready" on standard error, and runs until SIGTERM.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/bench/bench_util.h"
#include "tests/bench/relay.h"

struct options {
	const char *listen;
	uint64_t rtt_ns, up_ns, down_ns;
	uint64_t chunk_bytes;
	bool prints_stats;
};

static const uint64_t unset = UINT64_MAX;
static volatile sig_atomic_t is_stopping;

static void on_signal(int sig)
{
	(void)sig;
	is_stopping = 1;
}

/* "rtt TIME", one in each write; the answer is a line on standard error. */
static void on_control(struct relay *r)
{
	char line[128];
	ssize_t n = read(STDIN_FILENO, line, sizeof(line) - 1);
	uint64_t rtt;

	if (n <= 0) {
		relay_end_control(r);
		return;
	}
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "rtt ", 4) != 0 || !parse_time_ns(line + 4, &rtt)) {
		fprintf(stderr, "not understood: %s\n", line);
		return;
	}
	relay_set_delay(r, rtt / 2, rtt - rtt / 2);
	fprintf(stderr, "rtt %llu ns\n", (unsigned long long)rtt);
}

static void usage(void)
{
	fputs("usage: delay_relay --listen HOST:PORT --to HOST:PORT\n"
	      "  --rtt TIME    round trip, half of it each way [0]\n"
	      "  --up TIME     one way, from the client, instead\n"
	      "  --down TIME   one way, to the client, instead\n"
	      "  --queue SIZE  most bytes in flight in each direction of a\n"
	      "                connection [256MiB]\n"
	      "  --chunk SIZE  most bytes of one read [256KiB]\n"
	      "  --control     take \"rtt TIME\" on standard input\n"
	      "  --stats       print totals at the end\n",
	      stderr);
	exit(2);
}

static bool take_option(int c, const char *value, struct relay *r,
			struct options *o)
{
	switch (c) {
	case 'l':
		o->listen = value;
		return true;
	case 't':
		r->to = value;
		return true;
	case 'r':
		return parse_time_ns(value, &o->rtt_ns);
	case 'u':
		return parse_time_ns(value, &o->up_ns);
	case 'd':
		return parse_time_ns(value, &o->down_ns);
	case 'q':
		return parse_size(value, &r->queue_bytes) && r->queue_bytes > 0;
	case 'c':
		return parse_size(value, &o->chunk_bytes) &&
		       o->chunk_bytes >= 4096;
	case 'i':
		r->on_control = on_control;
		return true;
	case 's':
		o->prints_stats = true;
		return true;
	}
	return false;
}

static void parse_options(int argc, char **argv, struct relay *r,
			  struct options *o)
{
	static const struct option rows[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "to", required_argument, NULL, 't' },
		{ "rtt", required_argument, NULL, 'r' },
		{ "up", required_argument, NULL, 'u' },
		{ "down", required_argument, NULL, 'd' },
		{ "queue", required_argument, NULL, 'q' },
		{ "chunk", required_argument, NULL, 'c' },
		{ "control", no_argument, NULL, 'i' },
		{ "stats", no_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", rows, NULL)) != -1)
		if (!take_option(c, optarg, r, o))
			usage();
	if (optind != argc || o->listen == NULL || r->to == NULL)
		usage();
	if (o->up_ns == unset)
		o->up_ns = o->rtt_ns / 2;
	if (o->down_ns == unset)
		o->down_ns = o->rtt_ns - o->rtt_ns / 2;
}

static void print_stats(const struct relay *r)
{
	fprintf(stderr,
		"{\"connections\": %llu, \"bytes_up\": %llu, "
		"\"bytes_down\": %llu, \"peak_queue\": %zu}\n",
		(unsigned long long)r->conns, (unsigned long long)r->bytes[UP],
		(unsigned long long)r->bytes[DOWN], r->peak_bytes);
}

int main(int argc, char **argv)
{
	struct sigaction stop = { .sa_handler = on_signal };
	struct relay r = { .queue_bytes = 256u << 20 };
	struct options o = { .up_ns = unset, .down_ns = unset,
			     .chunk_bytes = 256u << 10 };
	unsigned port;

	parse_options(argc, argv, &r, &o);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	raise_descriptor_limit();
	/* The default lets a wait end 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1);
	port = relay_open(&r, o.listen, o.chunk_bytes);
	relay_set_delay(&r, o.up_ns, o.down_ns);
	printf("%u\n", port);
	fflush(stdout);
	fputs("ready\n", stderr);
	relay_run(&r, &is_stopping);
	if (o.prints_stats)
		print_stats(&r);
	return 0;
}
