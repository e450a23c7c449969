# SPDX-License-Identifier: Apache-2.0
"""wire_decode - RPC records as the trace should show them in JSON.

A second decoder, written from the description of the protocol and not from
proto/: what both agree on is hardly wrong in both. Members are named as in the
trace; what a number means ("op_errno_text") is made here, too.
"""
import errno
import stat
import struct

FOP, HNDSK, PMAP, DUMP, CBK = 1298437, 14398633, 34123456, 123451501, 52743234
V3_CRED, V2_CRED = 390040, 390039
EOPNOTSUPP = 95     # Linux has two names for it
MOST_ENTRIES, MOST_HEX, MOST_STRING = 1024, 256, 4096
PROGRAMS = {(FOP, 400): "fop", (FOP, 330): "fop", (HNDSK, 2): "handshake",
            (PMAP, 1): "portmap", (DUMP, 1): "dump", (CBK, 1): "callback"}

# Members: name, then one letter.
#   r op_ret   e op_errno  i i32      u u32     I i64 (fd)  U u64
#   o open flags   m mode  c lock command  t lock type
#   g gfid     a iattx     A iatt3    F statfs  l lease     f flock
#   s string   b bytes     x dict     d 3.x dict
#   D P Q directory entries: plain, with iattx and dict, with iatt3 and dict
#   L locks    G programs
RESULT = "op_ret:r op_errno:e "
SHAPES = {
    400: {"C": RESULT + "xdata:x", "I1": RESULT + "xdata:x stat:a",
          "I2": RESULT + "xdata:x pre:a post:a",
          "I3": RESULT + "xdata:x stat:a prep:a postp:a",
          "CD": RESULT + "xdata:x dict:x pre:a post:a"},
    330: {"C": RESULT + "xdata:d", "I1": RESULT + "stat:A xdata:d",
          "I2": RESULT + "pre:A post:A xdata:d",
          "I3": RESULT + "stat:A prep:A postp:A xdata:d",
          "CD": RESULT + "dict:d xdata:d"},
}
NULL_REPLY = RESULT + "xdata:d"

