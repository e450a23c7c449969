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

# The layouts on records of real peers; the types come with the fixtures.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_wire
TESTS += tests/unit/test_wire
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c $(fixture_sources)
tests_unit_test_wire_CFLAGS = $(proto_test_cflags)
tests_unit_test_wire_LDADD = $(gfx_test_ldadd)
endif

# Configuration, log and command line; each a program of its name.
if HAVE_CMOCKA
tool_tests = \
	tests/unit/test_log \
	tests/unit/test_settings \
	tests/unit/test_settings_file \
	tests/unit/test_args
check_PROGRAMS += $(tool_tests)
TESTS += $(tool_tests)

daemon_test_ldadd = daemon/libforebrick.a proto/libgfp.a proto/libgfx.a \
	$(EVENT_LIBS) $(CONFUSE_LIBS) $(SYSTEMD_LIBS) $(TIRPC_LIBS) \
	$(CMOCKA_LIBS) -lpthread

tests_unit_test_log_SOURCES = tests/unit/test_log.c tests/unit/test.h
tests_unit_test_log_CFLAGS = $(proto_test_cflags)
tests_unit_test_log_LDADD = $(daemon_test_ldadd)
tests_unit_test_settings_SOURCES = tests/unit/test_settings.c \
	tests/unit/settings_help.h tests/unit/test.h
tests_unit_test_settings_CFLAGS = $(proto_test_cflags)
tests_unit_test_settings_LDADD = $(daemon_test_ldadd)
tests_unit_test_settings_file_SOURCES = tests/unit/test_settings_file.c \
	tests/unit/settings_help.h tests/unit/test.h
tests_unit_test_settings_file_CFLAGS = $(proto_test_cflags)
tests_unit_test_settings_file_LDADD = $(daemon_test_ldadd)
tests_unit_test_args_SOURCES = tests/unit/test_args.c tests/unit/test.h
tests_unit_test_args_CFLAGS = $(proto_test_cflags)
tests_unit_test_args_LDADD = $(daemon_test_ldadd)
endif

# The XDR types against GlusterFS's own.
if HAVE_CMOCKA
if HAVE_GFXDR
check_PROGRAMS += tests/unit/test_oracle
TESTS += tests/unit/test_oracle
tests_unit_test_oracle_SOURCES = tests/unit/test_oracle.c \
	tests/unit/oracle.def tests/unit/different.h tests/unit/bytes.h \
	tests/unit/test.h
tests_unit_test_oracle_CFLAGS = $(proto_test_cflags) $(GFXDR_CFLAGS)
tests_unit_test_oracle_LDADD = $(gfx_test_ldadd) $(GFXDR_LIBS)
endif
endif

# The daemon's core, from addresses to whole sessions on socket pairs.
if HAVE_CMOCKA
core_tests = \
	tests/unit/test_addr \
	tests/unit/test_buf \
	tests/unit/test_call \
	tests/unit/test_conn \
	tests/unit/test_conn_flow \
	tests/unit/test_guard \
	tests/unit/test_join \
	tests/unit/test_outq \
	tests/unit/test_server \
	tests/unit/test_session \
	tests/unit/test_session_end \
	tests/unit/test_session_flow \
	tests/unit/test_session_memory \
	tests/unit/test_session_random \
	tests/unit/test_session_refuse \
	tests/unit/test_session_time \
	tests/unit/test_session_trace \
	tests/unit/test_socket
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)
core_test_cflags = $(proto_test_cflags) $(EVENT_CFLAGS)
bytes_headers = tests/unit/bytes.h tests/unit/test.h
peer_sources = tests/unit/peer.c tests/unit/peer.h tests/unit/test.h
conn_sources = tests/unit/conn_rig.c tests/unit/conn_rig.h $(peer_sources)
session_sources = tests/unit/session_rig.c tests/unit/session_rig.h \
	tests/unit/rpc_bytes.h tests/unit/bytes.h $(peer_sources)

tests_unit_test_addr_SOURCES = tests/unit/test_addr.c tests/unit/test.h
tests_unit_test_addr_CFLAGS = $(core_test_cflags)
tests_unit_test_addr_LDADD = $(daemon_test_ldadd)
tests_unit_test_buf_SOURCES = tests/unit/test_buf.c tests/unit/test.h
tests_unit_test_buf_CFLAGS = $(core_test_cflags)
tests_unit_test_buf_LDADD = $(daemon_test_ldadd)
tests_unit_test_call_SOURCES = tests/unit/test_call.c tests/unit/test.h
tests_unit_test_call_CFLAGS = $(core_test_cflags)
tests_unit_test_call_LDADD = $(daemon_test_ldadd)
tests_unit_test_conn_SOURCES = tests/unit/test_conn.c $(conn_sources)
tests_unit_test_conn_CFLAGS = $(core_test_cflags)
tests_unit_test_conn_LDADD = $(daemon_test_ldadd)
tests_unit_test_conn_flow_SOURCES = tests/unit/test_conn_flow.c $(conn_sources)
tests_unit_test_conn_flow_CFLAGS = $(core_test_cflags)
tests_unit_test_conn_flow_LDADD = $(daemon_test_ldadd)
tests_unit_test_guard_SOURCES = tests/unit/test_guard.c \
	tests/unit/rpc_bytes.h tests/unit/sample.h $(bytes_headers)
