# SPDX-License-Identifier: Apache-2.0
"""Calls tried, and results printed: what the parts of posix_probe.py share.

A section is a function section(directory, same directory of another client).
"""
import ctypes
import errno
import hashlib
import os
import stat
import struct
import time

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)
SECTIONS = {}
HUGE_FILES = True    # posix_probe.py --no-huge


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


def read_uncached(path):
    """The file as the client has it. Mounts of 10.3 take a zero range for an
    allocation, but the kernel zeroes what it happens to have cached of it."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return read_file(path)


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


def soon(expected, call, *args):
    """Call until it gives what is expected, or give what it gives after 5 s."""
    deadline = time.monotonic() + 5
    while (value := call(*args)) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return value
