# The fake ring: the daemon as a process between scripted peers.
check_PROGRAMS += tests/fake/fake_brick
tests_fake_fake_brick_SOURCES = \
	tests/fake/fake_brick.c \
	tests/fake/brick_reply.c tests/fake/brick_reply.h \
	$(bench_util)
tests_fake_fake_brick_LDADD = proto/libgfp.a
