#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Signals under a mount that fio verifies, told from a capture of both sides of
# the proxy: a reload cuts nobody, a rotation loses no line of log or trace, and
# SIGTERM answers each call that was read.
#
# ROTATIONS in the environment: how many  [20]

. "$(dirname "$0")/lib.sh"
. "$here/packets.sh"

command -v fio > /dev/null || skip "fio is not installed"
command -v dumpcap > /dev/null || skip "dumpcap is not installed"
RPC_LOAD=${RPC_LOAD:-$(dirname "$FOREBRICKD")/tests/bench/rpc_load}
[ -x "$RPC_LOAD" ] || skip "rpc_load is not built"
rotations=${ROTATIONS:-20}
conf=$work/forebrick.conf
log=$work/log/daemon.log
trace=$work/log/trace.json

write_conf() { # MORE
	cat > "$conf" <<-EOF2
		log_file = "$log"
		trace_file = "$trace"
		trace_format = json
		$1
		listener "one" {
			listen = "127.0.0.1:24100"
			brick = "127.0.0.1:49152"
		}
	EOF2
}

# What the daemon tells the service manager, a word a line.
listen_for_notices() {
	export NOTIFY_SOCKET=$work/notify
	python3 - "$NOTIFY_SOCKET" > "$work/notices" <<-'EOF2' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		while True:
		    words = s.recv(4096).decode().split("\n")
		    for word in ("READY=1", "RELOADING=1", "STOPPING=1"):
		        if word in words:
		            print(word, flush=True)
	EOF2
	notices_pid=$!
	wait_for 10 test -S "$NOTIFY_SOCKET" || die "nobody listens for notices"
}

noticed() { [ "$(grep -c "$1" "$work/notices")" -ge "$2" ]; }
all_logs() { cat "$log".* "$log" 2> /dev/null; }
logged() { [ "$(all_logs | grep -c "$1")" -ge "$2" ]; }

# An array and not a function: what runs in the background can be stopped.
verify=(fio --name=verify --directory="$work/mnt" --rw=randrw --bs=4k-64k
	--size=8m --numjobs=2 --iodepth=8 --ioengine=libaio --direct=1
	--verify=crc32c --verify_fatal=1 --time_based --randrepeat=1 --minimal)

load_begins() {
	local before
	before=$(stat -c %s "$trace")
	wait_for 20 has_grown "$trace" "$before"
}
has_many_calls() { [ "$(grep -c '"stat"' "$trace")" -gt 500 ]; }
has_grown() { [ "$(stat -c %s "$1")" -gt "$2" ]; }

good_reload() { # NUMBER
	write_conf "max_sessions = $((2000 + $1))"
	kill -HUP "${proxy_pid[proxy]}"
	wait_for 10 logged "configuration reloaded" "$1" &&
		wait_for 10 noticed READY=1 $((++ready))
}

bad_reload() {
	write_conf "max_sessions = many"
	kill -HUP "${proxy_pid[proxy]}"
	wait_for 10 logged "forebrick.conf:4: .*many" 1 &&
		wait_for 10 logged "reload refused" 1 &&
		wait_for 10 noticed READY=1 $((++ready))
}

# Each time the trace is in use when it is moved, and once the new one is there
# a reload leaves a line in the log.
rotate() {
	local i
	for ((i = 1; i <= rotations; i++)); do
		wait_for 10 test -s "$trace" || return 1
		mv "$trace" "$trace.$(printf %03d "$i")"
		mv "$log" "$log.$(printf %03d "$i")"
		kill -USR1 "${proxy_pid[proxy]}"
		wait_for 10 test -e "$trace" && wait_for 10 test -e "$log" &&
			good_reload $((i + 2)) || return 1
	done
}

sessions() {
	ss -Htn state established 'sport = :24100' | awk '{ print $3, $4 }' | sort
}

terminate() {
	kill -TERM "${proxy_pid[proxy]}"
	wait_for 20 noticed STOPPING=1 1 &&
		wait_for 40 is_gone "${proxy_pid[proxy]}" &&
		wait "${proxy_pid[proxy]}"
}

all_is_told() {
	local files=() file
	for file in "$trace".* "$trace"; do
		files+=(--trace "$file")
	done
	python3 "$here/trace_check.py" --pcap "$work/log/both.pcap" \
		"${files[@]}" --listen 24100=127.0.0.1:49152 --drained \
		> "$work/log/check.log" 2>&1
	local rc=$?
	cat "$work/log/check.log"
	return $rc
}

# Of each session one line that it came, one that it mounted, one that it went.
log_is_whole() {
	local count
	count=$(all_logs | grep -c "configuration reloaded")
	echo "$count reloads, $((rotations + 2)) ordered"
	[ "$count" -eq $((rotations + 2)) ] || return 1
	for word in "asks for" "mounted" "calls made"; do
		all_logs | grep "$word" | sed 's/.* session \([0-9]*\) .*/\1/' |
			sort -n > "$work/tmp/${word%% *}"
	done
	diff "$work/tmp/asks" "$work/tmp/mounted" &&
		diff "$work/tmp/asks" "$work/tmp/calls" &&
		test -s "$work/tmp/asks"
}

finishes_well() { wait "$1"; }

ready=0
start_brick brick0 49152
write_conf ""
listen_for_notices
start_proxy proxy -f "$conf"
check "READY=1 is told" wait_for 10 noticed READY=1 $((++ready))
client_volfile clean plain brick0=24100 > "$work/vol/clean.vol"
start_capture both 24100 49152
mount_fuse "$work/vol/clean.vol" "$work/mnt" --direct-io-mode=enable
"${verify[@]}" --runtime=$((6 + rotations / 2)) --rate_iops=150 \
	> "$work/log/fio.log" 2>&1 &
fio_pid=$!
load_begins || die "fio does not begin"
before=$(sessions)
check "a good file is taken" good_reload 1
check "a bad one is refused, and its line is named" bad_reload
check "a good one is taken again" good_reload 2
check "$rotations times log and trace are rotated" rotate
check "fio still runs" kill -0 $fio_pid
check "its session is the same" test "$(sessions)" = "$before"
check "fio finds every byte" finishes_well $fio_pid
check "each reload was told, and its end" wait_for 10 noticed RELOADING=1 \
	$((rotations + 3))

# Errors are what a client is to see when its proxy stops.
"${verify[@]}" --runtime=30 > "$work/log/fio-cut.log" 2>&1 &
fio_pid=$!
"$RPC_LOAD" --to 127.0.0.1:24100 --subvolume brick0 stat --depth 64 \
	--seconds 30s > "$work/log/load.log" 2>&1 &
load_pid=$!
load_begins || die "fio does not begin"
check "a pipeline of calls is under way" wait_for 20 has_many_calls
check "SIGTERM ends it with status 0, and STOPPING=1 is told" terminate
stop $fio_pid
stop $load_pid
stop_capture both
check "each RPC is told once, and each that was read is answered" all_is_told
sed -n '/^# [0-9]/p' "$work/log/check.log"
check "no line of the log is lost" log_is_whole
mkdir "$work/log/first"
mv "$trace"* "$log"* "$work/log/first/"
write_conf ""
start_proxy proxy -f "$conf"
check "the client comes back by itself" wait_for 20 is_mounted "$work/mnt"
check "and fio finds every byte again" "${verify[@]}" --runtime=3
stop $notices_pid
finish
