#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write records for as long as it is let, and log those that were acknowledged.

usage: acked_writer.py write fsync|dsync FILE LOG   until SIGTERM
       acked_writer.py verify FILE LOG...           all of them are in FILE

A record is acknowledged when write() and fsync(), or write() on a file opened
with O_DSYNC, have said so. Only then a line "acked TIME OFFSET LENGTH CRC" goes
to LOG. An error is logged as "error TIME NAME"; then the file is opened anew and
the same record is written again, as an application would. TIME is in ms since
the epoch. Records follow each other without a gap.
"""
import errno
import os
import random
import signal
import sys
import time
import zlib

PAUSE = 0.02    # after an error; a client without a brick fails at once
SIZES = (1, 100, 512, 4096, 5000, 65536, 131072, 300001)


class Stopped(Exception):
    pass


def stop(_signal, _frame):
    raise Stopped


def record(number):
    chance = random.Random(number)
    return chance.randbytes(chance.choice(SIZES))


def open_file(path, how):
    """The file is there: a new one could lie below the mount, not on it."""
    return os.open(path, os.O_WRONLY | (os.O_DSYNC if how == "dsync" else 0))


def put(fd, data, offset, how):
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], offset + done)
    if how == "fsync":
        os.fsync(fd)


def close(fd):
    try:
        if fd is not None:
            os.close(fd)
    except OSError:
        pass


def write(how, path, log):
    number, offset, fd = 0, 0, None
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    while True:
        data = record(number)
        try:
            if fd is None:
                fd = open_file(path, how)
            put(fd, data, offset, how)
        except OSError as error:
            name = errno.errorcode.get(error.errno, str(error.errno))
            log.write(f"error {time.time_ns() // 1000000} {name}\n")
            close(fd)
            fd = None
            time.sleep(PAUSE)
            continue
        log.write(f"acked {time.time_ns() // 1000000} {offset} {len(data)} "
                  f"{zlib.crc32(data)}\n")
        number += 1
        offset += len(data)


def verify(path, logs):
    lost = found = 0
    fd = os.open(path, os.O_RDONLY)
    for log in logs:
        with open(log, encoding="ascii") as lines:
            for line in lines:
                if not line.startswith("acked"):
                    continue
                offset, length, crc = map(int, line.split()[2:])
                if zlib.crc32(os.pread(fd, length, offset)) == crc:
                    found += 1
                else:
                    lost += 1
                    print("lost:", line, end="")
    print(f"{found} records found, {lost} lost, of {path}")
    return found > 0 and lost == 0


def main(args):
    if args[:1] == ["verify"] and len(args) > 2:
        return 0 if verify(args[1], args[2:]) else 1
    if args[:1] != ["write"] or len(args) != 4:
        print(__doc__, file=sys.stderr)
        return 64
    signal.signal(signal.SIGTERM, stop)
    with open(args[3], "a", encoding="ascii", buffering=1) as log:
        try:
            write(args[1], args[2], log)
        except Stopped:
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
