# files of tests/
