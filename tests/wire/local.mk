# Fixtures, and what made them. make check reads them; nothing here is built.
EXTRA_DIST += \
	tests/wire/README \
	tests/wire/callback \
	tests/wire/dump \
	tests/wire/fop330 \
	tests/wire/fop400 \
	tests/wire/handshake \
	tests/wire/portmap \
	tests/wire/session \
	tests/tools/capture.sh \
	tests/tools/capture_extract.py \
	tests/tools/capture_gfapi.py \
	tests/tools/capture_mount.py \
	tests/tools/capture_raw.py \
	tests/tools/record_session.py \
	tests/tools/record_session.sh
