/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_load - a raw client that measures a brick, or what stands before it.
 *
 *   rpc_load --to 127.0.0.1:24007 --subvolume brick stat --count 20000
 *   rpc_load ... read --size 128KiB --depth 4 --bytes 1GiB
 *   rpc_load ... idle --sessions 9000 --seconds 10
 *
 * stat and read keep --depth calls in flight on one connection and print one
 * JSON object. idle opens sessions that read once each, prints "mounted", and
 * stays.
 *
 * Owns: everything; a tool, single-threaded.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/dict.h"
#include "proto/gfx_codec.h"
#include "tests/bench/bench_util.h"
#include "tests/bench/raw_client.h"

struct options {
	const char *to, *subvolume, *file;
	uint64_t size, depth, bytes, count, sessions, duration_ns;
};

struct target {
	struct raw_client client;
	gfx_gfid gfid;
	int64_t fd;
	uint64_t file_bytes;
};

/* Calls in flight, by xid; a slot that is taken holds back the next call. */
struct flight {
	uint64_t *start_ns;	/* 0: free */
	uint32_t mask;
	size_t count;
};

static const gfx_gfid root = { [15] = 1 };

static void check(int32_t op_ret, int32_t op_errno, const char *what)
{
	if (op_ret < 0)
		die(op_errno, "%s", what);
}

/* A dict of one pair: the gfid that a new file is to have. */
static void wish_gfid(gfx_dictx *dict, gfx_pair *pair, const gfx_gfid gfid)
{
	static char key[] = "gfid-req";

	*pair = (gfx_pair){ .key = { sizeof(key), key } };
	pair->value.type = GFX_TAG_GFID;
	memcpy(pair->value.gfx_item_u.gfid, gfid, sizeof(gfx_gfid));
	*dict = (gfx_dictx){ .pairs = { 1, pair } };
	if (!gfx_dictx_seal(dict))
		die(0, "no dict");
}

static void random_gfid(gfx_gfid gfid)
{
	FILE *f = fopen("/dev/urandom", "r");

	if (f == NULL || fread(gfid, sizeof(gfx_gfid), 1, f) != 1)
		die(errno, "/dev/urandom");
	fclose(f);
}

static void create_file(struct target *t, char *name, uint64_t bytes)
{
	gfx_create_call create = { .flags = 2 | 0100, .mode = 0100644,
				   .bname = name };
	gfx_ftruncate_call cut = { .offset = bytes };
	gfx_create_reply created;
	gfx_iatt2_reply done;
	gfx_pair pair;

	random_gfid(t->gfid);
	memcpy(create.pargfid, root, sizeof(root));
	wish_gfid(&create.xdata, &pair, t->gfid);
	raw_call(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_CREATE,
		 &create, &created);
	check(created.op_ret, created.op_errno, "CREATE");
	memcpy(cut.gfid, t->gfid, sizeof(gfx_gfid));
	cut.fd = created.fd;
	cut.xdata.count = -1;
	raw_call(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_FTRUNCATE,
		 &cut, &done);
	check(done.op_ret, done.op_errno, "FTRUNCATE");
	t->fd = created.fd;
	t->file_bytes = bytes;
	gfx_free(GFX_TYPE(gfx_create_reply), &created);
	gfx_free(GFX_TYPE(gfx_iatt2_reply), &done);
}

/* The file of that name under the root; created, sparse, if it is not there. */
static void open_file(struct target *t, char *name, uint64_t bytes)
{
	gfx_lookup_call lookup = { .bname = name, .xdata.count = -1 };
	gfx_open_call open = { .xdata.count = -1 };
	gfx_iatt2_reply found;
	gfx_open_reply opened;

	memcpy(lookup.pargfid, root, sizeof(root));
	raw_call(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_LOOKUP,
		 &lookup, &found);
	if (found.op_ret < 0 && found.op_errno == ENOENT) {
		gfx_free(GFX_TYPE(gfx_iatt2_reply), &found);
		create_file(t, name, bytes);
		return;
	}
	check(found.op_ret, found.op_errno, "LOOKUP");
	memcpy(t->gfid, found.pre.gfid, sizeof(gfx_gfid));
	t->file_bytes = found.pre.size;
	gfx_free(GFX_TYPE(gfx_iatt2_reply), &found);
	memcpy(open.gfid, t->gfid, sizeof(gfx_gfid));
	raw_call(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_OPEN, &open,
		 &opened);
	check(opened.op_ret, opened.op_errno, "OPEN");
	t->fd = opened.fd;
	gfx_free(GFX_TYPE(gfx_open_reply), &opened);
}

