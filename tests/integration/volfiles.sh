# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# volfiles.sh - brick and client volfiles, layer for layer as glusterd of
# GlusterFS 10.3 generates them, but with static ports in the clients.

# layer NAME TYPE "SUBVOLUMES" [KEY VALUE]...
layer() {
	local below=$3
	printf 'volume %s\n    type %s\n' "$1" "$2"
	shift 3
	while [ $# -gt 0 ]; do
		printf '    option %s %s\n' "$1" "$2"
		shift 2
	done
	[ -z "$below" ] || printf '    subvolumes %s\n' "$below"
	printf 'end-volume\n\n'
}

# brick_volfile NAME PORT ROOT VOLUME-ID
brick_volfile() {
	local root=$3 id=$4
	layer vol-posix storage/posix "" shared-brick-count 1 \
		fips-mode-rchecksum on volume-id "$id" directory "$root"
	layer vol-trash features/trash vol-posix trash-internal-op off \
		brick-path "$root" trash-dir .trashcan
	layer vol-changelog features/changelog vol-trash \
		changelog-barrier-timeout 120 changelog-notification off \
		changelog-dir "$root/.glusterfs/changelogs" \
		changelog-brick "$root"
	layer vol-bitrot-stub features/bitrot-stub vol-changelog \
		bitrot disable export "$root"
	layer vol-access-control features/access-control vol-bitrot-stub
	layer vol-locks features/locks vol-access-control \
		enforce-mandatory-lock off
	layer vol-worm features/worm vol-locks worm-files-deletable on \
		worm-file-level off worm off
	layer vol-read-only features/read-only vol-worm read-only off
	layer vol-leases features/leases vol-read-only leases off
	layer vol-upcall features/upcall vol-leases cache-invalidation off
	layer vol-io-threads performance/io-threads vol-upcall
	layer vol-selinux features/selinux vol-io-threads selinux on
	layer vol-marker features/marker vol-selinux inode-quota off quota off \
		gsync-force-xtime off xtime off quota-version 0 \
		timestamp-file "$work/vol/$1.tstamp" volume-uuid "$id"
	layer vol-barrier features/barrier vol-marker barrier-timeout 120 \
		barrier disable
	layer vol-index features/index vol-barrier \
		xattrop64-watchlist trusted.ec.dirty \
		xattrop-pending-watchlist trusted.afr.vol- \
		xattrop-dirty-watchlist trusted.afr.dirty \
		index-base "$root/.glusterfs/indices"
	layer vol-quota features/quota vol-index deem-statfs off \
		server-quota off volume-uuid vol
	layer "$1" debug/io-stats vol-quota global-threading off \
		count-fop-hits off latency-measurement off threads 16 \
		log-level INFO volume-id "$id" unique-id "$1"
	layer vol-server protocol/server "$1" transport.listen-backlog 1024 \
		transport.socket.keepalive-count 9 \
		transport.socket.keepalive-interval 2 \
		transport.socket.keepalive-time 20 \
		transport.socket.ssl-enabled off transport.socket.keepalive 1 \
		"auth.addr.$1.allow" "*" auth-path "$1" \
		transport.socket.listen-port "$2" \
		transport.address-family inet transport-type tcp
}

# client_layer NUMBER BRICK PORT|unix:PATH
client_layer() {
	local where
	case $3 in
	# without a remote-host the client of 10.3 does not even try
	unix:*) where="remote-host localhost transport-type unix
		transport.socket.connect-path ${3#unix:}" ;;
	*) where="transport.address-family inet transport-type tcp
		remote-host 127.0.0.1 remote-port $3" ;;
	esac
	# shellcheck disable=SC2086 # words
	layer "vol-client-$1" protocol/client "" send-gids true \
		strict-locks off transport.socket.keepalive-count 9 \
		transport.socket.keepalive-interval 2 \
		transport.socket.keepalive-time 20 \
		transport.tcp-user-timeout 0 transport.socket.ssl-enabled off \
		$where remote-subvolume "$2" ping-timeout 42
}

# client_volfile STACK KIND BRICK=PORT...
#
#   STACK  default  what glusterd gives a client
#          clean    without any performance layer: every call reaches the brick
#   KIND   plain, distribute, replicate, disperse (4+2), shard
client_volfile() {
	local stack=$1 kind=$2 bricks="" pending="" i=0 arg top
	shift 2
	for arg in "$@"; do
		client_layer $i "${arg%%=*}" "${arg#*=}"
		bricks="$bricks vol-client-$i"
		pending="$pending,vol-client-$i"
		i=$((i + 1))
	done
	bricks=${bricks# }
	case $kind in
	replicate)
		layer vol-replicate-0 cluster/replicate "$bricks" \
			use-anonymous-inode yes use-compound-fops off \
			granular-entry-heal on volume-id "$volume_id" \
			afr-pending-xattr "${pending#,}"
		bricks=vol-replicate-0 ;;
	disperse)
		layer vol-disperse-0 cluster/disperse "$bricks" redundancy 2
		bricks=vol-disperse-0 ;;
	esac
	layer vol-dht cluster/distribute "$bricks" force-migration off \
		lock-migration off
	top=vol-dht
	if [ "$kind" = shard ]; then
		layer vol-shard features/shard $top shard-block-size 4MB
		top=vol-shard
	fi
	layer vol-utime features/utime $top noatime on
	top=vol-utime
	if [ "$stack" = default ]; then
		for arg in write-behind open-behind quick-read md-cache \
			io-threads; do
			# a replicated volume has none by default
			[ "$kind" != replicate ] || [ $arg != io-threads ] ||
				continue
			layer "vol-$arg" "performance/$arg" $top
			top=vol-$arg
		done
	fi
	layer vol debug/io-stats $top global-threading off \
		count-fop-hits off latency-measurement off threads 16 \
		log-level INFO
}
