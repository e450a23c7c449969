/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_layout - cursors over every row of every program, composites, lists.
 */
#include "config.h"

#include "proto/fop.h"
#include "proto/layout.h"
#include "tests/unit/bytes.h"
#include "tests/unit/sample.h"
#include "tests/unit/test.h"

/* What a loop over the rows hands out: a layout and a sample of it. */
typedef void (*layout_fn)(const struct gfp_field *fields,
			  const struct bytes *sample);

static void each_layout(layout_fn check)
{
	static struct bytes sample;

	for (const struct gfp_program *const *p = gfp_programs; *p; p++) {
		for (uint32_t i = 0; i < (*p)->proc_limit; i++) {
			const struct gfp_proc *proc = (*p)->procs[i];

			if (proc == NULL)
				continue;
			sample.len = sample.length_count = 0;
			put_members(&sample, proc->call);
			check(proc->call, &sample);
			sample.len = sample.length_count = 0;
			put_members(&sample, proc->reply);
			check(proc->reply, &sample);
		}
	}
}

/* Walk to the end, or to what stops it. */
static enum gfp_status walk(const struct gfp_field *fields, struct gfp_span in,
			    size_t *off)
{
	enum gfp_status status;
	struct gfp_cursor c;
	struct gfp_value v;

	gfp_cursor_start(&c, fields, in);
	do {
		status = gfp_field_next(&c, &v);
	} while (status == GFP_OK);
	*off = c.off;
	return status;
}

static void check_members(const struct gfp_field *fields,
			  const struct bytes *sample)
{
	static struct bytes one;
	struct gfp_cursor c;
	struct gfp_value v;
	size_t off = 0;

	gfp_cursor_start(&c, fields, span_of(sample));
	for (; fields->kind != GFP_K_END; fields++) {
		one.len = one.length_count = 0;
		put_member(&one, fields->kind);
		assert_int_equal(gfp_field_next(&c, &v), GFP_OK);
		assert_ptr_equal(v.field, fields);
		assert_ptr_equal(v.raw.ptr, sample->at + off);
		assert_int_equal(v.raw.len, one.len);
		assert_memory_equal(v.raw.ptr, one.at, one.len);
		off += v.raw.len;
		assert_int_equal(c.off, off);
	}
	assert_int_equal(gfp_field_next(&c, &v), GFP_END);
	assert_int_equal(c.off, sample->len);
}

static void every_member_of_every_row_is_found_in_order(void **state)
{
	(void)state;
	each_layout(check_members);
}

static void check_truncations(const struct gfp_field *fields,
			      const struct bytes *sample)
{
	size_t off;

	for (size_t cut = 0; cut < sample->len; cut++) {
		struct gfp_span view = view_of(span_of(sample), cut);

		assert_int_equal(walk(fields, view, &off), GFP_SHORT);
		assert_true(off <= cut);
		drop(view);
	}
}

static void every_truncation_of_every_row_is_short(void **state)
{
	(void)state;
	each_layout(check_truncations);
}

static void check_lengths(const struct gfp_field *fields,
			  const struct bytes *sample)
{
	static const uint32_t most[] = { 0x7fffffff, 0x80000000, 0xfffffffc,
					 0xffffffff };
	static struct bytes spoilt;
	size_t off;

	for (size_t i = 0; i < sample->length_count; i++) {
		for (size_t j = 0; j < COUNT(most); j++) {
			enum gfp_status status;

			spoilt = *sample;
			gfp_put_be32(spoilt.at + sample->lengths[i], most[j]);
			status = walk(fields, span_of(&spoilt), &off);
			assert_true(status == GFP_TOO_BIG || status == GFP_BAD);
			assert_true(off <= sample->lengths[i]);
		}
	}
}

static void no_length_of_any_row_may_be_at_its_maximum(void **state)
{
	(void)state;
	each_layout(check_lengths);
}

static void check_payload(const struct gfp_field *fields,
			  const struct bytes *sample)
{
	static struct bytes longer;
	size_t off;

	longer = *sample;
	put_fill(&longer, 100, 0xff);
	assert_int_equal(walk(fields, span_of(&longer), &off), GFP_END);
	assert_int_equal(off, sample->len);
}

static void what_follows_the_members_is_left_alone(void **state)
{
	(void)state;
	each_layout(check_payload);
}

