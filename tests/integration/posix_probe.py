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
import os
import sys

import probe
import probe_names          # each fills SECTIONS
import probe_attributes
import probe_data
import probe_clients


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(probe.SECTIONS))
    parser.add_argument("dir")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--output")
    parser.add_argument("--no-huge", action="store_true")
    args = parser.parse_args()
    probe.HUGE_FILES = not args.no_huge
    if args.output:
        sys.stdout = open(args.output, "w", encoding="utf-8")
    os.umask(0o022)
    for name in args.only.split(","):
        if name in ("locks", "between") and args.other is None:
            continue
        print(f"== {name}", flush=True)
        os.mkdir(f"{args.dir}/{name}")
        other = args.other and f"{args.other}/{name}"
        probe.SECTIONS[name](f"{args.dir}/{name}", other)


if __name__ == "__main__":
    sys.exit(main())