static void target_open(struct target *t, const struct options *o,
			unsigned number)
{
	char name[256];

	snprintf(name, sizeof(name), "%s", o->file);
	raw_open(&t->client, o->to);
	raw_mount(&t->client, o->subvolume, number);
	open_file(t, name, o->bytes);
}

static void flight_init(struct flight *f, uint64_t depth)
{
	uint32_t slots = 16;

	while (slots < depth * 4)
		slots *= 2;
	f->start_ns = calloc(slots, sizeof(*f->start_ns));
	if (f->start_ns == NULL)
		die(ENOMEM, "slots");
	f->mask = slots - 1;
	f->count = 0;
}

static bool flight_has_room(const struct flight *f, uint64_t depth,
			    uint32_t xid)
{
	return f->count < depth && f->start_ns[xid & f->mask] == 0;
}

static void flight_take_off(struct flight *f, uint32_t xid, uint64_t now)
{
	f->start_ns[xid & f->mask] = now;
	f->count++;
}

static uint64_t flight_land(struct flight *f, uint32_t xid, uint64_t now)
{
	uint64_t *start = &f->start_ns[xid & f->mask];
	uint64_t taken = now - *start;

	if (*start == 0)
		die(0, "an answer to %u, which was not asked", xid);
	*start = 0;
	f->count--;
	return taken;
}

typedef void (*ask_fn)(struct target *t, const struct options *o, uint64_t i);
typedef void (*judge_fn)(const struct options *o,
			 const struct raw_answer *answer);

static void ask_stat(struct target *t, const struct options *o, uint64_t i)
{
	uint8_t args[GFP_GFID_SIZE + GFP_DICTX_HEAD];

	(void)o;
	(void)i;
	memcpy(args, t->gfid, GFP_GFID_SIZE);
	memcpy(args + GFP_GFID_SIZE, gfp_dictx_null, GFP_DICTX_HEAD);
	raw_send(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_STAT,
		 (struct gfp_span){ args, sizeof(args) });
}

static void ask_read(struct target *t, const struct options *o, uint64_t i)
{
	uint8_t args[40 + GFP_DICTX_HEAD];
	uint64_t pieces = t->file_bytes / o->size;

	if (pieces == 0)
		die(0, "%s is shorter than one READ", o->file);
	memcpy(args, t->gfid, GFP_GFID_SIZE);
	gfp_put_be64(args + 16, (uint64_t)t->fd);
	gfp_put_be64(args + 24, i % pieces * o->size);
	gfp_put_be32(args + 32, (uint32_t)o->size);
	gfp_put_be32(args + 36, 0);
	memcpy(args + 40, gfp_dictx_null, GFP_DICTX_HEAD);
	raw_send(&t->client, GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_READ,
		 (struct gfp_span){ args, sizeof(args) });
}

static void judge_stat(const struct options *o, const struct raw_answer *a)
{
	uint32_t op_errno;
	int32_t op_ret = raw_op_ret(a, &op_errno);

	(void)o;
	check(op_ret, (int32_t)op_errno, "STAT");
}

