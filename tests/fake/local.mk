# The fake ring: the daemon as a process between scripted peers.
check_PROGRAMS += tests/fake/fake_brick
tests_fake_fake_brick_SOURCES = \
	tests/fake/fake_brick.c \
	tests/fake/brick_reply.c tests/fake/brick_reply.h \
	$(bench_util)
tests_fake_fake_brick_LDADD = proto/libgfp.a

# Each runs by itself, too, in a build directory or with FOREBRICKD and
# FAKE_BRICK in the environment; --long for a soak.
fake_tests = \
	tests/fake/test_records.py \
	tests/fake/test_brick.py \
	tests/fake/test_flow.py \
	tests/fake/test_close.py \
	tests/fake/test_daemon.py \
	tests/fake/test_replay.py
TESTS += $(fake_tests)
EXTRA_DIST += $(fake_tests) \
	tests/fake/canary.py \
	tests/fake/peers.py \
	tests/fake/wire.py
