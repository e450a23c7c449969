#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a trace in JSON with what tshark sees in a capture of the clients.

usage: tshark_check.py PCAP PORT TRACE

PORT is the proxy's. tshark must find the messages of the trace, no more and no
fewer, and agree on each member that both show. What tshark 4.0 gets wrong, and
so is not compared, is said where it is left out.
"""
import subprocess
import sys
from collections import Counter, defaultdict

import trace_check
from trace_check import fail, read_trace

ZERO_GFID = "00000000-0000-0000-0000-000000000000"
# A field of tshark, and the member that it is at the top of a call or reply.
NUMBERS = {"gluster.op_ret": "op_ret", "gluster.op_errno": "op_errno",
           "glusterfs.fd": "fd", "glusterfs.offset": "offset",
           "glusterfs.size": "size", "glusterfs.size64": "size",
           "glusterfs.mask": "mask", "glusterfs.namelen": "namelen"}
TEXTS = {"glusterfs.pargfid": "pargfid", "glusterfs.oldgfid": "oldgfid",
         "glusterfs.newgfid": "newgfid", "glusterfs.bname": "bname",
         "glusterfs.linkname": "linkname", "glusterfs.volume": "volume"}
ATTRIBUTES = {"glusterfs.ia_ino": "ino", "glusterfs.ia_size": "size",
              "glusterfs.ia_nlink": "nlink", "glusterfs.ia_uid": "uid",
              "glusterfs.ia_gid": "gid", "glusterfs.ia_blocks": "blocks",
              "glusterfs.ia_mode": "mode", "glusterfs.gfid": "gfid"}
CRED = {"rpc.auth.pid": "pid", "rpc.auth.uid": "uid", "rpc.auth.gid": "gid"}
HEAD = ["tcp.srcport", "tcp.dstport", "rpc.xid", "rpc.msgtyp", "rpc.fraglen",
        "rpc.program", "rpc.procedure", "rpc.programversion", "_ws.col.Info",
        "_ws.malformed", "data.len", "glusterfs.num_dict_items"]
FIELDS = list(dict.fromkeys([*HEAD, *CRED, *NUMBERS, *TEXTS, *ATTRIBUTES]))
IATTS = ("stat", "pre", "post", "prep", "postp", "buf", "preold", "postold",
         "prenew", "postnew", "stbuf")
# Its table has a FORGET at 41, and so the wrong procedure from there on.
LAST_RIGHT = 40
# It takes the fd for what stands before it.
WRONG_FD = {"fxattrop"}
SPLIT = ";"


def frames(pcap, port):
    """{field: values} of each frame with RPC in it."""
    command = ["tshark", "-n", "-r", pcap, "-d", f"tcp.port=={port},rpc",
               "-Y", f"rpc && tcp.port=={port}", "-T", "fields",
               "-E", "separator=/t", "-E", "occurrence=a",
               "-E", f"aggregator={SPLIT}"]
    for field in FIELDS:
        command += ["-e", field]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          errors="replace",
                          stderr=subprocess.DEVNULL) as tshark:
        for line in tshark.stdout:
            values = line.rstrip("\n").split("\t")
            yield {field: value.split(SPLIT) if value else []
                   for field, value in zip(FIELDS, values)}
    if tshark.returncode:
        fail(f"tshark ends with {tshark.returncode}")


class Opinion:
    def __init__(self):
        self.compared, self.unknown = Counter(), Counter()
        self.malformed, self.messages = Counter(), 0

    def equal(self, where, name, theirs, ours):
        self.compared[name] += 1
        if theirs != ours:
            fail(f"{where}: {name} is {theirs!r:.90} for tshark, {ours!r:.90} "
                 "in the trace")


def number(text):
    return int(text, 0)


def signed(text):
    value = int(text, 0)
    return value - (1 << 64) if value >= 1 << 63 else value


def is_plain(value):
    """Not a name that tshark or the separator would change."""
    return isinstance(value, int) or (value.isascii() and value.isprintable()
                                      and not set(value) & set("\\;"))


def check_head(opinion, where, frame, i, record, size):
    for field, member in (("rpc.program", "program_number"),
                          ("rpc.procedure", "procedure_number")):
        opinion.equal(where, field, number(frame[field][i]), record[member])
    opinion.equal(where, "rpc.fraglen", number(frame["rpc.fraglen"][i]), size)


def check_alone(opinion, where, frame, record, is_call):
    """The only message of a frame: each field is its own."""
    body = record["call"] if is_call else record["reply"]
    opinion.equal(where, "rpc.programversion",
                  number(frame["rpc.programversion"][0]), record["version"])
    if is_call and record["cred"]["flavour"] != 0:
        for theirs, ours in CRED.items():
            for show in frame[theirs]:
                opinion.equal(where, theirs, number(show) & 0xffffffff,
                              record["cred"][ours] & 0xffffffff)
    if record["program"] != "fop" or record["procedure_number"] > LAST_RIGHT:
        return
    opinion.equal(where, "name",
                  frame["_ws.col.Info"][0].split(" ")[1].lower(),
                  record["procedure"])
    if frame["_ws.malformed"]:
        opinion.malformed[record["procedure"], record["version"],
                          "call" if is_call else "reply"] += 1
        return
    what = where.split(", ")[1]
    for table, read in ((NUMBERS, signed), (TEXTS, str)):
        for theirs, ours in table.items():
            for show in frame[theirs][:1]:
                if ours not in body:
                    opinion.unknown[theirs, what] += 1
                elif is_plain(body[ours]) and not (
                        ours == "fd" and record["procedure"] in WRONG_FD):
                    opinion.equal(where, theirs, read(show), body[ours])
    if "payload" in body and frame["data.len"]:
        opinion.equal(where, "data.len", number(frame["data.len"][0]),
                      body["payload"]["size"])
    if is_call and body.get("gfid") and frame["glusterfs.gfid"]:
        opinion.equal(where, "gfid", frame["glusterfs.gfid"][0], body["gfid"])
    if not is_call:
        check_iatts(opinion, where, frame, record, body)


def check_iatts(opinion, where, frame, record, body):
    # Behind a dict that is not empty it looks for them at wrong places.
    if record["version"] == 400 and (body.get("xdata") or body.get("dict")):
        return
    iatts = [body[key] or {} for key in body if key in IATTS]
    for theirs, ours in ATTRIBUTES.items():
        shows = frame[theirs]
        none = ZERO_GFID if ours == "gfid" else 0
        if len(shows) < len(iatts):
            opinion.unknown[theirs, where.split(", ")[1]] += 1
            continue
        for show, iatt in zip(shows, iatts):
            opinion.equal(where, theirs,
                          show if ours == "gfid" else number(show),
                          iatt.get(ours, none))


def check_frame(opinion, frame, port, waiting):
    ends = [number(frame[end][0]) for end in ("tcp.srcport", "tcp.dstport")]
    client = ends[0] if ends[1] == port else ends[1]
    count = len(frame["rpc.xid"])
    for i, (xid, kind) in enumerate(zip(frame["rpc.xid"],
                                        frame["rpc.msgtyp"])):
        is_call = number(kind) == 0
        opinion.messages += 1
        mine = waiting[client, number(xid), is_call]
        if not mine:
            fail(f"tshark sees {frame['_ws.col.Info']} of {client}, xid "
                 f"{number(xid)}, the trace does not")
            continue
        record = mine.pop(0)
        where = (f"line {record['line']}, {record['procedure']} " +
                 ("call" if is_call else "reply"))
        check_head(opinion, where, frame, i, record,
                   record["call_size" if is_call else "reply_size"])
        if count == 1:
            check_alone(opinion, where, frame, record, is_call)


def main():
    pcap, port, trace = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    waiting, opinion = defaultdict(list), Opinion()
    records = read_trace(trace)
    for record in records:
        client = int(record["client"].rsplit(":", 1)[1])
        waiting[client, record["client_xid"], True].append(record)
        if record["reply"] is not None:
            waiting[client, record["client_xid"], False].append(record)
    for frame in frames(pcap, port):
        check_frame(opinion, frame, port, waiting)
    for (client, xid, is_call), left in waiting.items():
        if left:
            fail(f"tshark does not see xid {xid} of {client}: " +
                 ("call" if is_call else "reply"))
    for key, n in sorted(opinion.unknown.items()):
        print(f"# not in both: {key}: {n}")
    for key, n in sorted(opinion.malformed.items()):
        print("# tshark says malformed:", *key, n)
    print("# compared:", ", ".join(f"{n} {name}" for name, n in
                                   opinion.compared.most_common()))
    malformed = sum(opinion.malformed.values())
    print(f"# {opinion.messages} messages, {len(records)} records; "
          f"{malformed} that tshark cannot decode; "
          f"{len(trace_check.failures)} differences")
    sys.exit(1 if trace_check.failures or not opinion.messages else 0)


if __name__ == "__main__":
    main()
