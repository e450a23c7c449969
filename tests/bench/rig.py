# SPDX-License-Identifier: Apache-2.0
"""rig - a brick, the ways to it, and clients on them.

    client -- direct --------------------+
           -- HAProxy ----- [delay_relay]+-- brick
           -- forebrickd --              |

Everything runs in namespaces of its own (enter_namespaces), so ports are fixed
and nothing outlives the run. The delaying relay stands before the brick, in
every way or in none.
"""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VOLFILES = os.path.join(HERE, "..", "integration", "volfiles.sh")
BRICK, SUBVOLUME = 49152, "brick"
VOLUME_ID = "5f0c47a2-6a5c-4c43-9a0c-3d1f0f0b7c11"
PORTS = {"relay": 24100, "haproxy": 24101, "forebrick": 24102}
SKIPPED = 77
TICK = os.sysconf("SC_CLK_TCK")

# One thread, the buffer that serves it best here; sessions never time out.
HAPROXY = """
global
    nbthread 1
    maxconn {sessions}
    tune.bufsize 262144
defaults
    mode tcp
    maxconn {sessions}
    timeout connect 5s
    timeout client 1h
    timeout server 1h
frontend clients
    bind 127.0.0.1:{port}
    default_backend bricks
backend bricks
    server brick 127.0.0.1:{target}
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def enter_namespaces():
    """Run this script again inside; the outer one cleans up and exits."""
    if os.environ.get("FOREBRICK_BENCH_DIR"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for path in ("/run", "/var/log/glusterfs", "/var/lib/glusterd"):
            os.makedirs(path, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
        return os.environ["FOREBRICK_BENCH_DIR"]
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        skip("needs root and /dev/fuse")
    for program in ("glusterfsd", "glusterfs", "haproxy", "unshare"):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    inside = ["unshare", "--mount", "--net", "--pid", "--fork",
              "--kill-child", "--mount-proc"]
    if subprocess.run([*inside, "true"], check=False).returncode:
        skip("no namespaces here")
    with tempfile.TemporaryDirectory(prefix="forebrick-bench-") as work:
        env = dict(os.environ, FOREBRICK_BENCH_DIR=work, LC_ALL="C.UTF-8")
        sys.exit(subprocess.run([*inside, sys.executable, *sys.argv], env=env,
                                check=False).returncode)


def set_priority(nice):
    """For this process and all that it starts. Where the scheduler weighs
    whole sessions (autogroup), a nice value counts within one only."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    try:
        os.setsid()
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write(str(nice))
    except OSError:
        pass


def wait_for(what, condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def is_listening(port):
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


class Cpu:
    """CPU seconds of a process, to the nanosecond; /proc/PID/stat has ticks.

    A thread that has ended keeps what it had when last asked.
    """

    def __init__(self, pid):
        self.pid = pid
        self.threads = {}

    def seconds(self):
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{tid}/schedstat",
                          encoding="ascii") as stat:
                    self.threads[tid] = int(stat.read().split()[0])
            except FileNotFoundError:
                pass
        return sum(self.threads.values()) / 1e9


