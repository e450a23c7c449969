# Measuring: a relay with a delay, a client that makes load, what drives them.
# "make check" builds the programs and tests the relay; bench.py needs root and
# real peers, as the integration ring does, idle.sh the fake brick.
check_PROGRAMS += tests/bench/delay_relay tests/bench/rpc_load
bench_util = tests/bench/bench_util.c tests/bench/bench_util.h

tests_bench_delay_relay_SOURCES = \
	tests/bench/delay_line.c tests/bench/delay_line.h \
	tests/bench/delay_relay.c \
	tests/bench/relay.c tests/bench/relay.h \
	$(bench_util)

tests_bench_rpc_load_SOURCES = \
	tests/bench/raw_client.c tests/bench/raw_client.h \
	tests/bench/rpc_load.c \
	$(bench_util)
tests_bench_rpc_load_LDADD = proto/libgfx.a proto/libgfp.a $(TIRPC_LIBS)

bench_tests = tests/bench/test_delay_relay.py tests/bench/smoke.sh
TESTS += $(bench_tests)
EXTRA_DIST += \
	$(bench_tests) \
	tests/bench/bench.py \
	tests/bench/idle.sh \
	tests/bench/rig.py

# Not run by "make check": make tests/bench/trace_bench, then run it.
EXTRA_PROGRAMS = tests/bench/trace_bench
CLEANFILES += $(EXTRA_PROGRAMS)
tests_bench_trace_bench_SOURCES = tests/bench/trace_bench.c \
	tests/unit/bytes.h tests/unit/sample.h tests/unit/trace_sample.h
tests_bench_trace_bench_LDADD = daemon/libforebrick.a proto/libgfp.a -lpthread