# Number, name, arguments, results. "*" stands for payload; X for xdata, which
# is last in arguments; in results of 400 it is behind the head, in those of 330
# last. W, B and E are dict, attributes and entries of the version.
FOPS = """
 1 stat gfid:g|I1
 2 readlink gfid:g size:u|buf:W path:s
 3 mknod pargfid:g dev:U mode:m umask:m bname:s|I3
 4 mkdir pargfid:g mode:m umask:m bname:s|I3
 5 unlink pargfid:g bname:s xflags:u|I2
 6 rmdir pargfid:g xflags:i bname:s|I2
 7 symlink pargfid:g bname:s umask:m linkname:s|I3
 8 rename oldgfid:g newgfid:g oldbname:s newbname:s|\
stat:W preold:W postold:W prenew:W postnew:W
 9 link oldgfid:g newgfid:g newbname:s|I3
10 truncate gfid:g offset:U|I2
11 open gfid:g flags:o|fd:I
12 read gfid:g fd:I offset:U size:u flag:u|READ
13 write gfid:g fd:I offset:U size:u flag:u *|I2
14 statfs gfid:g|statfs:F
15 flush gfid:g fd:I|C
16 fsync gfid:g fd:I data:u|I2
17 setxattr gfid:g flags:u dict:Y|C
18 getxattr gfid:g namelen:u name:s|CD
19 removexattr gfid:g name:s|C
20 opendir gfid:g|fd:I
21 fsyncdir gfid:g fd:I data:i|C
22 access gfid:g mask:u|C
23 create pargfid:g flags:o mode:m umask:m bname:s|\
stat:W fd:I prep:W postp:W
24 ftruncate gfid:g fd:I offset:U|I2
25 fstat gfid:g fd:I|I1
26 lk gfid:g fd:I cmd:c type:t flock:f|flock:f
27 lookup gfid:g pargfid:g flags:u bname:s|I2
28 readdir gfid:g fd:I offset:U size:u|list:D
29 inodelk gfid:g cmd:c type:t flock:f volume:s|C
30 finodelk gfid:g fd:I cmd:c type:t flock:f volume:s|C
31 entrylk gfid:g cmd:u type:t namelen:U name:s volume:s|C
32 fentrylk gfid:g fd:I cmd:u type:t namelen:U name:s volume:s|C
33 xattrop gfid:g flags:u dict:Y|CD
34 fxattrop gfid:g fd:I flags:u dict:Y|CD
35 fgetxattr gfid:g fd:I namelen:u name:s|CD
36 fsetxattr gfid:g fd:I flags:u dict:Y|C
37 rchecksum RCHECKSUM|RCHECKSUM
38 setattr gfid:g stbuf:W valid:u|I2
39 fsetattr FSETATTR|I2
40 readdirp gfid:g fd:I offset:U size:u|list:E
41 release gfid:g fd:I|C
42 releasedir gfid:g fd:I|C
43 fremovexattr gfid:g fd:I name:s|C
44 fallocate gfid:g fd:I flags:u offset:U size:U|I2
45 discard gfid:g fd:I offset:U size:U|I2
46 zerofill gfid:g fd:I offset:U size:U|I2
47 ipc op:i|C
48 seek gfid:g fd:I offset:U what:i|offset:U
50 lease gfid:g lease:l|lease:l
51 getactivelk gfid:g|list:L
52 setactivelk gfid:g list:L|C
53 icreate gfid:g mode:m|I1
54 namelink pargfid:g bname:s|I2
55 put pargfid:g bname:s mode:m umask:m flag:o offset:U size:u xattr:Y *|I3
56 copy_file_range gfid1:g gfid2:g fd_in:I fd_out:I off_in:U off_out:U \
size:u flag:u|I3
"""
# What differs otherwise between the two versions.
ODD = {
    400: {("call", "RCHECKSUM"): "gfid:g fd:I offset:U len:u flags:u",
          ("reply", "RCHECKSUM"): "flags:u weak:u strong:b",
          ("call", "FSETATTR"): "gfid:g fd:I stbuf:W valid:u",
          ("reply", "READ"): RESULT + "stat:a size:u xdata:x *"},
    330: {("call", "RCHECKSUM"): "fd:I offset:U len:u",
          ("reply", "RCHECKSUM"): "weak:u strong:b",
          ("call", "FSETATTR"): "fd:I stbuf:W valid:u",
          ("reply", "READ"): RESULT + "stat:A size:u xdata:d *"},
}
OTHERS = {
    (FOP, 400, 0): ("null", "", NULL_REPLY),
    (FOP, 330, 0): ("null", "", NULL_REPLY),
    (HNDSK, 2, 0): ("null", "", NULL_REPLY),
    (HNDSK, 2, 1): ("setvolume", "dict:d", RESULT + "dict:d"),
    (HNDSK, 2, 2): ("getspec", "flags:u key:s xdata:d",
                    RESULT + "spec:s xdata:d"),
    (HNDSK, 2, 3): ("ping", "", NULL_REPLY),
    (HNDSK, 2, 4): ("set_lk_ver", "uid:s lk_ver:i", RESULT + "lk_ver:i"),
    (DUMP, 1, 1): ("dump", "id:U", "id:U " + RESULT + "list:G"),
    (DUMP, 1, 2): ("ping", "", NULL_REPLY),
    (CBK, 1, 5): ("cache_invalidation",
                  "gfid:s event_type:u flags:u validity:u stat:A parent:A "
                  "oldparent:A xdata:d", ""),
    (CBK, 1, 8): ("recall_lease", "gfid:g lease_type:u tid:g xdata:d", ""),
    (CBK, 1, 10): ("inodelk_contention",
                   "gfid:g flock:f pid:u domain:s xdata:d", ""),
    (CBK, 1, 11): ("entrylk_contention",
                   "gfid:g type:t pid:u name:s domain:s xdata:d", ""),
}
LOCK_TYPES = {0: "read", 1: "write", 2: "unlock"}
LOCK_COMMANDS = dict(enumerate(("get", "set", "set-wait", "reserve",
                                "reserve-wait", "unreserve", "get-by-fd")))
OPEN_FLAGS = {0x20: "FMODE_EXEC", 0x40: "O_CREAT", 0x80: "O_EXCL",
              0x100: "O_NOCTTY", 0x200: "O_TRUNC", 0x400: "O_APPEND",
              0x800: "O_NONBLOCK", 0x1000: "O_SYNC", 0x2000: "O_ASYNC",
              0x4000: "O_DIRECT", 0x8000: "O_LARGEFILE",
              0x10000: "O_DIRECTORY", 0x20000: "O_NOFOLLOW",
              0x40000: "O_NOATIME", 0x80000: "O_CLOEXEC", 0x200000: "O_PATH"}
