# SPDX-License-Identifier: Apache-2.0
"""Modes, owners, times, sizes, extended attributes: what posix_probe.py tries."""

import hashlib
import os
import stat

from probe import (GIB, NOBODY, as_user, attempt, create, open_close, pattern,
                   read_file, section)


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
