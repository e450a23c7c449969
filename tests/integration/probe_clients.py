# SPDX-License-Identifier: Apache-2.0
"""Two clients of one file: what posix_probe.py tries with them."""

import fcntl
import os
import select
import signal
import struct

from probe import (Plain, attempt, create, in_child, read_file, read_uncached,
                   section, soon)


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
    """What one client does, as the other sees it, at once or soon: a default
    client believes for a second what it knows."""
    create(f"{d}/file", b"first")
    attempt("created", read_file, f"{other}/file")
    fd = os.open(f"{d}/file", os.O_RDWR)
    os.pwrite(fd, b"SECOND, longer", 0)
    os.fsync(fd)
    attempt("written and synced", soon, b"SECOND, longer", read_uncached,
            f"{other}/file")
    os.close(fd)
    os.rename(f"{d}/file", f"{d}/moved")
    attempt("moved, new name", soon, b"SECOND, longer", read_uncached,
            f"{other}/moved")
    attempt("moved, old name", soon, False, os.path.exists, f"{other}/file")
    os.mkdir(f"{other}/made")
    attempt("made by the other", os.mkdir, f"{d}/made")
    create(f"{other}/made/x", b"x")
    attempt("rmdir of the other's", os.rmdir, f"{d}/made")
    attempt("mode changed", os.chmod, f"{d}/moved", 0o604)
    attempt("seen", soon, "0o100604",
            lambda: oct(os.stat(f"{other}/moved").st_mode))
    os.unlink(f"{d}/moved")
    attempt("unlinked", soon, False, os.path.exists, f"{other}/moved")