ACCEPT = {1: "program unavailable", 2: "program mismatch",
          3: "procedure unavailable", 4: "garbage arguments",
          5: "system error"}


def procedures():
    """(program, version, number) -> (name, arguments, results)."""
    table = dict(OTHERS)
    for line in FOPS.strip().split("\n"):
        number, name, rest = line.split(None, 2)
        call, reply = rest.split("|")
        for version in (400, 330):
            if version == 330 and int(number) > 52:
                continue
            table[FOP, version, int(number)] = (
                name, arguments(call, version), results(reply, version))
    return table


def of_version(text, version):
    letters = {"W": "aA", "Y": "xd", "E": "PQ"}
    return " ".join(m[:-1] + letters[m[-1]][version == 330]
                    if m[-1] in letters else m for m in text.split())


def arguments(text, version):
    text = ODD[version].get(("call", text), text)
    members = of_version(text, version).split()
    at = len(members) - (members[-1:] == ["*"])
    members.insert(at, "xdata:x" if version == 400 else "xdata:d")
    return " ".join(members)


def results(text, version):
    text = ODD[version].get(("reply", text), text)
    if text in SHAPES[version]:
        return SHAPES[version][text]
    if text.startswith(RESULT):
        return text
    text = of_version(text, version)
    if version == 400:
        return RESULT + "xdata:x " + text
    return RESULT + text + " xdata:d"


class Short(Exception):
    """The bytes end before the members do."""


class Reader:
    """Takes values off the front of some bytes."""

    def __init__(self, data, off=0):
        self.data, self.off = data, off

    def raw(self, size):
        if size > len(self.data) - self.off:
            raise Short
        self.off += size
        return self.data[self.off - size:self.off]

    def unpack(self, form):
        return struct.unpack(">" + form, self.raw(struct.calcsize(form)))

    def one(self, form):
        return self.unpack(form)[0]

    def opaque(self):
        size = self.one("I")
        value = self.raw(size)
        self.raw(-size % 4)
        return value

    def rest(self):
        return self.raw(len(self.data) - self.off)


def text_of(data):
    """UTF-8, and bytes that are none by their numbers."""
    out, off = [], 0
    while off < len(data):
        try:
            out.append(data[off:].decode("utf-8"))
            break
        except UnicodeDecodeError as error:
            out.append(data[off:off + error.start].decode("utf-8"))
            off += error.start
            out.append(chr(data[off]))
            off += 1
    return "".join(out)


def string(data):
    if len(data) <= MOST_STRING:
        return text_of(data)
    cut = next((at for at in range(MOST_STRING, MOST_STRING - 4, -1)
                if data[at] & 0xc0 != 0x80), MOST_STRING)
    return text_of(data[:cut]) + f"...({len(data)} bytes)"


def hexed(data, most=MOST_HEX, size=None):
    value = {"size": len(data) if size is None else size}
    if data[:most]:
        value["hex"] = data[:most].hex()
    return value


def value_bytes(data):
    """Bytes of unknown meaning, as a string when they look like one."""
    text = data[:-1] if data.endswith(b"\0") else data
    try:
        text.decode("utf-8")
        if not any(b < 32 or b == 127 for b in text):
            return string(text)
    except UnicodeDecodeError:
        pass
    return hexed(data)


def gfid(data):
    h = data.hex()
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


class Time(str):
    """Seconds with nine decimals, exactly as in the line."""


def when(sec, nsec):
    sec += nsec // 10 ** 9
    nsec %= 10 ** 9
    total = sec * 10 ** 9 + nsec
    sign = "-" if total < 0 else ""
    return Time(f"{sign}{abs(total) // 10**9}.{abs(total) % 10**9:09}")


def mode_text(mode):
    return stat.filemode(mode)


def iattx(data):
    if not any(data):
        return None
    r = Reader(data, 16)
    (valid, ino, dev, rdev, size, blocks, attributes, mask) = r.unpack("8Q")
    atime, mtime, ctime, btime = r.unpack("4q")
    an, mn, cn, bn, nlink, uid, gid, blksize, mode = r.unpack("9I")
    value = iatt(data[:16], mode, nlink, uid, gid, size, (atime, an),
                 (mtime, mn), (ctime, cn), ino, dev, rdev, blocks, blksize)
    if valid & 0x800:
        value["btime"] = when(btime, bn)
    if mask:
        value["attributes"] = attributes
        value["attributes_mask"] = mask
    value["valid"] = valid
    return value


