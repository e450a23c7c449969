#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGKILL of the brick, of the proxy and of a client in the midst of writes: no
# acknowledged byte is lost, the other side is closed within a second, and the
# client comes back at most a second later than a direct one does.
#
# Two mounts through the proxy write to brick0. A direct one writes to brick1,
# which is killed together with brick0 or the proxy, and comes back after it.
#
# KILL_ROUNDS in the environment: kills of each of the three  [2]

. "$(dirname "$0")/lib.sh"

rounds=${KILL_ROUNDS:-2}
mounts=(default clean direct)
declare -A writer

start_mount() { # default|clean|direct
	local stack=$1 options brick=brick0=24100
	[ "$1" != direct ] || { stack=default; brick=brick1=49153; }
	read -ra options <<< "$(mount_options "$stack")"
	client_volfile "$stack" plain "$brick" > "$work/vol/$1.vol"
	mount_fuse "$work/vol/$1.vol" "$work/$1" "${options[@]}"
}

start_writer() { # MOUNT fsync|dsync
	rm -f "$work/log/$1-$2.log"
	"$here/acked_writer.py" write "$2" "$work/$1/$1-$2" \
		"$work/log/$1-$2.log" &
	writer[$1-$2]=$!
	wait_for 10 test -s "$work/log/$1-$2.log" || die "$1 cannot write"
}

# Stop a writer and look for what it was told is written, on the brick.
end_writer() { # MOUNT fsync|dsync
	local log=$work/log/$1-$2.log brick=brick0
	[ "$1" != direct ] || brick=brick1
	stop "${writer[$1-$2]}"
	check "each of $(grep -c ^acked "$log") records of $1-$2 is there" \
		"$here/acked_writer.py" verify "$work/bricks/$brick/$1-$2" "$log"
	rm "$work/$1/$1-$2"
}

start_proxy_again() {
	start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152
}

# errors MOUNT: how many its writers have seen
errors() { cat "$work/log/$1"-?sync.log | grep -c "^error"; }

# back_at MOUNT: when something was acknowledged to one of its writers again,
# after the error that the last kill was to it; in ms
back_at() {
	local log
	for log in "$work/log/$1"-?sync.log; do
		awk -v kill="$killed_at" '
			$1 == "error" && $2 >= kill { failed = 1 }
			$1 == "acked" && failed { print $2; exit }' "$log"
	done | sort -n | head -n 1
}
is_back() { [ -n "$(back_at "$1")" ]; }

# All writers get on, for a while that is never the same.
write_for_a_while() {
	local name goal
	for name in "${!writer[@]}"; do
		goal=$(($(grep -c ^acked "$work/log/$name.log") + 1 + \
			RANDOM % 20))
		wait_for 60 more_than $goal "$name" ||
			die "the writer $name does not get on"
	done
}
more_than() { [ "$(grep -c ^acked "$work/log/$2.log")" -gt "$1" ]; }

# sockets FILTER: those of this side that are connected, one "local peer" a line
sockets() { ss -Htn state established "$1" | awk '{ print $3, $4 }' | sort; }

kill_now() { # PID...
	killed_at=$(now_ms)
	kill -KILL "$@"
	wait "$@"
} 2> /dev/null

# are_closed FILTER BEFORE LEFT: no more than so many of those before are left
are_closed() {
	test "$(comm -12 <(echo "$2") <(sockets "$1") | wc -l)" -le "$3"
}

# closed_in_time SENTENCE FILTER BEFORE LEFT
closed_in_time() {
	local ms
	wait_for 10 are_closed "$2" "$3" "$4"
	ms=$(($(now_ms) - killed_at))
	check "$1 within a second: $ms ms" test $ms -le 1000
}

no_later_than_direct() { # MOUNT
	local proxied direct
	wait_for 30 is_back direct || die "the direct client stays away"
	wait_for 30 is_back "$1" || die "the $1 client stays away"
	proxied=$(($(back_at "$1") - killed_at))
	direct=$(($(back_at direct) - killed_at))
	check "the $1 client is back after $proxied ms, direct $direct ms" \
		test $proxied -le $((direct + 1000))
}

kill_brick() {
	local clients
	write_for_a_while
	clients=$(sockets "dport = :24100")
	kill_now "${brick_pid[brick0]}" "${brick_pid[brick1]}"
	closed_in_time "brick killed, clients cut" "dport = :24100" "$clients" 0
	start_brick brick0 49152
	start_brick brick1 49153
	no_later_than_direct default
	no_later_than_direct clean
}

kill_proxy() {
	local both="dport = :24100 or sport = :49152" before
	write_for_a_while
	before=$(sockets "$both")
	kill_now "${proxy_pid[proxy]}" "${brick_pid[brick1]}"
	closed_in_time "proxy killed, clients and brick cut" "$both" "$before" 0
	start_proxy_again
	start_brick brick1 49153
	no_later_than_direct default
	no_later_than_direct clean
}

# A lock of the killed client stands for all that the brick keeps for it.
kill_client() {
	local brick seen lock="$work/default/lock"
	write_for_a_while
	seen=$(errors clean)
	brick=$(sockets "sport = :49152")
	touch "$lock"
	exec 9< "$lock"
	check "the client holds a lock" flock -n 9
	check "which the other does not get" fails flock -n "$work/clean/lock" true
	kill_now "${mount_pid[$work/default]}"
	closed_in_time "client killed, cut from the brick" \
		"sport = :49152" "$brick" $(($(echo "$brick" | wc -l) - 1))
	check "its lock is free" flock -w 2 "$work/clean/lock" true
	exec 9<&-
	umount -l "$work/default"
	start_mount default
	check "a new client in its place writes on" \
		wait_for 30 is_back default
	write_for_a_while
	check "the other client saw no error" \
		test "$(errors clean)" -eq "$seen"
}

each_writer() { # FUNCTION
	local name
	for name in "${mounts[@]}"; do
		"$1" "$name" fsync
		"$1" "$name" dsync
	done
}

start_brick brick0 49152
start_brick brick1 49153
start_proxy_again
for name in "${mounts[@]}"; do
	start_mount "$name"
done
for ((round = 0; round < rounds; round++)); do
	each_writer start_writer
	kill_brick
	kill_proxy
	kill_client
	check "the kills were noticed" test "$(errors default)" -ge 3 -a \
		"$(errors clean)" -ge 2
	each_writer end_writer
done

finish
