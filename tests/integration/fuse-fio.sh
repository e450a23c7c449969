#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Random reads and writes, 32 deep, each block checked by its CRC: no byte is
# lost, doubled or displaced. FIO_SIZE in the environment is the size of each of
# the two files  [96m].

. "$(dirname "$0")/lib.sh"

command -v fio > /dev/null || skip "fio is not installed"
start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152

# verify STACK SENTENCE FIO-OPTION...
verify() {
	local stack=$1 sentence=$2
	shift 2
	check "$sentence ($stack client)" timeout 200 fio --name=verify \
		--directory="$work/mnt-$stack" --numjobs=2 --iodepth=32 \
		--size="${FIO_SIZE:-96m}" --verify=crc32c --verify_fatal=1 \
		--ioengine=libaio --randrepeat=1 --group_reporting \
		--minimal "$@"
	rm -f "$work/mnt-$stack"/verify.*
}

for stack in default clean; do
	read -ra options <<< "$(mount_options $stack)"
	client_volfile $stack plain brick0=24100 > "$work/vol/$stack.vol"
	mount_fuse "$work/vol/$stack.vol" "$work/mnt-$stack" "${options[@]}"
	verify $stack "small blocks at random places" --rw=randrw --bs=4k-16k \
		--size="${FIO_SIZE:-32m}" --direct=1
	verify $stack "large blocks at random places" --rw=randrw \
		--bsrange=4k-1m --bs_unaligned --direct=0
	verify $stack "written in order, read back" --rw=write --bs=1m \
		--direct=1
	unmount "$work/mnt-$stack"
done

finish
