#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a trace in JSON with what a packet capture says has happened.

usage: trace_check.py --pcap FILE --trace FILE --listen PORT=BRICK ...
           [--payload BYTES] [--text FILE] [--need] [--drained]

The capture holds both sides of the proxy; PORT=BRICK is a listener and the
address that it forwards to. Each RPC of the capture must have exactly one
record, each record an RPC; every member is compared. Beyond that the brick has
to have got what the client sent, and the client what the brick sent, but for
the xid.

--text: the trace, as text, of a second proxy behind the first; it must tell of
the same calls. --need: every procedure that a FUSE or libgfapi client can make
must have been seen, and every other one of a raw client. --drained: the proxy
has ended by itself: what it has read was answered. --trace may be given several
times, for a trace that was rotated.
"""
import argparse
import json
import re
import struct
import sys
from collections import Counter, defaultdict

import wire_capture
from wire_decode import (CBK, FOP, PROCEDURES, PROGRAMS, Call, Time,
                         credential, old_dict, show_call, show_reply)

# No xlator of a 10.3 client makes these; the raw client does. SETACTIVELK and
# NAMELINK kill a brick and are refused; COMPOUND (49) went with release 6.
ONLY_RAW = {"null", "fentrylk", "getactivelk", "setactivelk", "icreate",
            "namelink", "put"}
CALLBACKS = {"cache_invalidation", "recall_lease", "inodelk_contention"}
# Clocks are read at different moments by proxy and kernel.
SLACK = 0.005
failures = []


def fail(text):
    failures.append(text)
    if len(failures) <= 40:
        print("not ok -", text)


# --- the trace ---

def only_once(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name stands twice")
    return value


def read_trace(*paths):
    records, number = [], 0
    for path in paths:
        with open(path, "rb") as file:
            lines = file.readlines()
        for line in lines:
            number += 1
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("the line is not closed")
                record = json.loads(line.decode("utf-8"), parse_float=Time,
                                    object_pairs_hook=only_once)
                if "lost" in record:
                    raise ValueError("records were lost")
                record["line"] = number
                records.append(record)
            except ValueError as error:
                fail(f"line {number} is malformed: {error}: {line[:200]}")
    return records


def seconds(text):
    m = re.fullmatch(r"(\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d\.\d{6})Z", text)
    if not m:
        return None
    year, month, day = (int(m.group(i)) for i in (1, 2, 3))
    a = (14 - month) // 12
    y, mo = year + 4800 - a, month + 12 * a - 3
    days = (day + (153 * mo + 2) // 5 + 365 * y + y // 4 - y // 100 +
            y // 400 - 32045 - 2440588)
    return (days * 86400 + int(m.group(4)) * 3600 + int(m.group(5)) * 60 +
            float(m.group(6)))


# --- the truth ---

def kind_of(options):
    """Which client sends such a SETVOLUME."""
    if options.get("process-name", "").startswith("gfapi"):
        return "gfapi"
    is_real = options.get("process-uuid", "").startswith("CTX_ID:")
    return "mount" if is_real else "raw"


class Session:
    """A client's connection and the one that the proxy made for it."""

    def __init__(self, client, brick_text):
        self.client, self.brick_text = client, brick_text
        self.brick_calls, self.brick = {}, None     # by the client's xid
        self.kind = "none"
        for record in client.calls:
            call = Call(record.bytes)
            if call.name == "handshake/setvolume":
                self.kind = kind_of(old_dict(call.args) or {})

    def pair(self, candidates):
        """Find the brick's connection among them by what was sent on it."""
        for brick in candidates:
            pairs = self.match(brick)
            if pairs is not None:
                self.brick, self.brick_calls = brick, pairs
                candidates.remove(brick)
                return
        if any(call.reply for call in self.client.calls):
            fail(f"{self.client}: no connection to the brick has its calls")

    def match(self, brick):
        pairs, waiting = {}, iter(brick.calls)
        sent = next(waiting, None)
        for call in self.client.calls:
            if sent is not None and sent.bytes[4:] == call.bytes[4:]:
                pairs[call.xid] = sent
                sent = next(waiting, None)
        return pairs if sent is None and pairs else None


