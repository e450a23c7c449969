#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work on a mounted volume so that its client makes every call it can.

usage: capture_mount.py DIRECTORY

Errors of single steps are printed and passed over: what a kernel does not
offer is made by another tool of the capture.
"""
import ctypes
import errno
import fcntl
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16


def fallocate(fd, mode, offset, size):
    if libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(size)):
        raise OSError(ctypes.get_errno(), "fallocate")


def refused(number, step, *args):
    try:
        step(*args)
    except OSError as e:
        if e.errno == number:
            return
    print(f"{step.__name__}{args}: was not refused with "
          f"{errno.errorcode[number]}")


def main():
    os.chdir(sys.argv[1])
    steps = [names, files, attributes, locks, spaces, listing, refusals,
             cleanup]
    for step in steps:
        try:
            step()
        except OSError as e:
            print(f"{step.__name__}: {e}")


def names():
    os.mkdir("dir", 0o755)
    os.mkfifo("fifo", 0o644)
    os.symlink("dir/target", "link")
    os.readlink("link")
    os.close(os.open("old", os.O_CREAT | os.O_WRONLY, 0o644))
    os.link("old", "hard")
    os.rename("old", "dir/new")
    os.unlink("hard")
    os.statvfs(".")


def files():
    fd = os.open("file", os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o640)
    os.write(fd, b"forty-two bytes of text, for one small write")
    os.fsync(fd)
    os.fdatasync(fd)
    os.fstat(fd)
    os.close(fd)
    fd = os.open("file", os.O_RDONLY)
    os.pread(fd, 4096, 0)
    os.close(fd)
    fd = os.open("file", os.O_RDWR)
    os.ftruncate(fd, 21)
    os.close(fd)
    os.truncate("file", 4096)
    os.stat("file")


def attributes():
    os.chmod("file", 0o600)
    os.chown("file", 1000, 1000)
    os.utime("file", (1, 2))
    os.setxattr("file", "user.colour", b"green")
    os.setxattr("file", "user.shape", b"round")
    os.getxattr("file", "user.colour")
    os.listxattr("file")
    os.removexattr("file", "user.shape")
    os.access("file", os.R_OK)
    fd = os.open("file", os.O_RDWR)
    os.fchmod(fd, 0o644)
    os.setxattr(fd, "user.weight", b"light")
    os.getxattr(fd, "user.weight")
    os.removexattr(fd, "user.weight")
    os.close(fd)


def locks():
    fd = os.open("file", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    fcntl.flock(fd, fcntl.LOCK_UN)
    fcntl.lockf(fd, fcntl.LOCK_EX, 100, 10)
    fcntl.lockf(fd, fcntl.LOCK_UN, 100, 10)
    os.close(fd)


def spaces():
    fd = os.open("space", os.O_CREAT | os.O_RDWR, 0o644)
    fallocate(fd, FALLOC_KEEP_SIZE, 0, 65536)
    os.pwrite(fd, b"x" * 512, 0)
    os.pwrite(fd, b"y" * 512, 1 << 20)
    fallocate(fd, FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, 0, 512)
    os.lseek(fd, 0, os.SEEK_DATA)
    os.lseek(fd, 0, os.SEEK_HOLE)
    out = os.open("copy", os.O_CREAT | os.O_RDWR, 0o644)
    os.copy_file_range(fd, out, 512, 1 << 20, 0)
    os.close(out)
    try:
        fallocate(fd, FALLOC_ZERO_RANGE, 0, 4096)
    finally:
        os.close(fd)


def listing():
    for name in ("a", "b"):
        with open(f"dir/{name}", "w") as f:
            f.write(name)
    os.listdir("dir")
    fd = os.open("dir", os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def refusals():
    refused(errno.ENOENT, os.stat, "absent")
    refused(errno.ENOENT, os.unlink, "absent")
    refused(errno.ENOTEMPTY, os.rmdir, "dir")
    refused(errno.EEXIST, os.mkdir, "dir")
    refused(errno.ENODATA, os.getxattr, "file", "user.absent")
    refused(errno.ENODATA, os.removexattr, "file", "user.absent")


def cleanup():
    for name in os.listdir("dir"):
        os.unlink(f"dir/{name}")
    os.rmdir("dir")
    for name in os.listdir("."):
        os.unlink(name)


main()
