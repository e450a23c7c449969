#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""One side faster than the other: memory stays within its bound, the fast side
is held back, other sessions notice nothing, and nothing is lost.
"""
import select
import signal
import threading
import time

import wire
from peers import (MIB, SANITIZED, Client, FakeTest, figure, main, times,
                   wait_for)

QUEUE = MIB             # max_queue
# What a session may hold for one direction: its queue, the block that passed
# the limit, and one that is being read into; and a row for each call.
PER_SESSION = QUEUE + 3 * 136 * 1024
PER_CALL = 48
TWO_LISTENERS = '''
listener "busy" {{ listen = "127.0.0.1:0" brick = "{0}" }}
listener "calm" {{ listen = "127.0.0.2:0" brick = "{1}" }}
'''


def push(clients, record, count):
    """Send record up to count times to each client, until none takes more.

    Returns the bytes that each has taken.
    """
    total = count * len(record)
    taken = {c.sock: 0 for c in clients}
    pending = set(taken)
    batch = record * max(1, MIB // len(record))
    for client in clients:
        client.sock.setblocking(False)
    active = time.monotonic()
    while pending and time.monotonic() - active < 1:
        for sock in select.select([], list(pending), [], 0.1)[1]:
            start = taken[sock] % len(record)
            taken[sock] += sock.send(batch[start:start + total - taken[sock]])
            active = time.monotonic()
            if taken[sock] == total:
                pending.remove(sock)
    for client in clients:
        client.sock.settimeout(60)
    return [taken[c.sock] for c in clients]


def queued_at(port):
    """Bytes in the buffers of all sockets that have this port."""
    total = 0
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.read().splitlines()[1:]:
            local, remote, _, queues = line.split()[1:5]
            if port in (int(end.rsplit(":", 1)[1], 16)
                        for end in (local, remote)):
                total += sum(int(n, 16) for n in queues.split(":"))
    return total


class TwoBricks(FakeTest):
    def two_bricks(self, *options):
        """A brick to make trouble with, one for the canary, one proxy."""
        busy = self.fake_brick(*options)
        calm = self.fake_brick()
        proxy = self.configured(
            TWO_LISTENERS.format(busy.address, calm.address))
        return busy, proxy


class SlowClients(TwoBricks):
    COUNT = 50

    def test_replies_that_nobody_reads_stay_at_the_brick(self):
        """PX-02: 20,000 READs of 1 MiB on each of 50 connections, no recv."""
        proxy = self.two_bricks()[1]
        bird = self.canary(proxy, 1)
        memory = proxy.rss()
        before = proxy.descriptors()
        clients = [self.client(proxy).mount() for _ in range(self.COUNT)]
        reads = wire.mark(wire.call(9, wire.READ, wire.read_args(0, MIB)))
        sent = sum(push(clients, reads, 20000))
        figure(f"{self.COUNT} clients: {sent // len(reads)} READs of 1 MiB "
               "taken, no reply read")
        time.sleep(times(1, 30))
        spent = proxy.cpu_seconds()
        time.sleep(1)
        figure(f"a second of standing still: {proxy.cpu_seconds() - spent:.2f}"
               " s of processor, the canary's included")
        self.assert_memory(proxy, memory,
                           self.COUNT * (PER_SESSION + 32768 * PER_CALL),
                           f"{self.COUNT} clients that do not read")
        self.assert_still_served(clients[0])
        for client in clients:
            client.close()
        self.assert_descriptors_return(proxy, before)
        wait_for(lambda: proxy.rss() - memory < 8 * MIB or SANITIZED,
                 "their memory back")
        self.assert_memory(proxy, memory, 8 * MIB, "after they left")
        self.assert_undisturbed(bird)

    def assert_still_served(self, client):
        """The one that begins to read gets every byte."""
        client.sock.settimeout(30)
        for _ in range(20):
            got = client.reply()
            self.assertEqual((got.xid, got.ret()), (9, (MIB, 0)))
            self.assertEqual(got.results[172:], wire.pattern(0, MIB))

    def test_a_client_that_reads_slowly_gets_everything(self):
        proxy = self.daemon(self.fake_brick())
        client = self.client(proxy, rcvbuf=4096).mount()
        count = 64
        for n in range(count):
            client.send(wire.READ, wire.read_args(n, 300000))
        time.sleep(0.5)
        for n in range(count):
            got = client.reply()
            self.assertEqual(got.results[172:], wire.pattern(n, 300000))


class SlowBricks(TwoBricks):
    def test_writes_to_a_stopped_brick_wait_at_the_client(self):
        busy, proxy = self.two_bricks()
        bird = self.canary(proxy, 1)
        clients = [self.client(proxy).mount() for _ in range(20)]
        memory = proxy.rss()
        busy.signal(signal.SIGSTOP)
        write = wire.mark(wire.call(5, wire.WRITE,
                                    wire.write_args(bytes(128 * 1024))))
        sent = push(clients, write, 400)
        figure(f"20 clients, brick stopped: {sum(sent) / MIB:.0f} MiB of "
               "WRITEs taken, most of it by the kernel")
        self.assertLess(max(sent), 400 * len(write))
        self.assert_memory(proxy, memory, 20 * PER_SESSION,
                           "20 clients that write to a stopped brick")
        busy.signal(signal.SIGCONT)
        for client, taken in zip(clients, sent):
            self.assert_all_answered(client, write, taken)
        self.assert_undisturbed(bird)

    def assert_all_answered(self, client, write, taken):
        """The WRITE that was cut off is completed, then all are counted."""
        if taken % len(write):
            client.send_raw(write[taken % len(write):])
        client.send_record(wire.call(77, wire.PING))
        for _ in range(-(-taken // len(write))):
            got = client.reply()
            self.assertEqual((got.xid, got.ret()[0]), (5, 128 * 1024))
        self.assertEqual(client.reply().xid, 77)

    def test_nobody_answers_a_ping_for_a_stopped_brick(self):
        busy, proxy = self.two_bricks()
        client = self.client(proxy).mount()
        busy.signal(signal.SIGSTOP)
        client.send(wire.PING)
        self.assertTrue(client.is_quiet(times(1, 60)))
        busy.signal(signal.SIGCONT)
        self.assertEqual(client.reply().ret(), (0, 0))

    def test_all_but_one_queue_of_a_flood_is_the_kernel_s(self):
        """So a PING behind it is late by that queue and the socket buffers."""
        busy, proxy = self.two_bricks()
        client = self.client(proxy).mount()
        busy.signal(signal.SIGSTOP)
        write = wire.mark(wire.call(5, wire.WRITE,
                                    wire.write_args(bytes(128 * 1024))))
        taken = push([client], write, 2000)[0]
        self.assertLess(taken, 2000 * len(write))
        kernel = queued_at(proxy.address()[1]) + queued_at(busy.port)
        figure(f"brick stopped: {taken / MIB:.1f} MiB taken, "
               f"{kernel / MIB:.1f} MiB of it in socket buffers")
        self.assertLess(taken - kernel, PER_SESSION)
        busy.signal(signal.SIGCONT)
        self.assert_all_answered(client, write, taken)

    def ping_behind_writes(self, address):
        """Seconds until a PING is answered behind 1 MiB of WRITEs."""
        client = self.keep(Client(address).mount())
        write = wire.mark(wire.call(5, wire.WRITE,
                                    wire.write_args(bytes(128 * 1024))))
        start = time.monotonic()
        client.send_raw(write * 8)
        self.assert_all_answered(client, write, len(write) * 8)
        return time.monotonic() - start

    def test_a_ping_behind_a_window_of_writes_is_not_late(self):
        busy, proxy = self.two_bricks("--read-rate", str(4 * MIB))
        direct, proxied = [
            min(self.ping_behind_writes(address) for _ in range(3))
            for address in (("127.0.0.1", busy.port), proxy.address())]
        figure("PING behind 8 WRITEs of 128 KiB, brick at 4 MiB/s: "
               f"{direct * 1000:.0f} ms direct, {proxied * 1000:.0f} ms "
               "through the proxy")
        self.assertLess(proxied, 1.5 * direct)


class ManyCalls(FakeTest):
    def test_a_client_with_max_calls_unanswered_is_not_read(self):
        brick = self.brick()
        proxy = self.daemon(brick, "--max-calls", "100")
        client, end = self.pair(proxy, brick)
        for _ in range(1000):
            client.send(wire.PING)
        first = [end.expect(wire.PING) for _ in range(100)]
        memory = proxy.rss()
        taken = push([client], wire.mark(wire.call(1, wire.PING)), 200000)[0]
        self.assertLess(taken, 200000 * 76)
        self.assert_memory(proxy, memory, 2 * MIB, "max_calls reached")
        for call in first:
            end.reply(call, bytes(12))
            client.reply()
        end.expect(wire.PING)

    def test_a_client_that_floods_small_calls_starves_nobody(self):
        proxy = self.daemon(self.fake_brick(), "--workers", "1")
        bird = self.canary(proxy)
        client = self.client(proxy).mount()
        stat = wire.mark(wire.call(5, wire.STAT, wire.GFID + wire.NO_XDATA))
        count = times(100000, 5000000)
        reader = threading.Thread(target=self.read_all, args=(client, count))
        reader.start()
        start = time.monotonic()
        for _ in range(count // 1000):
            client.send_raw(stat * 1000)
        reader.join(600)
        figure(f"flood: {count / (time.monotonic() - start):.0f} calls/s")
        self.assert_undisturbed(bird)

    @staticmethod
    def read_all(client, count):
        for _ in range(count):
            client.record()


if __name__ == "__main__":
    main()
