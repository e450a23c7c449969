#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every call of libgfapi gives the same result directly and through the proxy on
# volumes of several bricks, each brick behind a listener of one daemon.

. "$(dirname "$0")/lib.sh"
. "$here/several.sh"

[ -n "$GFAPI_CLIENT" ] || skip "gfapi_client is not built"
kinds=(replicate disperse distribute shard)

probe() { # KIND WAY
	volume_volfile default "$1" "$2" > "$work/vol/$1-$2.vol"
	one_reader "$work/vol/$1-$2.vol"
	timeout 200 "$GFAPI_CLIENT" "$work/vol/$1-$2.vol" \
		"$work/log/client-$1-$2.log" "$2" > "$work/log/$1-$2.log"
}

for kind in "${kinds[@]}"; do
	start_volume "$kind"
done
start_proxy proxy -f "$work/forebrick.conf"
# All at once: glfs_fini() of 10.3 takes ten seconds.
declare -A pids
for kind in "${kinds[@]}"; do
	for way in direct proxy; do
		probe "$kind" $way &
		pids[$kind-$way]=$!
	done
done
for kind in "${kinds[@]}"; do
	for way in direct proxy; do
		check "the client runs to its end ($kind, $way)" \
			wait "${pids[$kind-$way]}"
	done
	check "direct and proxied results are equal ($kind)" \
		diff "$work/log/$kind-direct.log" "$work/log/$kind-proxy.log"
	check "there were results to compare ($kind)" \
		test "$(wc -l < "$work/log/$kind-direct.log")" -gt 200
done

finish
