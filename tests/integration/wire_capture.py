# SPDX-License-Identifier: Apache-2.0
"""wire_capture - RPC records out of a packet capture, with nothing left out.

The capture holds TCP over Ethernet, as dumpcap -P writes it on the loopback
device. Bytes that are missing in it are an error: a truth with holes is none.
"""
import bisect
import struct
import sys

CALL, REPLY = 0, 1
MARK_PORT = 24999       # of packets.sh: no RPC
FIN, SYN, RST, ACK = 1, 2, 4, 16


class Hole(Exception):
    pass


def packets(path):
    """(time, source, destination, flags, seq, payload) of each segment."""
    with open(path, "rb") as file:
        data = memoryview(file.read())
    magic = struct.unpack_from("<I", data)[0]
    parts = {0xa1b2c3d4: 1e6, 0xa1b23c4d: 1e9}.get(magic)
    if parts is None:
        raise SystemExit(f"{path}: not a pcap file")
    off = 24
    while off + 16 <= len(data):
        sec, part, caplen, size = struct.unpack_from("<IIII", data, off)
        frame = data[off + 16:off + 16 + caplen]
        off += 16 + caplen
        if len(frame) < caplen:
            break                   # dumpcap was writing it
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        if caplen < size:
            raise Hole(f"{path}: a packet was cut")
        ip = frame[14:]
        head = (ip[0] & 15) * 4
        # offloaded segments leave the IP length 0
        total = struct.unpack_from(">H", ip, 2)[0] or len(ip)
        tcp = ip[head:total]
        sport, dport, seq = struct.unpack_from(">HHI", tcp)
        yield (sec + part / parts, (address(ip[12:16]), sport),
               (address(ip[16:20]), dport), tcp[13], seq,
               tcp[(tcp[12] >> 4) * 4:])


def address(four):
    return ".".join(str(b) for b in four)


class Record:
    """One RPC record, its mark excluded."""
    __slots__ = ("bytes", "begin", "end", "reply")

    def __init__(self, data, begin, end):
        self.bytes = data
        self.begin, self.end = begin, end   # times of first and last byte
        self.reply = None                   # to a call

    @property
    def xid(self):
        return struct.unpack_from(">I", self.bytes)[0]

    @property
    def type(self):
        return struct.unpack_from(">I", self.bytes, 4)[0]


class Half:
    """One direction of a connection: bytes in order."""

    def __init__(self):
        self.next = None
        self.late = {}
        self.bytes = bytearray()
        self.ends, self.times = [], []
        self.has_ended = False

    def add(self, seq, payload, time):
        if self.next is None:
            self.next = seq
        ahead = (seq - self.next) & 0xffffffff
        if ahead < 1 << 31:
            self.late[seq] = max(self.late.get(seq, b""), payload, key=len)
        elif len(payload) + ahead > 1 << 32:    # sent again, and more
            self.late[self.next] = payload[(1 << 32) - ahead:]
        while self.next in self.late:
            payload = self.late.pop(self.next)
            self.bytes += payload
            self.ends.append(len(self.bytes))
            self.times.append(time)
            self.next = (self.next + len(payload)) & 0xffffffff

    def check(self, name):
        if self.late:
            missing = min((seq - self.next) & 0xffffffff for seq in self.late)
            raise Hole(f"{name}: at least {missing} bytes are not in the "
                       f"capture, behind byte {len(self.bytes)}")

    def records(self, connection):
        """All whole records; real peers send each as one fragment."""
        off = 0
        while off + 4 <= len(self.bytes):
            mark = struct.unpack_from(">I", self.bytes, off)[0]
            end = off + 4 + (mark & 0x7fffffff)
            if not mark >> 31:
                raise Hole(f"{connection}: a record in fragments")
            if end > len(self.bytes):
                break
            yield Record(bytes(self.bytes[off + 4:end]), self.time(off),
                         self.time(end - 1))
            off = end
        self.rest = len(self.bytes) - off

    def time(self, off):
        return self.times[bisect.bisect_right(self.ends, off)]


class Connection:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.up, self.down = Half(), Half()

    def __str__(self):
        return "%s:%d -> %s:%d" % (*self.client, *self.server)

    def split(self):
        """Fill calls, each with its reply, and callbacks, both in order.

        An xid may be given again once its call is answered, so the n-th reply
        of a number is that to the n-th call.
        """
        for half in (self.up, self.down):
            half.check(str(self))
        self.calls = list(self.up.records(self))
        self.callbacks, waiting = [], {}
        for call in self.calls:
            waiting.setdefault(call.xid, []).append(call)
        for r in self.down.records(self):
            if r.type == CALL:
                self.callbacks.append(r)
            elif waiting.get(r.xid):
                waiting[r.xid].pop(0).reply = r
            else:
                raise Hole(f"{self}: a reply to {r.xid}, which nobody asked")


def connections(path):
    """All connections that the capture has seen begin, in that order."""
    live, done = {}, []
    for time, src, dst, flags, seq, payload in packets(path):
        if flags & SYN and not flags & ACK:
            known = live.get((src, dst))
            if known is None or known.up.next != (seq + 1) & 0xffffffff:
                live[src, dst] = Connection(src, dst)
                done.append(live[src, dst])
        if (src, dst) in live:
            half = live[src, dst].up
        elif (dst, src) in live:
            half = live[dst, src].down
        else:
            continue
        if flags & SYN:
            half.next = (seq + 1) & 0xffffffff
        elif payload:
            half.add(seq, payload, time)
        if flags & (FIN | RST):
            half.has_ended = True
    done = [c for c in done if c.server[1] != MARK_PORT]
    for connection in done:
        connection.split()
    return done


if __name__ == "__main__":
    for c in connections(sys.argv[1]):
        print(c, len(c.calls), "calls",
              sum(call.reply is None for call in c.calls), "unanswered",
              len(c.callbacks), "callbacks", c.up.rest, c.down.rest, "left")
