#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manuals have nothing that mandoc -Tlint finds. Skipped without mandoc.
set -u
command -v mandoc >/dev/null || exit 77
srcdir=${srcdir:-.}

# Which other manuals this machine has says nothing of ours.
findings=$(mandoc -Tlint "$srcdir/docs/forebrickd.8" \
	"$srcdir/docs/forebrick.conf.5" 2>&1 |
	grep -v -e 'outdated mandoc\.db' -e 'referenced manual not found')
[ -z "$findings" ] && exit 0
echo "$findings"
exit 1
