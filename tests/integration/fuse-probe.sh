#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every POSIX call gives the same result, errno for errno, on a direct mount and
# on one through the proxy: with the default client, and with one that hands
# every call to the brick.

. "$(dirname "$0")/lib.sh"

start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152

# probe WAY STACK PORT: both mounts of this way; output in $work/WAY-STACK
probe() {
	local way=$1-$2 options
	read -ra options <<< "$(mount_options "$2")"
	client_volfile "$2" plain "brick0=$3" > "$work/vol/$way.vol"
	mount_fuse "$work/vol/$way.vol" "$work/$way-a" "${options[@]}"
	mount_fuse "$work/vol/$way.vol" "$work/$way-b" "${options[@]}"
	mkdir "$work/$way-a/$way"
	check "the probe runs to its end ($way)" timeout 120 \
		"$here/posix_probe.py" "$work/$way-a/$way" \
		"$work/$way-b/$way" --output "$work/log/$way.log"
	unmount "$work/$way-a"
	unmount "$work/$way-b"
}

for stack in default clean; do
	probe direct $stack 49152
	probe proxy $stack 24100
	check "direct and proxied results are equal ($stack client)" \
		diff "$work/log/direct-$stack.log" "$work/log/proxy-$stack.log"
	check "there were results to compare" \
		test "$(wc -l < "$work/log/direct-$stack.log")" -gt 600
done

finish
