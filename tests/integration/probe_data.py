# SPDX-License-Identifier: Apache-2.0
"""Bytes and the space they take: what posix_probe.py tries with them."""

import ctypes
import hashlib
import mmap
import os

import probe
from probe import (GIB, KIB, MIB, attempt, create, open_close, pattern,
                   read_file, read_uncached, section, system)


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
    if probe.HUGE_FILES:
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
            attempt("data", read_uncached, f)
        os.pwrite(fd, pattern(MIB, mode), 0)
        os.ftruncate(fd, MIB)
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
