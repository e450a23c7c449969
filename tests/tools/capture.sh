#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Make the fixtures of tests/wire/ from real GlusterFS peers.
#
# usage: tests/tools/capture.sh OUTDIR
#
# Needs root, glusterfs-server, glusterfs-client, dumpcap and python3. All runs
# in namespaces of its own: a host called "host", only the loopback device,
# fresh process numbers, and nothing left behind. Each scenario is captured
# alone, so that a fixture can say who made it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "${CAPTURE_INSIDE:-}" = "" ]; then
	[ $# -eq 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 64; }
	mkdir -p "$1"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	CAPTURE_INSIDE=$work unshare --mount --net --uts --pid --fork \
		--kill-child --mount-proc "$0" "$(cd "$1" && pwd)"
	exit
fi

out=$1
work=$CAPTURE_INSIDE
cd "$work"
ulimit -c 0	# one brick is meant to die

private_host() {
	hostname host
	ip link set lo up
	# glusterd takes no brick on a loopback address
	ip address add 192.0.2.1/32 dev lo
	printf '127.0.0.1 localhost\n192.0.2.1 host\n' > "$work/hosts"
	mount --bind "$work/hosts" /etc/hosts
	mkdir -p "$work/srv" "$work/mnt" "$work/empty"
	mount --bind "$work/srv" /srv
	mount --bind "$work/mnt" /mnt
	for dir in /var/lib/glusterd /var/log/glusterfs /run; do
		mount -t tmpfs none "$dir"
	done
	mkdir -p /run/gluster
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
	tries=$(($1 * 10))
	shift
	until "$@" > /dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "gave up: $*" >&2; tail -n 20 "$work"/*.log; return 1; }
		sleep 0.1
	done
}

is_listening() { python3 -c "import socket
socket.create_connection(('$1', $2), 1)"; }

# brick_volfile NAME PORT: the stack that glusterd gives a brick, shortened
brick_volfile() {
	mkdir -p "/srv/$1/.glusterfs/indices"
	cat <<-EOF
	volume $1-posix
	  type storage/posix
	  option directory /srv/$1
	  option health-check-interval 1
	end-volume
	volume $1-access-control
	  type features/access-control
	  subvolumes $1-posix
	end-volume
	volume $1-locks
	  type features/locks
	  option notify-contention yes
	  subvolumes $1-access-control
	end-volume
	volume $1-leases
	  type features/leases
	  option leases on
	  subvolumes $1-locks
	end-volume
	volume $1-upcall
	  type features/upcall
	  option cache-invalidation on
	  subvolumes $1-leases
	end-volume
	volume $1-io-threads
	  type performance/io-threads
	  subvolumes $1-upcall
	end-volume
	volume $1-index
	  type features/index
	  option index-base /srv/$1/.glusterfs/indices
	  option xattrop64-watchlist trusted.ec.dirty
	  option xattrop-dirty-watchlist trusted.afr.dirty
	  option xattrop-pending-watchlist trusted.afr.vol-
	  subvolumes $1-io-threads
	end-volume
	volume $1
	  type debug/io-stats
	  subvolumes $1-index
	end-volume
	EOF
	server_block "$1" "$2"
}

short_brick_volfile() {
	mkdir -p /srv/short
	cat <<-EOF
	volume posix
	  type storage/posix
	  option directory /srv/short
	end-volume
	volume $1
	  type features/locks
	  subvolumes posix
	end-volume
	EOF
	server_block "$1" "$2"
}

server_block() {
	cat <<-EOF
	volume server
	  type protocol/server
	  option transport-type tcp
	  option transport.address-family inet
	  option transport.socket.listen-port $2
	  option auth.addr.$1.allow *
	  subvolumes $1
	end-volume
	EOF
}

client_block() {
	cat <<-EOF
	volume client$1
	  type protocol/client
	  option transport-type tcp
	  option transport.address-family inet
	  option remote-host 127.0.0.1
	  option remote-port $2
	  option remote-subvolume brick$1
	  option testing.old-protocol ${old:-off}
	end-volume
	EOF
}

plain_volfile() { client_block 0 24100; }

watching_volfile() {
	plain_volfile
	cat <<-EOF
	volume md-cache
	  type performance/md-cache
	  option cache-invalidation on
	  option md-cache-timeout 600
	  subvolumes client0
	end-volume
	EOF
}

# cluster_volfile replicate|disperse
cluster_volfile() {
	for i in 0 1 2; do
		client_block $i $((24100 + i))
	done
	echo "volume vol-$1-0"
	echo "  type cluster/$1"
	if [ "$1" = disperse ]; then
		echo "  option redundancy 1"
	else
		echo "  option afr-pending-xattr vol-client-0,vol-client-1,vol-client-2"
	fi
	echo "  subvolumes client0 client1 client2"
	echo "end-volume"
}

# start_brick NAME PORT VOLFILE; its process number goes to $brick_pid
start_brick() {
	glusterfsd --no-daemon -f "$3" -l "$work/$1.log" &
	brick_pid=$!
	wait_for 10 is_listening 127.0.0.1 "$2"
}

# capture NAME DESCRIPTION COMMAND...: run it with the loopback device recorded
capture() {
	pcap=$work/$1.pcap
	what=$2
	shift 2
	dumpcap -q -P -i lo -B 64 -f tcp -w "$pcap" 2> "$work/dumpcap.log" &
	dumpcap_pid=$!
	wait_for 10 test -s "$pcap"
	echo "== $what"
	"$@" || echo "failed: $*"
	sleep 0.5
	kill "$dumpcap_pid"
	wait "$dumpcap_pid" || :
	set -- "$what=$pcap"
	eval "count=$((${count:-0} + 1)) arg_$((${count:-0} + 1))=\$1"
}

# on_mount VOLFILE OPTIONS...: the work of capture_mount.py on a fresh mount
on_mount() {
	volfile=$1
	shift
	glusterfs -f "$volfile" -l "$work/mount.log" --attribute-timeout=0 \
		--entry-timeout=0 "$@" /mnt
	wait_for 10 mountpoint -q /mnt
	timeout 60 python3 "$here/capture_mount.py" /mnt
	umount /mnt
}

raw() { timeout 60 python3 "$here/capture_raw.py" "$@"; }
gfapi() { timeout 60 python3 "$here/capture_gfapi.py" "$@"; }

with_bricks() {
	for i in 0 1 2; do
		brick_volfile "brick$i" $((24100 + i)) > "$work/brick$i.vol"
		start_brick "brick$i" $((24100 + i)) "$work/brick$i.vol"
	done
	for old in off on; do
		version=400
		[ $old = off ] || version=330
		plain_volfile > "$work/plain.vol"
		watching_volfile > "$work/watching.vol"
		cluster_volfile replicate > "$work/replicate.vol"
		cluster_volfile disperse > "$work/disperse.vol"
		capture "mount-$version" "FUSE mount of one brick" \
			on_mount "$work/plain.vol"
		capture "readdir-$version" "FUSE mount without readdirp" \
			on_mount "$work/plain.vol" --use-readdirp=no
		capture "watch-$version" "FUSE mount with md-cache on upcalls" \
			on_mount "$work/watching.vol"
		capture "gfapi-$version" "libgfapi program on one brick" \
			gfapi "$work/plain.vol"
		capture "afr-$version" "FUSE mount of a 1x3 replicated volume" \
			on_mount "$work/replicate.vol"
		rm -rf /srv/brick?/*
		capture "ec-$version" "FUSE mount of a 2+1 dispersed volume" \
			on_mount "$work/disperse.vol"
		capture "raw-$version" "raw client" \
			raw "calls$version" 127.0.0.1 24100
	done
	capture handshake "raw client" raw handshake 127.0.0.1 24100
	capture contention "two raw clients" raw contention 127.0.0.1 24100
	capture upcalls "two raw clients" raw upcalls 127.0.0.1 24100
}

with_short_brick() {
	short_brick_volfile brick0 24300 > "$work/short.vol"
	start_brick short 24300 "$work/short.vol"
	capture fatal "raw client of a brick without io-threads" \
		raw fatal 127.0.0.1 24300
}

# A brick whose storage is another brick's client says CHILD_UP and CHILD_DOWN.
gateway_events() {
	raw gateway 127.0.0.1 24200 &
	raw_pid=$!
	sleep 2
	kill "$brick_pid"
	sleep 2
	start_brick brick0 24110 "$work/below.vol"
	wait "$raw_pid" || :
}

with_gateway() {
	old=off
	brick_volfile brick0 24110 > "$work/below.vol"
	{
		client_block 0 24110
		printf 'volume gateway\n  type debug/io-stats\n'
		printf '  subvolumes client0\nend-volume\n'
		server_block gateway 24200
	} > "$work/gateway.vol"
	start_brick gateway 24200 "$work/gateway.vol"
	start_brick brick0 24110 "$work/below.vol"
	sleep 4
	capture gateway "raw client of a brick above another brick" \
		gateway_events
}

mount_managed() {
	gluster --mode=script volume start vol force
	sleep 2
	glusterfs -s host --volfile-id=/vol -l "$work/managed.log" /mnt
	wait_for 10 mountpoint -q /mnt
	raw glusterd host 24007 &
	raw_pid=$!
	gfapi --server host vol
	gluster --mode=script volume set vol performance.read-ahead off
	gluster --mode=script volume statedump vol client host:4242
	wait "$raw_pid" || :
	umount /mnt
	gluster --mode=script volume stop vol force
	sleep 1
}

with_glusterd() {
	glusterd -N -l "$work/glusterd.log" &
	wait_for 20 is_listening host 24007
	wait_for 20 gluster --mode=script volume list
	mkdir -p /srv/vol
	gluster --mode=script volume create vol host:/srv/vol/brick0 force
	capture glusterd "glusterd, its brick and their clients" mount_managed
}

private_host
with_bricks
with_short_brick
with_gateway
with_glusterd
i=1
set --
while [ $i -le "$count" ]; do
	eval "set -- \"\$@\" \"\$arg_$i\""
	i=$((i + 1))
done
"$here/capture_extract.py" "$here/../../proto/gfx_proc.def" "$out" "$@"
