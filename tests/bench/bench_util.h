/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_util - what the programs of tests/bench/ have in common: texts on the
 * command line, sockets, the clock, percentiles.
 *
 * These are tools: what cannot go on ends the process with a message.
 */
#ifndef FOREBRICK_TESTS_BENCH_UTIL_H
#define FOREBRICK_TESTS_BENCH_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Print "program: message[: strerror(error)]" and exit with status 1. */
void die(int error, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/*
 * "0", "250us", "5ms", "1.5s" in nanoseconds; "64KiB", "256MiB", "4096" in
 * bytes (K, M, G do as well). False: text is neither, out stays.
 */
bool parse_time_ns(const char *text, uint64_t *out);
bool parse_size(const char *text, uint64_t *out);

/*
 * TCP by "HOST:PORT" or "[ADDR]:PORT". tcp_listen() takes port 0 and sets *port
 * to what it became. tcp_dial() blocks unless nonblocking, where the caller
 * waits until the socket is writable and asks SO_ERROR. TCP_NODELAY is on.
 * tcp_dial() returns -errno when the peer refuses.
 */
int tcp_listen(const char *where, unsigned *port);
int tcp_dial(const char *where, bool nonblocking);

void tcp_nodelay(int fd);

/* As many descriptors as the hard limit allows. */
void raise_descriptor_limit(void);

/* Samples in the order in which they came; sorted by the first question. */
struct samples {
	uint64_t *values;
	size_t count, cap;
	bool is_sorted;
};

void samples_add(struct samples *s, uint64_t value);

/* part from 0 to 1: 0.5 is the median. 0 when there are none. */
uint64_t samples_percentile(struct samples *s, double part);

double samples_mean(const struct samples *s);
void samples_clear(struct samples *s);	/* forget them, free the memory */

#endif
