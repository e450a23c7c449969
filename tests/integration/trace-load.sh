#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# At full speed each call is a record or is counted as lost, exactly: with room
# enough, with hardly any, with a reader that is too slow, and on a file system
# that is full. A brick without a disk counts what it was really asked.
#
# In the environment:
#   TRACE_CALLS   of the first of these; the others take a tenth  [200000]
#   TRACE_FORMAT  of the first  [json]

. "$(dirname "$0")/lib.sh"

build=$(dirname "$FOREBRICKD")
RPC_LOAD=${RPC_LOAD:-$build/tests/bench/rpc_load}
FAKE_BRICK=${FAKE_BRICK:-$build/tests/fake/fake_brick}
[ -x "$RPC_LOAD" ] || skip "rpc_load is not built"
[ -x "$FAKE_BRICK" ] || skip "fake_brick is not built"
calls=${TRACE_CALLS:-200000}
clients=2
piece=$((256 << 20))	# bytes of a trace until it is counted and removed

start_fake() {
	rm -f "$work/log/fake.log"	# says "ready" of the one before
	"$FAKE_BRICK" > "$work/tmp/fake" 2> "$work/log/fake.log" &
	fake_pid=$!
	wait_for 10 grep -qx ready "$work/log/fake.log" || die "no brick"
}

# It ends with how many calls it was asked.
stop_fake() {
	stop $fake_pid
	asked=$(sed -n 's/.* \([0-9]*\) calls.*/\1/p' "$work/tmp/fake")
}

# begin NAME OPTION...: a brick, and a proxy that traces
begin() {
	local name=$1
	shift
	start_fake
	start_proxy "$name" --listen 127.0.0.1:24100 --workers $clients \
		--brick "127.0.0.1:$(head -n 1 "$work/tmp/fake")" "$@"
	records=0 told_room=0 told_write=0
}

declare -a load_pid
start_load() { # CALLS
	local i
	for ((i = 0; i < clients; i++)); do
		"$RPC_LOAD" --to 127.0.0.1:24100 --subvolume brick stat \
			--depth 256 --count $(($1 / clients)) \
			> "$work/log/load-$i.json" 2> "$work/log/load-$i.log" &
		load_pid[i]=$!
	done
}

is_done() {
	local i
	for ((i = 0; i < clients; i++)); do
		is_gone "${load_pid[i]}" || return 1
	done
}

end_load() {
	local i
	wait_for $((60 + calls / 1000)) is_done || die "the load does not end"
	for ((i = 0; i < clients; i++)); do
		wait "${load_pid[i]}" || return 1
	done
}

count_pieces() { # FILE...
	local of_records room write
	read -r of_records room write < <("$here/trace_count.py" "$@")
	[ -n "$of_records" ] || { not_ok "a line is malformed"; return 1; }
	records=$((records + of_records))
	told_room=$((told_room + room))
	told_write=$((told_write + write))
}

# While the load runs: what is large enough is rotated, counted and removed.
count_meanwhile() { # NAME FILE
	until is_done; do
		if [ "$(stat -c %s "$2")" -gt $piece ]; then
			mv "$2" "$2.part"
			kill -USR1 "${proxy_pid[$1]}"
			wait_for 60 test -e "$2" || die "no new trace"
			pieces=$((pieces + 1))
			count_pieces "$2.part" && rm "$2.part"
		fi
		wait_for 1 is_done
	done
}

# logged_sums NAME: written, lost_room and lost_write as the log ends
logged_sums() {
	read -r written lost_room lost_write < <(
		sed -n 's/.* trace: \(.* records written, .*\)/\1/p' \
			"$work/log/$1.log" | tr -cd '0-9 \n')
}

# finish_trace NAME FILE: end all, and compare the counts
finish_trace() {
	stop "${proxy_pid[$1]}"
	stop_fake
	count_pieces "$2"
	logged_sums "$1"
	echo "# $1: $asked calls, $records records, lost $lost_room for want of" \
		"room, $lost_write in writing; told $told_room, $told_write"
	check "$1: each of $asked calls is written or lost" \
		test $((written + lost_room + lost_write)) -eq "$asked"
	check "$1: what is said to be written is there" \
		test "$records" -eq "$written"
}

told_all() {
	check "$1: the trace itself tells of all that is lost" test \
		"$told_room $told_write" = "$lost_room $lost_write"
}

with_room() {
	local file=$work/full-speed.trace
	pieces=1
	begin full-speed --trace "$file" --trace-format "${TRACE_FORMAT:-json}"
	start_load "$calls"
	count_meanwhile full-speed "$file"
	check "$calls calls at full speed" end_load
	finish_trace full-speed "$file"
	told_all full-speed
	awk -F'"rate": ' '{ sum += $2 } END {
		printf "# %d calls a second, in %d pieces\n", sum, pieces }' \
		pieces=$pieces "$work"/log/load-?.json
}

with_little_room() {
	local file=$work/little.trace
	begin little --trace "$file" --trace-format text --trace-buffer 64KiB
	start_load $((calls / 10))
	check "the same with a buffer of 64 KiB" end_load
	finish_trace little "$file"
	told_all little
	check "little: some found no room" test "$lost_room" -gt 0
}

# Reads some and sleeps, until who writes is gone.
read_slowly() { # FIFO MARK
	exec python3 - "$1" "$2" <<-'EOF2'
		import os, select, sys, time
		pipe = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
		open(sys.argv[2], "w").close()
		poll = select.poll()
		poll.register(pipe, select.POLLIN)
		poll.poll()
		os.set_blocking(pipe, True)
		while data := os.read(pipe, 65536):
		    sys.stdout.buffer.write(data)
		    time.sleep(0.02)
	EOF2
}

with_a_slow_reader() {
	local reader
	mkfifo "$work/fifo"
	read_slowly "$work/fifo" "$work/tmp/reads" > "$work/slow.trace" &
	reader=$!
	wait_for 10 test -e "$work/tmp/reads" || die "nobody reads"
	begin slow --trace "$work/fifo" --trace-format json \
		--trace-buffer 256KiB
	start_load $((calls / 10))
	check "the same into a pipe that is read slowly" end_load
	stop "${proxy_pid[slow]}"
	check "its reader sees the end" wait_for 30 is_gone $reader
	finish_trace slow "$work/slow.trace"
	check "slow: some found no room" test "$lost_room" -gt 0
}

with_a_full_disk() {
	local dir=$work/small
	mkdir "$dir"
	mount -t tmpfs -o size=4m none "$dir"
	head -c 2M /dev/zero > "$dir/other"
	begin full-disk --trace "$dir/trace" --trace-format json
	start_load $((calls / 10))
	check "the same onto a disk that fills up" end_load
	check "the log tells of it" grep -q "No space left" \
		"$work/log/full-disk.log"
	rm "$dir/other"
	wait_for 20 grep -q "is written again" "$work/log/full-disk.log" ||
		not_ok "it is not written again"
	start_load 200
	check "traffic goes on" end_load
	finish_trace full-disk "$dir/trace"
	check "full-disk: some could not be written" test "$lost_write" -gt 0
	told_all full-disk
}

with_room
with_little_room
with_a_slow_reader
with_a_full_disk
finish