static void judge_read(const struct options *o, const struct raw_answer *a)
{
	uint32_t op_errno;
	int32_t op_ret = raw_op_ret(a, &op_errno);

	check(op_ret, (int32_t)op_errno, "READ");
	if ((uint64_t)op_ret != o->size || a->size < o->size)
		die(0, "a READ of %d bytes in a record of %zu", op_ret,
		    a->size);
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double us(struct samples *s, double part)
{
	return (double)samples_percentile(s, part) / 1e3;
}

static void print_result(const char *mode, const struct options *o,
			 struct samples *s, double seconds, double cpu)
{
	double count = (double)s->count;

	printf("{\"mode\": \"%s\", \"depth\": %llu, \"count\": %zu, "
	       "\"seconds\": %.6f, \"cpu_s\": %.6f, \"rate\": %.1f, "
	       "\"mean_us\": %.2f, \"p50_us\": %.2f, \"p90_us\": %.2f, "
	       "\"p99_us\": %.2f, \"max_us\": %.2f",
	       mode, (unsigned long long)o->depth, s->count, seconds, cpu,
	       count / seconds, samples_mean(s) / 1e3, us(s, 0.5), us(s, 0.9),
	       us(s, 0.99), us(s, 1));
	if (strcmp(mode, "read") == 0)
		printf(", \"size\": %llu, \"mib_s\": %.2f",
		       (unsigned long long)o->size,
		       count * (double)o->size / seconds / 1048576);
	puts("}");
}

/* Keep depth calls in flight until count are answered or the time is over. */
static void run(const char *mode, const struct options *o, uint64_t count,
		ask_fn ask, judge_fn judge)
{
	struct target t = { .fd = -1 };
	struct samples samples = { .values = NULL };
	struct flight f;
	uint64_t asked = 0, start, end, now;
	double cpu;

	target_open(&t, o, 0);
	flight_init(&f, o->depth);
	cpu = cpu_seconds();
	now = start = now_ns();
	end = o->duration_ns ? start + o->duration_ns : UINT64_MAX;
	while (f.count > 0 || (asked < count && now < end)) {
		struct raw_answer answer;

		while (asked < count && now < end &&
		       flight_has_room(&f, o->depth, t.client.next_xid)) {
			flight_take_off(&f, t.client.next_xid, now_ns());
			ask(&t, o, asked++);
		}
		raw_receive(&t.client, &answer);
		now = now_ns();
		samples_add(&samples, flight_land(&f, answer.xid, now));
		judge(o, &answer);
	}
	print_result(mode, o, &samples, (double)(now - start) / 1e9,
		     cpu_seconds() - cpu);
	samples_clear(&samples);
	free(f.start_ns);
	raw_close(&t.client);
}

static void run_stat(const struct options *o)
{
	run("stat", o, o->count ? o->count : UINT64_MAX, ask_stat, judge_stat);
}

static void run_read(const struct options *o)
{
	uint64_t count = o->bytes / o->size;

	if (o->count)
		count = o->count;
	else if (o->duration_ns)
		count = UINT64_MAX;
	run("read", o, count, ask_read, judge_read);
}

/* Each has opened a file and read from it, as a mounted client has. */
static void run_idle(const struct options *o)
{
	for (uint64_t i = 0; i < o->sessions; i++) {
		struct target t = { .fd = -1 };
		struct raw_answer answer;

		target_open(&t, o, (unsigned)i);
		ask_read(&t, o, 0);
		raw_receive(&t.client, &answer);
		judge_read(o, &answer);
		free(t.client.in);	/* the socket stays */
	}
	printf("mounted %llu\n", (unsigned long long)o->sessions);
	fflush(stdout);
	usleep((useconds_t)(o->duration_ns / 1000));
}

static const struct mode {
	const char *name;
	void (*run)(const struct options *o);
} modes[] = {
	{ "stat", run_stat },
	{ "read", run_read },
	{ "idle", run_idle },
};

static void usage(void)
{
	fputs("usage: rpc_load --to HOST:PORT --subvolume NAME MODE\n"
	      "MODE: stat, read, idle\n"
	      "  --file NAME      under the root; made, sparse, if it is not "
	      "there [load]\n"
	      "  --depth N        calls in flight [1]\n"
	      "  --count N        calls to make [stat: 20000]\n"
	      "  --seconds TIME   or for how long, such as 2s\n"
	      "  --size SIZE      of a READ [128KiB]\n"
	      "  --bytes SIZE     to read, and of a file that is made [1GiB]\n"
	      "  --sessions N     of idle [1]\n",
	      stderr);
	exit(2);
}

static bool parse_count(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out > 0;
}

static bool take_option(int c, const char *value, struct options *o)
{
	switch (c) {
	case 't':
		o->to = value;
		return true;
	case 'v':
		o->subvolume = value;
		return true;
	case 'f':
		o->file = value;
		return true;
	case 'd':
		return parse_count(value, &o->depth) && o->depth <= 65536;
	case 'c':
		return parse_count(value, &o->count);
	case 'n':
		return parse_count(value, &o->sessions);
	case 's':
		return parse_time_ns(value, &o->duration_ns);
	case 'z':
		return parse_size(value, &o->size) && o->size > 0 &&
		       o->size <= 64 << 20;
	case 'b':
		return parse_size(value, &o->bytes);
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option rows[] = {
		{ "to", required_argument, NULL, 't' },
		{ "subvolume", required_argument, NULL, 'v' },
		{ "file", required_argument, NULL, 'f' },
		{ "depth", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "sessions", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'z' },
		{ "bytes", required_argument, NULL, 'b' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .file = "load", .size = 131072, .depth = 1,
			     .bytes = 1 << 30, .sessions = 1 };
	int c;

	while ((c = getopt_long(argc, argv, "", rows, NULL)) != -1)
		if (!take_option(c, optarg, &o))
			usage();
	if (optind != argc - 1 || o.to == NULL || o.subvolume == NULL)
		usage();
	if (o.count == 0 && o.duration_ns == 0 &&
	    strcmp(argv[optind], "stat") == 0)
		o.count = 20000;
	raise_descriptor_limit();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[optind]) == 0) {
			modes[i].run(&o);
			return 0;
		}
	}
	usage();
}
