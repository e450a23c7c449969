#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bare RPC client for the calls that no client of GlusterFS 10.3 makes.

usage: capture_raw.py SCENARIO HOST PORT

SCENARIO is the name of a function below: calls400, calls330, fatal, contention,
upcalls, handshake, glusterd, gateway.
"""
import socket
import struct
import sys
import time

FOP, HNDSK, PMAP, DUMP = 1298437, 14398633, 34123456, 123451501
ROOT = bytes(15) + b"\x01"
OWNER = b"\x01" + bytes(7)
ANONYMOUS = -2


def u32(*values):
    return b"".join(struct.pack(">I", v & 0xffffffff) for v in values)


def u64(*values):
    return b"".join(struct.pack(">Q", v & (1 << 64) - 1) for v in values)


def opaque(value):
    value = value.encode() if isinstance(value, str) else value
    return u32(len(value)) + value + bytes(-len(value) % 4)


def typed(pairs):
    """A dict of version 400 from {key: (type, encoded value)}."""
    if pairs is None:
        return u32(0, -1, 0)
    body = b"".join(opaque(k + "\0") + u32(t) + v
                    for k, (t, v) in pairs.items())
    return u32(len(body), len(pairs), len(pairs)) + body


def blob(pairs):
    """A 3.x dict from {key: value bytes}, in its opaque<>."""
    if pairs is None:
        return u32(0)
    return opaque(u32(len(pairs)) + b"".join(
        u32(len(k), len(v)) + k.encode() + b"\0" + v
        for k, v in pairs.items()))


def flock(kind, owner=OWNER, start=0, length=0):
    return u32(kind, 0) + u64(start, length) + u32(4242) + opaque(owner)


class Peer:
    """A connection to a brick or to glusterd."""

    def __init__(self, host, port, uuid, version=400):
        self.sock = socket.create_connection((host, port), timeout=10)
        self.version = version
        self.uuid = uuid
        self.xid = 1
        self.none = u32(0, -1, 0) if version == 400 else u32(0)
        self.owner = OWNER

    def credential(self):
        if self.version == 400:
            body = u32(4242, 0, 0, 0, 0) + u64(0) + u32(0)
            return u32(390040) + opaque(body + opaque(self.owner))
        return u32(390039) + opaque(u32(4242, 0, 0, 0) + opaque(self.owner))

    def send(self, program, version, proc, args):
        self.xid += 1
        call = (u32(self.xid, 0, 2, program, version, proc) +
                self.credential() + u32(0, 0) + args)
        self.sock.sendall(u32(len(call) | 1 << 31) + call)
        return self.xid

    def receive(self, seconds=10):
        """The next record without its mark, or None."""
        self.sock.settimeout(seconds)
        try:
            size = struct.unpack(">I", self.exactly(4))[0] & 0x7fffffff
            return self.exactly(size)
        except TimeoutError:
            return None

    def exactly(self, size):
        out = b""
        while len(out) < size:
            got = self.sock.recv(size - len(out))
            if not got:
                raise EOFError
            out += got
        return out

    def call(self, program, version, proc, args, seconds=10):
        """The results, or None when the call was not accepted or answered."""
        xid = self.send(program, version, proc, args)
        while True:
            reply = self.receive(seconds)
            if reply is None:
                print(f"{program}/{version}/{proc}: no answer")
                return None
            got, kind = struct.unpack_from(">II", reply)
            if kind == 1 and got == xid:
                break
        status = struct.unpack_from(">I", reply, 20)[0]
        if status:
            print(f"{program}/{version}/{proc}: accept status {status}")
            return None
        ret = struct.unpack_from(">ii", reply, 24) if len(reply) >= 32 else ()
        if ret and ret[0] < 0:
            print(f"{program}/{version}/{proc}: op_ret {ret[0]}, "
                  f"op_errno {ret[1]}")
        return reply[24:]

    def fop(self, proc, args, seconds=10):
        return self.call(FOP, self.version, proc, args, seconds)

    def attach(self, brick):
        self.call(DUMP, 1, 1, u64(0xcaed))
        self.call(HNDSK, 2, 1, blob({
            "remote-subvolume": brick.encode() + b"\0",
            "process-uuid": self.uuid.encode() + b"\0",
            "fops-version": b"1298437\0",
            "client-version": b"10.3\0"}))
        return self

    def skip_xdata(self, results):
        """Where the members behind op_ret, op_errno (and xdata) begin."""
        if self.version == 330:
            return 8
        return 8 + 12 + struct.unpack_from(">I", results, 8)[0]

    def create(self, name):
        """(gfid, fd) of a new file in the root directory."""
        gfid = name.encode().ljust(16, b"-")
        xdata = (typed({"gfid-req": (7, gfid)}) if self.version == 400
                 else blob({"gfid-req": gfid}))
        r = self.fop(23, ROOT + u32(2 | 0x40, 0o100644, 0) + opaque(name) +
                     xdata)
        at = self.skip_xdata(r) + (148 if self.version == 400 else 100)
        return gfid, struct.unpack_from(">q", r, at)[0]

    def open(self, gfid, flags=2):
        r = self.fop(11, gfid + u32(flags) + self.none)
        return struct.unpack_from(">q", r, self.skip_xdata(r))[0]

    def write(self, gfid, fd, data):
        self.fop(13, gfid + u64(fd, 0) + u32(len(data), 2) + self.none + data)

    def unlink(self, name):
        self.fop(5, ROOT + opaque(name) + u32(0) + self.none)


def both_versions(p, gfid, fd):
    """Calls of either version; their arguments differ only in the dicts."""
    is_400 = p.version == 400
    p.fop(0, b"")
    p.write(gfid, fd, b"q" * 300)
    p.fop(1, gfid + p.none)
    p.fop(22, gfid + u32(4) + p.none)
    p.fop(25, gfid + u64(fd) + p.none)
    for cmd in (2, 1):                      # FENTRYLK: lock, unlock
        p.fop(32, ROOT + u64(p.rootfd) + u32(cmd, 1) + u64(4) +
              opaque("name") + opaque("domain") + p.none)
    head = gfid if is_400 else b""
    p.fop(37, head + u64(fd, 0) + u32(100) + (u32(0) if is_400 else b"") +
          p.none)                           # RCHECKSUM
    p.fop(39, head + u64(fd) + setattr_mode(is_400) + u32(1) + p.none)
    register = {"trusted.key": (5, opaque("1\0"))}
    p.fop(47, u32(2) + (typed(register) if is_400 else
                        blob({"trusted.key": b"1\0"})))
    active_locks(p, gfid, fd)
    for proc, dict_at in ((33, gfid + u32(0)), (34, gfid + u64(fd) + u32(0))):
        counters = u32(1, 2, 3)
        p.fop(proc, dict_at + (
            typed({"trusted.afr.dirty": (6, opaque(counters))}) if is_400
            else blob({"trusted.afr.dirty": counters})) + p.none)
    p.fop(46, gfid + u64(fd, 0, 4096) + p.none)
    p.fop(48, gfid + u64(fd, 0) + u32(0) + p.none)


def active_locks(p, gfid, fd):
    """Two locks of different owners; returns the list GETACTIVELK has."""
    for i in (1, 2):
        p.fop(26, gfid + u64(fd) + u32(1, 1) +
              flock(1, bytes([i]) * 8, start=10 * i, length=5) + p.none)
    r = p.fop(51, gfid + p.none)
    for i in (1, 2):
        p.fop(26, gfid + u64(fd) + u32(1, 2) + flock(2, bytes([i]) * 8) +
              p.none)
    return r[p.skip_xdata(r):len(r) if p.version == 400 else -4]


def setattr_mode(is_400):
    attributes = bytearray(148 if is_400 else 100)
    struct.pack_into(">I", attributes, 144 if is_400 else 32, 0o100600)
    return bytes(attributes)


def lease_calls(p, gfid, fd):
    """A lease needs a file that nobody else has open, not even us twice."""
    lease_id = b"lease-number-two"
    xdata = (typed({"lease-id": (6, opaque(lease_id))}) if p.version == 400
             else blob({"lease-id": lease_id}))
    for cmd in (2, 1, 3):
        p.fop(50, gfid + u32(cmd, 1) + lease_id + u32(0) + xdata)


def calls(host, port, version):
    p = Peer(host, port, f"raw-{version}", version).attach("brick0")
    r = p.fop(20, ROOT + p.none)
    p.rootfd = struct.unpack_from(">q", r, p.skip_xdata(r))[0]
    gfid, fd = p.create("raw")
    both_versions(p, gfid, fd)
    p.fop(41, gfid + u64(fd) + p.none)
    fd = p.open(gfid, 0)
    lease_calls(p, gfid, fd)
    return p, gfid, fd


def calls400(host, port):
    p, gfid, fd = calls(host, port, 400)
    request = typed({"gfid-req": (7, b"icreated-by-raw-")})
    p.fop(53, b"icreated-by-raw-" + u32(0o100644) + request)
    p.fop(55, ROOT + opaque("put") + u32(0o100644, 0, 0) + u64(0) + u32(5) +
          p.none + p.none + b"bytes")
    p.fop(49, u32(0))
    extra, other = p.create("other")
    p.fop(56, gfid + extra + u64(ANONYMOUS, other, 0, 0) + u32(100, 0) +
          p.none)
    every_tag(p, gfid)
    for name in ("raw", "other"):
        p.unlink(name)


def every_tag(p, gfid):
    """A dict with each type of value there is."""
    iatt = bytearray(setattr_mode(True))
    iatt[:16] = gfid
    p.fop(27, bytes(16) + ROOT + u32(0) + opaque("raw") + typed({
        "tag-string-old": (1, opaque(b"old")),
        "tag-int": (2, u64(-7)),
        "tag-uint": (3, u64(1 << 63)),
        "tag-double": (4, struct.pack(">d", 2.5)),
        "tag-string": (5, opaque(b"text\0")),
        "tag-pointer": (6, opaque(b"\x00\xff\x00")),
        "tag-gfid": (7, gfid),
        "tag-iatt": (8, bytes(iatt)),
        "tag-mdata": (9, u64(1, 2, 3) + u32(4, 5, 6))}))


def calls330(host, port):
    p, _, _ = calls(host, port, 330)
    p.unlink("raw")


def drain(p, seconds):
    """Read what the brick sends on its own for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        record = p.receive(max(0.1, end - time.monotonic()))
        if record is not None and struct.unpack_from(">I", record, 4)[0] == 0:
            print("callback", struct.unpack_from(">I", record, 20)[0])


