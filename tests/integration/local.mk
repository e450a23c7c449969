# The integration ring: real peers, root, FUSE. Not in TESTS, so neither "make
# check" nor "make distcheck" needs them: tests/check.sh runs these scripts, and
# each runs by itself.
if HAVE_GFAPI
check_PROGRAMS += tests/integration/gfapi_client
tests_integration_gfapi_client_SOURCES = tests/integration/gfapi_client.c
tests_integration_gfapi_client_CFLAGS = $(AM_CFLAGS) $(GFAPI_CFLAGS)
tests_integration_gfapi_client_LDADD = $(GFAPI_LIBS)
endif

EXTRA_DIST += \
	tests/integration/lib.sh \
	tests/integration/volfiles.sh \
	tests/integration/several.sh \
	tests/integration/posix_probe.py \
	tests/integration/probe.py \
	tests/integration/probe_attributes.py \
	tests/integration/probe_clients.py \
	tests/integration/probe_data.py \
	tests/integration/probe_names.py \
	tests/integration/acked_writer.py \
	tests/integration/fuse-bigdir.sh \
	tests/integration/fuse-fio.sh \
	tests/integration/fuse-probe.sh \
	tests/integration/fuse-tree.sh \
	tests/integration/gfapi-probe.sh \
	tests/integration/heal.sh \
	tests/integration/kill.sh \
	tests/integration/old-protocol.sh \
	tests/integration/unix-socket.sh \
	tests/integration/volumes-gfapi.sh \
	tests/integration/volumes.sh

# What the daemon says about its traffic, against captures of it.
EXTRA_DIST += \
	tests/integration/packets.sh \
	tests/integration/trace-complete.sh \
	tests/integration/trace_check.py \
	tests/integration/wire_capture.py \
	tests/integration/wire_decode.py
EXTRA_DIST += \
	tests/integration/tshark.sh \
	tests/integration/tshark_check.py
EXTRA_DIST += tests/integration/signals.sh
EXTRA_DIST += \
	tests/integration/trace-load.sh \
	tests/integration/trace_count.py
