# The sample configuration; "make generated" writes it anew from options.def.
exampledir = $(docdir)/examples
dist_example_DATA = conf/forebrick.conf
