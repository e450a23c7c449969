# SPDX-License-Identifier: Apache-2.0
"""Processes and sockets of the fake ring.

FOREBRICKD and FAKE_BRICK in the environment name the programs; else they are
those of the build directory that the test runs in. Arguments of a test: names
of tests, -v, and --long for as many repetitions as a soak wants.
"""
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import wire

HERE = os.path.dirname(os.path.abspath(__file__))
FOREBRICKD = os.environ.get("FOREBRICKD", "./forebrickd")
FAKE_BRICK = os.environ.get("FAKE_BRICK", "tests/fake/fake_brick")
LONG = "--long" in sys.argv


def is_sanitized():
    with open(FOREBRICKD, "rb") as program:
        return re.search(b"__[at]san_init", program.read()) is not None


SANITIZED = is_sanitized()
DEADLINE = 60 if SANITIZED else 20      # of whatever must happen
MIB = 1 << 20


def times(usual, in_a_soak):
    return in_a_soak if LONG else usual


def figure(text):
    """Something measured, for whoever reads the test's log."""
    print("#", text, flush=True)


def wait_for(condition, what, seconds=None):
    end = time.monotonic() + (seconds or DEADLINE)
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"not within {seconds or DEADLINE} s: {what}")


class Stream:
    """One end of a connection that carries records."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(DEADLINE)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def name(self):
        return "%s:%d" % self.sock.getsockname()[:2]

    def send_raw(self, data):
        self.sock.sendall(data)

    def send_record(self, record):
        self.sock.sendall(wire.mark(record))

    def exactly(self, size):
        while len(self.buffer) < size:
            got = self.sock.recv(max(65536, size - len(self.buffer)))
            if not got:
                raise EOFError(f"{len(self.buffer)} of {size} bytes")
            self.buffer += got
        out = bytes(self.buffer[:size])
        del self.buffer[:size]
        return out

    def record(self):
        """The next one, without its mark; it must come in one fragment."""
        head = int.from_bytes(self.exactly(4), "big")
        assert head & wire.LAST, "more than one fragment"
        return self.exactly(head & ~wire.LAST)

    def is_quiet(self, seconds=0.1):
        """Nothing arrives, not even an end, for so long."""
        if self.buffer:
            return False
        return not select.select([self.sock], [], [], seconds)[0]

    def rest(self):
        """Everything until the peer closes or resets."""
        try:
            while got := self.sock.recv(1 << 18):
                self.buffer += got
        except ConnectionError:
            pass
        out = bytes(self.buffer)
        self.buffer.clear()
        return out

    def end_sending(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def close(self):
        self.sock.close()


class Client(Stream):
    """A client that knows its own xids."""

    def __init__(self, address, rcvbuf=None):
        family = (socket.AF_UNIX if isinstance(address, str)
                  else socket.AF_INET)
        sock = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sock.settimeout(DEADLINE)
        try:
            sock.connect(address)
        except OSError:
            sock.close()
            raise
        super().__init__(sock)
        self.xid = 1

    def send(self, proc, args=b"", **how):
        self.xid += 1
        self.send_record(wire.call(self.xid, proc, args, **how))
        return self.xid

    def reply(self):
        return wire.Reply(self.record())

    def call(self, proc, args=b"", **how):
        xid = self.send(proc, args, **how)
        got = self.reply()
        assert got.xid == xid, f"reply to {got.xid}, not to {xid}"
        return got

    def mount(self):
        assert self.call(wire.DUMP_DUMP, wire.u64(0)).accept == 0
        got = self.call(wire.SETVOLUME, wire.setvolume_args())
        assert got.ret()[0] == 0
        return self


class Brick:
    """A listening socket; what happens on its connections is the test's."""

    def __init__(self, backlog=128, unix=None, port=0):
        if unix:
            self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.listener.bind(unix)
            self.listener.listen(backlog)
            self.address = f"unix:{unix}"
        else:
            self.listener = socket.create_server(("127.0.0.1", port),
                                                 backlog=backlog)
            self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.listener.settimeout(DEADLINE)

    def accept(self):
        return BrickEnd(self.listener.accept()[0])

    def is_quiet(self, seconds=0.1):
        return not select.select([self.listener], [], [], seconds)[0]

    def close(self):
        self.listener.close()


class BrickEnd(Stream):
    """A brick's end of a connection."""

    def expect(self, proc=None):
        got = wire.Call(self.record())
        assert got.kind == 0, "not a call"
        assert proc in (None, got.proc), f"{got.proc}, not {proc}"
        return got

    def reply(self, call, results=b"", accept=0):
        self.send_record(wire.reply(call.xid, results, accept))


