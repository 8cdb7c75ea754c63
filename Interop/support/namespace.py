"""Network namespaces for peers that ignore loopback, and a lossy wire between two of them.

A namespace lives as long as its holder process; nothing has a name, so nothing is left behind and tests may run side by
side. Traffic goes nowhere else: there is no route out.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from support.waiting import PATIENCE

# TEST-NET-1 (RFC 5737)
WIRE_ADDRESSES = ("192.0.2.1", "192.0.2.2")
INTERFACE_ADDRESS = "192.0.2.3"
FIREFOX_ASKS_FOR = "8.8.8.8"
"""How this would be reached tells Firefox its own address. Without an answer it gathers no candidates at all."""

# Connects, and passes the connection on by the socket whose descriptor comes first.
CONNECT = """
import socket, sys
out, host, port = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3])
connection = socket.create_connection((host, port))
socket.send_fds(out, [b"."], [connection.fileno()])
"""


class Namespace:
    """A private network with loopback and, beside it, one interface whose address browsers do not take for loopback."""

    def __init__(self, address=INTERFACE_ADDRESS):
        self.address = address
        self.is_root = os.geteuid() == 0
        user = [] if self.is_root else ["--user", "--map-root-user"]
        # The holder says when it is inside; it ends with its standard input, so also when this process dies.
        self.holder = subprocess.Popen(
            ["unshare", *user, "--net", "sh", "-c", "echo; exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )
        self.holder.stdout.readline()
        self.ip("link", "set", "lo", "up")

    def add_interface(self):
        """Few kernels lack the dummy device; there an `ifb` does the same."""
        for kind in ("dummy", "ifb"):
            if self.run("ip", "link", "add", "media0", "type", kind).returncode == 0:
                break
        else:
            raise RuntimeError("this kernel has neither dummy nor ifb interfaces")
        self.ip("addr", "add", f"{self.address}/32", "dev", "media0")
        self.ip("link", "set", "media0", "up")
        self.ip("route", "add", FIREFOX_ASKS_FOR, "dev", "media0")
        return self

    def command(self, *command):
        """The command line that runs `command` inside. Descriptors and the process id stay the same."""
        user = [] if self.is_root else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.holder.pid), *user, "--net", *map(str, command)]

    def run(self, *command):
        return subprocess.run(self.command(*command), capture_output=True, text=True)

    def connect(self, host, port):
        """A TCP connection inside, for this process outside: a socket stays in the network in which it was made."""
        here, there = socket.socketpair()
        with here, there:
            command = self.command(sys.executable, "-c", CONNECT, there.fileno(), host, port)
            subprocess.run(command, pass_fds=[there.fileno()], check=True)
            _, descriptors, _, _ = socket.recv_fds(here, 1, 1)
        return socket.socket(fileno=descriptors[0])

    def ip(self, *arguments):
        done = self.run("ip", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(timeout=PATIENCE)
        self.holder.stdout.close()


class Wire:
    """Two namespaces joined by a wire that loses and delays datagrams (see wire.py).

    `lost_flights`: kinds of DTLS flights whose first datagram is lost.
    """

    def __init__(self, loss=0.05, delay=0.02, jitter=0.05, seed=1, lost_flights=()):
        self.ends = [Namespace(address) for address in WIRE_ADDRESSES]
        pids = [str(end.holder.pid) for end in self.ends]
        program = Path(__file__).with_name("wire.py")
        self.process = subprocess.Popen(
            [sys.executable, str(program), *pids, str(loss), str(delay), str(jitter), str(seed),
             ",".join(lost_flights)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("the wire did not come up: is there /dev/net/tun?")
        for end, other in (self.ends, self.ends[::-1]):
            end.ip("addr", "add", end.address, "peer", other.address, "dev", "wire0")
            end.ip("link", "set", "wire0", "mtu", "1400", "up")

    def limit(self, rate):
        """So many bits of UDP a second from now on, each way; 0 for as many as come."""
        self.process.stdin.write(f"{rate}\n")
        self.process.stdin.flush()

    def close(self):
        """Ends the wire; returns how many datagrams it carried and how many it lost.

        `flights` then tells how many of each kind of DTLS flight have come to it.
        """
        self.process.stdin.close()
        carried, lost, flights = self.process.stdout.readline().split(maxsplit=2)
        carried, lost, self.flights = int(carried), int(lost), json.loads(flights)
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        for end in self.ends:
            end.close()
        return carried, lost
