#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Try every POSIX call on a mount and print one line for each: what came back.

usage: posix_probe.py [OPTION]... DIR [OTHER]

  --only SECTION[,SECTION]...  not all of them
  --output FILE                where the lines go
  --no-huge                    no file of 2^62 bytes: a sharded volume's client
                               dies of it

DIR is an empty directory on the mount; OTHER is the same directory seen through
a second mount, for what two clients do to each other. The lines hold nothing
that differs between two runs, so the output of a direct mount and of one
through a proxy are compared with diff. Needs root.
"""
import argparse
import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import select
import signal
import socket
import stat
import struct
import sys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HUGE_FILES = True
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)
SECTIONS = {}


def section(function):
    SECTIONS[function.__name__] = function
    return function


def show(value):
    """A result as text; long bytes as their length and digest."""
    if isinstance(value, bytes) and len(value) > 48:
        return f"{len(value)} bytes {hashlib.md5(value).hexdigest()}"
    if isinstance(value, os.stat_result):
        kind = stat.filemode(value.st_mode)
        size = "-" if stat.S_ISDIR(value.st_mode) else value.st_size
        return (f"{kind} nlink {value.st_nlink} {value.st_uid}:{value.st_gid}"
                f" size {size}")
    return repr(value)


def attempt(label, call, *args, **named):
    """Print what call(*args) gives: its value, or the name of its errno."""
    value = None
    try:
        value = call(*args, **named)
        text = show(value)
    except OSError as error:
        text = errno.errorcode.get(error.errno, str(error.errno))
    except (OverflowError, ValueError) as error:
        text = type(error).__name__
    print(f"{label}: {text}", flush=True)
    return value


def system(name, *args):
    result = getattr(libc, name)(*args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def as_user(uid, call, *args):
    """Call in a child whose uid, gid and groups are uid's."""
    def child():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        return call(*args)
    return in_child(child)


