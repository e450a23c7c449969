#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What bricks answer, and what becomes of it: everything reaches the client
byte for byte but what would make it take one call's answer for another's.
"""
import os
import re
import socket
import struct
import time

import wire
from peers import Brick, BrickEnd, FakeTest, figure, main, wait_for

UNKNOWN = {
    "a procedure of version 400": (wire.FOP, 400, 200),
    "a version of the file program": (wire.FOP, 512, 12),
    "version 330": (wire.FOP, 330, 12),
    "a program": (0x12345678, 9, 10),
    "a procedure of the handshake": (wire.HNDSK, 2, 77),
    "numbers at their end": (0xffffffff, 0xffffffff, 0xffffffff),
}


class Mounted(FakeTest):
    def setUp(self):
        super().setUp()
        self.peer = self.brick()
        self.proxy = self.daemon(self.peer)
        self.session, self.end = self.pair(self.proxy, self.peer)

    def assert_session_works(self):
        xid = self.session.send(wire.PING)
        self.end.reply(self.end.expect(wire.PING), bytes(12))
        self.assertEqual(self.session.reply().xid, xid)

    def assert_both_closed(self, reason):
        name = re.escape(self.session.name())
        self.assert_ended(self.session)
        self.assert_ended(self.end)
        self.proxy.logged(f"warn session \\d+ {name}: .*{reason}")
        self.assert_next_session_works()

    def assert_next_session_works(self):
        self.assert_alive(self.proxy)
        session, end = self.pair(self.proxy, self.peer)
        session.close()
        self.assert_ended(end)
        end.close()

    def exchange(self, proc, args, results):
        """Call and reply arrive as they were sent, but for the xid."""
        xid = self.session.send(proc, args)
        sent = wire.call(xid, proc, args)
        got = self.end.expect(proc)
        self.assertEqual(got.record[4:], sent[4:])
        self.end.reply(got, results)
        self.assertEqual(self.session.record(), wire.reply(xid, results))


class Unknown(Mounted):
    def daemon(self, brick, *options, **how):
        return super().daemon(brick, "--trace-file", f"{self.dir}/trace",
                              "--trace-format", "json", **how)

    def assert_traced(self, *numbers):
        def found():
            with open(self.proxy.trace, encoding="ascii") as trace:
                return any(all(re.search(rf"\b{n}\b", line) for n in numbers)
                           for line in trace)
        wait_for(found, f"in the trace: {numbers}")

    def test_calls_pass_both_ways_and_are_traced_by_number(self):
        for what, proc in UNKNOWN.items():
            for size in (0, 4, 1000, 300001):
                with self.subTest(what, size=size):
                    self.exchange(proc, wire.pattern(0, size),
                                  wire.pattern(7, size))
            self.assert_traced(*proc)

    def test_callbacks_pass_with_their_xid(self):
        for proc in ((wire.CBK, 1, 5), (wire.CBK, 1, 99), (0x12345678, 1, 1)):
            for size in (0, 396, 100001):
                with self.subTest(proc, size=size):
                    record = wire.call(1, proc, wire.pattern(3, size),
                                       cred=wire.AUTH_NONE)
                    self.end.send_record(record)
                    self.assertEqual(self.session.record(), record)
            self.assert_traced(*proc)

    def test_a_client_of_version_330_is_served(self):
        client = self.client(self.proxy)
        cred = wire.auth(wire.CRED_V2, wire.u32(4242, 0, 0, 0) +
                         wire.opaque(bytes(8)))
        args = wire.GFID + wire.u64(0, 0) + wire.u32(100, 0) + wire.u32(0)
        xid = client.send((wire.FOP, 330, 12), args, cred=cred)
        end = self.keep(self.peer.accept())
        got = end.expect((wire.FOP, 330, 12))
        self.assertEqual((got.cred, got.args), (cred, args))
        end.reply(got, wire.u32(100, 0) + bytes(100) + wire.u32(100, 0) +
                  bytes(100))
        self.assertEqual(client.reply().xid, xid)


class Answers(Mounted):
    def test_every_accept_status_and_denial_passes(self):
        answers = [
            lambda xid, status=status: wire.reply(xid, b"", status)
            for status in (1, 3, 4, 5, 99)]
        answers += [
            lambda xid: wire.reply(xid, wire.u32(0, 0), 2),
            lambda xid: wire.denied(xid, 0, 2, 2),
            lambda xid: wire.denied(xid, 1, 0),
            lambda xid: wire.denied(xid, 1, 5),
            lambda xid: wire.u32(xid, 1, 0, 0, 8) + bytes(8) + wire.u32(0) +
            bytes(12),
        ]
        for answer in answers:
            xid = self.session.send(wire.STAT, wire.GFID + wire.NO_XDATA)
            self.end.send_record(answer(self.end.expect().xid))
            self.assertEqual(self.session.record(), answer(xid))
        self.assert_session_works()

    def test_short_results_pass(self):
        """A failed OPEN with a fd, one without, none at all."""
        for results in (wire.u32(-1, 2), wire.u32(-1, 2) + wire.NO_XDATA,
                        wire.u32(-1, 2) + wire.NO_XDATA + wire.u64(5), b"",
                        wire.u32(-1)):
            for proc in (wire.OPEN, wire.READ, wire.LOOKUP):
                with self.subTest(results.hex(), proc=proc):
                    self.exchange(proc, wire.GFID + wire.u32(0) +
                                  wire.NO_XDATA, results)
        self.assert_session_works()

    def test_answers_come_in_the_order_of_the_brick(self):
        xids = [self.session.send(wire.STAT, wire.GFID + wire.u32(n))
                for n in range(20)]
        calls = [self.end.expect(wire.STAT) for _ in xids]
        self.assertEqual(len({c.xid for c in calls}), 20)
        order = [7, 3, 19, 0, 1] + [n for n in range(20)
                                    if n not in (7, 3, 19, 0, 1)]
        for n in order:
            self.end.reply(calls[n], wire.u32(n, 0))
        for n in order:
            got = self.session.reply()
            self.assertEqual((got.xid, got.ret()[0]), (xids[n], n))

    def test_two_clients_may_use_the_same_xids(self):
        other, other_end = self.pair(self.proxy, self.peer)
        for client in (self.session, other):
            client.send_record(wire.call(77, wire.PING))
            client.send_record(wire.call(77, wire.PING))    # and one twice
        for end, ret in ((other_end, 2), (self.end, 1)):
            for _ in range(2):
                end.reply(end.expect(wire.PING), wire.u32(ret, 0, 0))
        for client, ret in ((self.session, 1), (other, 2)):
            for _ in range(2):
                got = client.reply()
                self.assertEqual((got.xid, got.ret()[0]), (77, ret))

    def test_a_reply_to_no_call_ends_the_session(self):
        self.end.send_record(wire.reply(0x12345, bytes(12)))
        self.assert_both_closed("reply to a call that was never made")

    def test_a_reply_before_any_call_ends_the_session(self):
        for xid in (0, 1, 1 << 20, 0xffffffff):
            with self.subTest(xid):
                self.end.send_record(wire.reply(xid, bytes(12)))
                self.assert_both_closed("never made")
                self.session, self.end = self.pair(self.proxy, self.peer)

    def test_a_second_reply_ends_the_session(self):
        self.session.send(wire.PING)
        call = self.end.expect(wire.PING)
        self.end.reply(call, bytes(12))
        self.session.reply()
        self.end.reply(call, bytes(12))
        self.assert_both_closed("never made")

    def test_two_replies_at_once_deliver_one_at_most(self):
        xid = self.session.send(wire.PING)
        call = self.end.expect(wire.PING)
        record = wire.mark(wire.reply(call.xid, bytes(12)))
        self.end.send_raw(record + record)
        self.assertIn(self.session.rest(),
                      (b"", wire.mark(wire.reply(xid, bytes(12)))))
        self.proxy.logged("never made")
        self.assert_next_session_works()

    def test_what_is_no_reply_ends_the_session(self):
        cases = {
            "message type 5": (wire.mark(wire.u32(9, 5) + bytes(20)),
                               "neither call nor reply"),
            "19 bytes": (wire.u32(19 | wire.LAST) + bytes(19), "malformed"),
            "mark ffffffff": (b"\xff" * 4, "length over the limit"),
            "mark 7fffffff": (b"\x7f\xff\xff\xff", "length over the limit"),
            "HTTP": (b"HTTP/1.0 400 Bad Request\r\n\r\n",
                     "length over the limit"),
        }
        for what, (data, reason) in cases.items():
            with self.subTest(what):
                self.end.send_raw(data)
                self.assert_both_closed(reason)
                self.session, self.end = self.pair(self.proxy, self.peer)


class Guarded(Mounted):
    """What a 10.3 brick does not survive is answered here."""

    def assert_answered_here(self, proc, args, record):
        xid = self.session.send(proc, args)
        got = self.session.record()
        self.assertEqual(got[:4], wire.u32(xid))
        self.assertEqual(got[4:4 + len(record)], record)
        self.assertTrue(self.end.is_quiet(0.02))
        self.assert_session_works()

    def test_no_negative_fd_but_the_anonymous_one(self):
        ebadf = wire.reply(0)[4:] + wire.u32(-1, 9)
        rest = wire.u64(0) + wire.u32(0, 0) + wire.NO_XDATA
        for fd in (-1, -3, -1 << 63):
            for version in (400, 330):
                for number in (12, 13, 15, 16, 25):
                    with self.subTest(fd, version=version, number=number):
                        self.assert_answered_here(
                            (wire.FOP, version, number),
                            wire.GFID + wire.u64(fd) + rest, ebadf)
        self.exchange(wire.READ, wire.read_args(0, 10, fd=-2),
                      wire.read_results(b"0123456789"))

    def test_either_fd_of_a_copy(self):
        ebadf = wire.reply(0)[4:] + wire.u32(-1, 9)
        for fds in ((-1, 0), (0, -1)):
            self.assert_answered_here(
                (wire.FOP, 400, 56), wire.GFID * 2 + wire.u64(*fds, 0, 0) +
                wire.u32(4096, 0) + wire.NO_XDATA, ebadf)

    def test_procedures_that_kill_it_are_unavailable(self):
        for number in (52, 54):
            self.assert_answered_here((wire.FOP, 400, number),
                                      wire.GFID + bytes(40),
                                      wire.reply(0, b"", 3)[4:])

    def test_a_write_whose_size_is_not_its_payload_s(self):
        for claimed, real in ((8192, 0), (8192, 8191), (10, 8192),
                              (0xffffffff, 100)):
            args = bytearray(wire.write_args(bytes(real)))
            struct.pack_into(">I", args, 32, claimed)
            self.assert_answered_here(wire.WRITE, bytes(args),
                                      wire.reply(0, b"", 4)[4:])


class Payloads(Mounted):
    SIZES = (0, 1, 2, 3, 4, 5, 127 * 1024 - 1, 127 * 1024, 127 * 1024 + 1,
             128 * 1024, 136 * 1024 - 24, 1 << 20)

    def xdata(self):
        yield wire.NO_XDATA
        yield wire.u32(0, 0, 0)
        for length in range(6):
            value = (6, wire.opaque(b"v" * length))
            yield wire.dictx({b"k" * (length + 1): value})
        yield wire.dictx({b"large": (6, wire.opaque(bytes(40001)))})

    def test_reads_of_every_size_arrive_exactly(self):
        for size in self.SIZES:
            for offset in (0, 1, 4095, 1 << 40):
                with self.subTest(size=size, offset=offset):
                    self.exchange(wire.READ, wire.read_args(offset, size),
                                  wire.read_results(
                                      wire.pattern(offset, size)))

    def test_xdata_of_every_length_moves_no_payload(self):
        for xdata in self.xdata():
            for size in (0, 1, 5, 4097):
                with self.subTest(len(xdata), size=size):
                    data = wire.pattern(size, size)
                    self.exchange(wire.READ, wire.read_args(0, size, 0, xdata),
                                  wire.read_results(data, xdata))
                    self.exchange(wire.WRITE,
                                  wire.write_args(data, 0, 0, xdata), bytes(8))

    def test_padding_behind_a_payload_passes_as_it_is(self):
        for extra in (b"\0", b"\xff\xff", b"odd"):
            self.exchange(wire.READ, wire.read_args(0, 5),
                          wire.read_results(b"bytes") + extra)

    def test_attributes_that_are_wrong_pass_as_they_are(self):
        results = bytearray(wire.read_results(b"12345", iatt=b"\xff" * 148))
        for ret, size in ((5, 9), (-1, 5), (1 << 30, 5), (0, -1)):
            struct.pack_into(">i", results, 0, ret)
            struct.pack_into(">I", results, 156, size & 0xffffffff)
            self.exchange(wire.READ, wire.read_args(0, 5), bytes(results))
        self.assert_session_works()


class Unreachable(FakeTest):
    """Bricks that are not there, or not for long."""

    def assert_turned_away(self, proxy, reason):
        client = self.client(proxy)
        client.send(wire.DUMP_DUMP, wire.u64(0))
        self.assert_ended(client)
        proxy.logged(f"warn session \\d+ {re.escape(client.name())}: .*"
                     f"{reason}")

    def test_a_refused_connection_is_logged_and_the_next_try_counts(self):
        brick = self.brick()
        port = brick.listener.getsockname()[1]
        proxy = self.daemon(brick)
        before = proxy.descriptors()
        brick.close()
        for _ in range(3):
            self.assert_turned_away(proxy, "cannot be reached: "
                                    "Connection refused")
        again = self.brick(port=port)
        self.pair(proxy, again)
        self.assert_descriptors_return(proxy, before + 2)

    def test_an_unreachable_brick_is_logged(self):
        broadcast = Brick()
        broadcast.address = "255.255.255.255:24007"
        self.keep(broadcast)
        proxy = self.daemon(broadcast)
        before = proxy.descriptors()
        self.assert_turned_away(proxy, "cannot be reached: "
                                "(Network is unreachable|Permission denied)")
        self.assert_descriptors_return(proxy, before)

    def test_no_unix_socket_is_logged(self):
        brick = Brick(unix=f"{self.dir}/brick")
        proxy = self.daemon(brick)
        brick.close()
        self.assert_turned_away(proxy, "Connection refused")
        os.unlink(f"{self.dir}/brick")
        self.assert_turned_away(proxy, "No such file")
        self.pair(proxy, self.brick(unix=f"{self.dir}/brick"))

    def test_a_brick_that_does_not_accept_is_given_up(self):
        brick = self.brick(backlog=0)
        taken = []
        self.addCleanup(lambda: [sock.close() for sock in taken])
        while brick_takes(brick, taken):
            pass
        proxy = self.daemon(brick, "--connect-timeout", "300ms")
        start = time.monotonic()
        self.assert_turned_away(proxy, "did not accept the connection in time")
        spent = time.monotonic() - start
        figure(f"connect_timeout 300 ms: the client was closed after "
               f"{spent * 1000:.0f} ms")
        self.assertGreater(spent, 0.28)

    def test_a_brick_that_closes_at_once_ends_the_client(self):
        brick = self.brick()
        proxy = self.daemon(brick)
        for end in (BrickEnd.close, BrickEnd.reset):
            client = self.client(proxy)
            client.send(wire.DUMP_DUMP, wire.u64(0))
            end(brick.accept())
            self.assert_ended(client)
            proxy.logged(re.escape(client.name()) + ": brick c")
        self.pair(proxy, brick)

    def test_the_answer_before_a_close_arrives(self):
        brick = self.brick()
        proxy = self.daemon(brick)
        for calls in (1, 2, 50):
            client = self.client(proxy)
            for _ in range(calls):
                client.send(wire.PING)
            end = self.keep(brick.accept())
            got = [end.expect(wire.PING) for _ in range(calls)]
            end.send_raw(b"".join(wire.mark(wire.reply(c.xid, bytes(12)))
                                  for c in got))
            end.close()
            for _ in range(calls):
                self.assertEqual(client.reply().ret(), (0, 0))
            self.assert_ended(client)
        self.pair(proxy, brick)


def brick_takes(brick, taken):
    """Helps to fill a backlog; False when a connection stays half open."""
    sock = socket.socket()
    taken.append(sock)
    sock.settimeout(0.2)
    try:
        sock.connect(brick.listener.getsockname())
    except TimeoutError:
        return False
    return True


if __name__ == "__main__":
    main()
