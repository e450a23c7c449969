#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run the fuzz targets, each for a while, from the fixtures as seeds.
#
# usage: tests/fuzz.sh [-s SECONDS] [-j JOBS] BUILDDIR [TARGET...]
#
#   -s SECONDS  for each target; 1800
#   -j JOBS     targets at a time; 2
#   BUILDDIR    made if it is missing; the targets are built in it with clang,
#               address and undefined behaviour sanitizers
#   TARGET      record, call, ...; all of them
#
# Inputs that are findings stay in BUILDDIR/fuzz/crashes/, grown corpora in
# BUILDDIR/fuzz/corpus/ for the next run. The exit status is 1 on a finding.
set -eu

usage() {
	sed -n '6s/^# //p' "$0" >&2
	exit 64
}

# run_one BUILDDIR SECONDS TARGET
run_one() {
	work=$1/fuzz
	log=$work/$3.log
	mkdir -p "$work/corpus/$3" "$work/seeds/$3" "$work/crashes"
	status=0
	"$1/tests/fuzz/fuzz_$3" -max_total_time="$2" -max_len=65536 -timeout=10 \
		-rss_limit_mb=1024 -malloc_limit_mb=128 -print_final_stats=1 \
		-artifact_prefix="$work/crashes/$3-" \
		"$work/corpus/$3" "$work/seeds/$3" > "$log" 2>&1 || status=$?
	count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if [ $status -eq 0 ] && [ -n "$count" ]; then
		echo "fuzz $3: $count executions, no finding"
		return 0
	fi
	echo "fuzz $3: ${count:-?} executions, FINDING: see $log"
	sed -n '/^==.*ERROR\|runtime error\|^SUMMARY/p' "$log" | head -n 5
	return 1
}

[ "${1:-}" != --one ] || { shift; run_one "$@"; exit; }

seconds=1800
jobs=2
while getopts s:j: option; do
	case $option in
	s) seconds=$OPTARG ;;
	j) jobs=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage

here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$here")
mkdir -p "$1"
build=$(cd "$1" && pwd)
shift

[ -x "$source/configure" ] || (cd "$source" && ./autogen.sh > /dev/null)
if [ ! -f "$build/Makefile" ]; then
	(cd "$build" && "$source/configure" CC=clang CFLAGS=-O1 \
		--enable-fuzzing --enable-sanitizers=address,undefined \
		> configure.log) || { tail "$build/configure.log" >&2; exit 2; }
fi
make -s -C "$build" -j "$jobs" fuzz-targets > "$build/make.log" 2>&1 ||
	{ tail -n 20 "$build/make.log" >&2; exit 2; }
known=$(make -s -C "$build" fuzz-list)
[ $# -gt 0 ] || set -- $known
for target; do
	echo "$known" | grep -qx "$target" ||
		{ echo "fuzz: no target $target among:" $known >&2; exit 64; }
done

rm -rf "$build/fuzz/seeds"
mkdir -p "$build/fuzz"
"$build/tests/fuzz/make_corpus" "$build/fuzz/seeds" "$here/wire"
# every input that was a finding once
for found in "$here"/fuzz/found/*/; do
	[ ! -d "$found" ] || cp -r "$found" "$build/fuzz/seeds/"
done

# xargs says 123 when one of them failed
printf '%s\n' "$@" |
	xargs -n 1 -P "$jobs" "$here/fuzz.sh" --one "$build" "$seconds" || exit 1
