#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cut RPC records out of packet captures and write them as fixtures.

usage: capture_extract.py TABLE OUTDIR DESCRIPTION=FILE.pcap ...

TABLE is proto/gfx_proc.def, from which procedures get their names. Each
capture holds TCP over Ethernet (the loopback device). For every procedure
seen, one exchange that went well and one that failed are written to
OUTDIR/<program>/<number>-<name>[-error].{call,reply}.hex: comment lines, then
the record in hex with its mark.
"""
import re
import struct
import sys
from collections import defaultdict
from pathlib import Path

PROGRAMS = {
    1298437: "fop", 14398633: "handshake", 34123456: "portmap",
    123451501: "dump", 52743234: "callback",
}
SHORT = {"FOP": 1298437, "HNDSK": 14398633, "PMAP": 34123456,
         "DUMP": 123451501, "CBK": 52743234}
# The richest exchange is taken that is not longer than this.
GOOD_SIZE = 4096
# Exchanges to be kept beside the others of their procedure, by what they hold.
VARIANTS = {b"tag-mdata\0": "-tags", b"brick_name\0": "-brick"}


def read_names(path):
    names = {}
    for line in Path(path).read_text().splitlines():
        m = re.match(r"(FOP|FOP400|PROC)\((.*)\)", line)
        if not m:
            continue
        words = [w.strip() for w in m.group(2).split(",")]
        if m.group(1) == "PROC":
            names[SHORT[words[0]], int(words[3])] = words[2].lower()
        else:
            names[SHORT["FOP"], int(words[1])] = words[0].lower()
    return names


def packets(path):
    """(source, destination, flags, seq, payload) of each TCP segment."""
    data = Path(path).read_bytes()
    if struct.unpack_from("<I", data)[0] not in (0xa1b2c3d4, 0xa1b23c4d):
        raise SystemExit(f"{path}: not a pcap file")
    off = 24
    while off + 16 <= len(data):
        caplen = struct.unpack_from("<I", data, off + 8)[0]
        frame = data[off + 16:off + 16 + caplen]
        off += 16 + caplen
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        ip = frame[14:]
        head = (ip[0] & 15) * 4
        # offloaded segments leave the IP length 0
        total = struct.unpack_from(">H", ip, 2)[0] or len(ip)
        tcp = ip[head:total]
        sport, dport, seq = struct.unpack_from(">HHI", tcp)
        yield ((ip[12:16], sport), (ip[16:20], dport), tcp[13], seq,
               tcp[(tcp[12] >> 4) * 4:])


class Half:
    """One direction of a connection: bytes in order."""

    def __init__(self):
        self.next = None
        self.parts = {}
        self.bytes = bytearray()

    def add(self, seq, payload):
        if self.next is None:
            self.next = seq
        self.parts[seq] = max(self.parts.get(seq, b""), payload, key=len)
        while self.next in self.parts:
            payload = self.parts.pop(self.next)
            self.bytes += payload
            self.next = (self.next + len(payload)) & 0xffffffff
            if not payload:
                break

    def records(self):
        off = 0
        while off + 4 <= len(self.bytes):
            mark = struct.unpack_from(">I", self.bytes, off)[0]
            end = off + 4 + (mark & 0x7fffffff)
            if not mark >> 31 or end > len(self.bytes):
                return
            yield bytes(self.bytes[off:end])
            off = end


def connections(path):
    """The (client half, server half) pairs of a capture."""
    live, done = {}, []
    for src, dst, flags, seq, payload in packets(path):
        if flags & 2:
            seq = (seq + 1) & 0xffffffff
            if not flags & 16:      # SYN alone: a new connection
                live[src, dst] = (Half(), Half())
                done.append(live[src, dst])
        if (src, dst) in live:
            half = live[src, dst][0]
        elif (dst, src) in live:
            half = live[dst, src][1]
        else:
            continue
        if flags & 2:
            half.next = seq
        elif payload:
            half.add(seq, payload)
    return done


def words(record, count):
    return struct.unpack_from(f">{count}I", record, 4)


def exchanges(path):
    """(program, version, proc, call, reply) with reply None if there is none."""
    for client, server in connections(path):
        replies, callbacks = {}, []
        for r in server.records():
            if len(r) < 28:
                continue
            if words(r, 2)[1] == 1:
                replies[words(r, 1)[0]] = r
            else:
                callbacks.append(r)
        for r in client.records():
            if len(r) >= 44 and words(r, 2)[1] == 0:
                yield (*words(r, 6)[3:], r, replies.get(words(r, 1)[0]))
        for r in callbacks:     # numbered apart from the client's calls
            yield (*words(r, 6)[3:], r, None)


def went_well(program, proc, reply):
    if reply is None:
        return True
    head = words(reply, 6)
    if head[2] != 0 or head[5] != 0:
        return False
    if len(reply) < 36:
        return True
    at = 36 if (program, proc) == (SHORT["DUMP"], 1) else 28
    return struct.unpack_from(">i", reply, at)[0] >= 0


def write(path, title, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    body = [record[i:i + 4].hex() for i in range(0, len(record), 4)]
    lines = [" ".join(body[i:i + 8]) for i in range(0, len(body), 8)]
    path.write_text("".join(f"# {t}\n" for t in title) +
                    "\n".join(lines) + "\n")


def main():
    names = read_names(sys.argv[1])
    out = Path(sys.argv[2])
    for old in out.glob("*/*.hex"):
        old.unlink()
    best = defaultdict(dict)
    for arg in sys.argv[3:]:
        made_by, path = arg.split("=", 1)
        for program, version, proc, call, reply in exchanges(path):
            if program not in PROGRAMS or (program, proc) not in names:
                continue
            well = went_well(program, proc, reply)
            size = len(call) + len(reply or b"")
            rank = (reply is not None,
                    size if size <= GOOD_SIZE else -size)
            if not well:
                rank = (reply is not None, -size)
            suffix = "" if well else "-error"
            for mark, name in VARIANTS.items():
                suffix = name if mark in call else suffix
            slot = best[program, version, proc]
            if suffix not in slot or rank > slot[suffix][0]:
                slot[suffix] = (rank, call, reply, made_by)
    for (program, version, proc), slot in sorted(best.items()):
        folder = PROGRAMS[program] + (str(version) if program ==
                                      SHORT["FOP"] else "")
        for suffix, (_, call, reply, made_by) in slot.items():
            base = f"{proc:02d}-{names[program, proc]}{suffix}"
            title = [f"GlusterFS 10.3: {PROGRAMS[program]} version {version}, "
                     f"procedure {proc} {names[program, proc].upper()}"]
            write(out / folder / f"{base}.call.hex",
                  title + [f"call, made by: {made_by}"], call)
            if reply is not None:
                write(out / folder / f"{base}.reply.hex",
                      title + [f"reply to {base}.call.hex"], reply)
    print(f"{len(best)} procedures")


main()
