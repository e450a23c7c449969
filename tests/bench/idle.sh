#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What idle clients cost: resident bytes of forebrickd for each session, and CPU
# time of it while nothing happens.
#
# usage: idle.sh [SESSIONS [SECONDS]]      [9000, 10]
#
# In the environment: BUILD, where everything is built [.]; FOREBRICKD, if not
# the one there; WORKERS [1]. Fails beyond 8 KiB a session or 10 ms of CPU
# altogether. A process may have 20,000 descriptors where this was written, and
# a session takes two.
set -u
sessions=${1:-9000}
seconds=${2:-10}
build=${BUILD:-.}
daemon=${FOREBRICKD:-$build/forebrickd}
max_bytes=8192
max_cpu_ms=10
work=$(mktemp -d "${TMPDIR:-/tmp}/forebrick-idle.XXXXXX")
pids=()

cleanup() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
	wait 2> /dev/null
	rm -rf "$work"
}
trap cleanup EXIT

fail() {
	echo "not ok - $*"
	tail -n 5 "$work"/*.log
	exit 1
}

wait_for() { # SECONDS COMMAND...
	local deadline=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || fail "never: $*"
		sleep 0.05
	done
}

resident() { # PID: bytes
	awk '/^Rss:/ { print $2 * 1024 }' "/proc/$1/smaps_rollup"
}

cpu_us() { # PID: of all threads
	cat "/proc/$1"/task/*/schedstat |
		awk '{ s += $1 } END { print int(s / 1000) }'
}

ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -gt $((sessions * 2 + 64)) ] || {
	echo "skipped: $(ulimit -n) descriptors are not enough"
	exit 77
}

"$build/tests/fake/fake_brick" --listen 127.0.0.1:0 \
	> "$work/brick.out" 2> "$work/brick.log" &
pids+=($!)
wait_for 10 grep -qx ready "$work/brick.log"
"$daemon" --listen 127.0.0.1:0 --brick "127.0.0.1:$(cat "$work/brick.out")" \
	--workers "${WORKERS:-1}" --max-sessions "$((sessions + 100))" \
	2> "$work/daemon.log" &
daemon_pid=$!
pids+=($daemon_pid)
wait_for 10 grep -qx ready "$work/daemon.log"
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$work/daemon.log")

before=$(resident $daemon_pid)
"$build/tests/bench/rpc_load" --to "127.0.0.1:$port" --subvolume brick idle \
	--sessions "$sessions" --seconds $((seconds + 30))s \
	> "$work/load.out" 2> "$work/load.log" &
load_pid=$!
pids+=($load_pid)
wait_for 120 grep -q "^mounted" "$work/load.out" "$work/load.log"
grep -q "^mounted" "$work/load.out" || fail "the clients did not mount"
sleep 1 # timers of the handshake run out
after=$(resident $daemon_pid)
start=$(cpu_us $daemon_pid)
sleep "$seconds"
used=$(($(cpu_us $daemon_pid) - start))
idle=$(resident $daemon_pid)

kill $load_pid
all_ended() {
	[ "$(find /proc/$daemon_pid/fd | wc -l)" -lt 64 ]
}
wait_for 60 all_ended
sleep 0.5
each=$(((idle - before) / sessions))
echo "{\"sessions\": $sessions, \"rss_before\": $before," \
	"\"rss_mounted\": $after, \"rss_idle\": $idle," \
	"\"rss_ended\": $(resident $daemon_pid), \"bytes_each\": $each," \
	"\"idle_s\": $seconds, \"cpu_us\": $used}"
[ "$each" -le $max_bytes ] || fail "$each bytes a session"
[ "$used" -le $((max_cpu_ms * 1000)) ] || fail "$used us of CPU while idle"
echo "ok - $each bytes a session, $used us of CPU in $seconds s"
