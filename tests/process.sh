#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# forebrickd as a process (process.py). Skipped without Python or libsystemd.
command -v python3 >/dev/null || exit 77
grep -q 'define HAVE_SYSTEMD 1' config.h || exit 77
exec python3 "${srcdir:-.}/tests/process.py" ./forebrickd
