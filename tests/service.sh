#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd has nothing to say against the unit and the sysusers file. The unit is
# the one that is installed, with the daemon of this build in it and the manuals
# where man finds them. Skipped without systemd-analyze.
set -u
command -v systemd-analyze >/dev/null || exit 77
srcdir=${srcdir:-.}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$tmp/man/man8" "$tmp/man/man5" "$tmp/root/etc"
cp "$srcdir/docs/forebrickd.8" "$tmp/man/man8/"
cp "$srcdir/docs/forebrick.conf.5" "$tmp/man/man5/"
sed -e "s|=/[^ ]*/forebrickd |=$PWD/forebrickd |" \
	systemd/forebrickd.service >"$tmp/forebrickd.service" || exit 1
if grep -n '@' "$tmp/forebrickd.service" | grep -v 'SystemCallFilter='; then
	echo 'the unit still has a name in it to be replaced'
	exit 1
fi
grep -q "^ExecStart=$PWD/forebrickd -f /" "$tmp/forebrickd.service" || exit 1

man=yes
command -v man >/dev/null || man=no
findings=$(MANPATH="$tmp/man:" systemd-analyze verify --man=$man \
	"$tmp/forebrickd.service" 2>&1) || rc=1
if [ "${rc:-0}" -ne 0 ] || [ -n "$findings" ]; then
	echo "$findings"
	exit 1
fi

# Exposure by its own measure: 0.0 is a box without doors, 9.6 no hardening.
systemd-analyze security --offline=yes --threshold=20 \
	"$tmp/forebrickd.service" >"$tmp/security" || {
	cat "$tmp/security"
	exit 1
}

command -v systemd-sysusers >/dev/null || exit 0
systemd-sysusers --root="$tmp/root" --dry-run - <systemd/forebrick.conf \
	>"$tmp/users" 2>&1 && grep -q "Creating user 'forebrick'" "$tmp/users" ||
	{ cat "$tmp/users"; exit 1; }
