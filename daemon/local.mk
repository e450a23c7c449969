sbin_PROGRAMS += forebrickd
noinst_LIBRARIES += daemon/libforebrick.a

# Everything but main(), so that tests link the same objects.
daemon_libforebrick_a_SOURCES = \
	daemon/addr.c daemon/addr.h \
	daemon/args.c daemon/args.h \
	daemon/buf.c daemon/buf.h \
	daemon/call.c daemon/call.h \
	daemon/clock.h \
	daemon/close_reasons.def \
	daemon/conn.c daemon/conn_plain.c daemon/conn_read.c daemon/conn.h \
	daemon/emit.c daemon/emit.h \
	daemon/guard.c daemon/guard.h \
	daemon/join.c daemon/join.h \
	daemon/listener.c daemon/listener.h \
	daemon/log.c daemon/log.h \
	daemon/options.def \
	daemon/notify.c daemon/notify.h \
	daemon/outq.c daemon/outq.h \
	daemon/route.c daemon/route.h \
	daemon/server.c daemon/server.h \
	daemon/session.c daemon/session_host.c daemon/session.h \
	daemon/session_trace.c daemon/session_trace.h \
	daemon/settings.c daemon/settings.h \
	daemon/settings_file.c daemon/settings_file.h \
	daemon/settings_print.c \
	daemon/settings_problem.c daemon/settings_problem.h \
	daemon/settings_row.c daemon/settings_row.h \
	daemon/settings_text.c daemon/settings_text.h \
	daemon/settings_value.c \
	daemon/socket.c daemon/socket.h \
	daemon/spsc.c daemon/spsc.h \
	daemon/trace.c daemon/trace.h \
	daemon/trace_dict.c daemon/trace_dict.h \
	daemon/trace_file.c daemon/trace_file.h \
	daemon/trace_format.c daemon/trace_format.h \
	daemon/trace_list.c daemon/trace_list.h \
	daemon/trace_ring.c daemon/trace_ring.h \
	daemon/trace_text.c daemon/trace_text.h \
	daemon/trace_thread.c daemon/trace_thread.h \
	daemon/trace_value.c daemon/trace_value.h \
	daemon/worker.c daemon/worker.h
daemon_libforebrick_a_CFLAGS = $(AM_CFLAGS) $(EVENT_CFLAGS) \
	$(CONFUSE_CFLAGS) $(SYSTEMD_CFLAGS)

forebrickd_SOURCES = daemon/main.c
forebrickd_CFLAGS = $(daemon_libforebrick_a_CFLAGS)
forebrickd_LDADD = daemon/libforebrick.a proto/libgfp.a proto/libgfx.a \
	$(EVENT_LIBS) $(CONFUSE_LIBS) $(SYSTEMD_LIBS) $(TIRPC_LIBS) -lpthread