def contention(host, port):
    holder = Peer(host, port, "raw-holder").attach("brick0")
    waiter = Peer(host, port, "raw-waiter").attach("brick0")
    waiter.owner = b"\x02" + bytes(7)
    gfid, fd = holder.create("fought-over")
    holder.fop(29, gfid + u32(1, 1) + flock(1) + opaque("domain") +
               holder.none)
    waiter.send(FOP, 400, 29, gfid + u32(2, 1) + flock(1, waiter.owner) +
                opaque("domain") + waiter.none)
    drain(holder, 2)
    # An UNLINK would wait for the last holder of an inodelk on the file.
    for p in (holder, waiter):
        p.fop(29, gfid + u32(1, 2) + flock(2, p.owner) + opaque("domain") +
              p.none)
        waiter.receive(1)
    for name in ("entry", ""):
        lock = u64(len(name)) + opaque(name) + opaque("domain") + holder.none
        holder.fop(31, ROOT + u32(0, 1) + lock)
        waiter.send(FOP, 400, 31, ROOT + u32(0, 1) + lock)
        drain(holder, 2)
        holder.fop(31, ROOT + u32(1, 1) + lock)
        waiter.receive(2)
        waiter.fop(31, ROOT + u32(1, 1) + lock)
    holder.unlink("fought-over")