class FakeBrick:
    """The program that answers everything."""

    def __init__(self, *options):
        self.process = subprocess.Popen([FAKE_BRICK, *options],
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline())
        self.address = f"127.0.0.1:{self.port}"

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Daemon:
    """A forebrickd in a directory of its own."""

    def __init__(self, directory, *options, config=None, descriptors=None):
        self.dir = directory
        self.log = os.path.join(directory, "log")
        self.trace = os.path.join(directory, "trace")
        self.errors = os.path.join(directory, "errors")
        command = [FOREBRICKD, "--log-file", self.log, *options]
        if config:
            command += ["-f", config]

        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE,
                                   (descriptors, descriptors))

        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(command, stderr=errors,
                                            preexec_fn=limit)
        self.pid = self.process.pid
        self.addresses = []
        wait_for(self.has_started, "ready")

    def has_started(self):
        if self.process.poll() is not None:
            raise AssertionError("forebrickd ended:\n" + self.error_text())
        return self.error_text().rstrip().endswith("ready")

    def error_text(self):
        with open(self.errors, encoding="utf-8", errors="replace") as text:
            return text.read()

    def log_text(self):
        with open(self.log, encoding="ascii") as text:
            return text.read()

    def logged(self, pattern, count=1):
        """Wait until so many lines match; return the last match."""
        found = wait_for(
            lambda: (m := list(re.finditer(pattern, self.log_text())))
            and len(m) >= count and m, f"in the log: {pattern}")
        return found[-1]

    def address(self, nth=0):
        """Where it listens, in the order in which it began to."""
        if nth >= len(self.addresses):
            self.addresses = re.findall(r"listening on (127[.\d]+):(\d+)",
                                        self.log_text())
        host, port = self.addresses[nth]
        return (host, int(port))

    def client(self, **how):
        return Client(self.address(), **how)

    def signal(self, number):
        self.process.send_signal(number)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def rss(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kept_waiting_ms(self):
        """How long the one of its threads that had to wait most for a
        processor has waited so far: the machine's fault."""
        waited = [0]
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat",
                      encoding="ascii") as stat:
                waited.append(int(stat.read().split()[1]) / 1e6)
        return max(waited)

    def wait(self):
        return self.process.wait(DEADLINE)

    def close(self):
        """Ends it in the ordinary way; sanitizers must have nothing to say."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            self.signal(signal.SIGTERM)
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        text = self.error_text()
        if code not in (0, -signal.SIGKILL) or "anitizer" in text:
            raise AssertionError(f"forebrickd ended with {code}:\n{text}")


class Canary:
    """A client in a process of its own that must not notice anything."""

    def __init__(self, daemon, nth=0):
        host, port = daemon.address(nth)
        self.daemon = daemon
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, "canary.py"), host,
             str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        self.process.stdout.readline()
        self.kept_waiting_ms = daemon.kept_waiting_ms()

    def finish(self):
        out, _ = self.process.communicate(timeout=DEADLINE)
        waited = self.daemon.kept_waiting_ms() - self.kept_waiting_ms
        return {**json.loads(out), "waited_ms": waited}

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class FakeTest(unittest.TestCase):
    """Starts peers, and ends them in the reverse order."""

    CANARY_LIMIT_MS = 10000 if SANITIZED else 1000

    def setUp(self):
        temp = tempfile.TemporaryDirectory(prefix="forebrick.")
        self.addCleanup(temp.cleanup)
        self.dir = temp.name

    def keep(self, peer):
        self.addCleanup(peer.close)
        return peer

    def daemon(self, brick, *options, **how):
        return self.keep(Daemon(self.dir, "--listen", "127.0.0.1:0",
                                "--brick", brick.address, *options, **how))

    def configured(self, text, *options, **how):
        self.write_config(text)
        return self.keep(Daemon(self.dir, *options,
                                config=f"{self.dir}/conf", **how))

    def write_config(self, text):
        with open(f"{self.dir}/conf", "w", encoding="ascii") as out:
            out.write(text)

    def fake_brick(self, *options):
        return self.keep(FakeBrick(*options))

    def brick(self, **how):
        return self.keep(Brick(**how))

    def client(self, daemon, **how):
        return self.keep(daemon.client(**how))

    def pair(self, daemon, brick):
        """A mounted client and its brick's end."""
        client = self.client(daemon)
        client.send(wire.DUMP_DUMP, wire.u64(0))
        end = self.keep(brick.accept())
        end.reply(end.expect(wire.DUMP_DUMP), wire.u64(0) + wire.u32(0, 0, 0))
        client.reply()
        client.send(wire.SETVOLUME, wire.setvolume_args())
        end.reply(end.expect(wire.SETVOLUME), wire.setvolume_results())
        self.assertEqual(client.reply().ret()[0], 0)
        return client, end

    def canary(self, daemon, nth=0):
        return self.keep(Canary(daemon, nth))

    def assert_undisturbed(self, canary):
        seen = canary.finish()
        figure("canary: %(calls)d calls, median %(median_ms).2f ms, "
               "slowest %(max_ms).1f ms; forebrickd waited %(waited_ms).0f ms "
               "for a processor" % seen)
        self.assertIsNone(seen["error"])
        self.assertGreater(seen["calls"], 0)
        self.assertLess(seen["max_ms"],
                        self.CANARY_LIMIT_MS + seen["waited_ms"])

    def assert_alive(self, daemon):
        self.assertIsNone(daemon.process.poll(), daemon.error_text())

    def assert_descriptors_return(self, daemon, before):
        wait_for(lambda: daemon.descriptors() <= before,
                 f"{before} descriptors, as before")

    def assert_memory(self, daemon, before, limit, what):
        """Resident memory grew by limit bytes at most."""
        grown = daemon.rss() - before
        figure(f"{what}: resident memory grew by {grown / MIB:.1f} MiB, "
               f"limit {limit / MIB:.1f} MiB")
        if not SANITIZED:
            self.assertLess(grown, limit)

    def assert_ended(self, stream):
        """The daemon closes it; nothing came before that."""
        self.assertEqual(stream.rest(), b"")


def main():
    sys.argv = [a for a in sys.argv if a != "--long"]
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
