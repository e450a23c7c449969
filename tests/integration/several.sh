# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# several.sh - volumes of several bricks, each brick behind a listener of one
# daemon. To be read after lib.sh.

declare -A bricks_of=([replicate]=3 [disperse]=6 [distribute]=3 [shard]=1)
declare -A first_port
next_port=49200

# start_volume KIND: bricks KIND0, KIND1.., their listeners in forebrick.conf
start_volume() {
	local i port
	first_port[$1]=$next_port
	for ((i = 0; i < bricks_of[$1]; i++)); do
		port=$((next_port + i))
		start_brick "$1$i" $port
		printf 'listener "%s" {\n\tlisten = "127.0.0.1:%d"\n' "$1$i" \
			$((port - 20000))
		printf '\tbrick = "127.0.0.1:%d"\n}\n' $port
	done >> "$work/forebrick.conf"
	next_port=$((next_port + bricks_of[$1]))
}

# bricks KIND direct|proxy: the words that client_volfile takes
bricks() {
	local i port offset=0
	[ "$2" = direct ] || offset=20000
	for ((i = 0; i < bricks_of[$1]; i++)); do
		port=$((first_port[$1] + i - offset))
		printf '%s ' "$1$i=$port"
	done
}

# volume_volfile STACK KIND direct|proxy: of a client, to standard output
volume_volfile() {
	# shellcheck disable=SC2046 # words
	client_volfile "$1" "$2" $(bricks "$2" "$3")
}

# one_reader VOLFILE: copy_file_range of a replicated volume of 10.3 reaches the
# first brick alone. Whoever compares its results has to read from that one, and
# not from the one that answered its client first.
one_reader() {
	set_option "$1" cluster/replicate choose-local off
	set_option "$1" cluster/replicate read-hash-mode 0
}