def in_child(call):
    """Run call in a child; its errno, or a value's text, comes back."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = "value " + show(call())
        except OSError as error:
            text = f"errno {error.errno}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    text = b""
    while chunk := os.read(reader, 65536):
        text += chunk
    os.close(reader)
    os.waitpid(pid, 0)
    kind, _, rest = text.decode().partition(" ")
    if kind == "errno":
        raise OSError(int(rest), os.strerror(int(rest)))
    return Plain(rest)


class Plain(str):
    def __repr__(self):
        return str(self)


def create(path, data=b"", mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    write_all(fd, data)
    os.close(fd)
    return path


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def read_file(path):
    with open(path, "rb", buffering=0) as file:
        parts = []
        while chunk := file.read(MIB):
            parts.append(chunk)
    return b"".join(parts)


def pattern(size, seed=1):
    """Bytes in which every 8 tell where they belong."""
    words = (size + 7) // 8
    return struct.pack(f">{words}Q", *(i * 2654435761 + seed
                                       for i in range(words)))[:size]


def open_close(path, flags, mode=0o644):
    os.close(os.open(path, flags, mode))


def scan(path):
    names = sorted(os.listdir(path))
    text = "\n".join(names).encode(errors="surrogateescape")
    return f"{len(names)} names {hashlib.md5(text).hexdigest()}"


@section
def names(d, _other):
    f = create(f"{d}/file", b"one")
    os.mkdir(f"{d}/dir")
    attempt("create again, exclusive", open_close, f,
            os.O_CREAT | os.O_EXCL | os.O_RDWR)
    attempt("open of nothing", open_close, f"{d}/none", os.O_RDONLY)
    attempt("file as directory", open_close, f"{f}/x", os.O_RDONLY)
    attempt("directory to write", open_close, f"{d}/dir", os.O_WRONLY)
    attempt("O_DIRECTORY of a file", open_close, f,
            os.O_RDONLY | os.O_DIRECTORY)
    for length in (1, 254, 255, 256):
        attempt(f"name of {length}", open_close, f"{d}/dir/" + "n" * length,
                os.O_CREAT | os.O_WRONLY)
    attempt("listing", scan, f"{d}/dir")
    for name in ("a b", "ü€𝄞", "new\nline", "-", "\\", "a:b", ".hidden",
                 "*?[]", "%s%n"):
        attempt(f"name {name!r}", lambda n: len(create(f"{d}/dir/{n}")) > 0,
                name)
    raw = os.fsencode(d) + b"/dir/\xff\xfe"
    attempt("name that is not UTF-8", lambda: os.close(
        os.open(raw, os.O_CREAT | os.O_WRONLY, 0o600)))
    attempt("listing", scan, f"{d}/dir")
    attempt("mkdir over a file", os.mkdir, f)
    attempt("mkdir of the same", os.mkdir, f"{d}/dir")
    attempt("rmdir of a full one", os.rmdir, f"{d}/dir")
    attempt("rmdir of a file", os.rmdir, f)
    attempt("unlink of a directory", os.unlink, f"{d}/dir")
    attempt("unlink of nothing", os.unlink, f"{d}/none")
    deep = d
    for level in range(40):
        deep += f"/level{level}"
        os.mkdir(deep)
    create(f"{deep}/bottom", b"deep")
    attempt("deep file", read_file, f"{deep}/bottom")


@section
def links(d, _other):
    f = create(f"{d}/file", b"linked")
    attempt("hard link", os.link, f, f"{d}/link")
    attempt("its attributes", os.stat, f"{d}/link")
    attempt("link over a name", os.link, f, f"{d}/link")
    attempt("link of nothing", os.link, f"{d}/none", f"{d}/link2")
    os.mkdir(f"{d}/dir")
    attempt("link of a directory", os.link, f"{d}/dir", f"{d}/dir2")
    os.unlink(f)
    attempt("after unlink", os.stat, f"{d}/link")
    attempt("data through the link", read_file, f"{d}/link")
    attempt("symlink", os.symlink, "link", f"{d}/sym")
    attempt("readlink", os.readlink, f"{d}/sym")
    attempt("lstat", os.lstat, f"{d}/sym")
    attempt("stat", os.stat, f"{d}/sym")
    attempt("data", read_file, f"{d}/sym")
    attempt("readlink of a file", os.readlink, f"{d}/link")
    attempt("symlink over a name", os.symlink, "x", f"{d}/sym")
    long = "t" * 250 + "/" + "u" * 250
    attempt("long target", os.symlink, long * 4, f"{d}/long")
    attempt("long target read", lambda: os.readlink(f"{d}/long") == long * 4)
    os.symlink("loop", f"{d}/loop")
    attempt("loop", os.stat, f"{d}/loop")
    os.symlink("nowhere", f"{d}/dangling")
    attempt("dangling", os.stat, f"{d}/dangling")
    attempt("O_NOFOLLOW", open_close, f"{d}/sym", os.O_RDONLY | os.O_NOFOLLOW)
    attempt("link to a symlink", lambda: os.link(
        f"{d}/sym", f"{d}/hardsym", follow_symlinks=False))
    attempt("its attributes", os.lstat, f"{d}/hardsym")
    for i in range(100):
        attempt(f"link {i}", os.link, f"{d}/link", f"{d}/many{i}")
    attempt("many links", os.stat, f"{d}/link")


@section
def rename(d, _other):
    a, b = create(f"{d}/a", b"a"), create(f"{d}/b", b"bb")
    os.mkdir(f"{d}/empty")
    os.mkdir(f"{d}/full")
    create(f"{d}/full/x")
    attempt("over a file", os.rename, a, b)
    attempt("data", read_file, b)
    attempt("source", os.stat, a)
    attempt("of nothing", os.rename, a, b)
    attempt("file over directory", os.rename, b, f"{d}/empty")
    attempt("directory over file", os.rename, f"{d}/empty", b)
    attempt("over an empty directory", os.rename, f"{d}/full", f"{d}/empty")
    os.mkdir(f"{d}/other")
    attempt("over a full directory", os.rename, f"{d}/other", f"{d}/empty")
    attempt("into itself", os.rename, f"{d}/other", f"{d}/other/below")
    attempt("between directories", os.rename, b, f"{d}/other/b")
    attempt("onto itself", os.rename, f"{d}/other/b", f"{d}/other/b")
    os.link(f"{d}/other/b", f"{d}/other/c")
    attempt("onto its own link", os.rename, f"{d}/other/b", f"{d}/other/c")
    attempt("both stay", scan, f"{d}/other")
    fd = os.open(f"{d}/other/b", os.O_RDWR)
    attempt("while open", os.rename, f"{d}/other/b", f"{d}/moved")
    attempt("fstat", os.fstat, fd)
    attempt("write", os.write, fd, b"after")
    os.close(fd)
    attempt("data", read_file, f"{d}/moved")
    for flag, word in ((1, "NOREPLACE"), (2, "EXCHANGE")):
        x, y = create(f"{d}/x", b"x"), create(f"{d}/y", b"y")
        attempt(f"RENAME_{word}", system, "renameat2", -100, x.encode(),
                -100, y.encode(), flag)
        attempt("x", read_file, x)
        attempt("y", read_file, y)


@section
def special(d, _other):
    attempt("fifo", os.mkfifo, f"{d}/fifo", 0o640)
    attempt("its attributes", os.stat, f"{d}/fifo")
    pid = os.fork()
    if pid == 0:
        fd = os.open(f"{d}/fifo", os.O_WRONLY)
        os.write(fd, b"through the fifo")
        os._exit(0)
    attempt("read", read_file, f"{d}/fifo")
    os.waitpid(pid, 0)
    attempt("character device", os.mknod, f"{d}/null",
            0o600 | stat.S_IFCHR, os.makedev(1, 3))
    attempt("its attributes", lambda: (os.stat(f"{d}/null"),
                                       os.stat(f"{d}/null").st_rdev)[1])
    attempt("block device", os.mknod, f"{d}/blk", 0o600 | stat.S_IFBLK,
            os.makedev(7, 200))
    attempt("regular by mknod", os.mknod, f"{d}/reg", 0o604 | stat.S_IFREG)
    attempt("its attributes", os.stat, f"{d}/reg")
    server = socket.socket(socket.AF_UNIX)
    os.chdir(d)
    attempt("socket", server.bind, "sock")
    attempt("its attributes", os.stat, "sock")
    os.chdir("/")
    server.close()
    attempt("fifo by nobody", as_user, NOBODY, open_close, f"{d}/fifo",
            os.O_RDONLY | os.O_NONBLOCK)


@section
def attributes(d, _other):
    f = create(f"{d}/file", b"0123456789")
    os.mkdir(f"{d}/dir")
    for mode in (0o0, 0o777, 0o4755, 0o2755, 0o1777, 0o7777):
        attempt(f"chmod {mode:o}", os.chmod, f, mode)
        attempt("file", os.stat, f)
        attempt(f"chmod {mode:o}", os.chmod, f"{d}/dir", mode)
        attempt("directory", os.stat, f"{d}/dir")
    os.chmod(f, 0o6755)
    attempt("chown", os.chown, f, 1234, 4321)
    attempt("drops the set-id bits", os.stat, f)
    attempt("chown of one", os.chown, f, -1, 99)
    attempt("is", os.stat, f)
    attempt("big ids", os.chown, f, 0x7ffffffe, 0x7fffffff)
    attempt("is", os.stat, f)
    os.symlink("file", f"{d}/sym")
    attempt("lchown", os.lchown, f"{d}/sym", 5, 6)
    attempt("is", os.lstat, f"{d}/sym")
    os.chown(f, 0, 0)
    for times in ((0, 0), (1, 999999999), (2**31 - 1, 2**31 - 1),
                  (2**31 + 5, 2**32 + 7), (1234567890123456789,) * 2):
        ns = tuple(t if t > 10**15 else t * 10**9 for t in times)
        attempt(f"utime {times}", os.utime, f, ns=ns)
        attempt("mtime is", lambda: os.stat(f).st_mtime_ns == ns[1])
    for size in (0, 5, 4096, 12345, 5 * GIB + 3, 10):
        attempt(f"truncate {size}", os.truncate, f, size)
        attempt("is", os.stat, f)
    attempt("truncate -1", os.truncate, f, -1)
    attempt("truncate of a directory", os.truncate, f"{d}/dir", 0)
    attempt("truncate of nothing", os.truncate, f"{d}/none", 0)
    attempt("data", read_file, f)
    view = os.statvfs(d)
    attempt("statvfs", lambda: (view.f_bsize, view.f_frsize, view.f_namemax,
                                view.f_blocks > 0, view.f_files > 0))
    attempt("root", lambda: os.stat(d).st_nlink)


@section
def permission(d, _other):
    os.chmod(d, 0o755)
    secret = create(f"{d}/secret", b"hidden", 0o600)
    public = create(f"{d}/public", b"shown", 0o644)
    os.chmod(public, 0o644)
    os.mkdir(f"{d}/closed", 0o700)
    create(f"{d}/closed/x")
    os.mkdir(f"{d}/sticky")
    os.chmod(f"{d}/sticky", 0o1777)
    create(f"{d}/sticky/root", b"", 0o666)
    os.mkdir(f"{d}/group")
    os.chown(f"{d}/group", 0, 77)
    os.chmod(f"{d}/group", 0o2777)
    for flags, word in ((os.O_RDONLY, "read"), (os.O_WRONLY, "write"),
                        (os.O_RDWR | os.O_TRUNC, "truncate")):
        attempt(f"{word} a secret", as_user, NOBODY, open_close, secret, flags)
        attempt(f"{word} a public", as_user, NOBODY, open_close, public, flags)
    attempt("chmod", as_user, NOBODY, os.chmod, public, 0o777)
    attempt("chown", as_user, NOBODY, os.chown, public, NOBODY, NOBODY)
    attempt("utime", as_user, NOBODY, os.utime, public, (1, 1))
    attempt("truncate", as_user, NOBODY, os.truncate, public, 1)
    attempt("unlink", as_user, NOBODY, os.unlink, public)
    attempt("create", as_user, NOBODY, create, f"{d}/new")
    attempt("mkdir", as_user, NOBODY, os.mkdir, f"{d}/newdir")
    attempt("link", as_user, NOBODY, os.link, public, f"{d}/sticky/l")
    attempt("stat in a closed one", as_user, NOBODY, os.stat, f"{d}/closed/x")
    attempt("list a closed one", as_user, NOBODY, os.listdir, f"{d}/closed")
    attempt("xattr", as_user, NOBODY, os.setxattr, public, "user.a", b"1")
    attempt("sticky unlink", as_user, NOBODY, os.unlink, f"{d}/sticky/root")
    attempt("sticky rename", as_user, NOBODY, os.rename, f"{d}/sticky/root",
            f"{d}/sticky/mine")
    attempt("sticky create", as_user, NOBODY, create, f"{d}/sticky/own")
    attempt("is", os.stat, f"{d}/sticky/own")
    attempt("set-gid create", as_user, NOBODY, create, f"{d}/group/own")
    attempt("is", os.stat, f"{d}/group/own")
    os.mkdir(f"{d}/group/sub")
    attempt("set-gid mkdir", os.stat, f"{d}/group/sub")
    attempt("device by nobody", as_user, NOBODY, os.mknod, f"{d}/sticky/dev",
            0o600 | stat.S_IFCHR, os.makedev(1, 3))
    for mask in (os.R_OK, os.W_OK, os.X_OK):
        attempt(f"access {mask}", as_user, NOBODY, os.access, public, mask)
        attempt(f"access {mask}", as_user, NOBODY, os.access, secret, mask)


@section
def data(d, _other):
    f = f"{d}/file"
    fd = os.open(f, os.O_RDWR | os.O_CREAT, 0o644)
    for size in (0, 1, 2, 3, 4, 5, 4095, 4097, 127 * KIB - 1, 128 * KIB,
                 128 * KIB + 1, MIB + 7, 3 * MIB):
        block = pattern(size, size)
        attempt(f"write {size}", os.pwrite, fd, block, 0)
        attempt("same back", lambda: os.pread(fd, size, 0) == block)
        attempt("odd offset", lambda: os.pread(fd, size, 1) ==
                os.pread(fd, size + 1, 0)[1:])
    attempt("whole", read_file, f)
    end = os.fstat(fd).st_size
    attempt("read across the end", os.pread, fd, 100, end - 10)
    attempt("read at the end", os.pread, fd, 100, end)
    attempt("read beyond", os.pread, fd, 100, end + 1000)
    attempt("read nothing", os.pread, fd, 0, 0)
    attempt("write beyond", os.pwrite, fd, b"far", end + 12345)
    attempt("hole", os.pread, fd, 20, end + 12345 - 10)
    attempt("fsync", os.fsync, fd)
    attempt("fdatasync", os.fdatasync, fd)
    attempt("ftruncate", os.ftruncate, fd, 1000)
    attempt("is", os.fstat, fd)
    attempt("readv", os.preadv, fd, [bytearray(3), bytearray(5)], 990)
    attempt("writev", os.pwritev, fd, [b"abc", b"defgh"], 998)
    attempt("is", os.pread, fd, 100, 990)
    os.close(fd)
    fd = os.open(f, os.O_RDONLY)
    attempt("write to a read-only fd", os.write, fd, b"x")
    attempt("ftruncate of one", os.ftruncate, fd, 0)
    os.close(fd)
    fd = os.open(f, os.O_WRONLY)
    attempt("read of a write-only fd", os.read, fd, 1)
    os.close(fd)
    fd = os.open(f, os.O_WRONLY | os.O_APPEND)
    attempt("append", os.write, fd, b"end")
    attempt("append despite offset", os.pwrite, fd, b"END", 0)
    os.close(fd)
    attempt("whole", read_file, f)
    attempt("O_TRUNC", open_close, f, os.O_WRONLY | os.O_TRUNC)
    attempt("is", os.stat, f)
    with open(f, "wb") as file:
        file.write(pattern(MIB + 100))
    fd = os.open(f, os.O_RDWR | os.O_SYNC)
    attempt("O_SYNC", os.pwrite, fd, b"sync", 77)
    os.close(fd)
    direct(f)
    fd = os.open(f, os.O_RDONLY)
    os.lseek(fd, 0, os.SEEK_END)
    attempt("sequential from the end", os.read, fd, 10)
    attempt("directory read", lambda: os.read(os.open(d, os.O_RDONLY), 10))
    attempt("whole", read_file, f)
    attempt("backwards", backwards, fd)
    os.close(fd)


def backwards(fd):
    size = os.fstat(fd).st_size
    digest = hashlib.md5()
    for offset in range(size - size % 65536, -1, -65536):
        digest.update(os.pread(fd, 65536, offset))
    return digest.hexdigest()


def direct(path):
    """O_DIRECT, aligned and not. The kernel's own checks count too."""
    def read(size, offset):
        buffer = mmap.mmap(-1, MIB)
        count = os.preadv(fd, [memoryview(buffer)[:size]], offset)
        return buffer[:count]
    fd = attempt("O_DIRECT", lambda: Fd(path, os.O_RDWR | os.O_DIRECT))
    if fd is None:
        return
    for size, offset in ((4096, 0), (MIB, 0), (65536, MIB - 4096),
                         (512, 512), (100, 0), (4096, 3)):
        attempt(f"direct read {size} at {offset}", read, size, offset)
    buffer = mmap.mmap(-1, 8192)
    buffer[:] = b"D" * 8192
    for size, offset in ((8192, 4096), (100, 0), (4096, 5)):
        attempt(f"direct write {size} at {offset}", os.pwritev, fd,
                [memoryview(buffer)[:size]], offset)
    attempt("direct close", os.close, fd)


