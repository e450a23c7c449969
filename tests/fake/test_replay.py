#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""RP-04: a recorded mount session, cut into pieces in every way there is.

What arrives at the other side is what was sent, but for the xids of calls and
replies, which are mapped before they are compared.
"""
import fcntl
import os
import threading

import wire
from peers import HERE, Brick, Client, Daemon, FakeTest, figure, main, times

RECORDING = os.path.join(HERE, "../wire/session/mount.records")
SIOCOUTQ = 0x5411


def load():
    """[(True from the client, record with its mark)] in order."""
    records = []
    with open(RECORDING, encoding="ascii") as lines:
        for line in lines:
            if line[0] in "<>":
                records.append((line[0] == ">", bytearray()))
            elif line[0] != "#":
                records[-1][1].extend(bytes.fromhex(line))
    return [(is_call, bytes(record)) for is_call, record in records]


SESSION = load()
CALLS = [record for from_client, record in SESSION if from_client]
REPLIES = [record for from_client, record in SESSION if not from_client]
CALL_BYTES = b"".join(CALLS)
REPLY_BYTES = b"".join(REPLIES)


def is_reply(record):
    return record[8:12] == wire.u32(1)


def boundaries(records):
    """Offsets at which a record ends."""
    at, ends = 0, [0]
    for record in records:
        at += len(record)
        ends.append(at)
    return ends


def send_pieces(stream, data, cuts):
    """Each piece is sent when the daemon has read the one before."""
    start = 0
    for cut in [*cuts, len(data)]:
        stream.send_raw(data[start:cut])
        start = cut
        while unread(stream.sock):
            pass


def unread(sock):
    """On a unix socket, what the other side has not read yet."""
    size = bytearray(4)
    fcntl.ioctl(sock, SIOCOUTQ, size)
    return any(size)


def send_bytes(stream, data):
    for n in range(len(data)):
        stream.send_raw(data[n:n + 1])


class Replay(FakeTest):
    def start(self, *options):
        """Both sides are unix sockets: they tell what has been read."""
        self.peer = self.keep(Brick(unix=f"{self.dir}/brick"))
        self.path = f"{self.dir}/proxy"
        return self.keep(Daemon(self.dir, "--listen", f"unix:{self.path}",
                                "--brick", self.peer.address, *options))

    def take_calls(self, end):
        """At the brick: all calls, of which the xids are returned."""
        xids = {}
        got = end.exactly(len(CALL_BYTES))
        at = 0
        for record in CALLS:
            arrived = got[at:at + len(record)]
            self.assertEqual(arrived[:4] + arrived[8:],
                             record[:4] + record[8:])
            xids[record[4:8]] = arrived[4:8]
            at += len(record)
        return xids

    @staticmethod
    def mapped(records, xids):
        return b"".join(
            r[:4] + xids[r[4:8]] + r[8:] if is_reply(r) else r
            for r in records)

    def assert_replayed(self, client, end, send_calls, send_replies):
        sender = threading.Thread(target=send_calls)
        sender.start()
        xids = self.take_calls(end)
        sender.join()
        answer = self.mapped(REPLIES, xids)
        sender = threading.Thread(target=send_replies, args=(answer,))
        sender.start()
        self.assertEqual(client.exactly(len(REPLY_BYTES)), REPLY_BYTES)
        sender.join()
        self.assertTrue(client.is_quiet(0))
        self.assertTrue(end.is_quiet(0))


class Pieces(Replay):
    def test_one_byte_per_tcp_segment(self):
        self.peer = self.brick()
        proxy = self.daemon(self.peer)
        client = self.client(proxy)
        client.send_raw(CALL_BYTES[:len(CALLS[0])])
        end = self.keep(self.peer.accept())
        self.assert_replayed(
            client, end,
            lambda: send_bytes(client, CALL_BYTES[len(CALLS[0]):]),
            lambda answer: send_bytes(end, answer))
        figure(f"{len(SESSION)} records: {len(CALL_BYTES)} bytes one way, "
               f"{len(REPLY_BYTES)} the other")

    def test_one_byte_per_read(self):
        self.start()
        client = self.keep(Client(self.path))
        send_pieces(client, CALLS[0], range(1, len(CALLS[0])))
        end = self.keep(self.peer.accept())
        rest = CALL_BYTES[len(CALLS[0]):]
        self.assert_replayed(
            client, end,
            lambda: send_pieces(client, rest, range(1, len(rest))),
            lambda answer: send_pieces(end, answer, range(1, len(answer))))

    def test_cut_at_every_position_once(self):
        """Some cuts a session, far apart; in a soak each has its own."""
        self.start()
        size = max(len(CALL_BYTES), len(REPLY_BYTES))
        sessions = times(-(-size // 12), size)
        for first in range(1, sessions + 1):
            with Client(self.path) as client:
                self.replay_with_cuts(client, first, sessions)
        figure(f"{sessions} sessions, {size} positions in each direction")

    def replay_with_cuts(self, client, first, step):
        cuts = range(first, len(CALL_BYTES), step)
        sender = threading.Thread(target=send_pieces,
                                  args=(client, CALL_BYTES, cuts))
        sender.start()
        with self.peer.accept() as end:
            xids = self.take_calls(end)
            sender.join()
            answer = self.mapped(REPLIES, xids)
            sender = threading.Thread(
                target=send_pieces,
                args=(end, answer, range(first, len(answer), step)))
            sender.start()
            self.assertEqual(client.exactly(len(REPLY_BYTES)), REPLY_BYTES)
            sender.join()

    def test_all_in_one_piece(self):
        self.start()
        with Client(self.path) as client:
            self.replay_with_cuts(client, len(CALL_BYTES) * 2, 1)


class Ends(Replay):
    """A side that goes at any position: the other gets what was whole, maybe a
    part of what was under way, nothing else, and the end."""

    AT_A_TIME = 50
    STEP = times(11, 1)

    def batches(self, size):
        positions = list(range(0, size, self.STEP))
        for n in range(0, len(positions), self.AT_A_TIME):
            yield positions[n:n + self.AT_A_TIME]

    def begin(self, sent):
        """A session whose client has sent so many bytes of its calls."""
        client = Client(self.path)
        client.send_raw(CALL_BYTES[:min(sent, len(CALLS[0]))])
        end = self.peer.accept() if sent >= len(CALLS[0]) else None
        client.send_raw(CALL_BYTES[len(CALLS[0]):sent])
        return client, end

    def assert_prefix(self, got, sent, cut, ends):
        """got is sent, at least up to the last record that was whole."""
        self.assertEqual(got, sent[:len(got)])
        self.assertLessEqual(len(got), cut)
        self.assertGreaterEqual(len(got), max(e for e in ends if e <= cut))

    def test_of_the_client(self):
        proxy = self.start("--half-close-timeout", "0")
        before = proxy.descriptors()
        ends = boundaries(CALLS)
        for batch in self.batches(len(CALL_BYTES)):
            sessions = [(cut, *self.begin(cut)) for cut in batch]
            for _, client, _ in sessions:
                client.close()
            for cut, _, end in sessions:
                if end is None:
                    continue
                got = end.rest()
                end.close()
                xids = {r[4:8]: got[at + 4:at + 8]
                        for r, at in zip(CALLS, ends)}
                self.assert_prefix(got, self.with_xids(xids), cut, ends)
        self.assertTrue(self.peer.is_quiet(0))
        self.assert_descriptors_return(proxy, before)

    @staticmethod
    def with_xids(xids):
        return b"".join(r[:4] + xids[r[4:8]] + r[8:] for r in CALLS
                        if len(xids[r[4:8]]) == 4)

    def test_of_the_brick(self):
        proxy = self.start()
        before = proxy.descriptors()
        ends = boundaries(REPLIES)
        for batch in self.batches(len(REPLY_BYTES)):
            sessions = [(cut, *self.begin(len(CALL_BYTES))) for cut in batch]
            for cut, _, end in sessions:
                xids = self.take_calls(end)
                end.send_raw(self.mapped(REPLIES, xids)[:cut])
                end.close()
            for cut, client, _ in sessions:
                self.assert_prefix(client.rest(), REPLY_BYTES, cut, ends)
                client.close()
        self.assert_descriptors_return(proxy, before)


if __name__ == "__main__":
    main()
