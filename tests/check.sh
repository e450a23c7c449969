#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every check there is, from a clone on a bare Debian 12. As root, for the
# packages and for the mounts of the integration ring.
#
# usage: tests/check.sh [--no-install] [--list | --only NAME...]
#
# NAME is a step (--list prints them), or the beginning of one up to a "/":
# "integration" is all of integration/*. A step that needs a build makes it.
# The last line is "N passed, N failed, N skipped"; the status is 0 if none
# failed. Everything is built and logged in build/ (or BUILD_DIR).
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$top/build}
logs=$build/check-logs
jobs=$(nproc)
passed=0 failed=0 skipped=0
fuzz_seconds=${FUZZ_SECONDS:-10}
export LC_ALL=C.UTF-8

# --- results ---

count() { # passed|failed|skipped NAME SECONDS
	case $1 in
	passed) passed=$((passed + 1)) ;;
	failed) failed=$((failed + 1)) ;;
	skipped) skipped=$((skipped + 1)) ;;
	esac
	printf '%-8s%s%s\n' "$1" "$2" "${3:+ ($3 s)}"
}

show() { # FILE: the end of a log of something that failed
	[ -f "$1" ] || return 0
	echo "---- $1"
	tail -n "${2:-80}" "$1" | cut -c 1-300
	echo "----"
}

# run NAME COMMAND...: one result, by the exit status
run() {
	local name=$1 log=$logs/${1//\//-}.log begin=$SECONDS status
	shift
	"$@" > "$log" 2>&1 < /dev/null
	status=$?
	case $status in
	0) count passed "$name" $((SECONDS - begin)) ;;
	77)
		count skipped "$name" $((SECONDS - begin))
		tail -n 1 "$log" ;;
	*)
		count failed "$name" $((SECONDS - begin))
		show "$log" ;;
	esac
	return $status
}

# automake_results LABEL DIR: one result for each test of "make check" in DIR
automake_results() {
	local file name
	while IFS= read -r file; do
		name=$1/$(basename "$file" .trs)
		case $(sed -n 's/^:global-test-result: //p' "$file") in
		PASS) count passed "$name" ;;
		SKIP)
			count skipped "$name"
			tail -n 1 "${file%.trs}.log" ;;
		*)
			count failed "$name"
			show "${file%.trs}.log" ;;
		esac
	done < <(find "$2" -name '*.trs' -not -path "*/forebrick-*" | sort)
}

# --- builds ---

# configured DIR ARGUMENT...: a build directory with these arguments
configured() {
	local dir=$1
	shift
	mkdir -p "$dir"
	if [ ! -f "$dir/Makefile" ] || [ "$top/configure" -nt "$dir/Makefile" ]; then
		(cd "$dir" && "$top/configure" --quiet "$@")
	fi
}

make_configure() {
	[ "$top/configure" -nt "$top/configure.ac" ] &&
		[ -f "$top/Makefile.in" ] || "$top/autogen.sh"
}

# What tests of the integration ring run. Not in one make with "all", whose own
# make would build the same files beside it.
tools=(tests/bench/rpc_load tests/fake/fake_brick)

make_build() {
	make_configure && configured "$build" --enable-werror &&
		make -C "$build" -j "$jobs" all &&
		make -C "$build" -j "$jobs" "${tools[@]}" && make_gfapi_client
}

# Without libgfapi's headers there is no such target, and its test is skipped.
make_gfapi_client() {
	! grep -q '^HAVE_GFAPI_TRUE =$' "$build/Makefile" ||
		make -C "$build" tests/integration/gfapi_client
}

is_built=
build_once() {
	[ -n "$is_built" ] || run build make_build || return 1
	is_built=yes
}

# make_check LABEL DIR [PREFIX...]: "make check", one result for each test
make_check() {
	local label=$1 dir=$2 log=$logs/$1-make.log begin=$SECONDS status
	shift 2
	find "$dir" -name '*.trs' -delete
	"$@" make -C "$dir" -k -j "$jobs" check > "$log" 2>&1 < /dev/null
	status=$?
	automake_results "$label" "$dir"
	if [ $status -ne 0 ] && ! grep -qE '^(FAIL|XPASS|ERROR): ' "$log"; then
		count failed "$label/build"
		show "$log"
	fi
	echo "        $label took $((SECONDS - begin)) s"
}

# --- steps ---

step_build() { build_once; }

step_check() {
	build_once && make_check check "$build"
}

