#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The trace tells of each RPC once and truly: every procedure that a mount and a
# libgfapi program can make, and by a raw client the others, are compared member
# by member with a capture of both sides of the proxy (trace_check.py).
#
# Two proxies in a row, so that both formats see the same calls:
#
#   clients -- 2410x: JSON -- 2420x: text -- 4915x: bricks
#
# TRACE_SECTIONS in the environment: of posix_probe.py, for the mount of version
# 400  [all but what only writes much].

. "$(dirname "$0")/lib.sh"
. "$here/packets.sh"

command -v dumpcap > /dev/null || skip "dumpcap is not installed"
[ -n "$GFAPI_CLIENT" ] || skip "gfapi_client is not built"
tools=$here/../tools
sections=${TRACE_SECTIONS:-names,links,rename,special,attributes,permission,\
mapped,far,xattrs,unlinked,locks,between}
payload=48

# A brick that has something to say on its own, too.
start_bricks() {
	local i
	for i in 0 1 2 3; do
		make_brick "brick$i" "4915$i"
		set_option "$work/vol/brick$i.vol" features/leases leases on
		set_option "$work/vol/brick$i.vol" features/upcall \
			cache-invalidation on
		set_option "$work/vol/brick$i.vol" features/locks \
			notify-contention yes
		start_brick "brick$i" "4915$i"
	done
}

# chain NAME LISTEN-BASE BRICK-BASE OPTION...: a proxy with four listeners
chain() {
	local name=$1 i
	for i in 0 1 2 3; do
		echo "listener \"l$i\" { listen = \"127.0.0.1:$(($2 + i))\"" \
			"brick = \"127.0.0.1:$(($3 + i))\" }"
	done > "$work/$name.conf"
	shift 3
	start_proxy "$name" -f "$work/$name.conf" "$@"
}

# old VOLFILE NEW: the same, but its client speaks version 330
old() {
	cp "$1" "$2"
	set_option "$2" protocol/client testing.old-protocol on
}

make_volfiles() {
	local v=$work/vol
	client_volfile clean plain brick0=24100 > "$v/plain.vol"
	client_volfile default plain brick0=24100 > "$v/default.vol"
	client_volfile clean replicate brick1=24101 brick2=24102 brick3=24103 \
		> "$v/replicate.vol"
	set_option "$v/replicate.vol" cluster/replicate data-self-heal on
	set_option "$v/replicate.vol" cluster/replicate metadata-self-heal on
	set_option "$v/replicate.vol" cluster/replicate entry-self-heal on
	set_option "$v/replicate.vol" cluster/replicate \
		data-self-heal-algorithm diff
	# its md-cache registers names of attributes, by IPC
	set_option "$v/default.vol" performance/md-cache cache-invalidation on
	old "$v/plain.vol" "$v/old.vol"
	old "$v/replicate.vol" "$v/old-replicate.vol"
}

# on_mount NAME VOLFILE OPTION... -- COMMAND...: with the mount's directory
on_mount() {
	local dir=$work/$1 volfile=$work/vol/$2.vol options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	mount_fuse "$volfile" "$dir" --attribute-timeout=0 --entry-timeout=0 \
		"${options[@]}"
	"$@" "$dir"
	local rc=$?
	unmount "$dir"
	return $rc
}

probe() { # SECTIONS DIR
	mkdir -p "$2/probe"
	mount_fuse "$work/vol/plain.vol" "$work/second"
	timeout 150 "$here/posix_probe.py" --only "$1" "$2/probe" \
		"$work/second/probe"
	local rc=$?
	unmount "$work/second"
	return $rc
}

use() { timeout 60 python3 "$tools/capture_mount.py" "$1"; }

# 1 MiB that differs in two places on a brick that was away: a heal by checksums
heal() {
	local dir=$1
	head -c 1M /dev/urandom > "$dir/healed"
	stop "${brick_pid[brick3]}" KILL
	printf 'other' | dd of="$dir/healed" bs=1 seek=300000 conv=notrunc \
		status=none
	printf 'other' > "$dir/new"
	start_brick brick3 49153
	wait_for 60 heals "$dir"
}

heals() {
	ls -l "$1" > /dev/null
	cat "$1/healed" > /dev/null
	cmp "$work/bricks/brick1/healed" "$work/bricks/brick3/healed" &&
		cmp "$work/bricks/brick1/new" "$work/bricks/brick3/new"
}

on_gfapi() { # VOLFILE NAME
	timeout 100 "$GFAPI_CLIENT" "$work/vol/$1.vol" \
		"$work/log/client-$2.log" "$2" > "$work/log/$2.log"
}

raw() { timeout 60 python3 "$tools/capture_raw.py" "$1" 127.0.0.1 24100; }

make_calls() {
	on_gfapi plain gfapi &
	local gfapi=$! old scenario
	on_gfapi old gfapi-old &
	old=$!
	check "a mount, by its whole probe" \
		on_mount plain plain -- probe "$sections"
	check "a mount without readdirp" on_mount readdir plain \
		--use-readdirp=no -- use
	check "a mount that speaks version 330" on_mount old old \
		-- use
	check "a default mount that wants upcalls" on_mount default default \
		-- use
	check "a replicated mount" on_mount replicate replicate \
		-- use
	check "a replicated mount that speaks version 330" \
		on_mount old-replicate old-replicate -- use
	check "a heal" on_mount heal replicate -- heal
	for scenario in handshake calls400 calls330 contention upcalls fatal; do
		check "a raw client: $scenario" raw $scenario
	done
	check "a libgfapi program" wait $gfapi
	check "a libgfapi program that speaks version 330" wait $old
}

compare() {
	python3 "$here/trace_check.py" --pcap "$work/log/both.pcap" \
		--trace "$work/log/trace.json" --text "$work/log/trace.txt" \
		--payload $payload --need --listen 24100=127.0.0.1:24200 \
		--listen 24101=127.0.0.1:24201 --listen 24102=127.0.0.1:24202 \
		--listen 24103=127.0.0.1:24203 > "$work/log/check.log" 2>&1
	local rc=$?
	cat "$work/log/check.log"
	return $rc
}

start_bricks
chain text 24200 49150 --trace "$work/log/trace.txt" --trace-format text
chain json 24100 24200 --trace "$work/log/trace.json" --trace-format json \
	--trace-payload $payload
make_volfiles
start_capture both 2410{0,1,2,3} 2420{0,1,2,3}
make_calls
stop_capture both
for proxy in json text; do
	stop "${proxy_pid[$proxy]}"
done
check "each RPC has one record, and all in it is true" compare
sed -n '/^# /p' "$work/log/check.log"
finish
