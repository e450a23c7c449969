# SPDX-License-Identifier: Apache-2.0
"""The wire as the scripted peers write and read it; nothing is checked."""
import struct

FOP, HNDSK, DUMP, CBK = 1298437, 14398633, 123451501, 52743234
CRED_V2, CRED_V3 = 390039, 390040

# Procedures that tests name. (program, version, number)
DUMP_DUMP = (DUMP, 1, 1)
PING = (DUMP, 1, 2)
SETVOLUME = (HNDSK, 2, 1)
STAT = (FOP, 400, 1)
OPEN = (FOP, 400, 11)
READ = (FOP, 400, 12)
WRITE = (FOP, 400, 13)
FSTAT = (FOP, 400, 25)
LOOKUP = (FOP, 400, 27)
RELEASE = (FOP, 400, 41)

GFID = b"forebrick--gfid!"
LAST = 1 << 31
PATTERN = 251       # of fake_brick's files


def u32(*values):
    return b"".join(struct.pack(">I", v & 0xffffffff) for v in values)


def u64(*values):
    return b"".join(struct.pack(">Q", v & (1 << 64) - 1) for v in values)


def opaque(value, pad=b"\0"):
    return u32(len(value)) + value + pad * (-len(value) % 4)


NO_XDATA = u32(0, -1, 0)


def dictx(pairs):
    """A typed dict of {key: (type, encoded value)}."""
    body = b"".join(opaque(key + b"\0") + u32(kind) + value
                    for key, (kind, value) in pairs.items())
    return u32(len(body), len(pairs), len(pairs)) + body


def blob(pairs):
    """A 3.x dict of {text: text} in its opaque<>."""
    return opaque(u32(len(pairs)) + b"".join(
        u32(len(k), len(v) + 1) + k.encode() + b"\0" + v.encode() + b"\0"
        for k, v in pairs.items()))


def cred_v3(pid=4242, groups=(), owner=bytes(8), group_count=None):
    count = len(groups) if group_count is None else group_count
    return (u32(pid, 0, 0, 0, 0) + u64(0) + u32(count, *groups) +
            opaque(owner))


def auth(flavour, body, length=None, pad=b"\0"):
    """Flavour, length, body; a length of one's own lies."""
    out = u32(flavour) + opaque(body, pad)
    if length is not None:
        out = u32(flavour, length) + out[8:]
    return out


AUTH_NONE = u32(0, 0)
AUTH = auth(CRED_V3, cred_v3())


def mark(record):
    return u32(len(record) | LAST) + record


def call(xid, proc, args=b"", cred=AUTH, verf=AUTH_NONE, rpc_version=2):
    """A whole call, mark excluded."""
    return u32(xid, 0, rpc_version, *proc) + cred + verf + args


def reply(xid, results=b"", accept=0):
    return u32(xid, 1, 0, 0, 0, accept) + results


def denied(xid, reject=1, *words):
    return u32(xid, 1, 1, reject, *words)


def setvolume_args(name="brick", uuid="a client"):
    return blob({"remote-subvolume": name, "process-uuid": uuid,
                 "fops-version": "1298437", "client-version": "10.3"})


def setvolume_results():
    return u32(0, 22) + blob({"ERROR": "Success", "child_up": "1"})


def read_args(offset, size, fd=0, xdata=NO_XDATA):
    return GFID + u64(fd, offset) + u32(size, 0) + xdata


def write_args(data, offset=0, fd=0, xdata=NO_XDATA):
    return GFID + u64(fd, offset) + u32(len(data), 2) + xdata + data


def read_results(data, xdata=NO_XDATA, iatt=bytes(148)):
    return u32(len(data), 0) + iatt + u32(len(data)) + xdata + data


def pattern(offset, size):
    """Bytes of a file of fake_brick."""
    start = offset % PATTERN
    period = bytes(range(PATTERN))
    return (period * (size // PATTERN + 2))[start:start + size]


class Call:
    """A call that a peer received; record without its mark."""

    def __init__(self, record):
        self.record = record
        (self.xid, self.kind, self.rpc_version, *proc,
         self.flavour, cred_len) = struct.unpack_from(">8I", record)
        self.proc = tuple(proc)
        at = 32 + cred_len + -cred_len % 4
        self.cred = record[24:at]
        verf_len = struct.unpack_from(">I", record, at + 4)[0]
        self.args = record[at + 8 + verf_len + -verf_len % 4:]


class Reply:
    """A reply that a peer received."""

    def __init__(self, record):
        self.record = record
        self.xid, self.kind, self.status = struct.unpack_from(">3I", record)
        self.accept = None
        self.results = b""
        if self.status == 0:
            self.accept = struct.unpack_from(">I", record, 20)[0]
            self.results = record[24:]

    def ret(self):
        """(op_ret, op_errno)"""
        return struct.unpack_from(">ii", self.results)
