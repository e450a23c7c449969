# files of tests/
include tests/wire/local.mk
