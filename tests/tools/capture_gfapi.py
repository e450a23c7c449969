#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the calls that libgfapi offers and a mount does not.

usage: capture_gfapi.py VOLFILE
       capture_gfapi.py --server HOST VOLUME

A result of -1 is printed with its errno and passed over.
"""
import ctypes
import os
import sys
from ctypes import c_char_p, c_int, c_long, c_size_t, c_uint, c_void_p

api = ctypes.CDLL("libgfapi.so.0", use_errno=True)


class Lease(ctypes.Structure):
    _fields_ = [("cmd", c_int), ("lease_type", c_int),
                ("lease_id", ctypes.c_char * 16), ("lease_flags", c_uint)]


def call(name, *args, result=c_int):
    function = getattr(api, name)
    function.restype = result
    got = function(*args)
    if got == -1 or got is None:
        print(f"{name}: {os.strerror(ctypes.get_errno())}")
    return got


def connect():
    if sys.argv[1] == "--server":
        fs = c_void_p(call("glfs_new", sys.argv[3].encode(), result=c_void_p))
        call("glfs_set_volfile_server", fs, b"tcp", sys.argv[2].encode(), 0)
    else:
        fs = c_void_p(call("glfs_new", b"vol", result=c_void_p))
        call("glfs_set_volfile", fs, sys.argv[1].encode())
    call("glfs_set_logging", fs, b"/dev/null", 1)
    if call("glfs_init", fs) != 0:
        raise SystemExit("glfs_init failed")
    return fs


def on_fd(fs):
    fd = c_void_p(call("glfs_creat", fs, b"/api", os.O_RDWR, 0o644,
                       result=c_void_p))
    call("glfs_write", fd, b"z" * 100, c_size_t(100), 0, result=c_long)
    call("glfs_fsetxattr", fd, b"user.colour", b"blue", c_size_t(4), 0)
    call("glfs_fgetxattr", fd, b"user.colour", ctypes.create_string_buffer(9),
         c_size_t(9), result=c_long)
    call("glfs_flistxattr", fd, ctypes.create_string_buffer(999),
         c_size_t(999), result=c_long)
    call("glfs_fremovexattr", fd, b"user.colour")
    call("glfs_fremovexattr", fd, b"user.colour")
    call("glfs_fchmod", fd, c_uint(0o600))
    call("glfs_fallocate", fd, 1, c_long(0), c_size_t(4096))
    call("glfs_discard", fd, c_long(0), c_size_t(4096))
    call("glfs_zerofill", fd, c_long(0), c_long(8192))
    call("glfs_ftruncate", fd, c_long(100), None, None)
    lease(fd)
    call("glfs_close", fd)


def lease(fd):
    held = Lease(2, 1, b"lease-number-one", 0)      # set, read lease
    call("glfs_lease", fd, ctypes.byref(held), None, None)
    held.cmd = 3                                    # unlock
    call("glfs_lease", fd, ctypes.byref(held), None, None)


def on_path(fs):
    call("glfs_access", fs, b"/api", os.R_OK)
    call("glfs_truncate", fs, b"/api", c_long(50))
    call("glfs_setxattr", fs, b"/api", b"user.kind", b"k", c_size_t(1), 0)
    call("glfs_removexattr", fs, b"/api", b"user.kind")
    call("glfs_mknod", fs, b"/pipe", c_uint(0o010644), c_long(0))
    for name in (b"/api", b"/pipe"):
        call("glfs_unlink", fs, name)


def on_dir(fs):
    fd = c_void_p(call("glfs_opendir", fs, b"/", result=c_void_p))
    api.glfs_readdir.restype = c_void_p
    while api.glfs_readdir(fd):
        pass
    call("glfs_closedir", fd)


def main():
    fs = connect()
    if sys.argv[1] == "--server":
        call("glfs_get_volumeid", fs, ctypes.create_string_buffer(16),
             c_size_t(16))
    else:
        on_fd(fs)
        on_path(fs)
        on_dir(fs)
    call("glfs_fini", fs)


main()