def read_capture(path, listeners):
    sessions, below = [], defaultdict(list)
    for connection in wire_capture.connections(path):
        port = connection.server[1]
        if port in listeners:
            sessions.append(Session(connection, listeners[port]))
        else:
            below["%s:%d" % connection.server].append(connection)
    # Those with the longest history are the least ambiguous.
    for s in sorted(sessions, key=lambda s: -len(s.client.calls)):
        s.pair(below[s.brick_text])
    for left in below.values():
        for connection in left:
            if connection.calls:
                fail(f"{connection}: the proxy made calls of its own")
    return sessions


# --- one against the other ---

def compare(where, expected, actual):
    """Paths at which two values differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        out = []
        for key in expected.keys() | actual.keys():
            if key not in actual:
                out.append(f"{where}.{key} is missing: {expected[key]!r:.90}")
            elif key not in expected:
                out.append(f"{where}.{key} should not be: {actual[key]!r:.90}")
            else:
                out += compare(f"{where}.{key}", expected[key], actual[key])
        return out
    if isinstance(expected, list) and isinstance(actual, list) and \
            len(expected) == len(actual):
        return [line for i, (e, a) in enumerate(zip(expected, actual))
                for line in compare(f"{where}[{i}]", e, a)]
    if isinstance(expected, float) and not isinstance(actual, bool):
        return [] if float(actual) == expected else \
            [f"{where} is {actual}, should be {expected}"]
    if type(expected) is type(actual) and expected == actual:
        return []
    return [f"{where} is {actual!r:.150}, should be {expected!r:.150}"]


def head(session, call, xid, brick_xid):
    return {
        "client": "%s:%d" % session.client.client,
        "brick": session.brick_text,
        "program": PROGRAMS.get((call.program, call.version)),
        "program_number": call.program, "version": call.version,
        "procedure": call.row[0] if call.row else None,
        "procedure_number": call.number,
        "client_xid": xid, "brick_xid": brick_xid,
        "cred": credential(call),
    }


def expected_call(session, record, reply, payload):
    call = Call(record.bytes)
    sent = session.brick_calls.get(record.xid)
    out = head(session, call, record.xid, sent.xid if sent else 0)
    out["call"] = show_call(call, payload)
    out["call_size"] = len(record.bytes)
    out["by"] = "client"
    if reply is None:
        out.update(reply=None, outcome="unanswered")
    else:
        out.update(reply=show_reply(call, reply.bytes, payload),
                   reply_size=len(reply.bytes),
                   outcome="forwarded" if sent else "refused")
    return call, out


def check_passage(session, record):
    """What the brick has sent is what the client got."""
    sent = session.brick_calls.get(record.xid)
    if sent is None or record.reply is None:
        return
    if sent.reply is None:
        fail(f"{session.client} xid {record.xid}: answered, but not by the "
             "brick")
    elif sent.reply.bytes[4:] != record.reply.bytes[4:]:
        fail(f"{session.client} xid {record.xid}: the reply was changed")


def last_reply(session, record, found):
    """The brick's answer to a client that closed before it had come."""
    sent = session.brick_calls.get(record.xid)
    if sent is None or not session.client.up.has_ended or \
            [r["outcome"] for r in found] != ["forwarded"]:
        return None
    return sent.reply


def undelivered(session, records):
    """Callbacks of the brick to a client that had closed; some are told."""
    if session.brick is None or not session.client.up.has_ended:
        return []
    had = {callback.xid for callback in session.client.callbacks}
    return [callback for callback in session.brick.callbacks
            if callback.xid not in had and (True, callback.xid) in records]


