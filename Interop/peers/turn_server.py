"""coturn as a TURN server for one test, on a free port of loopback; its log says what it did."""

import socket
from pathlib import Path

from support.process import JSONProcess
from support.waiting import wait_until

PROGRAM = Path("/usr/bin/turnserver")
USER, PASSWORD = "relay-user", "relay-password"


class TURNServer:
    def __init__(self, *options, port=None):
        self.port = port or free_port()
        command = [
            PROGRAM, "-n", "--no-cli", "--no-tls", "--no-dtls", "--verbose", "--log-file=stdout", "--pidfile=/dev/null",
            "--userdb=/dev/null", "--lt-cred-mech", f"--user={USER}:{PASSWORD}", "--realm=roost",
            "--allow-loopback-peers", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1",
            f"--listening-port={self.port}", *options,
        ]
        self.process = JSONProcess("coturn", command)
        self.wait_says("Total General servers")

    def wait_says(self, mark):
        wait_until(lambda: self.says(mark), f'coturn says "{mark}"')

    def says(self, mark):
        return any(mark in line for line in list(self.process.text))

    def options(self, password=PASSWORD):
        """For `roost call`: this server, and no other way."""
        url = f"turn:127.0.0.1:{self.port}"
        return ["--ice-server", url, "--ice-user", USER, "--ice-credential", password, "--relay-only"]

    def close(self):
        # It has nothing to tidy up.
        self.process.kill()
        self.process.wait()


def free_port():
    """One that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]
