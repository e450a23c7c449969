#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure forebrickd against no proxy and against HAProxy, in one run.

In each round every workload goes every way (direct, haproxy, forebrick) once,
beginning with another way each time. Times of two runs say little on a machine
that is shared: what counts are the ratios within a round. Needs root, a built
tree (--build), GlusterFS and HAProxy; exits 77 where they are not.

  bench.py --build DIR                       the table
  bench.py --build DIR --assert              and fail below the bars
  bench.py --build DIR --quick               only see that it runs
  bench.py --build DIR --rtt 0,1ms,5ms,20ms  with a way between proxy and brick
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from statistics import median

import rig as rigs

WAYS = ["direct", "haproxy", "forebrick"]
MIB, GIB = 1 << 20, 1 << 30
FILE = "big"


# --- workloads: each returns a sample, {"mib_s" or "p50_us", "cpu": {...}} ---
#
# A disturbance lasts longer than a slice of a round, so that all ways have
# their part of it.

def per_gib(before, after, count):
    return {name: (after[name] - before[name]) * GIB / count
            for name in after}


class MountRead:
    """dd bs=1M of the whole file from a mount, none of it cached there."""
    value, unit, slices = "mib_s", "MiB/s", 1

    def __init__(self, client, size):
        self.name = f"mount, {client}"
        self.client, self.size = client, size

    def prepare(self, rig, ways):
        for way in ways:
            path = os.path.join(rig.mount(self.client, way), FILE)
            self.dd(path, count=64)

    @staticmethod
    def dd(path, count=None):
        argv = ["dd", f"if={path}", "of=/dev/null", "bs=1M"]
        if count:
            argv.append(f"count={count}")
        done = subprocess.run(argv, stderr=subprocess.PIPE, text=True,
                              check=True, timeout=1200)
        found = re.search(r"(\d+) bytes .* copied, ([0-9.e+-]+) s",
                          done.stderr)
        return int(found[1]), float(found[2])

    def measure(self, rig, way):
        path = os.path.join(rig.path(f"mount-{self.client}-{way}"), FILE)
        with open(path, "rb") as data:
            os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = rig.cpu(self.client, way)
        size, seconds = self.dd(path)
        if size != self.size:
            raise RuntimeError(f"{path}: {size} of {self.size} bytes")
        return {"mib_s": size / MIB / seconds,
                "cpu": per_gib(before, rig.cpu(self.client, way), size)}


class RawRead:
    """READs of one size at one depth by rpc_load."""
    value, unit, slices = "mib_s", "MiB/s", 4

    def __init__(self, size, depth, total):
        self.name = f"raw READ {size} × {depth}"
        self.size, self.depth = size, depth
        self.total = total // self.slices

    def prepare(self, rig, ways):
        pass

    def measure(self, rig, way):
        before = rig.cpu(way=way)
        got = rig.load(way, "read", "--file", FILE, "--size", self.size,
                       "--depth", self.depth, "--bytes", self.total)
        after = rig.cpu(way=way)
        return {"mib_s": got["mib_s"], "p50_us": got["p50_us"],
                "cpu": per_gib(before, after, got["count"] * got["size"])}


class RawStat:
    """STATs at one depth; the time of one, or how many a second."""
    slices = 4

    def __init__(self, depth, seconds):
        self.name = f"raw STAT × {depth}"
        self.depth, self.seconds = depth, seconds
        self.value, self.unit = (("p50_us", "µs (p50)") if depth == 1 else
                                 ("rate", "calls/s"))

    def prepare(self, rig, ways):
        pass

    def measure(self, rig, way):
        before = rig.cpu(way=way)
        got = rig.load(way, "stat", "--file", FILE, "--depth", self.depth,
                       "--seconds", f"{self.seconds}s")
        after = rig.cpu(way=way)
        # CPU microseconds of one call
        return {**{key: got[key] for key in ("p50_us", "p90_us", "p99_us",
                                             "mean_us", "rate")},
                "cpu": {name: (after[name] - before[name]) * 1e6 /
                        got["count"] for name in after}}


# --- rounds ---

def rotated(items, by):
    by %= len(items)
    return items[by:] + items[:by]


