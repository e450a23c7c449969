# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - real peers for one test: bricks, mounts and the proxy between them.
#
# A test is an executable script that says ". lib.sh" first, uses the functions
# below, and ends with "finish". It exits 0 (passed), 1 (failed), 77 (skipped).
#
# Each test runs in namespaces of its own: only a loopback device, so ports are
# fixed; its own process numbers, so nothing it starts outlives it; its own
# mounts, so none is left behind. Bricks lie on a fresh XFS.
#
# In the environment, all optional:
#   FOREBRICKD     the daemon to test      [build/forebrickd, or on PATH]
#   GFAPI_CLIENT   the built gfapi_client  [beside FOREBRICKD]
#   KEEP_LOGS      directory that receives the logs of a failed test
#   TEST_TIMEOUT   seconds after which the test is ended  [300]

set -u
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
umask 022
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_name=$(basename "$0" .sh)

skip() {
	trap - EXIT
	echo "skipped: $*"
	exit 77
}

# --- the outer half: run the same script again, inside ---

enter_namespaces() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	command -v glusterfsd > /dev/null || skip "glusterfs-server is not installed"
	unshare --mount --net --uts --pid --fork true 2> /dev/null ||
		skip "no namespaces here (is / a mount point?)"
	FOREBRICK_WORK=$(mktemp -d "${TMPDIR:-/tmp}/forebrick-$test_name.XXXXXX")
	export FOREBRICK_WORK
	trap 'rm -rf --one-file-system "$FOREBRICK_WORK"' EXIT
	timeout -k 5 "${TEST_TIMEOUT:-300}" unshare --mount --net --uts --pid \
		--fork --kill-child --mount-proc "$0" "$@" < /dev/null
	rc=$?
	case $rc in
	124 | 137) echo "not ok - ended after ${TEST_TIMEOUT:-300} s"; rc=1 ;;
	esac
	exit $rc
}

[ -n "${FOREBRICK_WORK:-}" ] || enter_namespaces "$@"

# --- the inner half ---

work=$FOREBRICK_WORK
failures=0
volume_id=$(cat /proc/sys/kernel/random/uuid)
unset FOREBRICK_WORK

find_program() { # VARIABLE NAME
	local found=${!1:-}
	[ -n "$found" ] || found=$here/../../build/$2
	[ -x "$found" ] || found=$(command -v "$(basename "$2")") || found=
	printf '%s' "$found"
}

prepare() {
	FOREBRICKD=$(find_program FOREBRICKD forebrickd)
	[ -n "$FOREBRICKD" ] || skip "no forebrickd: set FOREBRICKD"
	GFAPI_CLIENT=$(find_program GFAPI_CLIENT tests/integration/gfapi_client)
	hostname forebrick-test
	ip link set lo up
	for dir in /run /var/log/glusterfs /var/lib/glusterd; do
		mkdir -p $dir
		mount -t tmpfs none $dir
	done
	mkdir -p /run/gluster "$work/bricks" "$work/log" "$work/vol" "$work/tmp"
	export TMPDIR=$work/tmp
	cd "$work/tmp" || exit 1
	truncate -s 8G "$work/xfs.img"
	mkfs.xfs -q "$work/xfs.img"
	mount -o loop "$work/xfs.img" "$work/bricks" || skip "no loop device"
}

# wait_for SECONDS COMMAND...: until the command succeeds. False: it never did.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.05
	done
}

is_listening() { [ -n "$(ss -Hltn "sport = :$1")" ]; }
is_gone() { ! kill -0 "$1" 2> /dev/null; }
now_ms() { date +%s%3N; }

# --- what holds and what does not ---

ok() { echo "ok - $*"; }

not_ok() {
	failures=$((failures + 1))
	echo "not ok - $*"
}

# check SENTENCE COMMAND...: the sentence holds if the command succeeds
check() {
	local sentence=$1 begin=$SECONDS
	shift
	if "$@" > "$work/tmp/check.out" 2>&1; then
		[ $SECONDS -lt $((begin + 3)) ] ||
			sentence="$sentence ($((SECONDS - begin)) s)"
		ok "$sentence"
	else
		not_ok "$sentence"
		head -n 60 "$work/tmp/check.out" | sed "s/^/    /"
		return 1
	fi
}

# fails COMMAND...: it does, and in time
fails() {
	timeout 10 "$@"
	case $? in
	0 | 124) return 1 ;;
	esac
}

# die SENTENCE: the test cannot go on
die() {
	not_ok "$*"
	finish
}

# --- peers ---

# set_option FILE TYPE KEY VALUE: in each block "type TYPE" of a volfile
set_option() {
	awk -v type="$2" -v key="$3" -v value="$4" '
		$1 == "volume" { in_type = 0 }
		$1 == "type" && $2 == type {
			print; print "    option", key, value
			in_type = 1; next
		}
		in_type && $1 == "option" && $2 == key { next }
		{ print }' "$1" > "$1.new" && mv "$1.new" "$1"
}