def check_times(name, trace, begin, end):
    latency, time = trace.pop("latency_us"), seconds(trace.pop("time"))
    if time is None or not begin - SLACK <= time <= end + SLACK:
        fail(f"{name}: time {time} is not within {begin} and {end}")
    elif time + latency / 1e6 > end + SLACK or latency < 0:
        fail(f"{name}: {latency} us, but {end - begin:.6f} s went by")


class Seen:
    def __init__(self):
        self.counts = defaultdict(Counter)

    def add(self, call, kind):
        self.counts[call.name, call.version][kind] += 1

    def show(self):
        for (name, version), kinds in sorted(self.counts.items()):
            text = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
            print(f"# {name} {version}: {text}")

    def need(self):
        for (program, version, _), row in PROCEDURES.items():
            if program != FOP:
                continue
            kinds = self.counts.get((f"fop/{row[0]}", version), {})
            if not kinds:
                fail(f"{row[0]} ({version}) has not been seen")
            elif version == 400 and row[0] not in ONLY_RAW and \
                    not kinds.keys() & {"mount", "gfapi"}:
                fail(f"{row[0]} ({version}) was made by no FUSE or gfapi "
                     "client")
        for name in CALLBACKS:
            if (f"callback/{name}", 1) not in self.counts:
                fail(f"callback {name} has not been seen")


def check_session(session, records, payload, seen):
    """records: of this session, by (is a callback, xid)."""
    client = session.client
    if len({record.xid for record in client.calls}) < len(client.calls):
        fail(f"{client}: an xid is used twice")
    for record in client.calls:
        found = records.pop((False, record.xid), [])
        reply = record.reply or last_reply(session, record, found)
        call, expected = expected_call(session, record, reply, payload)
        name = f"{client} {call.name} xid {record.xid}"
        if not found and reply is None and \
                record.xid not in session.brick_calls and client.down.has_ended:
            continue        # came after the session's end: was never read
        seen.add(call, session.kind)
        check_passage(session, record)
        check_one(name, found, expected, record.begin,
                  reply.end if reply else 2e10)
    sent = {r.xid: r for r in session.brick.callbacks} if session.brick else {}
    for record in client.callbacks + undelivered(session, records):
        call = Call(record.bytes)
        expected = head(session, call, record.xid, record.xid)
        expected.update(call=show_call(call, payload), reply=None,
                        call_size=len(record.bytes), by="brick",
                        outcome="callback")
        seen.add(call, session.kind)
        if record.xid not in sent:
            fail(f"{client} {call.name} xid {record.xid}: not by the brick")
            continue
        if record.bytes != sent[record.xid].bytes:
            fail(f"{client} {call.name} xid {record.xid}: it was changed")
        # Without one at the client: read soon, as far as it was read.
        end = record.end if record in client.callbacks else record.end + 1
        check_one(f"{client} {call.name} xid {record.xid}",
                  records.pop((True, record.xid), []), expected,
                  sent[record.xid].begin, end)
    for left in records.values():
        fail(f"line {left[0]['line']}: no such RPC was on the wire")
    if client.up.rest and not client.down.has_ended:
        fail(f"{client}: the capture ends within a call")


def check_drained(sessions):
    """Each call that went to the brick has its reply at the client."""
    unread = 0
    for session in sessions:
        for record in session.client.calls:
            if record.reply:
                continue
            if record.xid in session.brick_calls:
                fail(f"{session.client} xid {record.xid}: its reply is lost")
            unread += 1
        if session.brick and session.brick.up.rest:
            fail(f"{session.brick}: a call was cut off")
    print(f"# {unread} calls were left unread at the end")


def check_one(name, found, expected, begin, end):
    if len(found) != 1:
        fail(f"{name}: {len(found)} records")
        return
    trace = dict(found[0])
    line = trace.pop("line")
    trace.pop("session")
    try:
        check_times(name, trace, begin, end)
    except KeyError as key:
        fail(f"line {line}: no {key}")
    for text in compare("", expected, trace):
        fail(f"line {line}, {name}: {text}")


