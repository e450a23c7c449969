#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whole trees through the proxy: a part of /usr/share copied in and compared, a
# git clone with a full fsck, sparse archives. With the default client, and with
# one that hands every call to the brick.
#
# TREE_ENTRIES in the environment: files of /usr/share for the first, a fifth of
# them for the other, whose every path costs a LOOKUP for each part  [1500]; 0:
# all of them for both.

. "$(dirname "$0")/lib.sh"

start_brick brick0 49152
start_proxy proxy --listen 127.0.0.1:24100 --brick 127.0.0.1:49152
entries=${TREE_ENTRIES:-1500}
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t
export GIT_COMMITTER_EMAIL=t@t

make_repository() {
	local git="git -C $work/repo"
	cp -r "$work/tree-clean" "$work/repo"
	$git init -q
	$git config gc.auto 0
	$git add -A
	$git commit -q -m one
	find "$work/repo" -type f -not -path '*/.git/*' | sort |
		awk 'NR % 3 == 0' | xargs -d '\n' sed -i 's/a/b/g'
	$git commit -q -a -m two
	$git -c gc.auto=0 gc -q
}

make_sparse() {
	mkdir -p "$work/sparse"
	python3 - "$work/sparse" <<-'EOF2'
		import os, sys
		for name, size, places in (
		        ("begin", 1 << 26, [0]),
		        ("end", (4 << 30) + 1000, [(4 << 30) + 999]),
		        ("empty", 1 << 26, []),
		        ("many", 1 << 26, range(0, 1 << 26, 1 << 20))):
		    with open(f"{sys.argv[1]}/{name}", "wb") as f:
		        for place in places:
		            os.pwrite(f.fileno(), b"data", place)
		        f.truncate(size)
	EOF2
}

# What ls would show, apart from directories' sizes and all inode numbers.
listing() {
	(cd "$1" && find . -printf '%P %y %m %U:%G %l %n ' \
		\( -type d -printf '\n' -o -printf '%s %T@\n' \) | sort)
}

same_listing() { diff <(listing "$1") <(listing "$2"); }
allocates_little() { test "$(du -sk "$1" | cut -f1)" -lt 20000; }

copy_sparse() { # FROM TO
	mkdir -p "$2"
	tar -C "$1" -S -cf - . | tar -C "$2" -S -xf -
}

use_mount() { # STACK DIR
	local dir=$2/$1 sentence
	mkdir "$dir"
	sentence="($1 client)"
	check "a tree is copied in $sentence" cp -a "$work/tree-$1" "$dir/tree"
	check "and is the same $sentence" \
		diff -r --no-dereference "$work/tree-$1" "$dir/tree"
	check "with the same attributes $sentence" \
		same_listing "$work/tree-$1" "$dir/tree"
	check "git clones $sentence" \
		git clone -q "file://$work/repo" "$dir/repo"
	check "git finds no fault $sentence" \
		git -C "$dir/repo" fsck --full --strict
	check "git sees no change $sentence" \
		git -C "$dir/repo" diff --exit-code --stat
	check "tar -S writes sparse files $sentence" \
		copy_sparse "$work/sparse" "$dir/sparse"
	check "they are sparse $sentence" allocates_little "$dir/sparse"
	check "tar -S reads them $sentence" \
		copy_sparse "$dir/sparse" "$work/back-$1"
	check "and they are the same $sentence" \
		diff -r "$work/sparse" "$work/back-$1"
	check "the tree is removed $sentence" rm -r "$dir/tree"
}

choose_tree "$work/tree-default" "$entries"
choose_tree "$work/tree-clean" $((entries / 5))
make_repository
make_sparse
for stack in default clean; do
	read -ra options <<< "$(mount_options $stack)"
	client_volfile $stack plain brick0=24100 > "$work/vol/$stack.vol"
	mount_fuse "$work/vol/$stack.vol" "$work/mnt-$stack" "${options[@]}"
	use_mount $stack "$work/mnt-$stack"
	unmount "$work/mnt-$stack"
done

finish
