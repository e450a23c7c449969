#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tools of tests/bench/ work, and forebrickd between them: no figure is
# judged but what idle sessions cost. Needs no root and no GlusterFS.
set -eu
top=${srcdir:-.}
tools=tests/bench
work=$(mktemp -d)
pids=

cleanup() {
	[ -z "$pids" ] || kill $pids 2> /dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# begin NAME PROGRAM ARGUMENT...: until it says that it is ready
begin() {
	name=$1
	shift
	"$@" > "$work/$name.out" 2> "$work/$name.log" &
	pids="$pids $!"
	for _ in $(seq 200); do
		! grep -qx ready "$work/$name.log" || return 0
		sleep 0.05
	done
	echo "$name is not ready:"
	cat "$work/$name.log"
	exit 1
}

begin brick tests/fake/fake_brick --listen 127.0.0.1:0
begin relay $tools/delay_relay --listen 127.0.0.1:0 --rtt 1ms \
	--to "127.0.0.1:$(cat "$work/brick.out")"
begin daemon ./forebrickd --listen 127.0.0.1:0 --workers 1 \
	--brick "127.0.0.1:$(cat "$work/relay.out")"
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$work/daemon.log")

load() {
	echo "rpc_load $*"
	timeout 60 $tools/rpc_load --to "127.0.0.1:$port" --subvolume brick "$@"
}
load stat --count 50
load stat --depth 32 --count 500
load read --bytes 4MiB
load read --size 1MiB --depth 8 --bytes 32MiB
load idle --sessions 20 --seconds 0

# Shadow memory is no measure of what a session costs.
! grep -q '__[at]san_init' forebrickd || exit 0
BUILD=. timeout 120 bash "$top/$tools/idle.sh" 200 1
