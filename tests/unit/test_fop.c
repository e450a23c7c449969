/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fop - what must hold for each row of each table.
 */
#include "config.h"

#include "proto/fop.h"
#include "tests/unit/bytes.h"
#include "tests/unit/sample.h"
#include "tests/unit/test.h"

typedef void (*row_fn)(const struct gfp_program *program,
		       const struct gfp_proc *proc);

static void each_row(row_fn check)
{
	for (const struct gfp_program *const *p = gfp_programs; *p; p++) {
		for (uint32_t i = 0; i < (*p)->proc_limit; i++) {
			if ((*p)->procs[i] != NULL)
				check(*p, (*p)->procs[i]);
		}
	}
}

/* The n-th member of a kind in a sample of the layout; GFP_NONE without one. */
static int offset_of(const struct gfp_field *fields, enum gfp_kind kind,
		     unsigned int n)
{
	static struct bytes sample;
	struct gfp_cursor c;
	struct gfp_value v;

	sample.len = sample.length_count = 0;
	put_members(&sample, fields);
	gfp_cursor_start(&c, fields, span_of(&sample));
	while (gfp_field_next(&c, &v) == GFP_OK) {
		if (v.field->kind == kind && n-- == 0)
			return (int)(v.raw.ptr - sample.at);
	}
	return GFP_NONE;
}

static void check_number(const struct gfp_program *program,
			 const struct gfp_proc *proc)
{
	assert_ptr_equal(gfp_proc_find(program->number, program->version,
				       proc->number), proc);
	assert_true(proc->number < program->proc_limit);
	assert_true(proc->name[0] != '\0');
}

static void every_row_is_found_by_its_own_number(void **state)
{
	(void)state;
	each_row(check_number);
}

/* Callbacks reuse no member for it, so that only FOPs have columns. */
static void check_columns(const struct gfp_program *program,
			  const struct gfp_proc *proc)
{
	if (program->number != GFP_PROG_FOP) {
		assert_int_equal(proc->gfid_off, GFP_NONE);
		assert_int_equal(proc->fd_off, GFP_NONE);
		return;
	}
	assert_int_equal(proc->gfid_off, offset_of(proc->call, GFP_K_GFID, 0));
	assert_int_equal(proc->gfid2_off, offset_of(proc->call, GFP_K_GFID, 1));
	assert_int_equal(proc->fd_off, offset_of(proc->call, GFP_K_FD, 0));
	assert_int_equal(proc->fd2_off, offset_of(proc->call, GFP_K_FD, 1));
}

static void columns_agree_with_the_layout(void **state)
{
	(void)state;
	each_row(check_columns);
}

/* A member that moves with the length of another has no fixed offset. */
static void check_offsets_are_fixed(const struct gfp_program *program,
				    const struct gfp_proc *proc)
{
	int last = proc->gfid_off;
	size_t off = 0;

	(void)program;
	if (proc->gfid2_off > last)
		last = proc->gfid2_off;
	if (proc->fd_off > last)
		last = proc->fd_off;
	if (proc->fd2_off > last)
		last = proc->fd2_off;
	for (const struct gfp_field *f = proc->call; (int)off < last; f++) {
		assert_true(gfp_kind_is_fixed(f->kind));
		off += gfp_kind_min_size(f->kind);
	}
}

static void nothing_of_variable_length_precedes_a_column(void **state)
{
	(void)state;
	each_row(check_offsets_are_fixed);
}

static void check_guard(const struct gfp_program *program,
			const struct gfp_proc *proc)
{
	(void)program;
	if (proc->fd_off != GFP_NONE)
		assert_int_equal(proc->guard, GFP_GUARD_FD);
	else
		assert_int_not_equal(proc->guard, GFP_GUARD_FD);
}

static void every_row_with_an_fd_is_guarded(void **state)
{
	(void)state;
	each_row(check_guard);
}

static void what_kills_a_brick_is_refused(void **state)
{
	static const struct {
		uint32_t version, proc;
	} deadly[] = {
		{ GFP_FOP_V400, GFP_FOP_NAMELINK },
		{ GFP_FOP_V400, GFP_FOP_SETACTIVELK },
		{ GFP_FOP_V330, GFP_FOP_SETACTIVELK },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(deadly); i++)
		assert_int_equal(gfp_proc_find(GFP_PROG_FOP, deadly[i].version,
					       deadly[i].proc)->guard,
				 GFP_GUARD_REFUSE);
}