static void a_cursor_stays_where_it_failed(void **state)
{
	const struct gfp_field fields[] = {
		{ "a", GFP_K_U32 }, { "b", GFP_K_STR }, { NULL, GFP_K_END },
	};
	struct bytes b = { .len = 0 };
	struct gfp_cursor c;
	struct gfp_value v;

	(void)state;
	put_u32(&b, 1);
	put_u32(&b, 3);
	put_raw(&b, "xyz", 3);
	gfp_cursor_start(&c, fields, span_of(&b));
	assert_int_equal(gfp_field_next(&c, &v), GFP_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gfp_field_next(&c, &v), GFP_SHORT);
		assert_int_equal(c.off, 4);
		assert_ptr_equal(c.next, fields + 1);
	}
	/* its padding arrives */
	put_u8(&b, 0);
	c.in = span_of(&b);
	assert_int_equal(gfp_field_next(&c, &v), GFP_OK);
	assert_int_equal(v.raw.len, 8);
	assert_int_equal(v.body.len, 3);
	assert_memory_equal(v.body.ptr, "xyz", 3);
	assert_int_equal(gfp_field_next(&c, &v), GFP_END);
	assert_int_equal(gfp_field_next(&c, &v), GFP_END);
}

/* The number that a kind reads from eight bytes of the given value. */
static uint64_t number_of(enum gfp_kind kind, unsigned int fill)
{
	const struct gfp_field fields[] = { { "n", kind },
					    { NULL, GFP_K_END } };
	struct bytes b = { .len = 0 };
	struct gfp_cursor c;
	struct gfp_value v;

	put_fill(&b, 8, fill);
	gfp_cursor_start(&c, fields, span_of(&b));
	assert_int_equal(gfp_field_next(&c, &v), GFP_OK);
	assert_ptr_equal(v.body.ptr, v.raw.ptr);
	assert_int_equal(v.body.len, v.raw.len);
	return v.num;
}

static void signed_numbers_are_extended_and_others_are_not(void **state)
{
	static const enum gfp_kind signed_kinds[] = { GFP_K_RET, GFP_K_ERRNO,
						      GFP_K_I32 };
	static const enum gfp_kind words[] = { GFP_K_U32, GFP_K_HEX32,
					       GFP_K_OFLAGS, GFP_K_MODE,
					       GFP_K_LKCMD, GFP_K_LKTYPE };
	static const enum gfp_kind longs[] = { GFP_K_I64, GFP_K_U64, GFP_K_FD };

	(void)state;
	for (size_t i = 0; i < COUNT(signed_kinds); i++) {
		assert_true(number_of(signed_kinds[i], 0xff) == UINT64_MAX);
		assert_true(number_of(signed_kinds[i], 0x12) == 0x12121212);
	}
	for (size_t i = 0; i < COUNT(words); i++)
		assert_true(number_of(words[i], 0xff) == UINT32_MAX);
	for (size_t i = 0; i < COUNT(longs); i++)
		assert_true(number_of(longs[i], 0x12) == 0x1212121212121212);
}

static void every_kind_has_the_size_that_the_notes_give(void **state)
{
	(void)state;
	for (int kind = GFP_K_END + 1; kind < GFP_KIND_LIMIT; kind++)
		assert_int_not_equal(gfp_kind_min_size((enum gfp_kind)kind), 0);
	assert_int_equal(gfp_kind_min_size(GFP_K_IATTX), 148);
	assert_int_equal(gfp_kind_min_size(GFP_K_IATT3), 100);
	assert_int_equal(gfp_kind_min_size(GFP_K_STATFS), 88);
	assert_int_equal(gfp_kind_min_size(GFP_K_LEASE), 28);
	assert_int_equal(gfp_kind_min_size(GFP_K_FLOCK), 32);
	assert_true(gfp_kind_is_fixed(GFP_K_LEASE));
	assert_false(gfp_kind_is_fixed(GFP_K_STR));
	assert_false(gfp_kind_is_fixed(GFP_K_PROGLIST));
}

static void a_member_with_nothing_in_it_has_its_least_size(void **state)
{
	(void)state;
	for (int kind = GFP_K_END + 1; kind < GFP_KIND_LIMIT; kind++) {
		const struct gfp_field fields[] = {
			{ "m", (enum gfp_kind)kind }, { NULL, GFP_K_END },
		};
		struct bytes b = { .len = 0 };
		size_t off;

		put_fill(&b, 256, 0);
		assert_int_equal(walk(fields, span_of(&b), &off), GFP_END);
		assert_int_equal(off, gfp_kind_min_size((enum gfp_kind)kind));
	}
}

/* Bytes that count up, so that each member has a value of its own. */
static void put_counting(struct bytes *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put_u8(b, (unsigned int)i);
}

/* The u64, u32 that counting bytes hold at off. */
static uint64_t counted64(unsigned int off)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < 8; i++)
		v = v << 8 | (off + i);
	return v;
}