def iatt3(data):
    if not any(data):
        return None
    r = Reader(data, 16)
    ino, dev = r.unpack("QQ")
    mode, nlink, uid, gid = r.unpack("4I")
    rdev, size = r.unpack("QQ")
    blksize = r.one("I")
    blocks = r.one("Q")
    an, mn, cn = (r.unpack("II") for _ in range(3))
    return iatt(data[:16], mode, nlink, uid, gid, size, an, mn, cn, ino, dev,
                rdev, blocks, blksize)


def iatt(g, mode, nlink, uid, gid, size, at, mt, ct, ino, dev, rdev, blocks,
         blksize):
    return {"gfid": gfid(g), "mode": mode, "mode_text": mode_text(mode),
            "nlink": nlink, "uid": uid, "gid": gid, "size": size,
            "atime": when(*at), "mtime": when(*mt), "ctime": when(*ct),
            "ino": ino, "dev": dev, "rdev": rdev, "blocks": blocks,
            "blksize": blksize}


def is_secret(key):
    return key == b"password" or key.endswith(b".password")


def pairs_of(pairs):
    out = {}
    for count, (key, value) in enumerate(pairs):
        if count < MOST_ENTRIES:
            out[text_of(key)] = "***" if is_secret(key) else value
    if len(pairs) > MOST_ENTRIES:
        out["more"] = len(pairs) - MOST_ENTRIES
    return out


def typed_value(kind, r):
    if kind in (2, 3):
        return r.one("q" if kind == 2 else "Q")
    if kind == 4:
        return r.one("d")
    if kind == 7:
        return gfid(r.raw(16))
    if kind == 8:
        return iattx(r.raw(148))
    if kind == 9:
        sec, nsec = r.unpack("3q"), r.unpack("3I")
        return dict(zip(("atime", "mtime", "ctime"), map(when, sec, nsec)))
    return value_bytes(r.opaque())


def typed_dict(r):
    size, count, number = r.unpack("IiI")
    body = Reader(r.raw(size))
    if (size, count, number) == (0, -1, 0):
        return None
    pairs = []
    for _ in range(number):
        key = body.opaque()
        key = key[:-1] if key.endswith(b"\0") else key
        pairs.append((key, typed_value(body.one("i"), body)))
    return pairs_of(pairs)


def old_dict(r):
    data = r.opaque()
    if not data:
        return None
    body = Reader(data)
    pairs = []
    for _ in range(body.one("I")):
        key_size, size = body.unpack("II")
        key = body.raw(key_size)
        body.raw(1)
        pairs.append((key, value_bytes(body.raw(size))))
    return pairs_of(pairs)


def flock(r):
    kind, whence, start, size, pid = r.unpack("IIQQI")
    return with_text({"type": kind, "whence": whence, "start": start,
                      "len": size, "pid": pid, "lk_owner": r.opaque().hex()},
                     "type", LOCK_TYPES)


def with_text(value, key, names):
    if value[key] in names:
        value[key + "_text"] = names[value[key]]
    return value


def a_list(entry):
    def read(r):
        out, count = [], 0
        while r.one("I"):
            value = entry(r)
            count += 1
            if count <= MOST_ENTRIES:
                out.append(value)
        if count > MOST_ENTRIES:
            out.append({"more": count - MOST_ENTRIES})
        return out
    return read


def entry(r, more=None):
    ino, cookie, _, kind = r.unpack("QQII")
    value = {"name": string(r.opaque()), "ino": ino, "cookie": cookie,
             "type": kind}
    if more == "P":
        value["stat"] = iattx(r.raw(148))
        value["dict"] = typed_dict(r)
    elif more == "Q":
        value["stat"] = iatt3(r.raw(100))
        value["dict"] = old_dict(r)
    return value


def lock_entry(r):
    return {"flock": flock(r), "client": string(r.opaque()),
            "flags": r.one("I")}


def program_entry(r):
    value = {"name": string(r.opaque())}
    value["program"], value["version"] = r.unpack("QQ")
    return value


def lease(r):
    cmd, kind = r.unpack("II")
    return {"cmd": cmd, "type": kind, "lease_id": r.raw(16).hex(),
            "flags": r.one("I")}


def statfs(r):
    names = ("bsize frsize blocks bfree bavail files ffree favail fsid flag "
             "namemax").split()
    return dict(zip(names, r.unpack("11Q")))


