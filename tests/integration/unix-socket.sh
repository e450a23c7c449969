#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A client on the same host comes in by a unix socket (transport-type unix) and
# gets what it gets directly; a stale socket file is no obstacle to a start.

. "$(dirname "$0")/lib.sh"

socket=$work/forebrick.socket
start_brick brick0 49152
start_proxy proxy --listen "unix:$socket" --brick 127.0.0.1:49152

probe() { # WAY PORT|unix:PATH
	client_volfile default plain "brick0=$2" > "$work/vol/$1.vol"
	mount_fuse "$work/vol/$1.vol" "$work/$1-a"
	mkdir "$work/$1-a/$1"
	check "the probe runs to its end ($1)" timeout 120 \
		"$here/posix_probe.py" "$work/$1-a/$1" \
		--output "$work/log/probe-$1.log"
}

check "only its owner may use the socket" \
	test "$(stat -c %a "$socket")" = 600
probe direct 49152
probe proxy "unix:$socket"
check "direct and proxied results are equal" \
	diff "$work/log/probe-direct.log" "$work/log/probe-proxy.log"

check "a second daemon refuses a socket that is answered" \
	fails "$FOREBRICKD" --listen "unix:$socket" --brick 127.0.0.1:49152
stop "${proxy_pid[proxy]}" KILL
check "the killed one leaves its socket" test -S "$socket"
start_proxy proxy --listen "unix:$socket" --brick 127.0.0.1:49152
check "a new one takes its place" test -S "$socket"
check "and the client comes back" \
	wait_for 20 cat "$work/proxy-a/proxy/data/file"

finish