def merged(samples):
    """The medians of several short samples as one."""
    first = samples[0]
    return {key: ({name: median(s[key][name] for s in samples)
                   for name in first[key]} if key == "cpu" else
                  median(s[key] for s in samples)) for key in first}


class Others:
    """The share of the machine that went to others since it was made."""

    def __init__(self, rig):
        self.rig = rig
        self.ours = rig.our_seconds()
        self.busy, self.all = rigs.machine_seconds()

    def share(self):
        busy, every = rigs.machine_seconds()
        ours = self.rig.our_seconds() - self.ours
        return max(0, busy - self.busy - ours) / max(every - self.all, 0.01)


def run_round(rig, number, workloads, ways, results):
    for load in rotated(workloads, number):
        others = Others(rig)
        taken = {way: [] for way in ways}
        for turn in range(load.slices):
            for way in rotated(ways, number + turn):
                taken[way].append(load.measure(rig, way))
                rig.check_alive()
        for way in ways:
            results[load.name][way].append(merged(taken[way]))
        results[load.name]["others"].append(others.share())


def measure(rig, args, workloads, ways):
    """{rtt: {workload: {way: [sample of each round]}}}"""
    results = {rtt: {load.name: {way: [] for way in [*ways, "others"]}
                     for load in workloads} for rtt in args.rtt or ["none"]}
    deadline = time.monotonic() + args.limit
    for number in range(args.rounds):
        if time.monotonic() > deadline:
            args.rounds = number
            break
        for rtt in results:
            if args.rtt:
                rig.set_rtt(rtt)
            run_round(rig, number, workloads, ways, results[rtt])
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
    return results


# --- figures of a workload, as report and bars want them ---

def spread(values, digits):
    return (f"{median(values):.{digits}f} "
            f"({min(values):.{digits}f}–{max(values):.{digits}f})")


def ratios(samples, way, base, key):
    return [s[key] / b[key] for s, b in zip(samples[way], samples[base])]


def cpu_ratios(samples, way, base):
    return [s["cpu"]["proxy"] / max(b["cpu"]["proxy"], 1e-9)
            for s, b in zip(samples[way], samples[base])]


def added(samples, way):
    """What a way adds to the time of a call, by rounds."""
    return [s["p50_us"] - d["p50_us"]
            for s, d in zip(samples[way], samples["direct"])]


def cpu_cells(load, samples):
    digits = 2 if load.value == "mib_s" else 1
    cells = []
    for part in ("client", "reader", "proxy", "delay", "brick"):
        values = [s["cpu"][part] for s in samples if part in s["cpu"]]
        cells.append(f"{median(values):.{digits}f}" if values else "")
    return cells


