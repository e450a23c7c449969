#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What takes too long for tests/check.sh: its tests with larger figures, the
# rings of processes under sanitizers, each fuzz target for half an hour.
#
# usage: tests/soak.sh [--list | PART...]
#
# All parts take some hours. Logs are in build/soak/; figures are printed. As
# root, like tests/check.sh. The last line is "N passed, N failed, N skipped".
#
# In the environment: BUILD_DIR; FUZZ_SECONDS for each target [1800];
# TEST_TIMEOUT for each test of the integration ring [7200].
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$top/build}
logs=$build/soak
check=$top/tests/check.sh
passed=0 failed=0 skipped=0
export LC_ALL=C.UTF-8

# part NAME SENTENCE: the function part_NAME, told by that sentence
parts=(
	"tree        all of /usr/share copied in and compared, two clients"
	"volumes     the same on volumes of several bricks"
	"fio         4 GiB of verified random reads and writes"
	"directory   a million entries"
	"kill        200 kills each of brick, proxy and client"
	"signals     500 rotations of log and trace"
	"trace       ten million traced calls at full speed"
	"tshark      100,000 messages, as tshark sees them"
	"fake        the daemon between scripted peers, many times more of it"
	"probes      20 comparisons of direct and proxied results"
	"asan        rings of processes, addresses and undefined behaviour"
	"tsan        rings of processes, threads"
	"idle        9,000 idle sessions"
	"bench       direct, HAProxy and forebrick in turn, against the bars"
	"fuzz        each target for half an hour"
)

# integration NAME [DAEMON]: one test by itself; what it prints is kept
integration() {
	KEEP_LOGS=$logs/failed FOREBRICKD=${2:-$build/forebrickd} \
		GFAPI_CLIENT=$build/tests/integration/gfapi_client \
		RPC_LOAD=$build/tests/bench/rpc_load \
		FAKE_BRICK=$build/tests/fake/fake_brick \
		TEST_TIMEOUT=${TEST_TIMEOUT:-7200} \
		"$top/tests/integration/$1.sh"
}

part_tree() { TREE_ENTRIES=0 integration fuse-tree; }
part_volumes() { TREE_ENTRIES=0 FIO_SIZE=1g integration volumes; }
part_fio() { FIO_SIZE=1g integration fuse-fio; }
part_directory() {
	ENTRIES=1000000 CLIENT_ENTRIES=100000 integration fuse-bigdir
}
part_kill() { KILL_ROUNDS=200 integration kill; }
part_signals() { ROTATIONS=500 integration signals; }
part_trace() { TRACE_CALLS=10000000 integration trace-load; }
part_tshark() { TSHARK_MESSAGES=100000 integration tshark; }

# fake DAEMON [--long]: each file of the fake ring
fake() {
	local daemon=$1 test status=0
	shift
	for test in "$top"/tests/fake/test_*.py; do
		FOREBRICKD=$daemon FAKE_BRICK=$build/tests/fake/fake_brick \
			"$test" "$@" || [ $? -eq 77 ] ||
			{ status=1; echo "FAILED: $(basename "$test")"; }
	done
	return $status
}

part_fake() { fake "$build/forebrickd" --long; }

part_probes() {
	local i
	for ((i = 0; i < 20; i++)); do
		integration fuse-probe && integration gfapi-probe || return 1
	done
}

# sanitized LABEL LIST: every test of the integration ring and the fake one with
# a daemon built so. A report in the daemon's log fails the test.
sanitized() {
	local dir=$build/$1 script name status=0
	mkdir -p "$dir"
	[ -f "$dir/Makefile" ] || (cd "$dir" && "$top/configure" --quiet \
		CFLAGS="-O1 -g" --enable-sanitizers="$2") || return 1
	make -C "$dir" -j "$(nproc)" forebrickd || return 1
	# Shadow memory of threads needs addresses where they are expected.
	printf '#!/bin/sh\nexec %s "%s" "$@"\n' \
		"$(setarch "$(uname -m)" -R echo setarch "$(uname -m)" -R)" \
		"$dir/forebrickd" > "$dir/forebrickd-in-place"
	chmod +x "$dir/forebrickd-in-place"
	for script in "$top"/tests/integration/*.sh; do
		[ -x "$script" ] || continue
		name=$(basename "$script" .sh)
		echo "== $name"
		integration "$name" "$dir/forebrickd-in-place"
		case $? in
		0 | 77) ;;
		*) status=1; echo "FAILED: $name" ;;
		esac
	done
	fake "$dir/forebrickd-in-place" || status=1
	return $status
}

part_asan() { sanitized asan address,undefined; }
part_tsan() { sanitized tsan thread; }
part_idle() { BUILD=$build "$top/tests/bench/idle.sh"; }
part_bench() { python3 "$top/tests/bench/bench.py" --build "$build" --assert; }
part_fuzz() {
	"$top/tests/fuzz.sh" -s "${FUZZ_SECONDS:-1800}" -j "$(nproc)" \
		"$build/fuzz"
}

# What a part has measured, apart from what it has checked.
figures() { # LOG
	grep -E '^(ok|not ok) .*[0-9]|^# |^fuzz |MiB/s|KiB|records' "$1" |
		cut -c 1-150 | tail -n 40 | sed 's/^/    /'
}

run_part() {
	local name=$1 log=$logs/$1.log begin=$SECONDS
	"part_$name" > "$log" 2>&1 < /dev/null
	case $? in
	0)
		passed=$((passed + 1))
		echo "passed  $name ($((SECONDS - begin)) s)" ;;
	77)
		skipped=$((skipped + 1))
		echo "skipped $name: $(tail -n 1 "$log")" ;;
	*)
		failed=$((failed + 1))
		echo "FAILED  $name ($((SECONDS - begin)) s), see $log"
		grep -E '^not ok|^FAILED' "$log" | sed 's/^/    /' ;;
	esac
	figures "$log"
}

known() { printf '%s\n' "${parts[@]}" | cut -d ' ' -f 1; }

if [ "${1:-}" = --list ]; then
	printf '%s\n' "${parts[@]}"
	exit 0
fi
for name; do
	known | grep -qx -- "$name" ||
		{ echo "no part $name; --list names them" >&2; exit 64; }
done
[ $# -gt 0 ] || mapfile -t all < <(known)
mkdir -p "$logs"
"$check" --only build || exit 1
for name in "${@:-${all[@]}}"; do
	run_part "$name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
