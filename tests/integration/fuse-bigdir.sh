#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A directory of 100,000 entries is listed whole and without doubles, with and
# without readdirp; what is listed is what lies on the brick.
#
# In the environment:
#   ENTRIES         how many  [100000]
#   CLIENT_ENTRIES  how many of them clients make; the others are put on the
#                   brick as it would have made them, which is faster  [10000]

. "$(dirname "$0")/lib.sh"

entries=${ENTRIES:-100000}
by_clients=${CLIENT_ENTRIES:-10000}
root=$work/bricks/brick0

# A file of a brick has its gfid as an attribute and as a second name.
put_on_brick() { # FIRST COUNT
	python3 - "$root" "$@" <<-'EOF2'
		import os, sys, uuid
		root, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		for i in range(first, first + count):
		    path, gfid = f"{root}/d/name-of-entry-{i:07}", uuid.uuid4()
		    os.mknod(path, 0o100644)
		    os.setxattr(path, "trusted.gfid", gfid.bytes)
		    parent = f"{root}/.glusterfs/{str(gfid)[:2]}/{str(gfid)[2:4]}"
		    os.makedirs(parent, exist_ok=True)
		    os.link(path, f"{parent}/{gfid}")
	EOF2
}

make_entries() { # DIR FIRST COUNT
	python3 -c 'import os, sys
for i in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
    os.mknod(f"{sys.argv[1]}/name-of-entry-{i:07}", 0o100644)' "$@"
}

make_by_clients() {
	local half=$((by_clients / 2))
	make_entries "$work/a/d" 0 $half &
	local other=$!
	make_entries "$work/b/d" $half $((by_clients - half)) && wait $other
}

# names DIR: as they come from readdir, doubles included
names() { LC_ALL=C ls -f "$1" | LC_ALL=C sort; }
lists_like_the_brick() {
	diff <(names "$root/d") <(names "$1/d") | head -n 20
	return "${PIPESTATUS[0]}"
}
# Every fiftieth is asked for its attributes.
some_have_attributes() {
	test "$(find "$1/d" -name '*[05]0' -type f -size 0 -perm 644 |
		wc -l)" -eq $((entries / 50))
}

start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152
client_volfile default plain brick0=24100 > "$work/vol/default.vol"
client_volfile clean plain brick0=24100 > "$work/vol/clean.vol"
# Mounts stay until the end: closing one with so many inodes takes long.
mount_fuse "$work/vol/default.vol" "$work/a"
mount_fuse "$work/vol/default.vol" "$work/b"
mkdir "$work/a/d"
check "$by_clients entries are made by two clients" make_by_clients
check "the others are put beside them" \
	put_on_brick "$by_clients" $((entries - by_clients))
check "all are on the brick" \
	test "$(names "$root/d" | wc -l)" -eq $((entries + 2))
check "a client that made some lists all" lists_like_the_brick "$work/a"
mount_fuse "$work/vol/default.vol" "$work/c"
check "a fresh client lists them" lists_like_the_brick "$work/c"
check "and knows their attributes" some_have_attributes "$work/c"
mount_fuse "$work/vol/clean.vol" "$work/e" --use-readdirp=no
check "a client without readdirp lists them" lists_like_the_brick "$work/e"
check "one of the last is removed and gone for all" \
	rm "$work/a/d/name-of-entry-$(printf %07d $((entries - 1)))"
check "the others list one less" \
	test "$(names "$work/e/d" | wc -l)" -eq $((entries + 1))

finish