def match_sessions(records, sessions):
    """[(session of the capture, its records)]: by address, then by order."""
    by_id = defaultdict(lambda: defaultdict(list))
    address = {}
    for record in records:
        key = (record["outcome"] == "callback", record["client_xid"])
        by_id[record["session"]][key].append(record)
        address.setdefault(record["session"], record["client"])
    ids = defaultdict(list)
    for number in sorted(by_id):
        ids[address[number]].append(number)
    out = []
    for session in sessions:
        if not any(call.reply for call in session.client.calls):
            continue
        mine = ids["%s:%d" % session.client.client]
        out.append((session, by_id.pop(mine.pop(0)) if mine else {}))
    for number in by_id:
        fail(f"session {number} of the trace is not in the capture")
    return out


TEXT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z session=\d+ (\S+/\S+) "
    r"xid=(\d+)/\d+ .*\| .*call_size=(\d+)(?: reply_size=(\d+))? "
    r"latency_us=\d+ by=\w+ outcome=(\w+)\n")


def key_of(record, reply=None):
    call = Call(record.bytes)
    return (call.name, record.xid, len(record.bytes),
            len(reply.bytes) if reply else 0)


def check_text(path, sessions):
    """The second proxy's lines, against what passed between the two."""
    told = Counter()
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            m = TEXT.fullmatch(line)
            if m is None:
                fail(f"text line {number} is malformed: {line[:200]!r}")
            elif m.group(5) in ("forwarded", "callback"):
                told[m.group(1), *map(int, m.group(2, 3)),
                     int(m.group(4) or 0)] += 1
    passed, late = Counter(), Counter()
    for brick in (s.brick for s in sessions if s.brick):
        for call in brick.calls:
            if call.reply:
                passed[key_of(call, call.reply)] += 1
            else:
                late[key_of(call)[:3]] += 1
        for callback in brick.callbacks:
            passed[key_of(callback)] += 1
        if brick.callbacks:     # they are numbered
            late["next", brick.callbacks[-1].xid + 1] += 1
    for key in passed - told:
        fail(f"{key}: {passed[key]} were passed on, {told[key]} told as text")
    # What it had from the brick when the first proxy had closed already.
    for key, n in (told - passed).items():
        known = (("next", key[1]) if key[0].startswith("callback/")
                 else key[:3])
        if late[known] < n:
            fail(f"{key}: {told[key]} told as text, {passed[key]} passed on")
    print(f"# {sum(told.values())} lines of text, {sum(passed.values())} "
          "passed between the proxies")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pcap", required=True)
    parser.add_argument("--trace", required=True, action="append")
    parser.add_argument("--listen", action="append", required=True)
    parser.add_argument("--payload", type=int, default=0)
    parser.add_argument("--text")
    parser.add_argument("--need", action="store_true")
    parser.add_argument("--drained", action="store_true")
    args = parser.parse_args()
    listeners = {int(port): brick for port, brick in
                 (text.split("=") for text in args.listen)}
    records = read_trace(*args.trace)
    seen = Seen()
    sessions = read_capture(args.pcap, listeners)
    if args.text:
        check_text(args.text, sessions)
    for session, mine in match_sessions(records, sessions):
        check_session(session, mine, args.payload, seen)
    seen.show()
    if args.need:
        seen.need()
    if args.drained:
        check_drained(sessions)
    calls = sum(len(s.client.calls) for s in sessions)
    callbacks = sum(len(s.client.callbacks) for s in sessions)
    outcomes = Counter(r["outcome"] for r in records)
    print(f"# {len(sessions)} sessions, {calls} calls, {callbacks} callbacks; "
          f"{len(records)} records: {dict(outcomes)}; {len(failures)} faults")
    sys.exit(1 if failures or not records else 0)


if __name__ == "__main__":
    main()
