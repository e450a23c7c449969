#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What clients send that is no record, no call, or not all of one.

Each case ends that one connection with a line in the log, or gets the error
that the protocol has for it. A canary on the same daemon notices nothing.
"""
import fcntl
import re
import socket
import threading
import time

import wire
from peers import MIB, FakeTest, figure, main, times, wait_for

SIOCOUTQ = 0x5411

# A TLS 1.3 ClientHello as far as a scanner sends it.
CLIENT_HELLO = bytes.fromhex(
    "1603010200" "010001fc" "0303") + bytes(506)
HTTP = b"GET / HTTP/1.0\r\nHost: forebrick\r\n\r\n"

# What arrives: bytes, and what the log says about them.
NO_RECORDS = {
    "mark ffffffff": (b"\xff" * 4, "length over the limit"),
    "mark 7fffffff": (b"\x7f\xff\xff\xff", "length over the limit"),
    "mark 80000000": (b"\x80\0\0\0", "malformed"),
    "a record of 19 bytes": (wire.u32(19 | wire.LAST) + bytes(19),
                             "malformed"),
    "HTTP": (HTTP, "length over the limit"),
    "TLS ClientHello": (CLIENT_HELLO, "length over the limit"),
    "SSH": (b"SSH-2.0-scanner\r\n", "length over the limit"),
}
NO_CALLS = {
    "message type 5": wire.u32(7, 5, 2) + bytes(40),
    "a call that ends in its header": wire.call(7, wire.STAT)[:30],
    "a call that ends in its credential": wire.call(7, wire.STAT)[:60],
    "a call that ends in its verifier": wire.call(7, wire.STAT)[:-2],
}


def v3(body, **lies):
    return wire.auth(wire.CRED_V3, body, **lies)


GOOD = wire.cred_v3()
# What a brick reads as a caller's identity, and passes.
CREDENTIALS_PASSED = {
    "none": wire.AUTH_NONE,
    "an unknown flavour": wire.auth(77, b"abcd"),
    "an owner of 0 bytes": v3(wire.cred_v3(owner=b"")),
    "an owner of 5 bytes": v3(wire.cred_v3(owner=b"abcde")),
    "an owner of 91 bytes": v3(wire.cred_v3(owner=b"o" * 91)),
    "83 groups and an owner of 8": v3(wire.cred_v3(groups=range(83))),
    "an owner's padding not zero": v3(
        GOOD[:32] + wire.u32(5) + b"abcde\xff\xff\xff"),
    "the credential's padding not zero": v3(GOOD + b"z", pad=b"\xff"),
    "399 bytes": v3((GOOD + bytes(400))[:399]),
    "400 bytes": v3((GOOD + bytes(400))[:400]),
}
# A brick denies these, or answers with an xid that nobody used.
CREDENTIALS_DENIED = {
    "v3 of 0 bytes": v3(b""),
    "401 bytes": v3((GOOD + bytes(401))[:401]),
    "2048 bytes": v3((GOOD + bytes(2048))[:2048]),
    "2^31 bytes": v3(GOOD, length=1 << 31),
    "2^32-1 bytes": v3(GOOD, length=(1 << 32) - 1),
    "2^32-1 groups": v3(wire.cred_v3(group_count=(1 << 32) - 1)),
    "2^30 groups": v3(wire.cred_v3(group_count=1 << 30)),
    "3 groups, none there": v3(wire.cred_v3(group_count=3)),
    "84 groups and an owner of 8": v3(wire.cred_v3(groups=range(84))),
    "an owner of 92 bytes": v3(wire.cred_v3(owner=b"o" * 92)),
    "an owner of 1025 bytes": v3(GOOD[:32] + wire.u32(1025) + bytes(8)),
    "an owner of 2^32-1 bytes": v3(GOOD[:32] + wire.u32(-1) + bytes(8)),
}


class Malformed(FakeTest):
    def setUp(self):
        super().setUp()
        self.proxy = self.daemon(self.fake_brick())
        self.idle = self.client(self.proxy).mount()
        self.bird = self.canary(self.proxy)

    def finish(self):
        self.assert_alive(self.proxy)
        self.assertEqual(self.idle.call(wire.PING).ret(), (0, 0))
        self.assert_undisturbed(self.bird)

    def assert_closed_and_logged(self, client, reason):
        name = re.escape(client.name())
        self.assert_ended(client)
        self.proxy.logged(f"warn session \\d+ {name}: .*{reason}")

    def test_what_is_no_record_closes_one_connection(self):
        for what, (data, reason) in NO_RECORDS.items():
            with self.subTest(what):
                client = self.client(self.proxy)
                client.send_raw(data)
                self.assert_closed_and_logged(client, reason)
        self.finish()

    def test_what_is_no_record_closes_a_mounted_client_too(self):
        for what, (data, reason) in NO_RECORDS.items():
            with self.subTest(what):
                client = self.client(self.proxy).mount()
                client.send_raw(data)
                self.assert_closed_and_logged(client, reason)
        self.finish()

    def test_what_is_no_call_closes_one_connection(self):
        for what, record in NO_CALLS.items():
            with self.subTest(what):
                client = self.client(self.proxy)
                client.send_record(record)
                self.assert_closed_and_logged(client, "malformed call")
        self.finish()

    def test_a_reply_before_any_call_closes_the_connection(self):
        client = self.client(self.proxy)
        client.send_record(wire.reply(1, bytes(8)))
        self.assert_closed_and_logged(client, "malformed call")
        self.finish()

    def test_a_flood_of_empty_fragments_is_cut_off(self):
        before = self.proxy.cpu_seconds()
        client = self.client(self.proxy)
        sent = 0
        try:
            while sent < 40 * MIB:
                client.send_raw(bytes(64 * 1024))
                sent += 64 * 1024
        except ConnectionError:
            pass
        self.assertLess(sent, 40 * MIB)
        self.proxy.logged(re.escape(client.name()) + ".*malformed")
        spent = self.proxy.cpu_seconds() - before
        figure(f"10^7 empty fragments: closed after at most {sent} bytes, "
               f"{spent:.2f} s of processor")
        self.finish()

    def test_scanners_by_the_thousand_leave_nothing(self):
        before = self.proxy.descriptors()
        memory = self.proxy.rss()
        count = times(1000, 10000)
        for _ in range(count):
            for data in (HTTP, CLIENT_HELLO):
                with self.proxy.client() as client:
                    client.send_raw(data)
                    client.end_sending()
                    self.assert_ended(client)
        lines = len(re.findall("no RPC record", self.proxy.log_text()))
        figure(f"{2 * count} scanners: {lines} log lines")
        self.assertGreater(lines, 0)
        self.assertLess(lines, count)
        self.assert_descriptors_return(self.proxy, before)
        self.assert_memory(self.proxy, memory, 4 * MIB, "scanners")
        self.finish()


class Credentials(FakeTest):
    def setUp(self):
        super().setUp()
        self.peer = self.brick()
        self.proxy = self.daemon(self.peer)
        self.session, self.end = self.pair(self.proxy, self.peer)

    def test_a_brick_gets_the_bytes_of_those_it_reads(self):
        for what, cred in CREDENTIALS_PASSED.items():
            with self.subTest(what):
                self.session.send(wire.STAT, wire.GFID + wire.NO_XDATA,
                                  cred=cred)
                got = self.end.expect(wire.STAT)
                self.assertEqual(got.cred, cred)
                self.assertEqual(got.args, wire.GFID + wire.NO_XDATA)
                self.end.reply(got, bytes(8))
                self.assertEqual(self.session.reply().ret(), (0, 0))

    def test_those_it_does_not_read_are_denied(self):
        for what, cred in CREDENTIALS_DENIED.items():
            with self.subTest(what):
                xid = self.session.send(wire.STAT, wire.GFID, cred=cred)
                self.assertEqual(self.session.record(), wire.denied(xid, 1, 1))
        self.proxy.logged(re.escape(self.session.name()) +
                          ": refused .*credential")
        self.session.send(wire.PING)
        self.end.reply(self.end.expect(wire.PING), bytes(12))
        self.session.reply()

    def test_a_denied_call_of_any_length_is_skipped(self):
        cred = CREDENTIALS_DENIED["2048 bytes"]
        for size in (0, 1, 600, 70000, 3 * MIB):
            with self.subTest(size):
                denied = self.session.send(wire.WRITE, bytes(size), cred=cred)
                ping = self.session.send(wire.PING)
                self.end.reply(self.end.expect(wire.PING), bytes(12))
                self.assertEqual(self.session.record(),
                                 wire.denied(denied, 1, 1))
                self.assertEqual(self.session.reply().xid, ping)

    def test_a_long_verifier_hides_nothing(self):
        for length in (8, 391, 400):
            with self.subTest(length):
                args = wire.GFID + wire.u64(0) + wire.NO_XDATA
                self.session.send(wire.FSTAT, args,
                                  verf=wire.auth(0, b"v" * length))
                got = self.end.expect(wire.FSTAT)
                self.assertEqual(got.args, args)
                self.end.reply(got, bytes(8))
                self.session.reply()
                xid = self.session.send(
                    wire.FSTAT, wire.GFID + wire.u64(-1) + wire.NO_XDATA,
                    verf=wire.auth(0, b"v" * length))
                got = self.session.reply()
                self.assertEqual((got.xid, got.ret()), (xid, (-1, 9)))

    def test_denials_that_nobody_reads_do_not_pile_up(self):
        memory = self.proxy.rss()
        cred = CREDENTIALS_DENIED["2^32-1 groups"]
        record = wire.mark(wire.call(1, wire.STAT, cred=cred)) * 1000
        self.session.sock.settimeout(2)
        sent = 0
        try:
            while sent < 512 * MIB:
                self.session.send_raw(record)
                sent += len(record)
        except TimeoutError:
            pass
        figure(f"calls to be denied: {sent / MIB:.0f} MiB taken")
        self.assertLess(sent, 512 * MIB)
        # A short reply takes four times its bytes in the queue of 1 MiB.
        self.assert_memory(self.proxy, memory, 6 * MIB, "denials unread")


class Slow(FakeTest):
    """Records that never become whole, from as many clients as there are."""

    COUNT = times(1000, 4000)
    SECONDS = times(3, 15)     # 16 of 4 KiB make a fragment of 64 KiB whole

    def drip(self, start, limit, what):
        """Each client sends start, then 4 KiB each second."""
        brick = self.fake_brick()
        proxy = self.daemon(brick, "--handshake-timeout", "10min")
        bird = self.canary(proxy)
        memory = proxy.rss()
        descriptors = proxy.descriptors()
        clients = [self.client(proxy) for _ in range(self.COUNT)]
        for client in clients:
            client.send_raw(start)
        for _ in range(self.SECONDS):
            begun = time.monotonic()
            for client in clients:
                client.send_raw(bytes(4096))
            time.sleep(max(0, 1 - (time.monotonic() - begun)))
        wait_for(lambda: self.are_read(clients), "all read", 10)
        self.assert_memory(proxy, memory, limit, what)
        for client in clients:
            client.close()
        self.assert_descriptors_return(proxy, descriptors)
        self.assert_alive(proxy)
        self.assert_undisturbed(bird)

    @staticmethod
    def are_read(clients):
        """Nothing is left in the sockets' send queues: the peer has it."""
        left = 0
        for client in clients[::50]:
            size = bytearray(4)
            fcntl.ioctl(client.sock, SIOCOUTQ, size)
            left += int.from_bytes(size, "little")
        return left == 0

    def bytes_sent(self):
        return self.COUNT * self.SECONDS * 4096

    def test_a_fragment_of_64_kib_costs_what_has_come(self):
        self.drip(wire.u32(64 * 1024),
                  2 * self.bytes_sent() + self.COUNT * 12 * 1024,
                  f"{self.COUNT} clients with a fragment of 64 KiB")

    def test_a_fragment_of_8_mib_is_taken_from_mounted_clients_only(self):
        proxy = self.daemon(self.fake_brick())
        stranger = self.client(proxy)
        stranger.send_raw(wire.u32(8 * MIB - 1000))
        self.assert_ended(stranger)
        proxy.logged(re.escape(stranger.name()) + ".*length over the limit")
        memory = proxy.rss()
        friends = [self.client(proxy).mount() for _ in range(self.COUNT)]
        for friend in friends:
            friend.send_raw(wire.u32(8 * MIB - 1000) + bytes(1000))
        for friend in friends:
            friend.send_raw(bytes(1000))
        self.assert_memory(proxy, memory, self.COUNT * 16 * 1024,
                           f"{self.COUNT} mounted with a fragment of 8 MiB")

    def test_a_write_of_60_mib_costs_nothing(self):
        args = wire.GFID + wire.u64(0, 0) + wire.u32(60 * MIB, 2)
        head = wire.call(2, wire.WRITE, args + wire.NO_XDATA)
        mark = wire.u32(len(head) + 60 * MIB | wire.LAST)
        self.drip(mark + head, self.COUNT * 12 * 1024,
                  f"{self.COUNT} clients with a WRITE of 60 MiB")

    def test_a_head_byte_by_byte_costs_nothing(self):
        proxy = self.daemon(self.fake_brick())
        memory = proxy.rss()
        clients = [self.client(proxy) for _ in range(self.COUNT)]
        record = wire.mark(wire.call(1, wire.PING))
        for byte in record[:-1]:
            for client in clients:
                client.send_raw(bytes([byte]))
        self.assert_memory(proxy, memory, self.COUNT * 8 * 1024,
                           f"{self.COUNT} clients one byte before a call")
        for client in clients:
            client.send_raw(record[-1:])
        for client in clients:
            self.assertEqual(client.reply().ret(), (0, 0))


