# Manuals, and what is generated from options.def. The results are checked in
# and distributed, so that nothing but a changed option needs the generator;
# tests/generated.sh fails when they are not what it would write.
noinst_PROGRAMS += docs/options_doc
docs_options_doc_SOURCES = docs/options_doc.c
docs_options_doc_LDADD = daemon/libforebrick.a proto/libgfp.a \
	$(CONFUSE_LIBS) $(TIRPC_LIBS) -lpthread

dist_man_MANS += docs/forebrickd.8 docs/forebrick.conf.5
EXTRA_DIST += docs/forebrick.conf.5.in docs/HACKING.md

generated: docs/options_doc
	docs/options_doc sample > sample.tmp
	docs/options_doc manual $(srcdir)/docs/forebrick.conf.5.in > manual.tmp
	mv sample.tmp $(srcdir)/conf/forebrick.conf
	mv manual.tmp $(srcdir)/docs/forebrick.conf.5