def upcalls(host, port):
    reader = Peer(host, port, "raw-reader").attach("brick0")
    writer = Peer(host, port, "raw-writer").attach("brick0")
    gfid, fd = writer.create("watched")
    reader.fop(27, bytes(16) + ROOT + u32(0) + opaque("watched") + reader.none)
    writer.write(gfid, fd, b"news")
    drain(reader, 1)
    writer.fop(41, gfid + u64(fd) + writer.none)
    held = reader.open(gfid, 0)
    lease_id = b"lease-to-recall!"
    xdata = typed({"lease-id": (6, opaque(lease_id))})
    reader.fop(50, gfid + u32(2, 1) + lease_id + u32(0) + xdata)
    writer.send(FOP, 400, 11, gfid + u32(2) + writer.none)
    drain(reader, 2)
    reader.fop(50, gfid + u32(3, 1) + lease_id + u32(0) + xdata)
    reader.fop(41, gfid + u64(held) + reader.none)
    writer.receive(2)
    writer.unlink("watched")


def handshake(host, port):
    p = Peer(host, port, "raw-handshake").attach("brick0")
    p.call(DUMP, 1, 2, b"")
    p.call(HNDSK, 2, 0, b"")
    p.call(HNDSK, 2, 2, u32(1) + opaque("vol") + blob(None))
    p.call(HNDSK, 2, 3, b"")
    p.call(HNDSK, 2, 4, opaque("raw-handshake") + u32(1))
    p.call(HNDSK, 2, 1, blob({"remote-subvolume": b"absent\0",
                              "process-uuid": b"raw\0",
                              "fops-version": b"1298437\0"}))


