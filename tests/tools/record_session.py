#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relay one connection and write down its records, both ways in one file.

usage: record_session.py BRICK_PORT OUT

Prints the port to connect to; ends with the connection. OUT has a line for
each record, ">" from the client and "<" from the brick, with its xid and, of a
call, program, version and procedure; below it the record in hex, mark included.
"""
import select
import socket
import struct
import sys


def describe(way, record):
    xid, kind = struct.unpack_from(">II", record, 4)
    if kind == 0:
        return f"{way} call {xid} to " + "/".join(
            str(n) for n in struct.unpack_from(">3I", record, 16))
    return f"{way} reply {xid}"


def show(way, record):
    words = [record[i:i + 4].hex() for i in range(0, len(record), 4)]
    lines = [" ".join(words[i:i + 8]) for i in range(0, len(words), 8)]
    return "\n".join([describe(way, record), *lines]) + "\n"


def take_records(buffer):
    while len(buffer) >= 4:
        size = 4 + (int.from_bytes(buffer[:4], "big") & 0x7fffffff)
        if len(buffer) < size:
            break
        yield bytes(buffer[:size])
        del buffer[:size]


def main():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        client = listener.accept()[0]
    brick = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    ways = {client: (brick, ">", bytearray()),
            brick: (client, "<", bytearray())}
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write("# A FUSE client of GlusterFS 10.3 and a brick of one, from "
                  "mount to unmount:\n# record_session.sh made it.\n")
        while True:
            for sock in select.select(list(ways), [], [])[0]:
                to, way, buffer = ways[sock]
                data = sock.recv(65536)
                if not data:
                    return
                to.sendall(data)
                buffer += data
                for record in take_records(buffer):
                    out.write(show(way, record))


main()
