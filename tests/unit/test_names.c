/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_names - texts for the numbers of the wire.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "proto/names.h"
#include "tests/unit/test.h"

static void errnos_are_named_by_the_wire_s_numbers(void **state)
{
	(void)state;
	assert_string_equal(gfp_errno_name(1), "EPERM");
	assert_string_equal(gfp_errno_name(2), "ENOENT");
	assert_string_equal(gfp_errno_name(11), "EAGAIN");
	assert_string_equal(gfp_errno_name(61), "ENODATA");
	assert_string_equal(gfp_errno_name(95), "EOPNOTSUPP");
	assert_string_equal(gfp_errno_name(116), "ESTALE");
	assert_string_equal(gfp_errno_name(131), "ENOTRECOVERABLE");
	assert_string_equal(gfp_errno_name(521), "EBADHANDLE");
	assert_string_equal(gfp_errno_name(524), "ENOTSUPP");
	assert_string_equal(gfp_errno_name(528), "EJUKEBOX");
	assert_string_equal(gfp_errno_name(1024), "EUNKNOWN");
}

static void numbers_that_are_no_errno_have_no_name(void **state)
{
	static const uint32_t none[] = { 0, 41, 58, 134, 520, 529, 1023, 1025,
					 0x7fffffff, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < COUNT(none); i++)
		assert_null(gfp_errno_name(none[i]));
}

#if defined(__GLIBC__) && defined(__x86_64__)
/* On x86-64 Linux the wire's numbers are the machine's own. */
static void every_errno_has_the_name_that_libc_gives_it(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= EHWPOISON; i++) {
		const char *libc = strerrorname_np((int)i);
		const char *own = gfp_errno_name(i);

		if (libc == NULL)
			assert_null(own);
		else
			assert_string_equal(own, libc);
	}
}
#endif

static const char *flags_text(uint32_t flags)
{
	static char out[256];
	size_t len = gfp_open_flags_text(flags, out, sizeof(out));

	assert_int_equal(len, strlen(out));
	return out;
}

static void open_flags_are_written_as_in_c(void **state)
{
	(void)state;
	assert_string_equal(flags_text(0), "O_RDONLY");
	assert_string_equal(flags_text(1), "O_WRONLY");
	assert_string_equal(flags_text(2), "O_RDWR");
	assert_string_equal(flags_text(3), "O_ACCMODE");
	assert_string_equal(flags_text(0x8042), "O_RDWR|O_CREAT|O_LARGEFILE");
	assert_string_equal(flags_text(0x1000), "O_RDONLY|O_SYNC");
	assert_string_equal(flags_text(0x20 | 0x200000),
			    "O_RDONLY|FMODE_EXEC|O_PATH");
	assert_string_equal(flags_text(0x80000042),
			    "O_RDWR|O_CREAT|0x80000000");
}

static void text_of_all_flags_fits_in_256_bytes(void **state)
{
	(void)state;
	assert_true(strlen(flags_text(0xffffffff)) < 255);
	assert_non_null(strstr(flags_text(0xffffffff), "|0xffd0001c"));
}

static void a_short_buffer_cuts_the_text_and_is_closed(void **state)
{
	char out[32];

	(void)state;
	for (size_t cap = 1; cap < sizeof(out); cap++) {
		size_t len;

		memset(out, 'x', sizeof(out));
		len = gfp_open_flags_text(0xffffffff, out, cap);
		assert_int_equal(len, cap - 1);
		assert_int_equal(out[len], '\0');
		assert_int_equal(out[cap], 'x');
	}
	assert_int_equal(gfp_open_flags_text(0, out, 0), 0);
}

static void modes_are_written_as_ls_does(void **state)
{
	static const struct {
		uint32_t mode;
		const char *text;
	} want[] = {
		{ 0100644, "-rw-r--r--" }, { 0040755, "drwxr-xr-x" },
		{ 0120777, "lrwxrwxrwx" }, { 0010600, "prw-------" },
		{ 0020620, "crw--w----" }, { 0060660, "brw-rw----" },
		{ 0140000, "s---------" }, { 0104755, "-rwsr-xr-x" },
		{ 0104644, "-rwSr--r--" }, { 0102755, "-rwxr-sr-x" },
		{ 0102640, "-rw-r-S---" }, { 0041777, "drwxrwxrwt" },
		{ 0041770, "drwxrwx--T" }, { 0, "?---------" },
		{ 0xffffffff, "?rwsrwsrwt" },
	};
	char out[11];

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		gfp_mode_text(want[i].mode, out);
		assert_string_equal(out, want[i].text);
	}
}

static void small_enums_have_names_up_to_their_end(void **state)
{
	(void)state;
	assert_string_equal(gfp_lock_type_name(0), "read");
	assert_string_equal(gfp_lock_type_name(2), "unlock");
	assert_null(gfp_lock_type_name(3));
	assert_string_equal(gfp_lock_cmd_name(0), "get");
	assert_string_equal(gfp_lock_cmd_name(2), "set-wait");
	assert_string_equal(gfp_lock_cmd_name(6), "get-by-fd");
	assert_null(gfp_lock_cmd_name(7));
	assert_string_equal(gfp_dict_type_name(0), "unknown");
	assert_string_equal(gfp_dict_type_name(9), "mdata");
	assert_null(gfp_dict_type_name(10));
	assert_string_equal(gfp_accept_status_name(0), "success");
	assert_string_equal(gfp_accept_status_name(5), "system error");
	assert_null(gfp_accept_status_name(6));
	assert_null(gfp_accept_status_name(0xffffffff));
}

static void a_gfid_has_36_characters(void **state)
{
	static const uint8_t gfid[16] = {
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
		0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10,
	};
	char out[37];

	(void)state;
	gfp_gfid_text(gfid, out);
	assert_string_equal(out, "01234567-89ab-cdef-fedc-ba9876543210");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errnos_are_named_by_the_wire_s_numbers),
		cmocka_unit_test(numbers_that_are_no_errno_have_no_name),
#if defined(__GLIBC__) && defined(__x86_64__)
		cmocka_unit_test(every_errno_has_the_name_that_libc_gives_it),
#endif
		cmocka_unit_test(open_flags_are_written_as_in_c),
		cmocka_unit_test(text_of_all_flags_fits_in_256_bytes),
		cmocka_unit_test(a_short_buffer_cuts_the_text_and_is_closed),
		cmocka_unit_test(modes_are_written_as_ls_does),
		cmocka_unit_test(small_enums_have_names_up_to_their_end),
		cmocka_unit_test(a_gfid_has_36_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
