# proto/: the wire as a pure library. gfx_xdr.* come from gfx.x by rpcgen and
# are built without the strict warnings, which generated code does not meet.
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

nodist_proto_libgfx_a_SOURCES = proto/gfx_xdr.c proto/gfx_xdr.h
proto_libgfx_a_CFLAGS = -std=gnu11 -g -O2 -w $(SAN_FLAGS) $(FUZZ_CFLAGS)

EXTRA_DIST += proto/gfx.x
BUILT_SOURCES += proto/gfx_xdr.h
CLEANFILES += proto/gfx_xdr.c proto/gfx_xdr.h

# rpcgen names the header in the .c after its input's path: run it beside it.
proto/gfx_xdr.h: proto/gfx.x
	$(AM_V_GEN)$(MKDIR_P) proto && rm -f $@ && \
	$(RPCGEN) -h -o $@ $(srcdir)/proto/gfx.x
proto/gfx_xdr.c: proto/gfx.x
	$(AM_V_GEN)$(MKDIR_P) proto && rm -f $@ && \
	$(RPCGEN) -c $(srcdir)/proto/gfx.x | \
	$(SED) -e 's|#include ".*gfx\.h"|#include "proto/gfx_xdr.h"|' > $@
