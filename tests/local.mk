# files of tests/
include tests/wire/local.mk
include tests/unit/local.mk
include tests/integration/local.mk
include tests/fake/local.mk
include tests/bench/local.mk
include tests/fuzz/local.mk

# The commands of the README, and what they share.
EXTRA_DIST += \
	tests/check.sh \
	tests/demo.sh \
	tests/install-packages.sh \
	tests/packages.txt \
	tests/soak.sh

# What holds of the sources and of what is installed, without running it.
static_tests = \
	tests/layers.sh \
	tests/drawing.sh \
	tests/generated.sh \
	tests/manuals.sh \
	tests/service.sh
TESTS += $(static_tests) tests/process.sh
EXTRA_DIST += $(static_tests) tests/process.sh tests/process.py
AM_TESTS_ENVIRONMENT = \
	CC='$(CC)' TEST_CPPFLAGS='$(TIRPC_CFLAGS) $(EVENT_CFLAGS)'; \
	export CC TEST_CPPFLAGS;
