/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture - the records of tests/wire/, for loops over all of them.
 *
 * The folder says which program a record belongs to and the file's name which
 * procedure, as a reply does not say so itself.
 */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/record.h"
#include "proto/rpc_msg.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

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

enum { RECORD_MAX = 65536 };

/* Bytes of a file of hex words with comment lines; returns how many. */
static size_t read_hex(const char *path, uint8_t *out)
{
	FILE *file = fopen(path, "r");
	unsigned int byte;
	char line[256];
	size_t len = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *p = line + strspn(line, " \n");

		while (*p != '\0' && *p != '#') {
			assert_int_equal(sscanf(p, "%2x", &byte), 1);
			assert_true(len < RECORD_MAX);
			out[len++] = (uint8_t)byte;
			p += 2;
			p += strspn(p, " \n");
		}
	}
	fclose(file);
	return len;
}

/* What the path says about the procedure. */
static void find_procedure(struct fixture *f)
{
	const struct gfx_proc *types;

	for (size_t i = 0; i < COUNT(programs); i++) {
		size_t len = strlen(programs[i].folder);
		uint32_t number;

		if (strncmp(f->path, programs[i].folder, len) != 0 ||
		    f->path[len] != '/')
			continue;
		number = (uint32_t)strtoul(f->path + len + 1, NULL, 10);
		f->proc = gfp_proc_find(programs[i].program,
					programs[i].version, number);
		types = gfx_proc_find(programs[i].program, programs[i].version,
				      number);
		assert_non_null(types);
		f->type = f->is_call ? &types->call : &types->reply;
	}
	assert_non_null(f->proc);
	assert_non_null(f->type->xdr);
}

static void find_body(struct fixture *f)
{
	struct gfp_reply reply;
	struct gfp_call call;

	if (f->is_call) {
		assert_int_equal(gfp_call_parse(f->record, &call), GFP_OK);
		assert_int_equal(call.proc, f->proc->number);
		f->body = gfp_span_from(f->record, call.args_off);
		return;
	}
	assert_int_equal(gfp_reply_parse(f->record, &reply), GFP_OK);
	f->body = (struct gfp_span){ NULL, 0 };
	if (reply.results_off != 0)
		f->body = gfp_span_from(f->record, reply.results_off);
}

static void use_file(const char *path, size_t root_len, fixture_fn use)
{
	static uint8_t bytes[RECORD_MAX];
	struct fixture f = { .path = path + root_len };
	struct gfp_span all = { bytes, read_hex(path, bytes) };

	assert_int_equal(gfp_record_next(all, RECORD_MAX, &f.record), GFP_OK);
	assert_int_equal(f.record.len + GFP_MARK_SIZE, all.len);
	f.is_call = strstr(f.path, ".call.") != NULL;
	find_procedure(&f);
	find_body(&f);
	use(&f);
}

size_t fixture_each(fixture_fn use)
{
	const char *srcdir = getenv("srcdir");
	char pattern[1024];
	glob_t found;
	size_t count;
	int root_len;

	root_len = snprintf(pattern, sizeof(pattern), "%s/tests/wire/",
			    srcdir != NULL ? srcdir : ".");
	assert_in_range(root_len, 1, sizeof(pattern) - 8);
	strcat(pattern, "*/*.hex");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	count = found.gl_pathc;
	for (size_t i = 0; i < count; i++)
		use_file(found.gl_pathv[i], (size_t)root_len, use);
	globfree(&found);
	return count;
}
