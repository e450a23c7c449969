# proto/: the wire as a pure library. gfx_xdr.* come from gfx.x by rpcgen.
noinst_LIBRARIES += proto/libgfp.a proto/libgfx.a

proto_libgfp_a_SOURCES = \
	proto/span.h \
	proto/status.c proto/status.h \
	proto/record.c proto/record.h \
	proto/rpc_msg.c proto/rpc_msg.h \
	proto/layout.c proto/layout.h \
	proto/dict.c proto/dict.h \
	proto/fop.c proto/fop.h proto/fops.def proto/fops330.def \
	proto/programs.def \
	proto/names.c proto/names.h

# What libtirpc does for us, with whole structs instead of fields in place.
proto_libgfx_a_SOURCES = \
	proto/gfx_codec.c proto/gfx_codec.h \
	proto/gfx_list.c proto/gfx_list.h \
	proto/gfx_proc.c proto/gfx_proc.def proto/gfx_proc.h
nodist_proto_libgfx_a_SOURCES = proto/gfx_xdr.c proto/gfx_xdr.h

EXTRA_DIST += proto/gfx.x
BUILT_SOURCES += proto/gfx_xdr.h
CLEANFILES += proto/gfx_xdr.c proto/gfx_xdr.h

# rpcgen does not overwrite; it makes the guard of the .h from the output's name
# and the #include of the .c from the input's.
proto/gfx_xdr.h: proto/gfx.x
	$(AM_V_GEN)$(MKDIR_P) proto && rm -f $@ && \
	{ $(RPCGEN) -h -o $@ $(srcdir)/proto/gfx.x || { rm -f $@; exit 1; }; }
proto/gfx_xdr.c: proto/gfx.x
	$(AM_V_GEN)$(MKDIR_P) proto && rm -f $@ $@.tmp && \
	$(RPCGEN) -c -o $@.tmp $(srcdir)/proto/gfx.x && \
	$(SED) -e 's|#include ".*gfx\.h"|#include "proto/gfx_xdr.h"|' \
		$@.tmp > $@ && rm -f $@.tmp
$(proto_libgfx_a_OBJECTS): proto/gfx_xdr.h