KINDS = {
    "r": lambda r: r.one("i"), "e": lambda r: r.one("i"),
    "i": lambda r: r.one("i"), "u": lambda r: r.one("I"),
    "o": lambda r: r.one("I"), "m": lambda r: r.one("I"),
    "c": lambda r: r.one("I"), "t": lambda r: r.one("I"),
    "I": lambda r: r.one("q"), "U": lambda r: r.one("Q"),
    "g": lambda r: gfid(r.raw(16)), "a": lambda r: iattx(r.raw(148)),
    "A": lambda r: iatt3(r.raw(100)), "F": statfs, "l": lease, "f": flock,
    "s": lambda r: string(r.opaque()), "b": lambda r: hexed(r.opaque()),
    "x": typed_dict, "d": old_dict, "D": a_list(entry),
    "P": a_list(lambda r: entry(r, "P")),
    "Q": a_list(lambda r: entry(r, "Q")), "L": a_list(lock_entry),
    "G": a_list(program_entry),
}


def flags_text(flags):
    names = [("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE")[flags & 3]]
    rest = flags & ~3
    for bit, name in OPEN_FLAGS.items():
        if rest & bit:
            names.append(name)
            rest &= ~bit
    return "|".join(names + ([f"0x{rest:x}"] if rest else []))


def meaning(kind, value, so_far):
    """What the trace says behind a number, or None."""
    if kind == "e" and so_far["op_ret"] < 0:
        return ("EOPNOTSUPP" if value == EOPNOTSUPP else
                errno.errorcode.get(value))
    if kind == "o":
        return flags_text(value)
    if kind == "m":
        return f"0{value:o}"
    if kind in "ct":
        return (LOCK_COMMANDS if kind == "c" else LOCK_TYPES).get(value)
    return None


def members(text, r, payload):
    """The members of arguments or results; payload: bytes of it in hex."""
    out = {}
    for member in text.split():
        if member == "*":
            data = r.rest()
            out["payload"] = hexed(data, payload)
            continue
        name, kind = member.split(":")
        out[name] = KINDS[kind](r)
        words = meaning(kind, out[name], out)
        if words is not None:
            out[name + "_text"] = words
    left = len(r.rest())
    if left:
        out["extra_bytes"] = left
    return out


class Call:
    """The header of a call, and where its arguments begin."""

    def __init__(self, data):
        r = Reader(data)
        (self.xid, _, self.rpc_version, self.program, self.version,
         self.number, self.flavour) = r.unpack("7I")
        self.cred = r.opaque()
        r.unpack("I")
        r.opaque()
        self.args = r
        self.row = PROCEDURES.get((self.program, self.version, self.number))

    @property
    def name(self):
        program = PROGRAMS.get((self.program, self.version))
        return (f"{program or self.program}/"
                f"{self.row[0] if self.row else self.number}")


def credential(call):
    out = {}
    if call.flavour in (V3_CRED, V2_CRED):
        r = Reader(call.cred)
        out["pid"], out["uid"], out["gid"] = r.unpack("iII")
        flags = 0
        if call.flavour == V3_CRED:
            flags, nsec, sec = r.unpack("IIQ")
        groups = [r.one("I") for _ in range(r.one("I"))]
        out["lk_owner"] = r.opaque().hex()
        if groups:
            out["groups"] = groups
        if flags:
            out["time_flags"] = flags
            out["ctime"] = when(sec, nsec)
    elif call.cred:
        out["size"] = len(call.cred)
    out["flavour"] = call.flavour
    return out


def show_call(call, payload):
    if call.row is None:
        return {"size": len(call.args.rest())}
    return members(call.row[1], call.args, payload)


def show_reply(call, data, payload):
    r = Reader(data, 8)
    if r.one("I") == 1:
        status = r.one("I")
        out = {"reject_status": status,
               "reject_status_text": ("auth error" if status
                                      else "rpc mismatch")}
        if status:
            out["auth_status"] = r.one("I")
        else:
            out["low"], out["high"] = r.unpack("II")
        return out
    r.one("I")
    r.opaque()
    status = r.one("I")
    if status:
        out = {"accept_status": status, "accept_status_text": ACCEPT[status]}
        if status == 2:
            out["low"], out["high"] = r.unpack("II")
        return out
    if call.row is None:
        return {"size": len(r.rest())}
    return members(call.row[2], r, payload)


PROCEDURES = procedures()