class Split(FakeTest):
    """Records in fragments: one leaves, or the connection ends."""

    def setUp(self):
        super().setUp()
        self.peer = self.brick()
        self.proxy = self.daemon(self.peer, "--max-reassembly", "1MiB")
        self.session, self.end = self.pair(self.proxy, self.peer)

    def send_split(self, record, *cuts):
        start = 0
        for cut in (*cuts, len(record)):
            last = wire.LAST if cut == len(record) else 0
            self.session.send_raw(wire.u32(cut - start | last) +
                                  record[start:cut])
            start = cut

    def test_any_fragmentation_leaves_as_one(self):
        record = wire.call(9, wire.WRITE, wire.write_args(b"payload" * 99))
        for cuts in ((1,), (3, 4, 5), (24,), (100,), (160, 161), (300, 300),
                     (len(record) - 1,), range(1, len(record), 7)):
            with self.subTest(list(cuts)[:3]):
                self.send_split(record, *cuts)
                got = self.end.expect(wire.WRITE)
                self.assertEqual(got.record[4:], record[4:])
                self.end.reply(got, bytes(8))
                self.assertEqual(self.session.reply().xid, 9)

    def test_the_brick_may_do_it_as_well(self):
        xid = self.session.send(wire.READ, wire.read_args(0, 4000))
        got = self.end.expect(wire.READ)
        record = wire.reply(got.xid, wire.read_results(bytes(range(250)) * 16))
        for start in range(0, len(record), 100):
            part = record[start:start + 100]
            last = wire.LAST if start + 100 >= len(record) else 0
            self.end.send_raw(wire.u32(len(part) | last) + part)
        self.assertEqual(self.session.record(), wire.u32(xid) + record[4:])

    def test_more_than_max_reassembly_ends_the_connection(self):
        name = re.escape(self.session.name())
        self.session.send_raw(wire.u32(512 * 1024) + bytes(512 * 1024) +
                              wire.u32(513 * 1024 | wire.LAST))
        self.assert_ended(self.session)
        self.proxy.logged(name + ".*length over the limit")

    def test_a_whole_record_may_be_larger(self):
        data = bytes(5 * MIB)
        self.session.sock.settimeout(None)
        sender = threading.Thread(
            target=self.session.send, args=(wire.WRITE,
                                            wire.write_args(data)))
        sender.start()
        got = self.end.expect(wire.WRITE)
        sender.join()
        self.assertEqual(len(got.args), 52 + len(data))


class Shutdown(FakeTest):
    def test_a_client_that_ends_inside_a_record_is_told_apart(self):
        proxy = self.daemon(self.fake_brick())
        client = self.client(proxy).mount()
        record = wire.mark(wire.call(4, wire.STAT, wire.GFID + wire.NO_XDATA))
        client.send_raw(record[:50])
        client.sock.shutdown(socket.SHUT_WR)
        self.assert_ended(client)
        proxy.logged(re.escape(client.name()) + ".*inside a record")


if __name__ == "__main__":
    main()
