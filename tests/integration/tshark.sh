#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A second opinion: tshark's dissector of GlusterFS and the trace see the same
# messages, on ports that nobody knows, in both versions (tshark_check.py).
#
# tshark 4.0 cannot read a credential with times in it, so the clients are
# without the layer that sends them.
#
# TSHARK_MESSAGES in the environment: at least so many  [12000].

. "$(dirname "$0")/lib.sh"
. "$here/packets.sh"

command -v tshark > /dev/null || skip "tshark is not installed"
messages=${TSHARK_MESSAGES:-12000}
sections=names,links,rename,attributes,permission,xattrs,unlinked
brick_port=$((20000 + RANDOM % 5000))
port=$((26000 + RANDOM % 5000))

# client VERSION: its volfile
client() {
	client_volfile clean plain "brick0=$port" |
		awk '$1 == "volume" && $2 == "vol-utime" { skip = 1 }
			!skip { sub("subvolumes vol-utime", "subvolumes vol-dht")
				print }
			$1 == "end-volume" { if (skip) getline; skip = 0 }' \
		> "$work/vol/client-$1.vol"
	[ "$1" = 400 ] || set_option "$work/vol/client-$1.vol" \
		protocol/client testing.old-protocol on
}

# some_files DIR ROUND: a hundred files come and go
some_files() {
	python3 - "$1" "$2" <<-'EOF2'
		import os, sys
		top, number = sys.argv[1], sys.argv[2]
		for i in range(100):
		    name = f"{top}/{number}-{i}"
		    with open(name, "wb") as f:
		        f.write(b"x" * (i * 37))
		    os.setxattr(name, "user.a", b"value")
		    os.rename(name, name + ".moved")
		    with open(name + ".moved", "rb") as f:
		        f.read()
		    os.truncate(name + ".moved", i)
		    os.mkdir(name)
		    os.symlink(name, name + "/link")
		    os.readlink(name + "/link")
		    os.unlink(name + "/link")
		    os.rmdir(name)
		    os.listdir(top)
		    os.unlink(name + ".moved")
	EOF2
}

# work_on DIR: half of the messages; each record is two of them
work_on() {
	local have round=0
	have=$(wc -l < "$work/log/trace.json")
	timeout 120 "$here/posix_probe.py" --only $sections "$1" > /dev/null
	mkdir "$1/files"
	until [ $(($(wc -l < "$work/log/trace.json") - have)) -ge \
		$((messages / 4)) ]; do
		some_files "$1/files" $round || return 1
		round=$((round + 1))
	done
}

second_opinion() {
	"$here/tshark_check.py" "$work/log/clients.pcap" "$port" \
		"$work/log/trace.json" > "$work/log/check.log" 2>&1
	local rc=$?
	cat "$work/log/check.log"
	return $rc
}

start_brick brick0 $brick_port
start_proxy proxy --listen "127.0.0.1:$port" --brick "127.0.0.1:$brick_port" \
	--trace "$work/log/trace.json" --trace-format json
start_capture clients "$port"
for version in 400 330; do
	client $version
	mount_fuse "$work/vol/client-$version.vol" "$work/mnt-$version" \
		--attribute-timeout=0 --entry-timeout=0
	mkdir "$work/mnt-$version/$version"
	check "a mount with version $version" \
		work_on "$work/mnt-$version/$version"
	unmount "$work/mnt-$version"
done
stop_capture clients
stop "${proxy_pid[proxy]}"
check "tshark sees what the trace tells" second_opinion
sed -n '/^# /p' "$work/log/check.log"
check "there were enough messages" test \
	"$(sed -n 's/^# \([0-9]*\) messages.*/\1/p' "$work/log/check.log")" \
	-ge "$messages"
finish
