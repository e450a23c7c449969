# Unit tests. What tests proto/ is linked with its library alone, which shows
# that it needs no other.
if HAVE_CMOCKA
proto_tests = \
	tests/unit/test_record \
	tests/unit/test_rpc_msg \
	tests/unit/test_layout \
	tests/unit/test_dict \
	tests/unit/test_fop \
	tests/unit/test_names
check_PROGRAMS += $(proto_tests)
TESTS += $(proto_tests)

proto_test_ldadd = proto/libgfp.a $(CMOCKA_LIBS)
proto_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
unit_headers = tests/unit/bytes.h tests/unit/sample.h tests/unit/test.h

tests_unit_test_record_SOURCES = tests/unit/test_record.c $(unit_headers)
tests_unit_test_record_CFLAGS = $(proto_test_cflags)
tests_unit_test_record_LDADD = $(proto_test_ldadd)
tests_unit_test_rpc_msg_SOURCES = tests/unit/test_rpc_msg.c $(unit_headers)
tests_unit_test_rpc_msg_CFLAGS = $(proto_test_cflags)
tests_unit_test_rpc_msg_LDADD = $(proto_test_ldadd)
tests_unit_test_layout_SOURCES = tests/unit/test_layout.c $(unit_headers)
tests_unit_test_layout_CFLAGS = $(proto_test_cflags)
tests_unit_test_layout_LDADD = $(proto_test_ldadd)
tests_unit_test_dict_SOURCES = tests/unit/test_dict.c $(unit_headers)
tests_unit_test_dict_CFLAGS = $(proto_test_cflags)
tests_unit_test_dict_LDADD = $(proto_test_ldadd)
tests_unit_test_fop_SOURCES = tests/unit/test_fop.c $(unit_headers)
tests_unit_test_fop_CFLAGS = $(proto_test_cflags)
tests_unit_test_fop_LDADD = $(proto_test_ldadd)
tests_unit_test_names_SOURCES = tests/unit/test_names.c $(unit_headers)
tests_unit_test_names_CFLAGS = $(proto_test_cflags)
tests_unit_test_names_LDADD = $(proto_test_ldadd)
endif

# The XDR types. test_gfx puts itself between them and gfx_list.c.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_gfx
TESTS += tests/unit/test_gfx
fixture_sources = tests/unit/fixture.c tests/unit/fixture.h $(unit_headers)
gfx_test_ldadd = proto/libgfx.a proto/libgfp.a $(TIRPC_LIBS) $(CMOCKA_LIBS)

tests_unit_test_gfx_SOURCES = tests/unit/test_gfx.c $(fixture_sources)
tests_unit_test_gfx_CFLAGS = $(proto_test_cflags)
tests_unit_test_gfx_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=gfx_list_bytes,--wrap=gfx_list_string,--wrap=gfx_list_array
tests_unit_test_gfx_LDADD = $(gfx_test_ldadd)
endif
