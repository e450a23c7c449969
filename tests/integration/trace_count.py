#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the lines of a trace: records, and what lines about losses say.

usage: trace_count.py FILE...

Prints "RECORDS LOST_ROOM LOST_WRITE". A line that is neither is an error, but
for the last one of a file that a full disk has cut, which is no record.
"""
import re
import sys

JSON_LOST = re.compile(
    rb'\{"time":"[^"]+","lost":(\d+),"lost_room":(\d+),"lost_write":(\d+)\}\n')
TEXT_LOST = re.compile(
    rb"\S+Z lost=(\d+) lost_room=(\d+) lost_write=(\d+)\n")
# Cheap, and enough to see two lines in one or half of one.
JSON_RECORD = re.compile(
    rb'\{"time":"[^"]{27}","session":.*"outcome":"\w+"(,"truncated":true)?\}\n')
TEXT_RECORD = re.compile(
    rb"\S{26}Z session=\d+ .* outcome=\w+( truncated=true)?\n")


def count(path):
    records = room = write = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            is_json = line.startswith(b"{")
            if (JSON_RECORD if is_json else TEXT_RECORD).fullmatch(line) and \
                    line.count(b'"outcome":"' if is_json
                               else b" outcome=") == 1:
                records += 1
                continue
            lost = (JSON_LOST if is_json else TEXT_LOST).fullmatch(line)
            if lost:
                total, of_room, of_write = map(int, lost.groups())
                if total != of_room + of_write:
                    sys.exit(f"{path}:{number}: {total} is not the sum")
                room += of_room
                write += of_write
            elif line.endswith(b"\n"):
                sys.exit(f"{path}:{number}: malformed: {line[:200]!r}")
    return records, room, write


print(*map(sum, zip(*map(count, sys.argv[1:]))))