static void payload_follows_where_protocol_says(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= GFP_FOP_COPY_FILE_RANGE; i++) {
		const struct gfp_proc *v4 =
			gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, i);
		const struct gfp_proc *v3 =
			gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V330, i);
		enum gfp_payload want = GFP_PAYLOAD_NONE;

		if (i == GFP_FOP_READ)
			want = GFP_PAYLOAD_REPLY;
		if (i == GFP_FOP_WRITE || i == GFP_FOP_PUT)
			want = GFP_PAYLOAD_CALL;
		if (v4 != NULL)
			assert_int_equal(v4->payload, want);
		if (v3 != NULL)
			assert_int_equal(v3->payload, want);
	}
}

/* Results, or a copy of them that ends early, by the row's own layout. */
static enum gfp_status parse_error(const struct gfp_proc *proc,
				   struct gfp_span results, uint32_t *fields)
{
	enum gfp_status status;
	struct gfp_cursor c;
	struct gfp_value v;

	*fields = 0;
	gfp_cursor_start(&c, proc->reply, results);
	while ((status = gfp_field_next(&c, &v)) == GFP_OK) {
		(*fields)++;
		if (v.field->kind == GFP_K_RET)
			assert_true(v.num == UINT64_MAX);
		else if (v.field->kind == GFP_K_ERRNO)
			assert_int_equal(v.num, 9);
		else if (v.field->kind == GFP_K_DICTX)
			assert_int_equal(gfp_be32(v.raw.ptr + 4), UINT32_MAX);
		else
			assert_true(v.num == 0);
	}
	if (status == GFP_END)
		assert_int_equal(c.off, results.len);
	return status;
}

static void check_error(const struct gfp_program *program,
			const struct gfp_proc *proc)
{
	uint8_t out[GFP_ERROR_RESULTS_MAX];
	size_t len;
	uint32_t fields;

	memset(out, 0xee, sizeof(out));
	len = gfp_error_results(proc, 9, out, sizeof(out));
	if (program->number == GFP_PROG_CBK) {
		assert_int_equal(len, 0);
		return;
	}
	assert_true(len >= 8);
	assert_int_equal(parse_error(proc, (struct gfp_span){ out, len },
				     &fields), GFP_END);
	assert_true(fields >= 2);
	for (size_t cap = 0; cap < len; cap++) {
		struct gfp_span small = view_of((struct gfp_span){ out, len },
						cap);
		uint8_t *at = (uint8_t *)(uintptr_t)small.ptr;

		assert_int_equal(gfp_error_results(proc, 9, at, cap), 0);
		assert_int_equal(parse_error(proc, small, &fields), GFP_SHORT);
		drop(small);
	}
}

static void every_failed_reply_parses_by_its_own_layout(void **state)
{
	(void)state;
	each_row(check_error);
}

static void a_failed_read_is_the_one_that_a_brick_sends(void **state)
{
	/* -1, EINVAL, no attributes, size 0, NULL dict: protocol notes 4.3 */
	uint8_t want[172] = { 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 22 };
	uint8_t out[GFP_ERROR_RESULTS_MAX];
	const struct gfp_proc *read =
		gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, GFP_FOP_READ);

	(void)state;
	memset(want + 164, 0xff, 4);
	assert_int_equal(gfp_error_results(read, 22, out, sizeof(out)),
			 sizeof(want));
	assert_memory_equal(out, want, sizeof(want));
}

static void check_payload_off(const struct gfp_program *program,
			      const struct gfp_proc *proc)
{
	static struct bytes sample;
	size_t off;

	(void)program;
	for (int is_call = 0; is_call < 2; is_call++) {
		size_t len;

		sample.len = sample.length_count = 0;
		put_members(&sample, is_call ? proc->call : proc->reply);
		len = sample.len;
		for (size_t cut = 0; cut < len; cut++) {
			struct gfp_span view = view_of(span_of(&sample), cut);

			assert_int_equal(gfp_payload_off(proc, is_call, view,
							 &off), GFP_SHORT);
			drop(view);
		}
		put_fill(&sample, 64, 0x55);
		assert_int_equal(gfp_payload_off(proc, is_call,
						 span_of(&sample), &off),
				 GFP_OK);
		assert_int_equal(off, len);
	}
}

static void payload_begins_behind_the_members(void **state)
{
	(void)state;
	each_row(check_payload_off);
}