static uint32_t counted32(unsigned int off)
{
	return (uint32_t)(counted64(off) >> 32);
}

static void an_iattx_is_read_member_by_member(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_iatt got;

	(void)state;
	put_counting(&b, GFP_IATTX_SIZE);
	gfp_iattx_read(b.at, &got);
	assert_memory_equal(got.gfid, b.at, 16);
	assert_true(got.valid == counted64(16));
	assert_true(got.ino == counted64(24));
	assert_true(got.dev == counted64(32));
	assert_true(got.rdev == counted64(40));
	assert_true(got.size == counted64(48));
	assert_true(got.blocks == counted64(56));
	assert_true(got.attributes == counted64(64));
	assert_true(got.attributes_mask == counted64(72));
	assert_true(got.atime == (int64_t)counted64(80));
	assert_true(got.mtime == (int64_t)counted64(88));
	assert_true(got.ctime == (int64_t)counted64(96));
	assert_true(got.btime == (int64_t)counted64(104));
	assert_int_equal(got.atime_nsec, counted32(112));
	assert_int_equal(got.mtime_nsec, counted32(116));
	assert_int_equal(got.ctime_nsec, counted32(120));
	assert_int_equal(got.btime_nsec, counted32(124));
	assert_int_equal(got.nlink, counted32(128));
	assert_int_equal(got.uid, counted32(132));
	assert_int_equal(got.gid, counted32(136));
	assert_int_equal(got.blksize, counted32(140));
	assert_int_equal(got.mode, counted32(144));
}

static void an_iatt3_is_read_member_by_member(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_iatt got;

	(void)state;
	put_counting(&b, GFP_IATT3_SIZE);
	memset(&got, 0xff, sizeof(got));
	gfp_iatt3_read(b.at, &got);
	assert_memory_equal(got.gfid, b.at, 16);
	assert_true(got.valid == UINT64_MAX);
	assert_true(got.ino == counted64(16));
	assert_true(got.dev == counted64(24));
	assert_int_equal(got.mode, counted32(32));
	assert_int_equal(got.nlink, counted32(36));
	assert_int_equal(got.uid, counted32(40));
	assert_int_equal(got.gid, counted32(44));
	assert_true(got.rdev == counted64(48));
	assert_true(got.size == counted64(56));
	assert_int_equal(got.blksize, counted32(64));
	assert_true(got.blocks == counted64(68));
	assert_true(got.atime == counted32(76));
	assert_int_equal(got.atime_nsec, counted32(80));
	assert_true(got.mtime == counted32(84));
	assert_int_equal(got.mtime_nsec, counted32(88));
	assert_true(got.ctime == counted32(92));
	assert_int_equal(got.ctime_nsec, counted32(96));
	assert_true(got.btime == 0 && got.btime_nsec == 0);
	assert_true(got.attributes == 0 && got.attributes_mask == 0);
}

static void check_flock(const struct gfp_flock *got)
{
	assert_int_equal(got->type, 1);
	assert_int_equal(got->whence, 2);
	assert_true(got->start == 3);
	assert_true(got->len == 1ull << 40);
	assert_int_equal(got->pid, 4242);
	assert_int_equal(got->lk_owner.len, 5);
	assert_memory_equal(got->lk_owner.ptr, "owner", 5);
}

static void a_flock_is_read_member_by_member(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_flock got;

	(void)state;
	put_flock(&b);
	assert_int_equal(gfp_flock_read(span_of(&b), &got), GFP_OK);
	check_flock(&got);
	for (size_t cut = 0; cut < b.len; cut++) {
		struct gfp_span view = view_of(span_of(&b), cut);

		assert_int_equal(gfp_flock_read(view, &got), GFP_SHORT);
		drop(view);
	}
}

static void a_lock_owner_is_bounded(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_flock got;

	(void)state;
	put_fill(&b, 28, 0);
	put_u32(&b, GFP_OWNER_MAX);
	put_fill(&b, GFP_OWNER_MAX + 4, 0xee);
	assert_int_equal(gfp_flock_read(span_of(&b), &got), GFP_OK);
	assert_int_equal(got.lk_owner.len, GFP_OWNER_MAX);
	gfp_put_be32(b.at + 28, GFP_OWNER_MAX + 1);
	assert_int_equal(gfp_flock_read(span_of(&b), &got), GFP_TOO_BIG);
}

