# The service unit and the user it runs as. Both are made, not distributed: one
# has paths in it, the other has another name where it is installed.
EXTRA_DIST += systemd/forebrickd.service.in systemd/forebrick.sysusers
nodist_systemdsystemunit_DATA = systemd/forebrickd.service
nodist_sysusers_DATA = systemd/forebrick.conf
CLEANFILES += systemd/forebrickd.service systemd/forebrick.conf

systemd/forebrickd.service: systemd/forebrickd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && \
	$(SED) -e 's|@sbindir[@]|$(sbindir)|' \
		-e 's|@sysconfdir[@]|$(sysconfdir)|' \
		$(srcdir)/systemd/forebrickd.service.in > $@.tmp && mv $@.tmp $@

systemd/forebrick.conf: systemd/forebrick.sysusers
	$(AM_V_GEN)$(MKDIR_P) systemd && \
	cp $(srcdir)/systemd/forebrick.sysusers $@.tmp && mv $@.tmp $@
