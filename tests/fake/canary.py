#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client that makes small calls and READs until its standard input ends, and
then says how it fared: calls, latencies, the first thing that was wrong.

usage: canary.py HOST PORT      (in front of a fake_brick)
"""
import json
import select
import socket
import sys
import time

import wire

SIZES = (1, 4096, 65537)
AT_LEAST = 50


def main():
    sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream = sock.makefile("rb")

    def call(xid, proc, args):
        sock.sendall(wire.mark(wire.call(xid, proc, args)))
        size = int.from_bytes(stream.read(4), "big") & ~wire.LAST
        got = wire.Reply(stream.read(size))
        if (got.xid, got.accept) != (xid, 0):
            raise ValueError(f"call {xid} got {got.record[:64].hex()}")
        return got.results

    call(2, wire.DUMP_DUMP, wire.u64(0))
    call(3, wire.SETVOLUME, wire.setvolume_args(uuid="canary"))
    print("mounted", flush=True)
    taken, error, xid = [], None, 4
    try:
        while (not select.select([sys.stdin], [], [], 0.002)[0] or
               len(taken) < AT_LEAST):
            start = time.monotonic()
            size = SIZES[xid % len(SIZES)]
            data = call(xid, wire.READ, wire.read_args(xid, size))[172:]
            if data != wire.pattern(xid, size):
                raise ValueError(f"READ {xid}: wrong bytes")
            call(xid + 1, wire.STAT, wire.GFID + wire.NO_XDATA)
            call(xid + 2, wire.PING, b"")
            taken.append((time.monotonic() - start) * 1000)
            xid += 3
    except (OSError, ValueError, IndexError) as e:
        error = repr(e)
    taken = sorted(taken) or [0]
    print(json.dumps({"calls": 3 * len(taken), "error": error,
                      "median_ms": taken[len(taken) // 2],
                      "max_ms": taken[-1]}))


main()
