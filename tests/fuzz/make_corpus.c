/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_corpus - seeds for the fuzz targets out of the fixtures.
 *
 * usage: make_corpus OUTDIR WIREDIR
 *
 * Makes OUTDIR/TARGET/ for each target and puts into it what that target takes:
 * whole records, headers, dicts of their own, arguments and results.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proto/fop.h"
#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/fuzz/fuzz.h"

enum { RECORD_MAX = 1 << 20, PATH_SIZE = 1024 };

static const struct {
	const char *folder;
	uint32_t program, version;
} programs[] = {
	{ "fop400", GFP_PROG_FOP, GFP_FOP_V400 },
	{ "fop330", GFP_PROG_FOP, GFP_FOP_V330 },
	{ "handshake", GFP_PROG_HNDSK, 2 },
	{ "portmap", GFP_PROG_PMAP, 1 },
	{ "dump", GFP_PROG_DUMP, 1 },
	{ "callback", GFP_PROG_CBK, 1 },
};

struct seeds {
	const char *outdir;
	const char *folder;
	const char *name;	/* of the fixture's file */
	unsigned int count;	/* of its dicts */
};

static void make_dir(const char *path)
{
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		err(1, "cannot make %s", path);
}

/* A file of the selector's bytes and then the body's. */
static void put_seed(struct seeds *s, const char *target,
		     struct gfp_span selector, struct gfp_span body)
{
	char path[PATH_SIZE];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", s->outdir, target);
	make_dir(path);
	snprintf(path, sizeof(path), "%s/%s/%s-%s-%u", s->outdir, target,
		 s->folder, s->name, s->count++);
	file = fopen(path, "w");
	if (file == NULL)
		err(1, "cannot write %s", path);
	fwrite(selector.ptr, 1, selector.len, file);
	fwrite(body.ptr, 1, body.len, file);
	if (fclose(file) != 0)
		err(1, "cannot write %s", path);
}

static void put_dicts(struct seeds *s, const struct gfp_field *fields,
		      struct gfp_span body)
{
	static const uint8_t typed = 0, blob = 1;
	struct gfp_cursor c;
	struct gfp_value v;

	gfp_cursor_start(&c, fields, body);
	while (gfp_field_next(&c, &v) == GFP_OK) {
		if (v.field->kind == GFP_K_DICTX)
			put_seed(s, "dict", (struct gfp_span){ &typed, 1 },
				 v.body);
		if (v.field->kind == GFP_K_BLOB)
			put_seed(s, "dict", (struct gfp_span){ &blob, 1 },
				 v.body);
	}
}

/* Where arguments or results begin; 0 without any. */
static size_t body_off(struct gfp_span record, bool is_call)
{
	struct gfp_reply reply;
	struct gfp_call call;

	if (is_call)
		return gfp_call_parse(record, &call) == GFP_OK ? call.args_off
							       : 0;
	return gfp_reply_parse(record, &reply) == GFP_OK ? reply.results_off
							 : 0;
}

static uint8_t program_index(const struct gfp_program *program)
{
	uint8_t i = 0;

	while (gfp_programs[i] != program)
		i++;
	return i;
}

static void put_body(struct seeds *s, const struct gfp_program *program,
		     const struct gfp_proc *proc, bool is_call,
		     struct gfp_span body)
{
	uint8_t selector[] = { program_index(program), (uint8_t)proc->number,
			       is_call };

	put_seed(s, "layout", (struct gfp_span){ selector, 3 }, body);
	put_dicts(s, is_call ? proc->call : proc->reply, body);
	if (program->number != GFP_PROG_HNDSK)
		return;
	if (proc->number == GFP_HNDSK_SETVOLUME)
		put_seed(s, "setvolume", (struct gfp_span){ selector + 2, 1 },
			 body);
	if (proc->number == GFP_HNDSK_GETSPEC)
		put_seed(s, "getspec", (struct gfp_span){ selector + 2, 1 },
			 body);
}

/* A call alone, and a reply with the call before it, which is its own. */
static void put_traced(struct seeds *s, bool is_call, struct gfp_span record)
{
	static uint8_t both[2 * RECORD_MAX];
	static size_t call_len;
	uint8_t selector[3] = { 0 };
	size_t len = 0;

	if (is_call) {
		call_len = record.len;
		memcpy(both, record.ptr, record.len);
	} else {
		len = record.len;
		memcpy(both + call_len, record.ptr, record.len);
	}
	selector[1] = (uint8_t)(call_len >> 8);
	selector[2] = (uint8_t)call_len;
	put_seed(s, "trace_format", (struct gfp_span){ selector, 3 },
		 (struct gfp_span){ both, call_len + len });
}

static void put_record(struct seeds *s, const struct gfp_program *program,
		       struct gfp_span bytes)
{
	static const struct gfp_span none;
	bool is_call = strstr(s->name, ".call.") != NULL;
	const struct gfp_proc *proc = gfp_proc_find(
		program->number, program->version,
		(uint32_t)strtoul(s->name, NULL, 10));
	struct gfp_span record;
	size_t off;

	if (proc == NULL ||
	    gfp_record_next(bytes, RECORD_MAX, &record) != GFP_OK)
		errx(1, "%s/%s is no record", s->folder, s->name);
	put_seed(s, "record", none, bytes);
	put_seed(s, is_call ? "call" : "reply", none, record);
	put_traced(s, is_call, record);
	off = body_off(record, is_call);
	if (off != 0)
		put_body(s, program, proc, is_call, gfp_span_from(record, off));
}

/* Bytes of a file of hex words with comment lines; returns how many. */
static size_t read_hex(const char *path, uint8_t *out)
{
	FILE *file = fopen(path, "r");
	unsigned int byte;
	char line[256];
	size_t len = 0;

	if (file == NULL)
		err(1, "cannot read %s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *p = line + strspn(line, " \n");

		while (*p != '\0' && *p != '#') {
			if (sscanf(p, "%2x", &byte) != 1 || len == RECORD_MAX)
				errx(1, "%s is no hex file", path);
			out[len++] = (uint8_t)byte;
			p += 2;
			p += strspn(p, " \n");
		}
	}
	fclose(file);
	return len;
}

static void put_folder(const char *outdir, const char *wiredir, size_t i)
{
	static uint8_t bytes[RECORD_MAX];
	char pattern[PATH_SIZE];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%s/*.hex", wiredir,
		 programs[i].folder);
	if (glob(pattern, 0, NULL, &found) != 0)
		errx(1, "no fixtures in %s", pattern);
	for (size_t n = 0; n < found.gl_pathc; n++) {
		const char *path = found.gl_pathv[n];
		struct seeds s = {
			.outdir = outdir,
			.folder = programs[i].folder,
			.name = strrchr(path, '/') + 1,
		};

		put_record(&s, gfp_program_find(programs[i].program,
						programs[i].version),
			   (struct gfp_span){ bytes, read_hex(path, bytes) });
	}
	globfree(&found);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(64, "usage: make_corpus OUTDIR WIREDIR");
	make_dir(argv[1]);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		put_folder(argv[1], argv[2], i);
	return 0;
}
