#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes go downwards only, libraries are used where they belong, and each
# header compiles alone. A new file is given its layer here. See docs/HACKING.md.
set -u
srcdir=${srcdir:-.}
builddir=$PWD
cd "$srcdir" || exit 1
rc=0

layer_of() { # path without extension
	case $1 in
	daemon/main) echo 8 ;;
	daemon/args | daemon/server) echo 7 ;;
	daemon/worker | daemon/listener) echo 6 ;;
	daemon/session | daemon/session_*) echo 5 ;;
	daemon/guard | daemon/trace | daemon/trace_* | daemon/emit) echo 4 ;;
	daemon/call) echo 3 ;;
	daemon/conn | daemon/conn_* | daemon/join | daemon/outq | daemon/buf | \
		daemon/settings | daemon/settings_* | daemon/addr | \
		daemon/route | daemon/socket) echo 2 ;;
	daemon/log | daemon/clock | daemon/notify | daemon/spsc) echo 1 ;;
	proto/*) echo 0 ;;
	esac
}

complain() {
	echo "$*"
	rc=1
}

check_own() { # file, its layer, what it includes
	layer=$(layer_of "${3%.*}")
	if [ -z "$layer" ]; then
		complain "$1: $3 is in no layer"
	elif [ "$layer" -gt "$2" ]; then
		complain "$1 (layer $2) includes $3 (layer $layer): upwards"
	fi
}

# Features know the calls that they are shown, never each other or the session.
check_feature() { # file, what it includes
	case $1:$2 in
	daemon/guard.*:daemon/trace* | daemon/trace*:daemon/guard.h)
		complain "$1 includes $2: features do not know each other" ;;
	esac
}

check_library() { # file, its layer, header
	case $3 in
	event2/*) [ "$2" -ge 2 ] ;;
	confuse.h) [ "$1" = daemon/settings_file.c ] ;;
	systemd/*) [ "$1" = daemon/notify.c ] ;;
	rpc/*) case $1 in proto/gfx*) ;; *) false ;; esac ;;
	openssl/*) false ;;
	esac || complain "$1 includes <$3>, which does not belong there"
}

check_file() {
	layer_here=$(layer_of "${1%.*}")
	if [ -z "$layer_here" ]; then
		complain "$1 is in no layer of tests/layers.sh"
		return
	fi
	for header in $(sed -n 's/^# *include "\([^"]*\.h\)".*/\1/p' "$1"); do
		[ "$header" = config.h ] && continue
		check_own "$1" "$layer_here" "$header"
		check_feature "$1" "$header"
	done
	for header in $(sed -n 's/^# *include <\([^>]*\)>.*/\1/p' "$1"); do
		check_library "$1" "$layer_here" "$header"
	done
}

check_header() {
	echo "#include \"$1\"" |
		${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -I"$builddir" \
		${TEST_CPPFLAGS:-} -Wall -Wextra -Werror -fsyntax-only -x c - ||
		complain "$1 does not compile alone"
}

for file in daemon/*.[ch] proto/*.[ch]; do
	check_file "$file"
done
for header in daemon/*.h proto/*.h; do
	check_header "$header"
done
exit $rc
