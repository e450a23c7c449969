#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The daemon's own life under load: reload, rotation, full disks, descriptors
and sessions used up, drain, kill and start again.
"""
import os
import re
import signal
import subprocess
import time

import wire
from peers import (MIB, SANITIZED, Client, Daemon, FakeTest, figure, main,
                   times, wait_for)


def config(brick, listen="127.0.0.1:0", more="", extra=""):
    return (f'{more}\nlistener "a" {{ listen = "{listen}" '
            f'brick = "{brick}" {extra} }}\n')


def make_calls(client, count):
    """Pipelined STATs; each must succeed."""
    client.send_raw(wire.mark(wire.call(1, wire.STAT, wire.GFID +
                                        wire.NO_XDATA)) * count)
    for _ in range(count):
        assert client.reply().ret() == (0, 0)


class Reload(FakeTest):
    def setUp(self):
        super().setUp()
        self.peer = self.fake_brick()

    def test_a_thousand_hangups_under_load_cut_nobody(self):
        """PX-06"""
        proxy = self.configured(config(self.peer.address))
        bird = self.canary(proxy)
        client = self.client(proxy).mount()
        memory = proxy.rss()
        before = proxy.descriptors()
        for n in range(1000):
            proxy.signal(signal.SIGHUP)
            if n % 10 == 0:
                make_calls(client, 20)
                with proxy.client() as other:
                    other.mount()
        proxy.logged("configuration reloaded")
        self.assert_descriptors_return(proxy, before)
        self.assert_memory(proxy, memory, 4 * MIB, "1000 reloads")
        self.assert_undisturbed(bird)

    def test_a_bad_file_keeps_the_old_configuration(self):
        """PX-07"""
        proxy = self.configured(config(self.peer.address))
        bird = self.canary(proxy)
        client = self.client(proxy).mount()
        address = proxy.address()
        for n, text in enumerate(("wokers = 3\n", "listener {", "",
                                  config("nobody.invalid:1"),
                                  config(self.peer.address, "192.0.2.1:1"),
                                  config(self.peer.address, more="workers=9"),
                                  )):
            with self.subTest(text):
                self.write_config(text)
                proxy.signal(signal.SIGHUP)
                proxy.logged("error reload refused", count=n + 1)
                make_calls(client, 10)
                self.keep(Client(address).mount())
        os.unlink(f"{self.dir}/conf")
        proxy.signal(signal.SIGHUP)
        proxy.logged("error reload refused", count=n + 2)
        self.write_config(config(self.peer.address))
        proxy.signal(signal.SIGHUP)
        proxy.logged("configuration reloaded")
        make_calls(client, 10)
        self.assert_undisturbed(bird)

    def test_another_brick_is_for_new_sessions(self):
        other = self.brick()
        proxy = self.configured(config(self.peer.address))
        client = self.client(proxy).mount()
        self.write_config(config(other.address))
        proxy.signal(signal.SIGHUP)
        proxy.logged("configuration reloaded")
        make_calls(client, 10)
        self.pair(proxy, other)

    def test_a_listener_that_is_gone_keeps_its_sessions(self):
        proxy = self.configured(config(self.peer.address))
        client = self.client(proxy).mount()
        old = proxy.address()
        self.write_config(config(self.peer.address, "127.0.0.2:0"))
        proxy.signal(signal.SIGHUP)
        proxy.logged("no longer listening on")
        make_calls(client, 10)
        with self.assertRaises(ConnectionRefusedError):
            Client(old)
        proxy.logged(r"listening on 127\.0\.0\.2")
        self.keep(Client(proxy.address(1)).mount())


class Files(FakeTest):
    """Log and trace, while calls are made."""

    def setUp(self):
        super().setUp()
        self.peer = self.fake_brick()

    def test_rotated_files_are_written_no_more(self):
        proxy = self.daemon(self.peer, "--trace-file", f"{self.dir}/trace")
        client = self.client(proxy).mount()
        counts = {"log": 0, "trace": 0}
        for n in range(times(20, 500)):
            make_calls(client, 50)
            for name in counts:
                os.rename(f"{self.dir}/{name}", f"{self.dir}/{name}.{n}")
            proxy.signal(signal.SIGUSR1)
            for name in counts:
                wait_for(lambda path=f"{self.dir}/{name}":
                         os.path.exists(path), f"a new {name}")
                counts[name] += 1
        make_calls(client, 50)
        client.close()
        sizes = {name: [os.path.getsize(f"{self.dir}/{name}.{n}")
                        for n in range(counts[name])] for name in counts}
        proxy.logged("client closed the connection")
        make_calls(self.client(proxy).mount(), 50)
        for name, old in sizes.items():
            self.assertEqual(old, [os.path.getsize(f"{self.dir}/{name}.{n}")
                                   for n in range(counts[name])])
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(), 0)
        self.assertEqual(self.traced_stats(counts["trace"]),
                         50 * counts["trace"] + 100)

    def traced_stats(self, rotated):
        count = 0
        names = [f"trace.{n}" for n in range(rotated)] + ["trace"]
        for name in names:
            count += len(re.findall(r"(?m)^.*\bstat\b",
                                    self.read(f"{self.dir}/{name}")))
        return count

    def test_a_full_disk_stops_the_trace_and_nothing_else(self):
        proxy = self.daemon(self.peer, "--trace-file", "/dev/full")
        self.assert_full_disk_is_survived(proxy)

    def assert_full_disk_is_survived(self, proxy):
        bird = self.canary(proxy)
        client = self.client(proxy).mount()
        memory = proxy.rss()
        for _ in range(times(200, 5000)):
            make_calls(client, 100)
        proxy.logged("error trace file .*No space left")
        lines = len(proxy.log_text().splitlines())
        self.assertLess(lines, 50)
        self.assert_memory(proxy, memory, 20 * MIB, "trace on a full disk")
        self.assert_undisturbed(bird)

    def test_a_small_file_system_that_fills_up(self):
        """A tmpfs of 1 MiB; when there is room again, records come again, and
        the file says how many are missing."""
        small = f"{self.dir}/small"
        os.mkdir(small)
        if os.getuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=1M", "none", small],
                stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no tmpfs can be mounted")
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=True)
        proxy = self.daemon(self.peer, "--trace-file", f"{small}/trace")
        self.assert_full_disk_is_survived(proxy)
        self.assertGreater(os.path.getsize(f"{small}/trace"), MIB // 2)
        before = self.read(f"{small}/trace")
        os.truncate(f"{small}/trace", 0)
        client = self.client(proxy).mount()

        def is_written_again():
            make_calls(client, 10)
            return "written again" in proxy.log_text()
        wait_for(is_written_again, "records again")
        client.close()
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(), 0)
        self.peer.signal(signal.SIGTERM)
        made = int(re.search(r"(\d+) calls",
                             self.peer.process.stdout.read()).group(1))
        after = self.read(f"{small}/trace")
        lost = [int(n) for n in re.findall(r"\blost=(\d+)", after)]
        records = [line for line in (before + after).splitlines()
                   if "lost" not in line]
        figure(f"{made} calls: {len(records)} records, {sum(lost)} lost")
        self.assertEqual(made, len(records) + sum(lost))

    @staticmethod
    def read(path):
        with open(path, encoding="ascii") as text:
            return text.read()

    def test_a_log_that_cannot_be_written_stops_nothing(self):
        proxy = self.daemon(self.peer)
        client = self.client(proxy).mount()
        address = proxy.address()
        os.unlink(f"{self.dir}/log")
        os.symlink("/dev/full", f"{self.dir}/log")
        proxy.signal(signal.SIGUSR1)
        for _ in range(20):
            with Client(address) as stranger:
                stranger.send_raw(b"GET /\r\n\r\n")
                self.assert_ended(stranger)
            make_calls(client, 10)
        self.assert_alive(proxy)
        os.unlink(f"{self.dir}/log")


class UsedUp(FakeTest):
    def test_no_descriptors_left_is_waited_out_without_spinning(self):
        proxy = self.daemon(self.fake_brick(), descriptors=64)
        mounted = self.client(proxy).mount()
        crowd = [self.client(proxy) for _ in range(100)]
        for client in crowd:
            try:
                client.send(wire.PING)
            except ConnectionError:
                pass
        proxy.logged("accept: Too many open files|no socket for the brick")
        spent = proxy.cpu_seconds()
        time.sleep(2)
        spent = proxy.cpu_seconds() - spent
        figure(f"no descriptors for 2 s: {spent:.2f} s of processor, "
               f"{len(proxy.log_text().splitlines())} log lines")
        self.assertLess(spent, 0.4)
        make_calls(mounted, 100)
        for client in crowd:
            client.close()
        wait_for(lambda: proxy.descriptors() < 40, "descriptors come back")
        # Those that waited are accepted first and may use them up once more.
        wait_for(lambda: self.can_mount(proxy), "a client can mount again")

    @staticmethod
    def can_mount(proxy):
        with proxy.client() as client:
            try:
                make_calls(client.mount(), 10)
            except (EOFError, ConnectionError):
                return False
        return True

    def test_clients_over_max_sessions_wait_until_one_ends(self):
        proxy = self.daemon(self.fake_brick(), "--max-sessions", "5")
        mounted = [self.client(proxy).mount() for _ in range(5)]
        waiting = self.client(proxy)
        waiting.send(wire.PING)
        proxy.logged("max_sessions is reached")
        spent = proxy.cpu_seconds()
        self.assertTrue(waiting.is_quiet(1))
        spent = proxy.cpu_seconds() - spent
        figure(f"at max_sessions for 1 s: {spent:.2f} s of processor")
        self.assertLess(spent, 0.2)
        for client in mounted:
            make_calls(client, 10)
        mounted[2].close()
        self.assertEqual(waiting.reply().ret(), (0, 0))


class Stop(FakeTest):
    def setUp(self):
        super().setUp()
        self.peer = self.brick()

    def test_outstanding_calls_are_answered_before_the_end(self):
        proxy = self.daemon(self.peer)
        idle, idle_end = self.pair(proxy, self.peer)
        client, end = self.pair(proxy, self.peer)
        address = proxy.address()
        for n in range(5):
            client.send(wire.READ, wire.read_args(n, MIB))
        calls = [end.expect(wire.READ) for _ in range(5)]
        proxy.signal(signal.SIGTERM)
        self.assert_ended(idle)
        self.assert_ended(idle_end)
        with self.assertRaises(ConnectionRefusedError):
            Client(address)
        client.send_raw(wire.mark(wire.call(99, wire.PING)))    # too late
        self.assertTrue(client.is_quiet(0.3))
        for n, call in enumerate(calls):
            end.reply(call, wire.read_results(wire.pattern(n, MIB)))
        for n in range(5):
            self.assertEqual(client.reply().results[172:],
                             wire.pattern(n, MIB))
        self.assert_ended(client)
        client.close()
        self.assertEqual(proxy.wait(), 0)

    def test_a_write_under_way_is_completed(self):
        proxy = self.daemon(self.peer)
        client, end = self.pair(proxy, self.peer)
        record = wire.mark(wire.call(7, wire.WRITE,
                                     wire.write_args(wire.pattern(0, MIB))))
        client.send_raw(record[:700000])
        wait_for(lambda: not end.is_quiet(0), "the WRITE begins")
        proxy.signal(signal.SIGTERM)
        proxy.logged("draining")
        time.sleep(0.2)
        client.send_raw(record[700000:])
        call = end.expect(wire.WRITE)
        self.assertEqual(call.args[52:], wire.pattern(0, MIB))
        end.reply(call, bytes(8))
        self.assertEqual(client.reply().xid, 7)
        client.close()
        self.assertEqual(proxy.wait(), 0)

    def test_the_deadline_ends_it(self):
        proxy = self.daemon(self.peer, "--drain-timeout", "500ms")
        client, end = self.pair(proxy, self.peer)
        client.send(wire.PING)
        end.expect(wire.PING)
        start = time.monotonic()
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(), 0)
        spent = time.monotonic() - start
        self.assertGreater(spent, 0.45)
        self.assertLess(spent, 10 if SANITIZED else 2)
        self.assert_ended(client)
        self.assert_ended(end)

    def test_a_second_signal_ends_it_at_once(self):
        proxy = self.daemon(self.peer)
        client, end = self.pair(proxy, self.peer)
        client.send(wire.PING)
        end.expect(wire.PING)
        proxy.signal(signal.SIGTERM)
        proxy.logged("draining")
        proxy.signal(signal.SIGTERM)
        start = time.monotonic()
        self.assertEqual(proxy.wait(), 0)
        self.assertLess(time.monotonic() - start, 10 if SANITIZED else 1)
        self.assert_ended(client)
        self.assert_ended(end)

    def test_drain_under_load_loses_no_answer(self):
        """Whatever the brick has been asked is answered to the client."""
        brick = self.fake_brick()
        proxy = self.daemon(brick)
        clients = [self.client(proxy).mount() for _ in range(10)]
        stat = wire.mark(wire.call(1, wire.STAT, wire.GFID + wire.NO_XDATA))
        for client in clients:
            client.send_raw(stat * 2000)
        proxy.signal(signal.SIGTERM)
        answered = 0
        for client in clients:
            data = client.rest()
            size = 4 + 24 + 20 + 148
            self.assertEqual(len(data) % size, 0)
            answered += len(data) // size
            client.close()
        self.assertEqual(proxy.wait(), 0)
        brick.signal(signal.SIGTERM)
        asked = int(re.search(r"(\d+) calls",
                              brick.process.stdout.read()).group(1))
        figure(f"drain: {asked - 20} calls at the brick, {answered} answers")
        self.assertEqual(asked - 20, answered)


class UnixSocket(FakeTest):
    def setUp(self):
        super().setUp()
        self.peer = self.fake_brick()
        self.path = f"{self.dir}/socket"
        self.options = ("--listen", f"unix:{self.path}", "--brick",
                        self.peer.address)

    def start(self, name):
        os.mkdir(f"{self.dir}/{name}")
        return self.keep(Daemon(f"{self.dir}/{name}", *self.options))

    def test_it_serves_clients_and_goes_with_the_daemon(self):
        proxy = self.start("one")
        make_calls(self.keep(Client(self.path)).mount(), 100)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_what_a_killed_daemon_left_is_replaced(self):
        proxy = self.start("one")
        client = self.keep(Client(self.path).mount())
        proxy.signal(signal.SIGKILL)
        proxy.wait()
        self.assert_ended(client)
        self.assertTrue(os.path.exists(self.path))
        self.start("two")
        make_calls(self.keep(Client(self.path)).mount(), 100)

    def test_a_second_instance_is_refused_and_harms_nothing(self):
        self.start("one")
        client = self.keep(Client(self.path).mount())
        os.mkdir(f"{self.dir}/two")
        with self.assertRaisesRegex(AssertionError, "forebrickd ended"):
            Daemon(f"{self.dir}/two", *self.options)
        with open(f"{self.dir}/two/log", encoding="ascii") as log:
            self.assertIn("Address already in use", log.read())
        make_calls(client, 10)
        make_calls(self.keep(Client(self.path)).mount(), 10)

    def test_a_second_instance_is_refused_while_the_first_is_stopped(self):
        """Nobody answers, but somebody listens."""
        proxy = self.start("one")
        proxy.signal(signal.SIGSTOP)
        os.mkdir(f"{self.dir}/two")
        with self.assertRaisesRegex(AssertionError, "forebrickd ended"):
            Daemon(f"{self.dir}/two", *self.options)
        proxy.signal(signal.SIGCONT)
        make_calls(self.keep(Client(self.path)).mount(), 10)

    def test_a_file_that_is_no_socket_stays(self):
        with open(self.path, "w", encoding="ascii") as out:
            out.write("precious")
        os.mkdir(f"{self.dir}/one")
        with self.assertRaisesRegex(AssertionError, "forebrickd ended"):
            Daemon(f"{self.dir}/one", *self.options)
        with open(self.path, encoding="ascii") as text:
            self.assertEqual(text.read(), "precious")


if __name__ == "__main__":
    main()