sanitized() { # LABEL LIST [PREFIX...]
	local label=$1 list=$2
	shift 2
	if ! configured "$build/$label" --enable-werror CFLAGS="-O1 -g" \
		--enable-sanitizers="$list" > "$logs/$label-configure.log" 2>&1; then
		count failed "$label/configure"
		show "$logs/$label-configure.log"
		return 1
	fi
	make_check "$label" "$build/$label" "$@"
}

step_asan() {
	make_configure > /dev/null
	ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 \
		UBSAN_OPTIONS=print_stacktrace=1 \
		sanitized asan address,undefined
}

# Its shadow memory needs addresses where they are expected.
step_tsan() {
	local prefix=""
	make_configure > /dev/null
	! setarch "$(uname -m)" -R true 2> /dev/null ||
		prefix="setarch $(uname -m) -R"
	# shellcheck disable=SC2086 # words
	TSAN_OPTIONS=second_deadlock_stack=1 sanitized tsan thread $prefix
}

step_fuzz() {
	local log=$logs/fuzz.log line
	make_configure > /dev/null
	"$top/tests/fuzz.sh" -s "$fuzz_seconds" -j "$jobs" "$build/fuzz" \
		> "$log" 2>&1
	if ! grep -q '^fuzz .*:' "$log"; then
		count failed fuzz/build
		show "$log"
	fi
	while IFS= read -r line; do
		case $line in
		*", no finding") count passed "${line#fuzz }" ;;
		*) count failed "${line#fuzz }"; show "$log" ;;
		esac
	done < <(sed -n 's/^fuzz \([a-z_0-9]*\): /fuzz fuzz\/\1: /p' "$log")
}

# "make check" of the unpacked tarball, so that nothing of it is missing there:
# one result for each test, and one for all else that distcheck does.
step_distcheck() {
	local log=$logs/distcheck.log begin=$SECONDS status verdict name
	build_once || return 1
	make -C "$build" -j "$jobs" distcheck \
		DISTCHECK_CONFIGURE_FLAGS=--enable-werror \
		> "$log" 2>&1 < /dev/null
	status=$?
	while IFS=' ' read -r verdict name; do
		case $verdict in
		PASS:) count passed "dist/$name" ;;
		SKIP:) count skipped "dist/$name" ;;
		*)
			count failed "dist/$name"
			show "$(find "$build"/forebrick-*/ \
				-path "*/$name.log" -print -quit)" ;;
		esac
	done < <(sed -nE 's/\x1b\[[0-9;]*m//g;
		/^(PASS|SKIP|FAIL|XPASS|ERROR): .*[^ ]/p' "$log" | sort -k 2)
	if [ $status -eq 0 ]; then
		count passed distcheck $((SECONDS - begin))
	else
		count failed distcheck $((SECONDS - begin))
		show "$log"
	fi
}

step_integration() { # NAME
	build_once &&
		FOREBRICKD=${FOREBRICKD:-$build/forebrickd} \
		GFAPI_CLIENT=$build/tests/integration/gfapi_client \
		KEEP_LOGS=$logs/failed \
		run "integration/$1" "$top/tests/integration/$1.sh"
}

# --- which ---

integration_tests() {
	local script
	for script in "$top"/tests/integration/*.sh; do
		[ ! -x "$script" ] || basename "$script" .sh
	done
}

steps() {
	printf '%s\n' build check distcheck asan tsan fuzz
	integration_tests | sed 's|^|integration/|'
}

usage() {
	sed -n '7s/^# //p' "$0" >&2
	exit 64
}

install=yes
only=
while [ $# -gt 0 ]; do
	case $1 in
	--no-install) install= ;;
	--list) steps; exit 0 ;;
	--only)
		shift
		[ $# -gt 0 ] || usage
		only="$*"
		break ;;
	*) usage ;;
	esac
	shift
done

# wanted STEP. "check" is what distcheck does in the tarball: only by name.
wanted() {
	local name
	[ -n "$only" ] || { [ "$1" != check ]; return; }
	for name in $only; do
		case $1 in "${name%/}" | "${name%/}"/*) return 0 ;; esac
	done
	return 1
}

for name in $only; do
	steps | grep -qE "^$name(/|\$)" ||
		{ echo "no step $name; --list names them" >&2; exit 64; }
done
mkdir -p "$logs"
if [ -n "$install" ]; then
	if ! "$top/tests/install-packages.sh" > "$logs/install.log" 2>&1; then
		count failed install
		show "$logs/install.log"
	fi
fi
begin=$SECONDS
for step in $(steps); do
	wanted "$step" || continue
	case $step in
	integration/*) step_integration "${step#integration/}" ;;
	*) "step_$step" ;;
	esac
done

echo "took $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
