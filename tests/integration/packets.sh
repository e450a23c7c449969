# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# packets.sh - record what passes on the loopback device, to the last byte.

# A connection to this port, in every capture, says that it holds all before.
capture_port=24999
declare -A capture_pid

# start_capture NAME PORT...: TCP of these ports into $work/log/NAME.pcap
start_capture() {
	local name=$1 filter="tcp port $capture_port" port
	shift
	for port; do
		filter="$filter or tcp port $port"
	done
	dumpcap -q -P -s 0 -B 256 -i lo -f "$filter" -w "$work/log/$name.pcap" \
		2> "$work/log/dumpcap-$name.log" &
	capture_pid[$name]=$!
	wait_for 20 capture_sees "$name" begin || die "dumpcap does not start"
}

# capture_sees NAME WORD: bytes sent now are in the capture. Tried again by
# wait_for: until dumpcap has opened the device it misses them.
capture_sees() {
	local word="the capture $1 is at its $2"
	python3 - "$capture_port" "$word" <<-'EOF2'
		import socket, sys
		with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as s:
		    c = socket.create_connection(s.getsockname())
		    peer, _ = s.accept()
		    c.sendall(sys.argv[2].encode())
		    peer.recv(100)
		    peer.close()
		    c.close()
	EOF2
	wait_for 1 grep -qsaF "$word" "$work/log/$1.pcap"
}

# stop_capture NAME: all that was sent until now is in the file
stop_capture() {
	wait_for 60 capture_sees "$1" end || die "the capture $1 stands still"
	stop "${capture_pid[$1]}" INT
}
