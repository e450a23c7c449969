#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A volume that survives the loss of a brick does so through the proxy: it is
# killed in the midst of work, work goes on, it comes back and is healed.
# Replicated 1x3, disperse 4+2, each with a self-heal daemon behind the proxy.

. "$(dirname "$0")/lib.sh"
. "$here/several.sh"

# A self-heal daemon heals bricks whose host is this one.
name_this_host() {
	printf '127.0.0.1 localhost %s\n' "$(hostname)" > "$work/hosts"
	mount --bind "$work/hosts" /etc/hosts
}

start_healer() { # KIND
	local volfile=$work/vol/$1-healer.vol what
	volume_volfile clean "$1" proxy > "$volfile"
	set_option "$volfile" "cluster/$1" iam-self-heal-daemon yes
	set_option "$volfile" "cluster/$1" self-heal-daemon enable
	for what in entry data metadata; do
		set_option "$volfile" cluster/replicate $what-self-heal on
	done
	glusterfs -N -f "$volfile" -l "$work/log/$1-healer.log" \
		--process-name glustershd --client-pid=-6 &
}

# work_before, work_during DIR: what is done to the volume and to a local
# directory alike
work_before() {
	mkdir "$1/d" "$1/d/kept" "$1/d/goes"
	cp -a /usr/share/perl5/Debconf/DbDriver "$1/d/tree"
	cp "$work/data" "$1/d/large"
	cp "$work/data" "$1/d/shrinks"
	cp "$work/data" "$1/d/vanishes"
	echo moves > "$1/d/moves"
	echo linked > "$1/d/linked"
	ln "$1/d/linked" "$1/d/link"
	ln -s moves "$1/d/symlink"
}

work_during() {
	dd if="$work/data" of="$1/d/large" bs=100001 seek=13 count=17 \
		conv=notrunc,fsync status=none
	cat "$work/data" >> "$1/d/large"
	truncate -s 12345 "$1/d/shrinks"
	rm "$1/d/vanishes" "$1/d/link"
	rmdir "$1/d/goes"
	mv "$1/d/moves" "$1/d/kept/moved"
	ln "$1/d/linked" "$1/d/kept/another"
	rm "$1"/d/tree/D*.pm
	cp -a /usr/share/perl5/Debconf/FrontEnd "$1/d/tree/again"
	mkdir -p "$1/d/new/deep/er"
	cp "$work/data" "$1/d/new/deep/er/file"
	chmod 4711 "$1/d/shrinks"
	chown 12:34 "$1/d/kept"
	setfattr -n user.told -v during "$1/d/large"
	mkfifo "$1/d/fifo"
	sync -f "$1/d/large"
}

attributes() {
	(cd "$1" && find . -not -path './.glusterfs*' -not -path './.trash*' \
		-printf '%P %y %m %U:%G %l ' \
		\( -type d -printf '\n' -o -printf '%s\n' \) | sort)
}

same_tree() {
	diff -r --no-dereference -x '.glusterfs*' -x .trashcan -x fifo \
		"$1" "$2" &&
		diff <(attributes "$1") <(attributes "$2")
}

# Each brick lists what the others lack. (What was under way when a brick died
# may stay in its own list "dirty" until the next round, ten minutes later.)
nothing_to_heal() { # KIND
	local i list
	for ((i = 0; i < bricks_of[$1]; i++)); do
		list=$work/bricks/$1$i/.glusterfs/indices
		[ -z "$(find "$list/xattrop" "$list/entry-changes" -type f \
			-not -name 'xattrop-*' -not -name 'entry-changes-*')" ] ||
			return 1
	done
}

kill_brick() { # NAME
	kill -KILL "${brick_pid[$1]}"
	wait "${brick_pid[$1]}"
} 2> /dev/null

restart_brick() { # KIND NUMBER
	start_brick "$1$2" $((first_port[$1] + $2))
}

# A write that is under way while its brick dies is not to notice.
write_on() { # DIR
	local i
	for ((i = 0; i < 40; i++)); do
		dd if="$work/data" of="$1/d/on" bs=100k skip=$i seek=$i \
			count=1 conv=notrunc,fsync status=none || return 1
	done
}

lose_one() { # KIND NUMBER
	local kind=$1 dir=$work/$1 writer
	write_on "$dir" &
	writer=$!
	check "a write has begun ($kind)" wait_for 20 test -s "$dir/d/on"
	kill_brick "$kind$2"
	check "a writer does not notice the loss of a brick ($kind)" \
		wait $writer
	check "what it wrote is there ($kind)" \
		cmp "$dir/d/on" <(head -c 4096000 "$work/data")
	rm "$dir/d/on"
	work_during "$work/expected-$kind"
	check "work goes on without the brick ($kind)" \
		work_during "$dir"
	check "and is seen ($kind)" same_tree "$work/expected-$kind" "$dir"
	check "the rest knows what to heal ($kind)" fails nothing_to_heal "$kind"
}

# Every copy is what it should be.
replicate_is_whole() {
	local i
	for i in 0 1 2; do
		check "brick $i is like the volume (replicate)" \
			same_tree "$work/expected-replicate" \
			"$work/bricks/replicate$i"
	done
}

# Four of six are enough, if the healed one is right.
disperse_is_whole() {
	kill_brick disperse3
	kill_brick disperse5
	volume_volfile default disperse proxy > "$work/vol/fresh.vol"
	mount_fuse "$work/vol/fresh.vol" "$work/fresh"
	check "the healed brick and three others are enough (disperse)" \
		same_tree "$work/expected-disperse" "$work/fresh"
	unmount "$work/fresh"
}

head -c 3456789 /dev/urandom > "$work/data"
name_this_host
for kind in replicate disperse; do
	start_volume $kind
done
start_proxy proxy -f "$work/forebrick.conf"
for kind in replicate disperse; do
	start_healer $kind
	volume_volfile default $kind proxy > "$work/vol/$kind.vol"
	mount_fuse "$work/vol/$kind.vol" "$work/$kind"
	mkdir "$work/expected-$kind"
	work_before "$work/expected-$kind"
	work_before "$work/$kind"
	check "nothing is to be healed ($kind)" \
		wait_for 20 nothing_to_heal $kind
	lose_one $kind 1
	restart_brick $kind 1
	check "all is healed ($kind)" wait_for 120 nothing_to_heal $kind
	check "the volume is what it should be ($kind)" \
		same_tree "$work/expected-$kind" "$work/$kind"
	${kind}_is_whole
done

finish