tests_unit_test_guard_CFLAGS = $(core_test_cflags)
tests_unit_test_guard_LDADD = $(daemon_test_ldadd)
tests_unit_test_join_SOURCES = tests/unit/test_join.c $(bytes_headers)
tests_unit_test_join_CFLAGS = $(core_test_cflags)
tests_unit_test_join_LDADD = $(daemon_test_ldadd)
tests_unit_test_outq_SOURCES = tests/unit/test_outq.c tests/unit/test.h
tests_unit_test_outq_CFLAGS = $(core_test_cflags)
tests_unit_test_outq_LDADD = $(daemon_test_ldadd)
tests_unit_test_server_SOURCES = tests/unit/test_server.c \
	$(peer_sources) tests/unit/rpc_bytes.h tests/unit/bytes.h
tests_unit_test_server_CFLAGS = $(core_test_cflags)
tests_unit_test_server_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_SOURCES = tests/unit/test_session.c $(session_sources)
tests_unit_test_session_CFLAGS = $(core_test_cflags)
tests_unit_test_session_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_end_SOURCES = tests/unit/test_session_end.c \
	$(session_sources)
tests_unit_test_session_end_CFLAGS = $(core_test_cflags)
tests_unit_test_session_end_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_flow_SOURCES = tests/unit/test_session_flow.c \
	$(session_sources)
tests_unit_test_session_flow_CFLAGS = $(core_test_cflags)
tests_unit_test_session_flow_LDADD = $(daemon_test_ldadd)
# Allocations come by the test, which lets them fail.
tests_unit_test_session_memory_SOURCES = tests/unit/test_session_memory.c \
	$(session_sources)
tests_unit_test_session_memory_CFLAGS = $(core_test_cflags)
tests_unit_test_session_memory_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
tests_unit_test_session_memory_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_random_SOURCES = tests/unit/test_session_random.c \
	$(session_sources)
tests_unit_test_session_random_CFLAGS = $(core_test_cflags)
tests_unit_test_session_random_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_refuse_SOURCES = tests/unit/test_session_refuse.c \
	$(session_sources) tests/unit/sample.h
tests_unit_test_session_refuse_CFLAGS = $(core_test_cflags)
tests_unit_test_session_refuse_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_time_SOURCES = tests/unit/test_session_time.c \
	$(session_sources)
tests_unit_test_session_time_CFLAGS = $(core_test_cflags)
tests_unit_test_session_time_LDADD = $(daemon_test_ldadd)
tests_unit_test_session_trace_SOURCES = tests/unit/test_session_trace.c \
	$(session_sources) tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_session_trace_CFLAGS = $(core_test_cflags)
tests_unit_test_session_trace_LDADD = $(daemon_test_ldadd)
tests_unit_test_socket_SOURCES = tests/unit/test_socket.c tests/unit/test.h
tests_unit_test_socket_CFLAGS = $(core_test_cflags)
tests_unit_test_socket_LDADD = $(daemon_test_ldadd)
endif

# The trace. Its JSON is read by a parser that is not ours.
if HAVE_CMOCKA
trace_tests = \
	tests/unit/test_spsc \
	tests/unit/test_trace \
	tests/unit/test_trace_file
check_PROGRAMS += $(trace_tests)
TESTS += $(trace_tests)
trace_headers = tests/unit/trace_help.h tests/unit/trace_sample.h \
	$(unit_headers)

tests_unit_test_spsc_SOURCES = tests/unit/test_spsc.c tests/unit/test.h
tests_unit_test_spsc_CFLAGS = $(proto_test_cflags)
tests_unit_test_spsc_LDADD = $(daemon_test_ldadd)
tests_unit_test_trace_SOURCES = tests/unit/test_trace.c $(trace_headers)
tests_unit_test_trace_CFLAGS = $(proto_test_cflags)
tests_unit_test_trace_LDADD = $(daemon_test_ldadd)
tests_unit_test_trace_file_SOURCES = tests/unit/test_trace_file.c \
	$(trace_headers)
tests_unit_test_trace_file_CFLAGS = $(proto_test_cflags)
tests_unit_test_trace_file_LDADD = $(daemon_test_ldadd)

if HAVE_JANSSON
line_tests = \
	tests/unit/test_trace_format \
	tests/unit/test_trace_line \
	tests/unit/test_trace_value
check_PROGRAMS += $(line_tests)
TESTS += $(line_tests)
line_headers = tests/unit/trace_lines.h tests/unit/trace_sample.h \
	$(unit_headers)
line_test_cflags = $(proto_test_cflags) $(JANSSON_CFLAGS)
line_test_ldadd = $(daemon_test_ldadd) $(JANSSON_LIBS)

tests_unit_test_trace_format_SOURCES = tests/unit/test_trace_format.c \
	tests/unit/trace_lines.h tests/unit/trace_sample.h $(fixture_sources)
tests_unit_test_trace_format_CFLAGS = $(line_test_cflags)
tests_unit_test_trace_format_LDADD = $(line_test_ldadd)
tests_unit_test_trace_line_SOURCES = tests/unit/test_trace_line.c \
	$(line_headers)
tests_unit_test_trace_line_CFLAGS = $(line_test_cflags)
tests_unit_test_trace_line_LDADD = $(line_test_ldadd)
tests_unit_test_trace_value_SOURCES = tests/unit/test_trace_value.c \
	$(line_headers)
tests_unit_test_trace_value_CFLAGS = $(line_test_cflags)
tests_unit_test_trace_value_LDADD = $(line_test_ldadd)
endif
endif
