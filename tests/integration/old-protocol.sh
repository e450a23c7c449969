#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A client that speaks FOP version 330 (testing.old-protocol) gets through the
# proxy what it gets directly.

. "$(dirname "$0")/lib.sh"

start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152 \
	--trace-file "$work/log/trace.json" --trace-format json

probe() { # WAY PORT
	client_volfile default plain "brick0=$2" > "$work/vol/$1.vol"
	set_option "$work/vol/$1.vol" protocol/client testing.old-protocol on
	mount_fuse "$work/vol/$1.vol" "$work/$1-a"
	mount_fuse "$work/vol/$1.vol" "$work/$1-b"
	mkdir "$work/$1-a/$1"
	check "the probe runs to its end ($1)" timeout 120 \
		"$here/posix_probe.py" "$work/$1-a/$1" "$work/$1-b/$1" \
		--output "$work/log/probe-$1.log"
	unmount "$work/$1-a"
	unmount "$work/$1-b"
}

probe direct 49152
probe proxy 24100
check "direct and proxied results are equal" \
	diff "$work/log/probe-direct.log" "$work/log/probe-proxy.log"
check "version 330 was spoken" grep -q 330 "$work/log/trace.json"

finish