class Fd(int):
    """A descriptor that prints as such, not as its number."""
    def __new__(cls, path, flags, mode=0o644):
        return super().__new__(cls, os.open(path, flags, mode))

    def __repr__(self):
        return "open"


@section
def mapped(d, _other):
    f = create(f"{d}/file", pattern(2 * MIB))
    fd = os.open(f, os.O_RDWR)

    def private():
        with mmap.mmap(fd, 2 * MIB, mmap.MAP_PRIVATE) as area:
            area[100:105] = b"local"
            return hashlib.md5(area).hexdigest()

    def shared():
        with mmap.mmap(fd, 2 * MIB, mmap.MAP_SHARED) as area:
            area[4090:4101] = b"over a page"
            area.flush()
        return os.pread(fd, 20, 4085)

    attempt("private map", private)
    attempt("file unchanged", read_file, f)
    attempt("shared map", shared)
    os.fsync(fd)
    os.close(fd)
    attempt("file changed", read_file, f)


@section
def far(d, _other):
    f = f"{d}/sparse"
    fd = os.open(f, os.O_RDWR | os.O_CREAT, 0o644)
    places = [0, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1,
              5 * GIB, 6 * GIB - 1]
    for place in places:
        attempt(f"write at {place}", os.pwrite, fd, b"m", place)
    attempt("is", os.fstat, fd)
    for place in places:
        attempt(f"around {place}", os.pread, fd, 3, max(place - 1, 0))
    os.fsync(fd)
    attempt("allocated little", lambda: os.fstat(fd).st_blocks < 2 * MIB // 512)
    for place in (1 * GIB, 3 * GIB, 2**32 + 4096 * 16, 6 * GIB):
        attempt(f"SEEK_DATA {place}", os.lseek, fd, place, os.SEEK_DATA)
        attempt(f"SEEK_HOLE {place}", os.lseek, fd, place, os.SEEK_HOLE)
    attempt("SEEK_DATA behind the end", os.lseek, fd, 7 * GIB, os.SEEK_DATA)
    attempt("read at 2^63-4096", os.pread, fd, 4096, 2**63 - 4096)
    if HUGE_FILES:
        attempt("write at 2^63-4096", os.pwrite, fd, b"x", 2**63 - 4096)
        attempt("truncate to 2^62", os.ftruncate, fd, 2**62)
    attempt("truncate back", os.ftruncate, fd, 2**32 + 2)
    attempt("is", os.fstat, fd)
    attempt("end", os.pread, fd, 10, 2**32 - 1)
    os.close(fd)


@section
def space(d, _other):
    f = create(f"{d}/file", pattern(MIB))
    fd = os.open(f, os.O_RDWR)
    off_t = ctypes.c_int64
    modes = ((0, "allocate"), (1, "keep size"), (3, "punch"), (16, "zero"),
             (17, "zero, keep size"), (2, "punch without keep"),
             (8, "collapse"), (32, "insert"), (64, "unshare"))
    for mode, word in modes:
        for start, size in ((0, 65536), (100000, 300000), (MIB - 10, 50000),
                            (2 * MIB, MIB), (5, 0), (-1, 10)):
            attempt(f"{word} {start}+{size}", system, "fallocate64", fd, mode,
                    off_t(start), off_t(size))
            attempt("is", os.fstat, fd)
            attempt("data", lambda: hashlib.md5(read_file(f)).hexdigest())
        os.pwrite(fd, pattern(MIB, mode), 0)
        os.ftruncate(fd, MIB)
        # The client's write-behind lets a zero range overtake writes, and the
        # result is a matter of luck, without a proxy too (10.3, seen 1 in 60).
        os.fsync(fd)
    os.close(fd)
    fd = os.open(f, os.O_RDONLY)
    attempt("allocate on a read-only fd", system, "fallocate64", fd, 0,
            off_t(0), off_t(10))
    os.close(fd)
    copies(d, f)


def copies(d, f):
    source = os.open(f, os.O_RDONLY)
    target = os.open(f"{d}/copy", os.O_RDWR | os.O_CREAT, 0o644)

    def copy_all(size, src_offset, dst_offset):
        done = 0
        while done < size:
            count = os.copy_file_range(source, target, size - done,
                                       src_offset + done, dst_offset + done)
            if count == 0:
                break
            done += count
        return done

    for args in ((MIB, 0, 0), (1000, 5, 77), (4096, MIB - 100, 2 * MIB),
                 (10, 2 * MIB, 0), (0, 0, 0)):
        attempt(f"copy_file_range {args}", copy_all, *args)
        attempt("is", os.fstat, target)
        attempt("data", lambda: hashlib.md5(read_file(f"{d}/copy")).hexdigest())
    attempt("overlapping", os.copy_file_range, target, target, 5000, 0, 100)
    attempt("from a write-only fd", lambda: os.copy_file_range(
        os.open(f"{d}/copy", os.O_WRONLY), target, 10, 0, 0))
    attempt("sendfile", os.sendfile, target, source, 12345, 70000)
    attempt("splice source", lambda: hashlib.md5(
        read_file(f"{d}/copy")).hexdigest())
    os.close(source)
    os.close(target)


@section
def xattrs(d, _other):
    f = create(f"{d}/file")
    os.mkdir(f"{d}/dir")
    os.symlink("file", f"{d}/sym")
    attempt("get nothing", os.getxattr, f, "user.none")
    attempt("remove nothing", os.removexattr, f, "user.none")
    attempt("replace nothing", os.setxattr, f, "user.a", b"1",
            os.XATTR_REPLACE)
    attempt("create", os.setxattr, f, "user.a", b"1", os.XATTR_CREATE)
    attempt("create again", os.setxattr, f, "user.a", b"2", os.XATTR_CREATE)
    attempt("replace", os.setxattr, f, "user.a", b"two", os.XATTR_REPLACE)
    attempt("is", os.getxattr, f, "user.a")
    for size in (0, 1, 255, 256, 4096, 65535, 65536, 65537):
        value = pattern(size)
        attempt(f"set {size}", os.setxattr, f, "user.big", value)
        attempt("get", os.getxattr, f, "user.big")
    attempt("binary", os.setxattr, f, "user.bin", bytes(range(256)))
    attempt("is", os.getxattr, f, "user.bin")
    for length in (250, 251):
        attempt(f"name of {length + 5}", os.setxattr, f,
                "user." + "n" * length, b"long")
    for name in ("user.ü", "user.a b", "user.", "trusted.t", "security.s",
                 "system.posix_acl_access", "nospace.x", "trusted.gfid",
                 "trusted.glusterfs.volume-id", "trusted.afr.x",
                 "trusted.ec.size", "glusterfs.x"):
        attempt(f"set {name}", os.setxattr, f, name, b"value")
        attempt(f"get {name}", lambda n: len(os.getxattr(f, n)), name)
    attempt("list", lambda: sorted(os.listxattr(f)))
    attempt("on a directory", os.setxattr, f"{d}/dir", "user.d", b"dir")
    attempt("is", os.getxattr, f"{d}/dir", "user.d")
    attempt("on a symlink", lambda: os.setxattr(
        f"{d}/sym", "user.s", b"x", follow_symlinks=False))
    attempt("trusted on a symlink", lambda: os.setxattr(
        f"{d}/sym", "trusted.s", b"x", follow_symlinks=False))
    for i in range(200):
        os.setxattr(f"{d}/dir", f"user.n{i:03}", b"v" * i)
    attempt("many", lambda: hashlib.md5("\n".join(
        sorted(os.listxattr(f"{d}/dir"))).encode()).hexdigest())
    attempt("one of many", os.getxattr, f"{d}/dir", "user.n199")
    fd = os.open(f, os.O_RDWR)
    attempt("fsetxattr", os.setxattr, fd, "user.fd", b"by fd")
    attempt("fgetxattr", os.getxattr, fd, "user.fd")
    attempt("flistxattr", lambda: len(os.listxattr(fd)))
    attempt("fremovexattr", os.removexattr, fd, "user.fd")
    os.close(fd)
    attempt("remove", os.removexattr, f, "user.a")
    attempt("list", lambda: sorted(os.listxattr(f)))
    virtual = ("glusterfs.pathinfo", "trusted.glusterfs.pathinfo",
               "glusterfs.gfid.string", "trusted.glusterfs.node-uuid",
               "glusterfs.gfid2path", "trusted.glusterfs.list-xattr",
               "glusterfs.posix.acl", "glusterfs.get_real_filename:FILE")
    for name in virtual:
        attempt(f"virtual {name}", lambda n: len(os.getxattr(f, n)) > 0, name)
        attempt(f"virtual {name}", lambda n: len(os.getxattr(d, n)) > 0, name)


@section
def unlinked(d, _other):
    f = create(f"{d}/file", b"0123456789")
    fd = os.open(f, os.O_RDWR)
    os.unlink(f)
    attempt("fstat", os.fstat, fd)
    attempt("read", os.pread, fd, 100, 0)
    attempt("write", os.pwrite, fd, b"still", 5)
    attempt("read", os.pread, fd, 100, 0)
    attempt("ftruncate", os.ftruncate, fd, 3)
    attempt("fchmod", os.fchmod, fd, 0o600)
    attempt("fsetxattr", os.setxattr, fd, "user.x", b"1")
    attempt("fstat", os.fstat, fd)
    create(f, b"another")
    attempt("new of the same name", read_file, f)
    attempt("old", os.pread, fd, 100, 0)
    os.close(fd)
    fd = os.open(f, os.O_RDONLY)
    os.rename(create(f"{d}/second", b"second"), f)
    attempt("replaced, by fd", os.pread, fd, 100, 0)
    attempt("replaced, by name", read_file, f)
    os.close(fd)
    attempt("O_TMPFILE", open_close, d, os.O_TMPFILE | os.O_RDWR)
    os.mkdir(f"{d}/gone")
    dirfd = os.open(f"{d}/gone", os.O_RDONLY)
    os.rmdir(f"{d}/gone")
    attempt("create in a removed one", lambda: os.open(
        "x", os.O_CREAT | os.O_WRONLY, dir_fd=dirfd))
    attempt("list a removed one", os.listdir, dirfd)
    os.close(dirfd)


@section
def directories(d, _other):
    count = 600
    for i in range(count):
        os.close(os.open(f"{d}/entry-{i:05}", os.O_CREAT | os.O_WRONLY))
    attempt("all", scan, d)
    with os.scandir(d) as entries:
        kinds = sorted({e.is_file(follow_symlinks=False) for e in entries})
    attempt("types", lambda: kinds)
    seen = 0
    with os.scandir(d) as entries:
        for entry in entries:
            os.unlink(entry.path)
            seen += 1
    attempt("unlink while reading", lambda: seen == count)
    attempt("then", scan, d)
    for i in range(50):
        os.mkdir(f"{d}/d{i}")
    attempt("nlink", lambda: os.stat(d).st_nlink in (2, 52))
    fd = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
    attempt("fsync of a directory", os.fsync, fd)
    attempt("fchmod of a directory", os.fchmod, fd, 0o751)
    attempt("is", lambda: oct(os.fstat(fd).st_mode))
    os.close(fd)


def lock_record(kind, start, length):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def fcntl_lock(fd, command, kind, start, length):
    return fcntl.fcntl(fd, command, lock_record(kind, start, length))


def lock_seen(fd, start, length):
    reply = fcntl_lock(fd, fcntl.F_GETLK, fcntl.F_WRLCK, start, length)
    kind, _, begin, size, _pid = struct.unpack("hhqqi4x", reply)
    words = {fcntl.F_RDLCK: "read", fcntl.F_WRLCK: "write",
             fcntl.F_UNLCK: "none"}
    return Plain(words[kind] if kind == fcntl.F_UNLCK
                 else f"{words[kind]} {begin}+{size}")


@section
def locks(d, other):
    create(f"{d}/file", b"locked")
    one = os.open(f"{d}/file", os.O_RDWR)
    two = os.open(f"{other}/file", os.O_RDWR)

    def set_lock(fd, kind, start=0, length=0):
        fcntl_lock(fd, fcntl.F_SETLK, kind, start, length)

    attempt("exclusive", set_lock, one, fcntl.F_WRLCK, 10, 20)
    attempt("against it", set_lock, two, fcntl.F_WRLCK, 15, 1)
    attempt("shared against it", set_lock, two, fcntl.F_RDLCK, 29, 1)
    attempt("beside it", set_lock, two, fcntl.F_WRLCK, 30, 5)
    attempt("seen by the other", lock_seen, two, 0, 0)
    attempt("seen by the one", lock_seen, one, 0, 0)
    attempt("split", set_lock, one, fcntl.F_UNLCK, 15, 5)
    attempt("in the gap", set_lock, two, fcntl.F_RDLCK, 15, 5)
    attempt("seen by the other", lock_seen, two, 10, 5)
    attempt("down to shared", set_lock, one, fcntl.F_RDLCK, 10, 5)
    attempt("both shared", set_lock, two, fcntl.F_RDLCK, 10, 5)
    attempt("up again", set_lock, one, fcntl.F_WRLCK, 10, 5)
    attempt("far out", set_lock, one, fcntl.F_WRLCK, 2**40, 2**40)
    attempt("against it", set_lock, two, fcntl.F_WRLCK, 2**40 + 1, 1)
    attempt("release", set_lock, one, fcntl.F_UNLCK)
    attempt("all of it", set_lock, two, fcntl.F_WRLCK)
    attempt("waits and gets it", wait_for_lock, one, two)
    attempt("close releases", close_releases, d, one, two)
    attempt("flock exclusive", fcntl.flock, one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    attempt("flock against it", fcntl.flock, two,
            fcntl.LOCK_SH | fcntl.LOCK_NB)
    attempt("flock to shared", fcntl.flock, one, fcntl.LOCK_SH)
    attempt("flock shared too", fcntl.flock, two,
            fcntl.LOCK_SH | fcntl.LOCK_NB)
    attempt("flock up", fcntl.flock, one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    attempt("flock release", fcntl.flock, one, fcntl.LOCK_UN)
    attempt("flock by the other", fcntl.flock, two,
            fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(one)
    os.close(two)


def wait_for_lock(one, two):
    """two holds all; a child waits on one; two lets go; the child has it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        os.write(writer, b"w")
        fcntl_lock(one, fcntl.F_SETLKW, fcntl.F_WRLCK, 0, 0)
        os.write(writer, b"got")
        os._exit(0)
    os.read(reader, 1)
    early = select.select([reader], [], [], 0.3)[0]
    fcntl_lock(two, fcntl.F_SETLK, fcntl.F_UNLCK, 0, 0)
    late = select.select([reader], [], [], 15)[0]
    os.waitpid(pid, 0)
    os.close(reader)
    os.close(writer)
    return bool(early), bool(late)


def close_releases(d, one, two):
    def child():
        fd = os.open(f"{d}/file", os.O_RDWR)
        fcntl_lock(fd, fcntl.F_SETLK, fcntl.F_WRLCK, 100, 10)
        os.close(fd)
        return True
    held = in_child(child)
    fcntl_lock(two, fcntl.F_SETLK, fcntl.F_WRLCK, 100, 10)
    fcntl_lock(two, fcntl.F_SETLK, fcntl.F_UNLCK, 0, 0)
    fcntl_lock(one, fcntl.F_SETLK, fcntl.F_UNLCK, 0, 0)
    return held


@section
def between(d, other):
    """What one client does, as the other sees it after open or lookup."""
    create(f"{d}/file", b"first")
    attempt("created", read_file, f"{other}/file")
    fd = os.open(f"{d}/file", os.O_RDWR)
    os.pwrite(fd, b"SECOND, longer", 0)
    os.fsync(fd)
    attempt("written and synced", lambda: read_direct(f"{other}/file"))
    os.close(fd)
    attempt("closed", lambda: read_direct(f"{other}/file"))
    os.rename(f"{d}/file", f"{d}/moved")
    attempt("moved, new name", lambda: read_direct(f"{other}/moved"))
    os.mkdir(f"{other}/made")
    attempt("made by the other", os.mkdir, f"{d}/made")
    create(f"{other}/made/x", b"x")
    attempt("rmdir of the other's", os.rmdir, f"{d}/made")
    held = os.open(f"{other}/moved", os.O_RDONLY)
    os.unlink(f"{d}/moved")
    attempt("unlinked under the other", os.pread, held, 100, 0)
    os.close(held)


def read_direct(path):
    """Without the kernel's cache: what the client process answers."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        return os.pread(fd, 4096, 0)
    finally:
        os.close(fd)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("dir")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--output")
    parser.add_argument("--no-huge", action="store_true")
    args = parser.parse_args()
    globals()["HUGE_FILES"] = not args.no_huge
    if args.output:
        sys.stdout = open(args.output, "w", encoding="utf-8")
    os.umask(0o022)
    for name in args.only.split(","):
        if name in ("locks", "between") and args.other is None:
            continue
        print(f"== {name}", flush=True)
        os.mkdir(f"{args.dir}/{name}")
        other = args.other and f"{args.other}/{name}"
        SECTIONS[name](f"{args.dir}/{name}", other)


if __name__ == "__main__":
    sys.exit(main())
