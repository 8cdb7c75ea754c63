"""Network namespaces for peers that ignore loopback, and a lossy wire between two of them.

A namespace lives as long as its holder process; nothing has a name, so nothing is left behind and tests may run side by
side. Traffic goes nowhere else: there is no route out.
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from support.waiting import PATIENCE

# TEST-NET-1 (RFC 5737)
WIRE_ADDRESSES = ("192.0.2.1", "192.0.2.2")
INTERFACE_ADDRESS = "192.0.2.3"
FIREFOX_ASKS_FOR = "8.8.8.8"
"""How this would be reached tells Firefox its own address. Without an answer it gathers no candidates at all."""

# The holder says when it is inside. A shell is soon there, and enough for those of which nobody wants a socket.
HOLDER = 'echo; read -r _ && exec "$0" -I -S -c "$1"'
# What it becomes with the first line on its standard input: for each line a socket that was made inside.
MAKE_SOCKETS = """
import socket
tests = socket.socket(fileno=0)
line = True
while line:
    with socket.socket() as made:
        socket.send_fds(tests, [b"."], [made.fileno()])
    line = tests.recv(1)
"""


class Namespace:
    """A private network with loopback and, beside it, one interface whose address browsers do not take for loopback."""

    def __init__(self, address=INTERFACE_ADDRESS):
        self.address = address
        self.is_root = os.geteuid() == 0
        user = [] if self.is_root else ["--user", "--map-root-user"]
        # The holder ends with its standard input, so also when this process dies.
        self._asks, standard_input = socket.socketpair()
        self._asks.settimeout(PATIENCE)
        self._lock = threading.Lock()
        with standard_input:
            self.holder = subprocess.Popen(
                ["unshare", *user, "--net", "sh", "-c", HOLDER, sys.executable, MAKE_SOCKETS],
                stdin=standard_input, stdout=subprocess.PIPE, start_new_session=True,
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

    def socket(self):
        """One of TCP over IPv4 for this process outside: it stays in the network in which it was made. No process is
        started for it, so that what is asked again and again costs little."""
        with self._lock:
            self._asks.send(b"\n")
            _, descriptors, _, _ = socket.recv_fds(self._asks, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            raise ConnectionError("the namespace has ended")
        return socket.socket(fileno=descriptors[0])

    def connect(self, host, port):
        """A TCP connection inside. Fails as any other does; afterwards it waits without an end."""
        connection = self.socket()
        try:
            connection.settimeout(PATIENCE)
            connection.connect((host, port))
            connection.settimeout(None)
        except OSError:
            connection.close()
            raise
        return connection

    def http(self, host, port):
        """The same for HTTP, by Python's own client."""
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        # It would connect anew outside.
        connection.auto_open = 0
        connection.sock = self.connect(host, port)
        connection.sock.settimeout(PATIENCE)
        return connection

    def fetch(self, url, body=None, headers={}):
        """What a GET brings, or a POST if there is a body."""
        place = urlsplit(url)
        with contextlib.closing(self.http(place.hostname, place.port)) as connection:
            target = f"{place.path}?{place.query}" if place.query else place.path
            connection.request("GET" if body is None else "POST", target, body, headers)
            response = connection.getresponse()
            answer = response.read()
        assert response.status == 200, f"{url}: {response.status} {answer[:200]!r}"
        return answer

    def ip(self, *arguments):
        done = self.run("ip", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")

    def close(self):
        self._asks.close()
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