static void check_dirents(enum gfp_kind kind, size_t iatt_len, size_t dict_len)
{
	static const char *const names[] = { "a", "longer-name" };
	struct bytes b = { .len = 0 };
	struct gfp_dirent entry;
	size_t off = 0;

	put_dirents(&b, kind);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(gfp_dirent_next(kind, span_of(&b), &off,
						 &entry), GFP_OK);
		assert_true(entry.ino == 100 + i);
		assert_true(entry.cookie == UINT64_MAX >> i);
		assert_int_equal(entry.type, 8 - 4 * i);
		assert_int_equal(entry.name.len, strlen(names[i]));
		assert_memory_equal(entry.name.ptr, names[i], entry.name.len);
		assert_int_equal(entry.iatt.len, iatt_len);
		if (iatt_len > 0)
			assert_int_equal(entry.iatt.ptr[0], 0x10 + i);
		assert_int_equal(entry.dict.len, dict_len);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(gfp_dirent_next(kind, span_of(&b), &off,
						 &entry), GFP_END);
	assert_int_equal(off, b.len - 4);
}

static void entries_of_a_directory_are_handed_out_in_order(void **state)
{
	(void)state;
	check_dirents(GFP_K_DIRLIST, 0, 0);
	check_dirents(GFP_K_DIRPLIST, GFP_IATTX_SIZE, 32);
	check_dirents(GFP_K_DIRPLIST3, GFP_IATT3_SIZE, 16);
}

static void locks_are_handed_out_in_order(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_lockent entry;
	size_t off = 0;

	(void)state;
	put_lockents(&b);
	assert_int_equal(gfp_lockent_next(span_of(&b), &off, &entry), GFP_OK);
	check_flock(&entry.flock);
	assert_int_equal(entry.client.len, 8);
	assert_memory_equal(entry.client.ptr, "client-0", 8);
	assert_int_equal(entry.flags, 7);
	assert_int_equal(gfp_lockent_next(span_of(&b), &off, &entry), GFP_OK);
	check_flock(&entry.flock);
	assert_int_equal(entry.client.len, 0);
	assert_int_equal(entry.flags, 8);
	assert_int_equal(gfp_lockent_next(span_of(&b), &off, &entry), GFP_END);
	assert_int_equal(off, b.len - 4);
}

static void programs_are_handed_out_in_order(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_progent entry;
	size_t off = 0;

	(void)state;
	put_progents(&b);
	assert_int_equal(gfp_progent_next(span_of(&b), &off, &entry), GFP_OK);
	assert_int_equal(entry.name.len, 16);
	assert_memory_equal(entry.name.ptr, "GlusterFS 4.x v1", 16);
	assert_true(entry.program == 1298437 && entry.version == 400);
	assert_int_equal(gfp_progent_next(span_of(&b), &off, &entry), GFP_OK);
	assert_true(entry.program == 123451501 && entry.version == 1);
	assert_int_equal(gfp_progent_next(span_of(&b), &off, &entry), GFP_END);
	assert_int_equal(off, b.len - 4);
}

static void an_entry_that_does_not_parse_leaves_the_offset(void **state)
{
	struct bytes b = { .len = 0 };
	struct gfp_dirent entry;
	size_t off = 0;

	(void)state;
	put_dirents(&b, GFP_K_DIRPLIST);
	b.len -= 8;
	assert_int_equal(gfp_dirent_next(GFP_K_DIRPLIST, span_of(&b), &off,
					 &entry), GFP_OK);
	for (int i = 0; i < 2; i++) {
		size_t before = off;

		assert_int_equal(gfp_dirent_next(GFP_K_DIRPLIST, span_of(&b),
						 &off, &entry), GFP_SHORT);
		assert_int_equal(off, before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_of_every_row_is_found_in_order),
		cmocka_unit_test(every_truncation_of_every_row_is_short),
		cmocka_unit_test(no_length_of_any_row_may_be_at_its_maximum),
		cmocka_unit_test(what_follows_the_members_is_left_alone),
		cmocka_unit_test(a_cursor_stays_where_it_failed),
		cmocka_unit_test(
			signed_numbers_are_extended_and_others_are_not),
		cmocka_unit_test(
			every_kind_has_the_size_that_the_notes_give),
		cmocka_unit_test(
			a_member_with_nothing_in_it_has_its_least_size),
		cmocka_unit_test(an_iattx_is_read_member_by_member),
		cmocka_unit_test(an_iatt3_is_read_member_by_member),
		cmocka_unit_test(a_flock_is_read_member_by_member),
		cmocka_unit_test(a_lock_owner_is_bounded),
		cmocka_unit_test(
			entries_of_a_directory_are_handed_out_in_order),
		cmocka_unit_test(locks_are_handed_out_in_order),
		cmocka_unit_test(programs_are_handed_out_in_order),
		cmocka_unit_test(
			an_entry_that_does_not_parse_leaves_the_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
