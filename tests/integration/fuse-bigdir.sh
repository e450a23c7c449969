#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A directory of 100,000 entries is listed whole and without doubles, with and
# without readdirp; what is listed is what lies on the brick.
#
# ENTRIES in the environment: how many  [100000]

. "$(dirname "$0")/lib.sh"

entries=${ENTRIES:-100000}
start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152
client_volfile default plain brick0=24100 > "$work/vol/default.vol"
client_volfile clean plain brick0=24100 > "$work/vol/clean.vol"

make_entries() { # DIR FIRST COUNT
	python3 -c 'import os, sys
for i in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
    os.mknod(f"{sys.argv[1]}/name-of-entry-{i:07}", 0o100644)' "$@"
}

make_all() {
	make_entries "$work/a/d" 0 $((entries / 2)) &
	local other=$!
	make_entries "$work/b/d" $((entries / 2)) $((entries - entries / 2)) &&
		wait $other
}

# names DIR: as they come from readdir, doubles included
names() { LC_ALL=C ls -f "$1" | LC_ALL=C sort; }
lists_like_the_brick() {
	diff <(names "$work/bricks/brick0/d") <(names "$1/d") | head -n 20
	return "${PIPESTATUS[0]}"
}
all_have_attributes() {
	test "$(find "$1/d" -type f -size 0 -perm 644 | wc -l)" -eq "$entries"
}

# Mounts stay until the end: closing one with so many inodes takes long.
mount_fuse "$work/vol/default.vol" "$work/a"
mount_fuse "$work/vol/default.vol" "$work/b"
mkdir "$work/a/d"
check "$entries entries are made by two clients" make_all
check "all are on the brick" \
	test "$(names "$work/bricks/brick0/d" | wc -l)" -eq $((entries + 2))
check "a client that made them lists them" lists_like_the_brick "$work/a"
mount_fuse "$work/vol/default.vol" "$work/c"
check "a fresh client finds them, with attributes" all_have_attributes "$work/c"
mount_fuse "$work/vol/clean.vol" "$work/e" --use-readdirp=no
check "a client without readdirp lists them" lists_like_the_brick "$work/e"

finish
