#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forebrickd as a process: exit status, signals, and what the service manager
is told. Peers are plain sockets of this script.

    process.py PATH-OF-FOREBRICKD
"""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

DEADLINE = 20
DAEMON = None


class Daemon:
    """A running forebrickd with a NOTIFY_SOCKET, listening on a free port."""

    def __init__(self, directory, *options, config=None):
        self.dir = directory
        self.log = os.path.join(directory, 'log')
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(os.path.join(directory, 'notify'))
        self.manager.settimeout(DEADLINE)
        command = [DAEMON, '--log-file', self.log, *options]
        if config is None:
            command += ['--listen', '127.0.0.1:0', '--brick', '127.0.0.1:1']
        else:
            command += ['-f', config]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE,
            env=dict(os.environ, NOTIFY_SOCKET=self.manager.getsockname()))

    def next_message(self):
        text = self.manager.recv(4096).decode()
        return dict(line.split('=', 1) for line in text.splitlines())

    def logged(self, pattern):
        """Wait until the log has it; return the first group."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if os.path.exists(self.log):
                with open(self.log, encoding='ascii') as log:
                    found = re.search(pattern, log.read())
                if found:
                    return found.group(found.re.groups and 1)
            time.sleep(0.01)
        raise AssertionError(f'never logged: {pattern}')

    def port(self):
        return int(self.logged(r'listening on 127\.0\.0\.1:(\d+)'))

    def send(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(DEADLINE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.manager.close()


def run(*options):
    return subprocess.run([DAEMON, *options], capture_output=True, text=True,
                          timeout=DEADLINE, check=False)


def dump_call():
    """A call of the DUMP program: every peer sends it first."""
    body = struct.pack('>6I4I', 1, 0, 2, 123451501, 1, 1, 0, 0, 0, 0)
    return struct.pack('>I', 0x80000000 | len(body)) + body


class ProcessTest(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory(prefix='forebrick.')
        self.addCleanup(temp.cleanup)
        self.dir = temp.name

    def start(self, *options, config=None):
        daemon = Daemon(self.dir, *options, config=config)
        self.addCleanup(daemon.close)
        return daemon

    def write(self, text, name='conf'):
        path = os.path.join(self.dir, name)
        with open(path, 'w', encoding='ascii') as out:
            out.write(text)
        return path

    def sample(self, extra=''):
        return (f'{extra}\nlistener "a" {{ listen = "127.0.0.1:0" '
                'brick = "127.0.0.1:1" }\n')


class ExitStatus(ProcessTest):
    def test_wrong_usage_is_64(self):
        for options in (['--nonsense'], ['stray'], ['-f']):
            result = run(*options)
            self.assertEqual(result.returncode, 64)
            self.assertIn("Try 'forebrickd --help'", result.stderr)

    def test_wrong_configuration_is_78(self):
        for options in ([], ['--listen', ':1'],
                        ['--listen', ':1', '--brick', 'b:1', '--workers', 'x'],
                        ['-f', '/no/such/file']):
            result = run(*options)
            self.assertEqual(result.returncode, 78)
            self.assertEqual(result.stdout, '')
            self.assertNotEqual(result.stderr, '')

    def test_help_and_version_are_0(self):
        for option in ('--help', '--version'):
            result = run(option)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, '')

    def test_check_says_valid_or_where_it_is_not(self):
        good = self.write(self.sample())
        result = run('-t', '-f', good)
        self.assertEqual((result.returncode, result.stdout),
                         (0, f'{good}: configuration is valid\n'))
        bad = self.write(self.sample('\nworkers = many'), 'bad')
        result = run('-t', '-f', bad)
        self.assertEqual(result.returncode, 78)
        self.assertEqual(result.stderr, f'{bad}:2: workers = "many" is not '
                         'valid: it takes a whole number from 0 to 256\n')

    def test_a_printed_configuration_is_one(self):
        first = run('--listen', ':1', '--brick', 'b:2', '--max-queue', '2MiB',
                    '--print-config')
        self.assertEqual(first.returncode, 0)
        again = run('-f', self.write(first.stdout), '--print-config')
        self.assertEqual(again.stdout, first.stdout)
        self.assertIn('max_queue = 2MiB', first.stdout)

    def test_an_address_in_use_is_69(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            result = run('--brick', '127.0.0.1:1', '--listen',
                         f'127.0.0.1:{taken.getsockname()[1]}')
        self.assertEqual(result.returncode, 69)
        self.assertIn('Address already in use', result.stderr)

    def test_a_log_that_cannot_be_opened_is_73(self):
        result = run('--listen', '127.0.0.1:0', '--brick', '127.0.0.1:1',
                     '--log-file', '/no/such/directory/log')
        self.assertEqual(result.returncode, 73)
        self.assertIn('/no/such/directory/log', result.stderr)


class Signals(ProcessTest):
    def test_ready_comes_when_clients_can_connect(self):
        daemon = self.start()
        self.assertEqual(daemon.next_message()['READY'], '1')
        socket.create_connection(('127.0.0.1', daemon.port())).close()
        self.assertEqual(daemon.process.stderr.readline(), b'ready\n')

    def test_term_and_int_stop_with_notice(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with tempfile.TemporaryDirectory(dir=self.dir) as directory:
                daemon = Daemon(directory)
                self.addCleanup(daemon.close)
                daemon.next_message()
                daemon.send(number)
                self.assertEqual(daemon.next_message()['STOPPING'], '1')
                self.assertEqual(daemon.wait(), 0)
                daemon.logged('info stopped')

    def test_hangup_reloads_and_says_so(self):
        config = self.write(self.sample('log_level = info'))
        daemon = self.start(config=config)
        daemon.next_message()
        self.write(self.sample('log_level = debug'))
        daemon.send(signal.SIGHUP)
        message = daemon.next_message()
        self.assertEqual(message['RELOADING'], '1')
        self.assertLessEqual(int(message['MONOTONIC_USEC']),
                             time.monotonic_ns() // 1000)
        self.assertEqual(daemon.next_message()['READY'], '1')
        daemon.logged('configuration reloaded')

    def test_a_bad_reload_changes_nothing(self):
        config = self.write(self.sample())
        daemon = self.start(config=config)
        daemon.next_message()
        port = daemon.port()
        for text, complaint in (
                (self.sample('workers = x\nwokers = 1'), 'conf:1: workers'),
                (self.sample('workers = x\nwokers = 1'), 'conf:2: there is'),
                (self.sample('workers = 3'), 'workers goes from 0 to 3'),
                ('listener', 'conf:')):
            self.write(text)
            daemon.send(signal.SIGHUP)
            self.assertEqual(daemon.next_message()['RELOADING'], '1')
            self.assertEqual(daemon.next_message()['READY'], '1')
            daemon.logged(f'error .*{complaint}')
            socket.create_connection(('127.0.0.1', port)).close()
        self.assertIsNone(daemon.process.poll())

    def test_usr1_follows_a_rotation(self):
        daemon = self.start()
        daemon.next_message()
        daemon.port()
        os.rename(daemon.log, daemon.log + '.1')
        daemon.send(signal.SIGUSR1)
        end = time.monotonic() + DEADLINE
        while not os.path.exists(daemon.log) and time.monotonic() < end:
            time.sleep(0.01)
        daemon.send(signal.SIGTERM)
        daemon.wait()
        daemon.logged('info stopped')

    def with_unanswered_call(self, drain_timeout):
        brick = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(brick.close)
        brick.settimeout(DEADLINE)
        daemon = self.start('--drain-timeout', drain_timeout, config=self.write(
            'listener "a" { listen = "127.0.0.1:0" brick = '
            f'"127.0.0.1:{brick.getsockname()[1]}" }}'))
        daemon.next_message()
        client = socket.create_connection(('127.0.0.1', daemon.port()))
        self.addCleanup(client.close)
        client.settimeout(DEADLINE)
        client.sendall(dump_call())
        peer, _ = brick.accept()
        self.addCleanup(peer.close)
        peer.settimeout(DEADLINE)
        received = b''
        while len(received) < len(dump_call()):
            received += peer.recv(4096)
        return daemon, client, peer, received

    def test_drain_lets_a_call_be_answered(self):
        daemon, client, peer, call = self.with_unanswered_call('30s')
        daemon.send(signal.SIGTERM)
        self.assertEqual(daemon.next_message()['STOPPING'], '1')
        body = call[4:8] + struct.pack('>5I', 1, 0, 0, 0, 0)
        peer.sendall(struct.pack('>I', 0x80000000 | len(body)) + body)
        reply = b''
        while part := client.recv(4096):
            reply += part
        self.assertEqual(reply[4:8], dump_call()[4:8])
        self.assertEqual(daemon.wait(), 0)

    def test_drain_ends_at_its_deadline(self):
        daemon, _, _, _ = self.with_unanswered_call('500ms')
        begin = time.monotonic()
        daemon.send(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)
        self.assertGreaterEqual(time.monotonic() - begin, 0.4)

    def test_a_second_signal_ends_it_at_once(self):
        daemon, _, _, _ = self.with_unanswered_call('1h')
        daemon.send(signal.SIGTERM)
        self.assertEqual(daemon.next_message()['STOPPING'], '1')
        self.assertIsNone(daemon.process.poll())
        daemon.send(signal.SIGTERM)
        self.assertEqual(daemon.wait(), 0)


if __name__ == '__main__':
    DAEMON = os.path.abspath(sys.argv.pop(1))
    unittest.main()
