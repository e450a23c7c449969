# Measuring: a relay with a delay, a client that makes load, what drives them.
check_PROGRAMS += tests/bench/delay_relay
bench_util = tests/bench/bench_util.c tests/bench/bench_util.h

tests_bench_delay_relay_SOURCES = \
	tests/bench/delay_line.c tests/bench/delay_line.h \
	tests/bench/delay_relay.c \
	tests/bench/relay.c tests/bench/relay.h \
	$(bench_util)

bench_tests = tests/bench/test_delay_relay.py
TESTS += $(bench_tests)
EXTRA_DIST += $(bench_tests)