static void payload_behind_empty_xdata_is_where_the_notes_say(void **state)
{
	static const struct {
		uint32_t version, proc;
		bool is_call;
		size_t off;
	} want[] = {
		{ 400, GFP_FOP_READ, true, 52 },
		{ 400, GFP_FOP_READ, false, 172 },
		{ 400, GFP_FOP_WRITE, true, 52 },
		{ 330, GFP_FOP_READ, false, 116 },
		{ 330, GFP_FOP_WRITE, true, 44 },
	};
	static const uint8_t zeros[256];

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		const struct gfp_proc *proc = gfp_proc_find(
			GFP_PROG_FOP, want[i].version, want[i].proc);
		size_t off;

		assert_int_equal(gfp_payload_off(proc, want[i].is_call,
						 (struct gfp_span){
						 zeros, sizeof(zeros) }, &off),
				 GFP_OK);
		assert_int_equal(off, want[i].off);
	}
}

static void programs_have_no_gap_at_their_end(void **state)
{
	(void)state;
	for (const struct gfp_program *const *p = gfp_programs; *p; p++) {
		assert_non_null((*p)->procs[(*p)->proc_limit - 1]);
		assert_ptr_equal(gfp_program_find((*p)->number, (*p)->version),
				 *p);
	}
	assert_int_equal(gfp_program_find(GFP_PROG_FOP, GFP_FOP_V400)->
			 proc_limit, 57);
	assert_int_equal(gfp_program_find(GFP_PROG_FOP, GFP_FOP_V330)->
			 proc_limit, 53);
}

static void every_number_of_version_400_but_compound_has_a_row(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= 56; i++) {
		const struct gfp_proc *v4 =
			gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, i);
		const struct gfp_proc *v3 =
			gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V330, i);

		assert_int_equal(v4 != NULL, i != 49);
		assert_int_equal(v3 != NULL, i != 49 && i < 53);
		if (v3 != NULL)
			assert_string_equal(v3->name, v4->name);
	}
}

static void what_no_table_knows_is_null(void **state)
{
	(void)state;
	assert_null(gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, 57));
	assert_null(gfp_proc_find(GFP_PROG_FOP, GFP_FOP_V400, UINT32_MAX));
	assert_null(gfp_proc_find(GFP_PROG_FOP, 401, 1));
	assert_null(gfp_proc_find(GFP_PROG_FOP + 1, 400, 1));
	assert_null(gfp_proc_find(0, 0, 0));
	assert_null(gfp_proc_find(GFP_PROG_DUMP, 1, 0));
	assert_null(gfp_proc_find(GFP_PROG_PMAP, 1, 3));
	assert_null(gfp_program_find(GFP_PROG_HNDSK, 1));
}

static void identifiers_are_the_numbers_of_the_wire(void **state)
{
	(void)state;
	assert_int_equal(GFP_FOP_READ, 12);
	assert_int_equal(GFP_FOP_COPY_FILE_RANGE, 56);
	assert_int_equal(GFP_HNDSK_SETVOLUME, 1);
	assert_int_equal(GFP_HNDSK_GETSPEC, 2);
	assert_int_equal(GFP_DUMP_PING, 2);
	assert_int_equal(GFP_PMAP_PORTBYBRICK, 1);
	assert_int_equal(GFP_CBK_ENTRYLK_CONTENTION, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_by_its_own_number),
		cmocka_unit_test(columns_agree_with_the_layout),
		cmocka_unit_test(nothing_of_variable_length_precedes_a_column),
		cmocka_unit_test(every_row_with_an_fd_is_guarded),
		cmocka_unit_test(what_kills_a_brick_is_refused),
		cmocka_unit_test(payload_follows_where_protocol_says),
		cmocka_unit_test(every_failed_reply_parses_by_its_own_layout),
		cmocka_unit_test(a_failed_read_is_the_one_that_a_brick_sends),
		cmocka_unit_test(payload_begins_behind_the_members),
		cmocka_unit_test(
			payload_behind_empty_xdata_is_where_the_notes_say),
		cmocka_unit_test(programs_have_no_gap_at_their_end),
		cmocka_unit_test(
			every_number_of_version_400_but_compound_has_a_row),
		cmocka_unit_test(what_no_table_knows_is_null),
		cmocka_unit_test(identifiers_are_the_numbers_of_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