# make_brick NAME PORT: its directory and its volfile $work/vol/NAME.vol
make_brick() {
	local root=$work/bricks/$1
	mkdir -p "$root/.glusterfs/indices"
	setfattr -n trusted.glusterfs.volume-id -v "0x${volume_id//-/}" "$root"
	brick_volfile "$1" "$2" "$root" "$volume_id" > "$work/vol/$1.vol"
}

# start_brick NAME PORT: make it unless it is there; pid in ${brick_pid[NAME]}
declare -A brick_pid
start_brick() {
	[ -e "$work/vol/$1.vol" ] || make_brick "$1" "$2"
	glusterfsd -N -f "$work/vol/$1.vol" -l "$work/log/$1.log" &
	brick_pid[$1]=$!
	wait_for 20 is_listening "$2" || die "brick $1 does not listen"
}

# start_proxy NAME ARGUMENT...: returns when it is ready; ${proxy_pid[NAME]}
declare -A proxy_pid
start_proxy() {
	local name=$1 log=$work/log/$1.log
	shift
	"$FOREBRICKD" "$@" 2>> "$log" &
	proxy_pid[$name]=$!
	proxy_is_ready() { [ "$(grep -cx ready "$log")" -gt "$1" ]; }
	wait_for 10 proxy_is_ready "${proxy_starts[$name]:-0}" ||
		die "the proxy $name is not ready"
	proxy_starts[$name]=$((${proxy_starts[$name]:-0} + 1))
}
declare -A proxy_starts

# stop PID [SIGNAL]: end a child of ours and wait until it is gone
stop() {
	kill -"${2:-TERM}" "$1" 2> /dev/null
	wait_for 40 is_gone "$1" || die "process $1 does not end"
	wait "$1" 2> /dev/null
}

# mount_fuse VOLFILE DIR [OPTION...]: a foreground client; ${mount_pid[DIR]}
declare -A mount_pid
mount_fuse() {
	local volfile=$1 dir=$2 name
	name=mount-$(basename "$dir")
	shift 2
	mkdir -p "$dir"
	glusterfs -N -f "$volfile" -l "$work/log/$name.log" "$@" "$dir" &
	mount_pid[$dir]=$!
	wait_for 20 is_mounted "$dir" || die "no mount at $dir"
}

is_mounted() {
	timeout 5 mountpoint -q "$1" && timeout 5 stat -f "$1"
}

unmount() {
	umount "$1" 2> /dev/null || umount -l "$1"
	wait_for 20 is_gone "${mount_pid[$1]}" || die "the client of $1 stays"
	wait "${mount_pid[$1]}" 2> /dev/null
}

# What a mount of each stack is given (see client_volfile).
mount_options() {
	case $1 in
	clean) echo "--direct-io-mode=enable --attribute-timeout=0" \
		"--entry-timeout=0" ;;
	esac
}

# --- something to copy ---

# choose_tree DIR ENTRIES: so many files of /usr/share, 0: all; every n-th name
# spreads them over all of it
choose_tree() {
	local total step=1
	find /usr/share -xdev -not -type d -size -4096k -printf '%P\n' |
		sort > "$work/all"
	total=$(wc -l < "$work/all")
	[ "$2" -eq 0 ] || step=$((total / $2 + 1))
	awk -v step=$step 'NR % step == 0' "$work/all" > "$work/list"
	mkdir "$1"
	tar -C /usr/share -cf - -T "$work/list" | tar -C "$1" -xpf -
}

# --- the end ---

# An open listener, an alive daemon, no sanitizer's report: after every test.
check_proxies() {
	local name
	for name in "${!proxy_pid[@]}"; do
		if grep -n -e 'ERROR: [A-Za-z]*Sanitizer' -e 'runtime error:' \
			-e 'WARNING: ThreadSanitizer' "$work/log/$name.log"; then
			not_ok "a sanitizer speaks in the log of $name"
		fi
		if ! is_gone "${proxy_pid[$name]}"; then
			stop "${proxy_pid[$name]}"
			rc=$?
			[ $rc -eq 0 ] || not_ok "$name ends with status $rc"
		fi
	done
}

show_logs() {
	local log
	for log in "$work"/log/*.log; do
		echo "--- the end of $(basename "$log")"
		tail -n 12 "$log" | cut -c 1-240
	done
	if [ -n "${KEEP_LOGS:-}" ]; then
		mkdir -p "$KEEP_LOGS/$test_name"
		cp -r "$work/log" "$work/vol" "$KEEP_LOGS/$test_name"
	fi
}

# finish: close what is open, say how it went, exit
finish() {
	trap - EXIT
	[ $failures -gt 0 ] && show_logs
	local dir
	for dir in "${!mount_pid[@]}"; do
		is_gone "${mount_pid[$dir]}" || umount -l "$dir" 2> /dev/null
	done
	check_proxies
	if [ $failures -gt 0 ]; then
		echo "$test_name: $failures failed"
		exit 1
	fi
	echo "$test_name: passed"
	exit 0
}

trap 'not_ok "the script ended early"; finish' EXIT

. "$here/volfiles.sh"
prepare
