/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - microseconds, monotonic for intervals and real for what is shown.
 */
#ifndef FOREBRICK_DAEMON_CLOCK_H
#define FOREBRICK_DAEMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static inline uint64_t clock_mono_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

static inline uint64_t clock_real_us(void)
{
	return clock_read_us(CLOCK_REALTIME);
}

#endif
