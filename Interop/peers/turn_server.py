"""coturn as a TURN server for one test, on a free port of loopback or inside a namespace; its log says what it did."""

import re
import socket
import sqlite3
from pathlib import Path

from support.process import JSONProcess
from support.waiting import wait_until

PROGRAM = Path("/usr/bin/turnserver")
USER, PASSWORD = "relay-user", "relay-password"
# It says the last also where it has not got its port.
READY = "TCP listener opened", "UDP listener opened", "Total General servers"
TAKEN = "Address already in use"


class TURNServer:
    def __init__(self, *options, port=None):
        """On a port that is given, it waits until that is free."""
        while not self._start(options, port or free_port(), may_be_taken=port is None):
            self.close()

    def _start(self, options, port, may_be_taken):
        """False when somebody took the port since it was found free: coturn would try for it for ever."""
        self.port = port
        command = [
            PROGRAM, "-n", "--no-cli", "--no-tls", "--no-dtls", "--verbose", "--log-file=stdout", "--pidfile=/dev/null",
            "--userdb=/dev/null", "--lt-cred-mech", f"--user={USER}:{PASSWORD}", "--realm=roost",
            "--allow-loopback-peers", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1",
            f"--listening-port={self.port}", *options,
        ]
        self.process = JSONProcess("coturn", command)
        try:
            wait_until(lambda: self._is_ready() or may_be_taken and self.says(TAKEN), "coturn listens")
        except AssertionError:
            self.close()
            raise AssertionError(f"coturn does not listen.\n{self.process.transcript()}") from None
        return self._is_ready()

    def _is_ready(self):
        return all(self.says(mark) for mark in READY)

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


class Coturn:
    """Inside a namespace, on TURN's own port, which nobody else has there meanwhile. It takes the user `user`, or,
    where there is a `secret`, what is made with that.
    """

    def __init__(self, namespace, *options, secret=None, folder=None):
        self.address = namespace.address
        login, database = ["--lt-cred-mech", "--user=user:secret"], "/dev/null"
        if secret:
            login, database = ["--use-auth-secret", f"--static-auth-secret={secret}"], folder / "coturn.sqlite"
            # It looks for more secrets there, and takes none at all where it finds no table.
            with sqlite3.connect(database) as connection:
                connection.execute("CREATE TABLE turn_secret (realm, value)")
            connection.close()
        self.process = JSONProcess("coturn", namespace.command(
            "turnserver", "-n", "--no-cli", "--no-tls", "--no-dtls", "--verbose", "--log-file=stdout",
            "--pidfile=/dev/null", f"--userdb={database}", *login, "--realm=roost",
            f"--listening-ip={self.address}", f"--relay-ip={self.address}", *options))

    def wait_listening(self):
        wait_until(lambda: self.says("Total General servers"), "coturn listens")

    def says(self, pattern, since=0):
        """All places in its log that are like this."""
        return re.findall(pattern, "".join(self.process.text[since:]))

    @property
    def lines(self):
        return len(self.process.text)


def free_port():
    """One that was free a moment ago, for UDP and for TCP: coturn takes both."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            try:
                tcp.bind(udp.getsockname())
            except OSError:
                continue
            return udp.getsockname()[1]