def machine_seconds():
    """(busy, all) of every processor; what a hypervisor took is busy."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / TICK, sum(ticks) / TICK


class Rig:
    def __init__(self, work, build, forebrickd=None, sessions=4000):
        self.work = work
        self.build = build
        self.forebrickd = forebrickd or os.path.join(build, "forebrickd")
        self.sessions = sessions
        self.processes = {}
        self.clocks = {}
        self.target = BRICK
        for program in (self.forebrickd, self.tool("rpc_load"),
                        self.tool("delay_relay")):
            if not os.access(program, os.X_OK):
                sys.exit(f"{program} is not built")

    def tool(self, name):
        return os.path.join(self.build, "tests/bench", name)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def start(self, name, argv, **how):
        with open(self.path(name + ".log"), "ab") as log:
            process = subprocess.Popen(argv, stderr=log, **how)
        self.processes[name] = process
        self.clocks[name] = Cpu(process.pid)
        return process

    def stop(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        process.wait(20)

    def check_alive(self):
        for name, process in self.processes.items():
            if process.poll() is not None:
                with open(self.path(name + ".log"), encoding="utf-8",
                          errors="replace") as log:
                    sys.stderr.write("".join(log.readlines()[-8:]))
                raise RuntimeError(f"{name} has ended: {process.returncode}")

    def volfile(self, name, command):
        """What a function of volfiles.sh prints, as a file."""
        script = f'work=$1; . "$2"; {command}'
        out = self.path(name + ".vol")
        with open(out, "wb") as volfile:
            subprocess.run(["bash", "-uc", script, "volfile", self.work,
                            VOLFILES], stdout=volfile, check=True)
        return out

    def start_brick(self):
        root = self.path("bricks", SUBVOLUME)
        os.makedirs(os.path.join(root, ".glusterfs/indices"))
        os.makedirs(self.path("vol"))
        os.setxattr(root, "trusted.glusterfs.volume-id",
                    bytes.fromhex(VOLUME_ID.replace("-", "")))
        volfile = self.volfile("brick", f"brick_volfile {SUBVOLUME} {BRICK} "
                               f"'{root}' {VOLUME_ID}")
        self.start("brick", ["glusterfsd", "-N", "-f", volfile, "-l",
                             self.path("brick.log")])
        wait_for("the brick", lambda: is_listening(BRICK))

    def start_relay(self):
        """The delaying relay; from now on every way leads through it."""
        port = PORTS["relay"]
        self.start("relay", [self.tool("delay_relay"), "--control",
                             "--listen", f"127.0.0.1:{port}",
                             "--to", f"127.0.0.1:{self.target}"],
                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.target = port
        wait_for("the relay", lambda: is_listening(port))

    def set_rtt(self, rtt):
        relay = self.processes["relay"]
        relay.stdin.write(f"rtt {rtt}\n".encode())
        relay.stdin.flush()
        time.sleep(0.05)

    def start_haproxy(self):
        port = PORTS["haproxy"]
        config = self.path("haproxy.cfg")
        with open(config, "w", encoding="ascii") as out:
            out.write(HAPROXY.format(port=port, target=self.target,
                                     sessions=self.sessions))
        self.start("haproxy", ["haproxy", "-db", "-q", "-f", config])
        wait_for("haproxy", lambda: is_listening(port))

    def start_forebrick(self, options=()):
        port = PORTS["forebrick"]
        self.start("forebrick", [
            self.forebrickd, "--listen", f"127.0.0.1:{port}",
            "--brick", f"127.0.0.1:{self.target}", "--workers", "1",
            *options])
        wait_for("forebrickd", lambda: is_listening(port))

    def port(self, way):
        return self.target if way == "direct" else PORTS[way]

    def mount(self, client, way):
        """A FUSE client of that stack on that way; returns its directory."""
        name = f"mount-{client}-{way}"
        directory = self.path(name)
        os.makedirs(directory)
        stack = "clean" if client == "neither" else client
        volfile = self.volfile(name, f"client_volfile {stack} plain "
                               f"{SUBVOLUME}={self.port(way)}")
        self.start(name, ["glusterfs", "-N", "-f", volfile, "-l",
                          self.path(name + ".log"), directory])
        wait_for(name, lambda: os.path.ismount(directory))
        return directory

    def unmount(self, client, way):
        name = f"mount-{client}-{way}"
        subprocess.run(["umount", self.path(name)], check=True)
        self.processes.pop(name).wait(20)

    def load(self, way, *args, port=None):
        """What rpc_load measured on that way."""
        done = subprocess.run(
            [self.tool("rpc_load"), "--to",
             f"127.0.0.1:{port or self.port(way)}", "--subvolume", SUBVOLUME,
             *map(str, args)], stdout=subprocess.PIPE, check=True, timeout=600)
        return json.loads(done.stdout)

    def cpu(self, client=None, way=None):
        """CPU seconds so far: of the brick, of what is in the way, of the
        client if it is a mount, and of what this script has run."""
        names = {"brick": "brick", "relay": "delay", way: "proxy",
                 f"mount-{client}-{way}": "client"}
        used = {part: self.clocks[name].seconds()
                for name, part in names.items() if name in self.processes}
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        used["reader"] = children.ru_utime + children.ru_stime
        return used

    def our_seconds(self):
        """CPU time of everything that this run consists of."""
        own = os.times()
        return sum(self.clocks[name].seconds() for name in self.processes) + \
            own.user + own.system + own.children_user + own.children_system
