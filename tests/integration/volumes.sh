#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Volumes of several bricks, each brick behind a listener of one daemon: each
# POSIX call gives the same result as without the proxy, and data survives.
# Replicated 1x3, disperse 4+2, distributed over 3, sharded.

. "$(dirname "$0")/lib.sh"

# start_volume NAME COUNT: bricks NAME0.., from port $next_port on
next_port=49200
start_volume() {
	local i
	for ((i = 0; i < $2; i++)); do
		start_brick "$1$i" $((next_port + i))
		printf 'listener "%s" {\n\tlisten = "127.0.0.1:%d"\n' "$1$i" \
			$((next_port + i - 20000))
		printf '\tbrick = "127.0.0.1:%d"\n}\n' $((next_port + i))
	done >> "$work/forebrick.conf"
	first_port[$1]=$next_port
	next_port=$((next_port + $2))
}
declare -A first_port count=([replicate]=3 [disperse]=6 [distribute]=3
	[shard]=1)

# volume_volfile KIND OFFSET: OFFSET from a brick's port to the one to use
volume_volfile() {
	local i bricks=()
	for ((i = 0; i < count[$1]; i++)); do
		bricks+=("$1$i=$((first_port[$1] + i + $2))")
	done
	client_volfile default "$1" "${bricks[@]}"
}

# One probe after the other: two on a volume would see each other's load.
probe() { # KIND WAY OFFSET
	local dir=$work/$1-$2 options=()
	[ "$1" != shard ] || options=(--no-huge)
	volume_volfile "$1" "$3" > "$work/vol/$1-$2.vol"
	mount_fuse "$work/vol/$1-$2.vol" "$dir-a"
	mount_fuse "$work/vol/$1-$2.vol" "$dir-b"
	mkdir "$dir-a/$2"
	check "the probe runs to its end ($1, $2)" timeout 150 \
		"$here/posix_probe.py" "${options[@]}" "$dir-a/$2" \
		"$dir-b/$2" --output "$work/log/probe-$1-$2.log"
	unmount "$dir-b"
}

# What went in through the proxy comes out directly, and the other way round.
exchange() { # KIND
	local kind=$1
	cp "$work/data" "$work/$kind-proxy-a/in"
	sync -f "$work/$kind-proxy-a/in"
	check "data through the proxy is read directly ($kind)" \
		cmp "$work/data" "$work/$kind-direct-a/in"
	cp "$work/data" "$work/$kind-direct-a/out"
	sync -f "$work/$kind-direct-a/out"
	check "data written directly is read through the proxy ($kind)" \
		cmp "$work/data" "$work/$kind-proxy-a/out"
	check "random writes are verified ($kind)" timeout 120 fio \
		--name=verify --directory="$work/$kind-proxy-a" --rw=randrw \
		--bsrange=512-256k --bs_unaligned --size=24m --iodepth=16 \
		--verify=crc32c --verify_fatal=1 --ioengine=libaio --minimal
}

kinds=${KINDS:-replicate disperse distribute shard}
head -c 9876543 /dev/urandom > "$work/data"
for kind in $kinds; do
	start_volume "$kind" "${count[$kind]}"
done
start_proxy proxy -f "$work/forebrick.conf"
for kind in $kinds; do
	probe "$kind" direct 0
	probe "$kind" proxy -20000
	check "direct and proxied results are equal ($kind)" \
		diff "$work/log/probe-$kind-direct.log" \
		"$work/log/probe-$kind-proxy.log"
	exchange "$kind"
	unmount "$work/$kind-direct-a"
	unmount "$work/$kind-proxy-a"
done

finish
