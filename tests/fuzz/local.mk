# libFuzzer targets, for configure --enable-fuzzing with clang. Their seeds come
# from the fixtures (make_corpus); tests/fuzz.sh builds and runs all of them.
EXTRA_DIST += tests/fuzz.sh

if FUZZING
fuzz_programs = \
	tests/fuzz/fuzz_record \
	tests/fuzz/fuzz_call \
	tests/fuzz/fuzz_reply \
	tests/fuzz/fuzz_dict \
	tests/fuzz/fuzz_layout \
	tests/fuzz/fuzz_setvolume \
	tests/fuzz/fuzz_getspec
check_PROGRAMS += $(fuzz_programs) tests/fuzz/make_corpus

fuzz_common = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
fuzz_ldflags = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

tests_fuzz_make_corpus_SOURCES = tests/fuzz/make_corpus.c tests/fuzz/fuzz.h
tests_fuzz_make_corpus_LDADD = proto/libgfp.a
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c $(fuzz_common)
tests_fuzz_fuzz_record_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_record_LDADD = proto/libgfp.a
tests_fuzz_fuzz_call_SOURCES = tests/fuzz/fuzz_call.c $(fuzz_common)
tests_fuzz_fuzz_call_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_call_LDADD = proto/libgfp.a
tests_fuzz_fuzz_reply_SOURCES = tests/fuzz/fuzz_reply.c $(fuzz_common)
tests_fuzz_fuzz_reply_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_reply_LDADD = proto/libgfp.a
tests_fuzz_fuzz_dict_SOURCES = tests/fuzz/fuzz_dict.c $(fuzz_common)
tests_fuzz_fuzz_dict_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_dict_LDADD = proto/libgfp.a
tests_fuzz_fuzz_layout_SOURCES = tests/fuzz/fuzz_layout.c $(fuzz_common)
tests_fuzz_fuzz_layout_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_layout_LDADD = proto/libgfp.a
tests_fuzz_fuzz_setvolume_SOURCES = tests/fuzz/fuzz_setvolume.c $(fuzz_common)
tests_fuzz_fuzz_setvolume_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_setvolume_LDADD = proto/libgfp.a
tests_fuzz_fuzz_getspec_SOURCES = tests/fuzz/fuzz_getspec.c $(fuzz_common)
tests_fuzz_fuzz_getspec_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_getspec_LDADD = proto/libgfp.a

# Its line of JSON is read by a parser that is not ours.
if HAVE_JANSSON
fuzz_programs += tests/fuzz/fuzz_trace_format
tests_fuzz_fuzz_trace_format_SOURCES = tests/fuzz/fuzz_trace_format.c \
	$(fuzz_common)
tests_fuzz_fuzz_trace_format_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_trace_format_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_trace_format_LDADD = daemon/libforebrick.a proto/libgfp.a \
	$(JANSSON_LIBS)
endif

# For tests/fuzz.sh: build them all; say which there are.
.PHONY: fuzz-targets fuzz-list
fuzz-targets: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs) tests/fuzz/make_corpus
fuzz-list:
	@for program in $(fuzz_programs); do \
		echo $${program#tests/fuzz/fuzz_}; \
	done
endif
