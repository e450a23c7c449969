#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""How sessions end: half closed, reset, timed out, killed, many at a time.
What is owed is delivered, both sides end, nothing stays behind.
"""
import re
import signal
import time

import wire
from peers import (MIB, SANITIZED, Client, FakeTest, figure, main, times,
                   wait_for)

CLOSE_WAIT = "08"
A_SECOND = 10 if SANITIZED else 1


def sockets_in(state, port):
    """TCP sockets of a local port in a state, from the kernel's table."""
    count = 0
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.read().splitlines()[1:]:
            fields = line.split()
            if (fields[3] == state and
                    int(fields[1].rsplit(":", 1)[1], 16) == port):
                count += 1
    return count


class HalfClose(FakeTest):
    COUNT = 5000

    def test_ten_calls_then_no_more_get_ten_replies(self):
        """PX-03, from the client's side."""
        proxy = self.daemon(self.fake_brick())
        port = proxy.address()[1]
        bird = self.canary(proxy)
        before = proxy.descriptors()
        calls = b"".join(wire.mark(wire.call(n, wire.STAT, wire.GFID +
                                             wire.NO_XDATA))
                         for n in range(10))
        for _ in range(self.COUNT // 50):
            clients = [proxy.client() for _ in range(50)]
            for client in clients:
                client.send_raw(calls)
                client.end_sending()
            for client in clients:
                self.assertEqual({client.reply().xid for _ in range(10)},
                                 set(range(10)))
                self.assert_ended(client)
                client.close()
        self.assert_descriptors_return(proxy, before)
        wait_for(lambda: sockets_in(CLOSE_WAIT, port) == 0, "no CLOSE_WAIT", 5)
        self.assert_undisturbed(bird)

    def test_a_brick_that_ends_after_ten_replies_delivers_them(self):
        """PX-03, from the brick's side."""
        brick = self.brick()
        proxy = self.daemon(brick)
        before = proxy.descriptors()
        for _ in range(times(500, self.COUNT)):
            client = proxy.client()
            for _ in range(10):
                client.send(wire.PING)
            end = brick.accept()
            for _ in range(10):
                end.reply(end.expect(wire.PING), bytes(12))
            end.end_sending()
            for _ in range(10):
                self.assertEqual(client.reply().ret(), (0, 0))
            self.assert_ended(client)
            self.assert_ended(end)
            client.close()
            end.close()
        self.assert_descriptors_return(proxy, before)
        wait_for(lambda: sockets_in(
            CLOSE_WAIT, brick.listener.getsockname()[1]) == 0,
            "no CLOSE_WAIT", 5)

    def test_large_replies_are_owed_as_well(self):
        proxy = self.daemon(self.fake_brick(), "--half-close-timeout", "20s")
        client = self.client(proxy, rcvbuf=16384).mount()
        for n in range(20):
            client.send(wire.READ, wire.read_args(n, MIB))
        client.end_sending()
        time.sleep(0.3)
        for n in range(20):
            self.assertEqual(client.reply().results[172:],
                             wire.pattern(n, MIB))
        self.assert_ended(client)

    def test_a_call_that_the_brick_never_answers_is_not_waited_for(self):
        brick = self.brick()
        proxy = self.daemon(brick, "--half-close-timeout", "200ms")
        client, end = self.pair(proxy, brick)
        client.send(wire.PING)
        end.expect(wire.PING)
        start = time.monotonic()
        client.end_sending()
        self.assert_ended(client)
        self.assert_ended(end)
        self.assertGreater(time.monotonic() - start, 0.15)

    def test_a_client_that_has_got_all_and_stays_is_cut_off(self):
        brick = self.brick()
        proxy = self.daemon(brick, "--half-close-timeout", "200ms")
        before = proxy.descriptors()
        client, end = self.pair(proxy, brick)
        end.close()
        self.assert_ended(client)
        self.assert_descriptors_return(proxy, before)


class OtherSide(FakeTest):
    """When one side goes, so does the other, within a second."""

    def setUp(self):
        super().setUp()
        self.peer = self.brick()
        self.proxy = self.daemon(self.peer)
        self.session, self.end = self.pair(self.proxy, self.peer)

    def assert_ends_within_a_second(self, stream, act):
        start = time.monotonic()
        act()
        self.assert_ended(stream)
        self.assertLess(time.monotonic() - start, A_SECOND)

    def test_the_brick_when_the_client_closes(self):
        self.assert_ends_within_a_second(self.end, self.session.close)

    def test_the_brick_when_the_client_resets(self):
        self.assert_ends_within_a_second(self.end, self.session.reset)

    def test_the_brick_when_the_client_goes_inside_a_write(self):
        record = wire.mark(wire.call(3, wire.WRITE,
                                     wire.write_args(bytes(MIB))))
        self.session.send_raw(record[:500000])
        wait_for(lambda: not self.end.is_quiet(0), "the WRITE begins")
        start = time.monotonic()
        self.session.close()
        self.assertEqual(len(self.end.rest()), 500000)
        self.assertLess(time.monotonic() - start, A_SECOND)

    def test_the_client_when_the_brick_closes(self):
        self.assert_ends_within_a_second(self.session, self.end.close)

    def test_the_client_when_the_brick_resets(self):
        self.assert_ends_within_a_second(self.session, self.end.reset)

    def test_the_client_when_the_brick_goes_inside_a_reply(self):
        xid = self.session.send(wire.READ, wire.read_args(0, MIB))
        call = self.end.expect(wire.READ)
        record = wire.mark(wire.reply(call.xid,
                                      wire.read_results(bytes(MIB))))
        self.end.send_raw(record[:500000])
        wait_for(lambda: not self.session.is_quiet(0), "the reply begins")
        self.end.close()
        got = self.session.rest()
        self.assertEqual(got, record[:4] + wire.u32(xid) + record[8:500000])

    def test_both_when_the_daemon_is_killed(self):
        self.session.send(wire.PING)
        self.end.expect(wire.PING)
        self.assert_ends_within_a_second(
            self.session, lambda: self.proxy.signal(signal.SIGKILL))
        self.assert_ended(self.end)





class Timeouts(FakeTest):
    def test_only_clients_that_never_mount_are_timed_out(self):
        brick = self.brick()
        proxy = self.daemon(brick, "--handshake-timeout", "500ms")
        mounted, end = self.pair(proxy, brick)
        silent = self.client(proxy)
        dumped = self.client(proxy)
        dumped.send(wire.DUMP_DUMP, wire.u64(0))
        other = self.keep(brick.accept())
        other.reply(other.expect(), wire.u64(0) + wire.u32(0, 0, 0))
        dumped.reply()
        refused = self.client(proxy)
        refused.send(wire.SETVOLUME, wire.setvolume_args())
        third = self.keep(brick.accept())
        third.reply(third.expect(), wire.u32(-1, 13) + wire.blob({}))
        self.assertEqual(refused.reply().ret(), (-1, 13))
        dripping = self.client(proxy)
        for client in (silent, dumped, refused):
            self.assert_ended(client)
            proxy.logged(re.escape(client.name()) +
                         ": client did not complete SETVOLUME in time")
        try:
            for byte in wire.mark(wire.call(2, wire.PING)):
                dripping.send_raw(bytes([byte]))
                time.sleep(0.05)
            self.fail("a client dripped for two seconds")
        except ConnectionError:
            pass
        time.sleep(times(1.5, 30))
        mounted.send(wire.PING)
        end.reply(end.expect(wire.PING), bytes(12))
        self.assertEqual(mounted.reply().ret(), (0, 0))

    def test_the_handshake_has_its_time_behind_a_slow_connect(self):
        brick = self.brick()
        proxy = self.daemon(brick, "--handshake-timeout", "0")
        client = self.client(proxy)
        time.sleep(0.5)
        client.send(wire.PING)
        end = self.keep(brick.accept())
        end.reply(end.expect(wire.PING), bytes(12))
        client.reply()


class Reuse(FakeTest):
    """PX-09: the same loop turn closes some and accepts others, who get the
    descriptors of those that went."""

    AT_A_TIME = 20
    TURNS = times(500, 5000)

    def test_a_new_client_has_nothing_of_the_one_before(self):
        proxy = self.daemon(self.fake_brick())
        before = proxy.descriptors()
        bird = self.canary(proxy)
        stat = wire.mark(wire.call(1, wire.STAT, wire.GFID + wire.NO_XDATA))
        old = []
        xid = 0
        for turn in range(self.TURNS):
            proxy.signal(signal.SIGSTOP)
            for n, client in enumerate(old):
                if n % 2:
                    client.send_raw(stat * 3 + stat[:50])
                if n % 3 == 0:
                    client.reset()
                client.close()
            new = [Client(proxy.address()) for _ in range(self.AT_A_TIME)]
            for client in new:
                xid += 1
                client.xid = client.offset = xid
                client.send(wire.READ, wire.read_args(xid, 100))
            proxy.signal(signal.SIGCONT)
            for client in new:
                got = client.reply()
                self.assertEqual(got.xid, client.xid)
                self.assertEqual(got.results[172:],
                                 wire.pattern(client.offset, 100))
            old = new
        for client in old:
            client.close()
        figure(f"{xid} connections, {self.AT_A_TIME} closed and opened at a "
               "time")
        seen = bird.finish()
        self.assertIsNone(seen["error"])
        self.assert_descriptors_return(proxy, before)
        self.assert_alive(proxy)


class Aborts(FakeTest):
    def test_clients_that_leave_at_any_moment_leave_nothing(self):
        proxy = self.daemon(self.fake_brick())
        bird = self.canary(proxy)
        before = proxy.descriptors()
        record = wire.mark(wire.call(2, wire.DUMP_DUMP, wire.u64(0)))
        record += wire.mark(wire.call(3, wire.SETVOLUME,
                                      wire.setvolume_args()))
        record += wire.mark(wire.call(4, wire.READ, wire.read_args(0, MIB)))
        record += wire.mark(wire.call(5, wire.WRITE,
                                      wire.write_args(bytes(3000))))
        for end in (Client.close, Client.reset):
            for cut in range(0, len(record) + 1, times(7, 1)):
                client = proxy.client()
                client.send_raw(record[:cut])
                end(client)
        self.assert_descriptors_return(proxy, before)
        self.assert_alive(proxy)
        self.assert_undisturbed(bird)

    def test_a_reset_while_much_is_owed_frees_it(self):
        proxy = self.daemon(self.fake_brick())
        before = proxy.descriptors()
        for _ in range(50):
            client = proxy.client(rcvbuf=4096).mount()
            for _ in range(8):
                client.send(wire.READ, wire.read_args(0, MIB))
            client.sock.recv(1)
            client.reset()
        self.assert_descriptors_return(proxy, before)
        self.assert_alive(proxy)


if __name__ == "__main__":
    main()
