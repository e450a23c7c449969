# SPDX-License-Identifier: Apache-2.0
"""Names and directories: what posix_probe.py tries with them."""

import os
import socket
import stat

from probe import (NOBODY, as_user, attempt, create, open_close, read_file,
                   scan, section, system)


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
