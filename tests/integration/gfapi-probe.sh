#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every call of libgfapi gives the same result directly and through the proxy,
# with the default client layers and without any performance layer.

. "$(dirname "$0")/lib.sh"

[ -n "$GFAPI_CLIENT" ] || skip "gfapi_client is not built"
make_brick brick0 49152
set_option "$work/vol/brick0.vol" features/leases leases on
start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152

# probe WAY STACK PORT
probe() {
	client_volfile "$2" plain "brick0=$3" > "$work/vol/$1-$2.vol"
	timeout 60 "$GFAPI_CLIENT" "$work/vol/$1-$2.vol" \
		"$work/log/client-$1-$2.log" "$1-$2" > "$work/log/$1-$2.log"
}

# All at once: glfs_fini() of 10.3 takes ten seconds.
declare -A pids
for stack in default clean; do
	probe direct $stack 49152 &
	pids[direct-$stack]=$!
	probe proxy $stack 24100 &
	pids[proxy-$stack]=$!
done
for way in "${!pids[@]}"; do
	check "the client runs to its end ($way)" wait "${pids[$way]}"
done
for stack in default clean; do
	check "direct and proxied results are equal ($stack client)" \
		diff "$work/log/direct-$stack.log" "$work/log/proxy-$stack.log"
	check "there were results to compare ($stack client)" \
		test "$(wc -l < "$work/log/direct-$stack.log")" -gt 200
done

finish
