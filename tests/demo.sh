#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# See it work: builds forebrickd, starts a real GlusterFS brick on loopback,
# mounts it directly and through forebrickd, reads a file both ways, and shows
# the speeds, the trace and what the trace can tell. As root, from a clone on a
# bare Debian 12; what is missing is installed first. Nothing stays behind but
# the build.
#
# usage: tests/demo.sh [MIB]     size of the file that is read [512]
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$top/build}
mib=${1:-512}
rounds=3

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

quietly() { # LOG COMMAND...: its output is shown if it fails
	local log=$1
	shift
	"$@" > "$log" 2>&1 < /dev/null && return
	tail -n 40 "$log" >&2
	echo "demo: failed: $*" >&2
	exit 1
}

build_it() {
	mkdir -p "$build" || exit 1
	say "Installing what is missing (tests/packages.txt)"
	"$top/tests/install-packages.sh" || exit 1
	say "Building"
	[ -x "$top/configure" ] || quietly "$build/autogen.log" "$top/autogen.sh"
	[ -f "$build/Makefile" ] ||
		(cd "$build" && quietly configure.log "$top/configure") ||
		exit 1
	quietly "$build/make.log" make -C "$build" -j "$(nproc)" forebrickd
	"$build/forebrickd" --version
}

# The script runs a second time in namespaces of its own (lib.sh).
[ -n "${FOREBRICK_WORK:-}" ] || build_it
export FOREBRICKD=$build/forebrickd
TEST_TIMEOUT=240
. "$top/tests/integration/lib.sh"

# read_once FILE: MiB/s, with nothing of it in the page cache of the mount
read_once() {
	python3 - "$1" << 'END'
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
begin, size = time.monotonic(), 0
while chunk := os.read(fd, 1 << 20):
    size += len(chunk)
print(round(size / (1 << 20) / (time.monotonic() - begin)))
END
}

median() { sort -n | sed -n "$(((rounds + 1) / 2))p"; }

say "A brick on port 49152, forebrickd before it on port 24107"
start_brick brick-a 49152
start_proxy proxy --listen 127.0.0.1:24107 --brick 127.0.0.1:49152 \
	--trace "$work/trace.json" --trace-format json
client_volfile default plain brick-a=49152 > "$work/vol/direct.vol"
client_volfile default plain brick-a=24107 > "$work/vol/proxied.vol"
mount_fuse "$work/vol/direct.vol" "$work/direct"
mount_fuse "$work/vol/proxied.vol" "$work/proxied"
cat "$work/log/proxy.log"

say "Copying a tree through it and comparing"
cp -r "$top/proto" "$work/proxied/proto"
diff -r "$top/proto" "$work/direct/proto" || die "the copies differ"
echo "proto/: $(find "$work/direct/proto" -type f | wc -l) files, all equal"

say "Reading $mib MiB, page cache dropped, in turn, $rounds times each"
dd if=/dev/urandom of="$work/direct/file" bs=1M count="$mib" status=none
cat "$work/direct/file" > /dev/null	# the brick's disk is not measured
for ((i = 0; i < rounds; i++)); do
	read_once "$work/direct/file" >> "$work/direct.speed"
	read_once "$work/proxied/file" >> "$work/proxied.speed"
done
cmp "$work/direct/file" "$work/proxied/file" || die "the bytes differ"
direct=$(median < "$work/direct.speed")
proxied=$(median < "$work/proxied.speed")
printf '%-24s %6d MiB/s\n%-24s %6d MiB/s  (%d %%)\n' \
	directly "$direct" "through forebrickd" "$proxied" \
	$((100 * proxied / direct))
echo "Open-behind and read-ahead are not part of this version: this is what"
echo "it costs to be in the path."

say "The trace: one record for each call, here as JSON lines"
unmount "$work/proxied"
stop "${proxy_pid[proxy]}"	# all of it is in the file now
grep '"procedure":"lookup"' "$work/trace.json" | tail -n 1
say "The same, asked with jq: calls, mean latency and bytes of each procedure"
jq -sr 'group_by(.program + "/" + .procedure)
	| map([.[0].program + "/" + .[0].procedure, length,
	       (map(.latency_us) | add / length | floor),
	       (map(.call_size + .reply_size) | add)])
	| sort_by(-.[1])[] | @tsv' "$work/trace.json" |
	awk -F '\t' 'BEGIN { printf "%-22s %8s %9s %12s\n", "procedure",
		"calls", "mean us", "bytes" }
		{ printf "%-22s %8d %9d %12d\n", $1, $2, $3, $4 }'

say "What the log says of it"
tail -n 4 "$work/log/proxy.log"
echo
finish
