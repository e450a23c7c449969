#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An administrator's signals while two mounts write: reloads, good and bad, and
# rotations disturb no client; SIGTERM ends the daemon without losing a byte that
# was acknowledged, and the clients go on with the next daemon.

. "$(dirname "$0")/lib.sh"

conf=$work/forebrick.conf
writer=$here/acked_writer.py
declare -A writers

write_conf() { # EXTRA
	cat > "$conf" <<-EOF2
		log_file = "$work/log/daemon.log"
		trace_file = "$work/log/trace.json"
		trace_format = json
		$1
		listener "one" {
			listen = "127.0.0.1:24100"
			brick = "127.0.0.1:49152"
		}
	EOF2
}

sessions() {
	ss -Htn state established 'sport = :24100' | awk '{ print $3, $4 }' | sort
}
acked() { cat "$work/log/$1-fsync.log" 2> /dev/null | grep -c ^acked; }
errors() { cat "$work"/log/*-fsync.log | grep -c ^error; }
has_acked() { [ "$(acked "$1")" -ge "$2" ]; }

# Each writer has something more acknowledged than now.
all_get_on() {
	local name
	for name in "${!writers[@]}"; do
		wait_for 30 has_acked "$name" $(($(acked "$name") + 5)) ||
			die "the writer $name does not get on"
	done
}

# said COUNT TEXT: the log has so many lines with it
said() { [ "$(grep -c "$2" "$work/log/daemon.log")" -ge "$1" ]; }

reload_often() {
	local i
	for ((i = 1; i <= 20; i++)); do
		write_conf "max_sessions = $((1000 + i))"
		kill -HUP "${proxy_pid[proxy]}"
		wait_for 10 said $i "configuration reloaded" || return 1
	done
}

reload_badly() {
	write_conf "max_sessions = many"
	kill -HUP "${proxy_pid[proxy]}"
	wait_for 10 said 1 "reload refused" && said 1 "forebrick.conf:4: .*many"
}

rotate() {
	mv "$work/log/trace.json" "$work/log/trace.1"
	mv "$work/log/daemon.log" "$work/log/daemon.1.log"
	kill -USR1 "${proxy_pid[proxy]}"
	wait_for 10 test -s "$work/log/trace.json"
}

stays_as_it_is() { # FILE
	local before
	before=$(stat -c %s "$1")
	all_get_on
	[ "$(stat -c %s "$1")" -eq "$before" ]
}

# Only from now on: an fsync that is answered before the end is no error.
stop_under_load() {
	kill -TERM "${proxy_pid[proxy]}"
	wait_for 20 is_gone "${proxy_pid[proxy]}" || return 1
	wait "${proxy_pid[proxy]}"
}

start_brick brick0 49152
write_conf ""
start_proxy proxy -f "$conf"
for stack in default clean; do
	read -ra options <<< "$(mount_options $stack)"
	client_volfile $stack plain brick0=24100 > "$work/vol/$stack.vol"
	mount_fuse "$work/vol/$stack.vol" "$work/$stack" "${options[@]}"
	"$writer" write fsync "$work/$stack/$stack" \
		"$work/log/$stack-fsync.log" &
	writers[$stack]=$!
done
all_get_on
before=$(sessions)
check "20 reloads are done" reload_often
check "a wrong file is refused, with its line" reload_badly
all_get_on
check "a rotation brings a new trace" rotate
check "the old trace is written no more" stays_as_it_is "$work/log/trace.1"
check "nobody was cut off" test "$(sessions)" = "$before"
check "nobody saw an error" test "$(errors)" -eq 0
write_conf ""
check "SIGTERM under load ends it with status 0" stop_under_load
check "both traces are whole" \
	jq -es 'length > 100' "$work/log/trace.1" "$work/log/trace.json"
start_proxy proxy -f "$conf"
all_get_on
for name in "${!writers[@]}"; do
	stop "${writers[$name]}"
	check "all $(acked "$name") records of $name are there" "$writer" \
		verify "$work/bricks/brick0/$name" "$work/log/$name-fsync.log"
done

finish