def glusterd(host, port):
    p = Peer(host, port, "raw-glusterd", 330)
    p.call(DUMP, 1, 1, u64(0xcaed))
    p.call(PMAP, 1, 1, opaque("/srv/vol/brick0"))
    p.call(PMAP, 1, 1, opaque("/absent"))
    r = p.call(PMAP, 1, 1, opaque("/srv/vol/brick0"))
    p.call(PMAP, 1, 2, r[12:16], seconds=2)
    p.call(HNDSK, 2, 2, u32(1) + opaque("absent") + blob(
        {"min-op-version": b"1\0", "max-op-version": b"100000\0"}))
    p.call(HNDSK, 2, 5, u32(1) + blob({"volname": b"vol\0"}))
    p.call(HNDSK, 2, 6, blob({"flags": b"1\0", "volname": b"absent\0"}))
    p.call(HNDSK, 2, 7, blob({"volname": b"vol\0"}))
    drain(p, 5)


def gateway(host, port):
    """Stay attached while the capture stops and starts the brick below."""
    p = Peer(host, port, "raw-gateway").attach("gateway")
    print("attached", flush=True)
    drain(p, 25)


def fatal(host, port):
    """What the usual stack of a 10.3 brick does not survive.

    SETACTIVELK is answered only by a brick without io-threads; NAMELINK, which
    the storage translator does not implement, by none.
    """
    for version in (400, 330):
        p = Peer(host, port, f"raw-fatal-{version}", version).attach("brick0")
        gfid, fd = p.create(f"locked-{version}")
        p.fop(52, gfid + active_locks(p, gfid, fd) + p.none)
    p = Peer(host, port, "raw-namelink").attach("brick0")
    gfid = b"linked-by-raw---"
    try:
        p.fop(54, ROOT + opaque("named") + typed({"gfid-req": (7, gfid)}))
    except (EOFError, ConnectionError):
        print("the brick died of NAMELINK")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
