/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_bench - what a traced RPC costs: to format, and to hand over.
 *
 * usage: trace_bench [COUNT]
 *
 * Formats COUNT records (1000000) of each sort in both formats; then traces as
 * many READs into /dev/null, as a worker does it, and says what that took of
 * the worker. Time is that of the thread on the processor, so that others on
 * the machine do not count.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "tests/unit/trace_sample.h"

enum {
	BATCH = 1000,		/* records between two pauses */
	WARM_UP = 20000,	/* until the ring has been all through */
};

static uint64_t cpu_us(void)
{
	return clock_read_us(CLOCK_THREAD_CPUTIME_ID);
}

static void report(const char *what, uint64_t count, uint64_t took_us,
		   uint64_t bytes)
{
	printf("%-18s %9.0f records/s, %6.1f ns each, %5.0f characters\n",
	       what, (double)count * 1e6 / (double)took_us,
	       (double)took_us * 1e3 / (double)count,
	       (double)bytes / (double)count);
}

static void bench_format(const char *what, enum trace_format format,
			 const struct trace_item *item, uint64_t count)
{
	uint64_t start = cpu_us(), bytes = 0;
	struct trace_text out = { 0 };

	for (uint64_t i = 0; i < count; i++) {
		if (!trace_format_line(&out, format, item, 0))
			errx(1, "out of memory");
		if (out.len > 65536) {
			bytes += out.len;
			out.len = 0;
		}
	}
	report(what, count, cpu_us() - start, bytes + out.len);
	trace_text_free(&out);
}

static void bench_flush(uint64_t count)
{
	static struct trace_sample s;
	struct trace_item item;

	put_call_head(&s.call, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_FLUSH);
	put_fill(&s.call, 16, 0x11);
	put_u64(&s.call, 3);
	put_raw(&s.call, "\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 12);
	put_reply_head(&s.reply);
	put_u64(&s.reply, 0);
	put_raw(&s.reply, "\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 12);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	bench_format("flush as json", TRACE_JSON, &item, count);
	bench_format("flush as text", TRACE_TEXT, &item, count);
}

static void bench_read(uint64_t count)
{
	static struct trace_sample s;
	struct trace_item item;

	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	bench_format("read as json", TRACE_JSON, &item, count);
	bench_format("read as text", TRACE_TEXT, &item, count);
}

/* Trace count READs; returns what it took, without waiting for the writer. */
static uint64_t trace_reads(struct trace *t, struct trace_ring *r,
			    const struct trace_item *item, uint64_t count)
{
	struct trace_counts counts;
	uint64_t took = 0, start, target;

	for (uint64_t done = 0; done < count; done += BATCH) {
		trace_count(t, &counts);
		target = counts.written + counts.lost_room + BATCH;
		start = cpu_us();
		for (int i = 0; i < BATCH; i++)
			trace_note_finish(r, trace_note_new(r, item->call),
					  &item->meta, item->reply);
		took += cpu_us() - start;
		do {
			usleep(1000);
			trace_count(t, &counts);
		} while (counts.written + counts.lost_room < target);
	}
	return took;
}

static void bench_ring(uint64_t count)
{
	static struct trace_sample s;
	char file[] = "/dev/null";
	struct settings settings = { .trace_file = file,
				     .trace_format = TRACE_JSON,
				     .trace_buffer = 16 * 1024 * 1024 };
	struct trace *t = trace_open(&settings);
	struct trace_ring *r = t == NULL ? NULL : trace_ring_open(t);
	struct trace_counts counts;
	struct trace_item item;

	if (r == NULL)
		errx(1, "the trace cannot be started");
	sample_read(&s);
	item = item_of(span_of(&s.call), span_of(&s.reply));
	trace_reads(t, r, &item, WARM_UP);
	report("handing over", count, trace_reads(t, r, &item, count), 0);
	trace_count(t, &counts);
	trace_ring_close(r);
	trace_close(t);
	printf("%-18s %9llu\n", "lost", (unsigned long long)counts.lost_room);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

	if (count == 0)
		errx(64, "usage: trace_bench [COUNT]");
	bench_flush(count);
	bench_read(count);
	bench_ring(count / 10);
	return 0;
}
