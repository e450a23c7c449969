#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Volumes of several bricks, each brick behind a listener of one daemon: each
# POSIX call gives the same result as without the proxy, and data survives.
# Replicated 1x3, disperse 4+2, distributed over 3, sharded.
#
# In the environment:
#   KINDS         not all of them  [replicate disperse distribute shard]
#   STACK         the client's layers, default or clean  [default]
#   TREE_ENTRIES  files of /usr/share that are copied; 0: all  [150]
#   FIO_SIZE      of the file that is verified  [24m]

. "$(dirname "$0")/lib.sh"
. "$here/several.sh"

command -v fio > /dev/null || skip "fio is not installed"

# One probe after the other: two on a volume would see each other's load.
probe() { # KIND WAY
	local dir=$work/probe-$1-$2 options=()
	[ "$1" != shard ] || options=(--no-huge)
	volume_volfile "$stack" "$1" "$2" > "$work/vol/probe-$1-$2.vol"
	one_reader "$work/vol/probe-$1-$2.vol"
	mount_fuse "$work/vol/probe-$1-$2.vol" "$dir-a" "${mount_args[@]}"
	mount_fuse "$work/vol/probe-$1-$2.vol" "$dir-b" "${mount_args[@]}"
	mkdir "$dir-a/$2"
	check "the probe runs to its end ($1, $2)" timeout 150 \
		"$here/posix_probe.py" "${options[@]}" "$dir-a/$2" \
		"$dir-b/$2" --output "$work/log/probe-$1-$2.log"
	unmount "$dir-b"
	unmount "$dir-a"
}

# What went in through the proxy comes out directly, and the other way round.
exchange() { # KIND
	local proxy=$work/$1-proxy direct=$work/$1-direct
	cp "$work/data" "$proxy/in"
	sync -f "$proxy/in"
	check "data through the proxy is read directly ($1)" \
		cmp "$work/data" "$direct/in"
	cp "$work/data" "$direct/out"
	sync -f "$direct/out"
	check "data written directly is read through the proxy ($1)" \
		cmp "$work/data" "$proxy/out"
	check "a tree is copied in ($1)" cp -a "$work/tree" "$proxy/tree"
	check "and is the same ($1)" \
		diff -r --no-dereference "$work/tree" "$proxy/tree"
	check "directly, too ($1)" \
		diff -r --no-dereference "$work/tree" "$direct/tree"
	check "random writes are verified ($1)" fio --name=verify \
		--directory="$proxy" --size="${FIO_SIZE:-24m}" --rw=randrw \
		--bsrange=512-256k --bs_unaligned --iodepth=16 \
		--ioengine=libaio --verify=crc32c --verify_fatal=1 --minimal
	check "all is removed ($1)" rm -r "$proxy"/{tree,in,out,verify.0.0}
}

stack=${STACK:-default}
read -ra mount_args <<< "$(mount_options "$stack")"
kinds=${KINDS:-replicate disperse distribute shard}
head -c 9876543 /dev/urandom > "$work/data"
choose_tree "$work/tree" "${TREE_ENTRIES:-150}"
for kind in $kinds; do
	start_volume "$kind"
done
start_proxy proxy -f "$work/forebrick.conf"
for kind in $kinds; do
	probe "$kind" direct
	probe "$kind" proxy
	check "direct and proxied results are equal ($kind)" \
		diff "$work/log/probe-$kind-direct.log" \
		"$work/log/probe-$kind-proxy.log"
	for way in direct proxy; do
		volume_volfile "$stack" "$kind" $way > "$work/vol/$kind-$way.vol"
		mount_fuse "$work/vol/$kind-$way.vol" "$work/$kind-$way" \
			"${mount_args[@]}"
	done
	exchange "$kind"
	unmount "$work/$kind-direct"
	unmount "$work/$kind-proxy"
done

finish
