#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is generated from options.def is checked in as it would be written now.
set -u
srcdir=${srcdir:-.}
rc=0

check() { # checked-in file, generator and its arguments
	file=$srcdir/$1
	shift
	"$@" | diff -u "$file" - && return
	echo "$file is not up to date: run \"make generated\""
	rc=1
}

check conf/forebrick.conf docs/options_doc sample
check docs/forebrick.conf.5 docs/options_doc manual \
	"$srcdir/docs/forebrick.conf.5.in"
exit $rc
