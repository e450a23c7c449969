#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Record a short mount of real peers for tests/fake/test_replay.py.
#
# usage: tests/tools/record_session.sh OUT
#
# Needs root, glusterfs-server, glusterfs-client and python3. Runs in namespaces
# of its own, on a host called "host", and leaves nothing behind.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "${RECORD_INSIDE:-}" = "" ]; then
	[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	RECORD_INSIDE=$work unshare --mount --net --uts --pid --fork \
		--kill-child --mount-proc "$0" "$1"
	exit
fi

work=$RECORD_INSIDE
hostname host
ip link set lo up
printf '127.0.0.1 localhost host\n' > "$work/hosts"
mount --bind "$work/hosts" /etc/hosts
mkdir "$work/brick" "$work/mnt"
mount --bind "$work/brick" /srv
mount --bind "$work/mnt" /mnt

# until_true COMMAND...: for ten seconds at most
until_true() {
	tries=100
	until "$@" > /dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "gave up: $*" >&2; exit 1; }
		sleep 0.1
	done
}

cat > "$work/brick.vol" <<'END'
volume posix
  type storage/posix
  option directory /srv
end-volume
volume locks
  type features/locks
  subvolumes posix
end-volume
volume upcall
  type features/upcall
  option cache-invalidation on
  subvolumes locks
end-volume
volume brick
  type performance/io-threads
  subvolumes upcall
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.address-family inet
  option transport.socket.listen-port 24100
  option auth.addr.brick.allow *
  subvolumes brick
end-volume
END
glusterfsd --no-daemon -f "$work/brick.vol" -l "$work/brick.log" &
until_true python3 -c "import socket
socket.create_connection(('127.0.0.1', 24100), 1)"

python3 "$here/record_session.py" 24100 "$1" > "$work/port" &
relay=$!
until_true test -s "$work/port"
cat > "$work/client.vol" <<END
volume client
  type protocol/client
  option transport-type tcp
  option transport.address-family inet
  option remote-host 127.0.0.1
  option remote-port $(cat "$work/port")
  option remote-subvolume brick
end-volume
END
glusterfs -f "$work/client.vol" -l "$work/client.log" /mnt
until_true mountpoint -q /mnt

mkdir /mnt/directory
printf 'a few bytes' > /mnt/directory/file
cat /mnt/directory/file
ln /mnt/directory/file /mnt/link
ls -l /mnt/directory > /dev/null
mv /mnt/link /mnt/other
rm /mnt/other
cat /mnt/missing 2> /dev/null || :

umount /mnt
wait "$relay"
grep -c '^[<>]' "$1"