def table(workloads, ways, results):
    rows = [["workload", "way", "value", "to direct", "to HAProxy", "client",
             "reader", "proxy", "delay", "brick", "others"]]
    rows.append(["---"] * len(rows[0]))
    for load in workloads:
        samples = results[load.name]
        for way in ways:
            row = [load.name, way, spread([s[load.value] for s in
                                           samples[way]], 0) +
                   " " + load.unit]
            for base in ("direct", "haproxy"):
                row.append(spread(ratios(samples, way, base, load.value), 2)
                           if base in ways and base != way else "")
            rows.append(row + cpu_cells(load, samples[way]) +
                        [f"{median(samples['others']) * 100:.0f} %"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def bars(workloads, results):
    """[(sentence, figure, does it hold)] for forebrick against HAProxy."""
    out = []
    for load in workloads:
        samples = results[load.name]
        if load.value == "mib_s":
            got = median(ratios(samples, "forebrick", "haproxy", "mib_s"))
            out.append((f"{load.name}: throughput to HAProxy's >= 1.0", got,
                        got >= 1))
            got = median(cpu_ratios(samples, "forebrick", "haproxy"))
            out.append((f"{load.name}: CPU to HAProxy's <= 1.0", got,
                        got <= 1))
        elif load.value == "p50_us":
            ours, theirs = (median(added(samples, way))
                            for way in ("forebrick", "haproxy"))
            out.append((f"{load.name}: added latency to HAProxy's <= 1.0 "
                        f"({ours:.1f} and {theirs:.1f} µs)",
                        ours / max(theirs, 0.1), ours <= theirs))
    return out


def version(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else argv[0]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    return {"kernel": platform.release(),
            "cpu": f"{os.cpu_count()} x {model[1] if model else '?'}",
            "load": os.getloadavg()[0],
            "glusterfs": version("glusterfs", "--version"),
            "haproxy": version("haproxy", "-v")}


def report(args, workloads, ways, results, facts):
    text = [f"# forebrick, measured {time.strftime('%Y-%m-%d %H:%M')}", "",
            f"{facts['cpu']}, Linux {facts['kernel']}, {facts['glusterfs']}, "
            f"{facts['haproxy']}; load {facts['load']:.1f} at the start, "
            f"{os.getloadavg()[0]:.1f} at the end. A sparse file of "
            f"{args.size >> 20} MiB; medians (least–most) of {args.rounds} "
            "rounds, ratios by rounds. CPU: seconds for each GiB, "
            "microseconds for each STAT; reader is dd or the raw client; others "
            "is the share of the machine that this run did not have."]
    verdicts = []
    for rtt, by_load in results.items():
        text += ["", f"## Round trip to the brick: {rtt}", "",
                 table(workloads, ways, by_load)]
        if set(WAYS) <= set(ways):
            verdicts = bars(workloads, by_load)
            text += ["", "| bar | figure | |", "|---|---|---|"]
            text += [f"| {what} | {figure:.2f} | "
                     f"{'holds' if holds else 'does not hold'} |"
                     for what, figure, holds in verdicts]
            if args.check and not all(v[2] for v in verdicts):
                args.failed = True
    return "\n".join(text) + "\n"


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=".", help="where it is built")
    parser.add_argument("--forebrickd", help="the daemon, if not that one")
    parser.add_argument("--forebrickd-option", action="append", default=[],
                        help="an argument for it; may be repeated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=float("inf"),
                        help="begin no further round after that many seconds")
    parser.add_argument("--size", type=int, default=2048, help="MiB")
    parser.add_argument("--rtt", type=lambda text: text.split(","))
    parser.add_argument("--ways", type=lambda text: text.split(","),
                        default=WAYS)
    parser.add_argument("--only", help="workloads whose name has this in it")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--assert", dest="check", action="store_true")
    parser.add_argument("--nice", type=int, help="run all of it at that "
                        "priority, against what else the machine does")
    parser.add_argument("--json", help="file for every sample")
    parser.add_argument("--markdown", help="file for the table")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.size = min(args.rounds, 2), min(args.size, 32)
    args.size *= MIB
    args.failed = False
    return args


def make_workloads(args):
    seconds = 0.05 if args.quick else 0.5
    loads = [MountRead("neither", args.size), MountRead("default", args.size),
             RawRead("128KiB", 1, args.size // 2),
             RawRead("128KiB", 4, args.size),
             RawStat(1, seconds), RawStat(32, seconds)]
    if args.only:
        loads = [load for load in loads if args.only in load.name]
    return loads


def main():
    args = parse_args()
    build = os.path.abspath(args.build)
    rig = rigs.Rig(rigs.enter_namespaces(), build, args.forebrickd)
    if args.nice is not None:
        rigs.set_priority(args.nice)
    workloads = make_workloads(args)
    facts = machine()
    rig.start_brick()
    # Created over the wire, so that it has a gfid; read once, so that no later
    # row pays for filling the brick's page cache.
    rig.load("direct", "read", "--file", FILE, "--bytes", args.size, "--size",
             "1MiB")
    if args.rtt:
        rig.start_relay()
    if "haproxy" in args.ways:
        rig.start_haproxy()
    if "forebrick" in args.ways:
        rig.start_forebrick(args.forebrickd_option)
    for load in workloads:
        load.prepare(rig, args.ways)
    results = measure(rig, args, workloads, args.ways)
    text = report(args, workloads, args.ways, results, facts)
    print(text, end="")
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as out:
            out.write(text)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"machine": facts, "rounds": args.rounds,
                       "file_bytes": args.size, "results": results}, out,
                      indent=1)
    sys.exit(1 if args.failed else 0)


if __name__ == "__main__":
    main()
