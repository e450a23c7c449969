# files of tests/
include tests/wire/local.mk
include tests/unit/local.mk
include tests/integration/local.mk
include tests/fuzz/local.mk
