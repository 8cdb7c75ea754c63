"""Debian's Redis for tests: on loopback, keeping nothing."""

import random
import subprocess

from support.ports import BELOW_EPHEMERAL
from support.process import JSONProcess
from support.waiting import wait_until


class Redis:
    """One that comes back after `stop` is where it was, and empty."""

    def __init__(self, folder, *, namespace=None, password=None):
        """`namespace`: on whose loopback it is, if not on this machine's."""
        self.folder, self.namespace, self.password = folder, namespace, password
        self.process = None
        for port in random.sample(BELOW_EPHEMERAL, 5):
            self.port = port
            if self._try():
                return
        raise AssertionError(f"Redis has not come up.\n{self.process.transcript()}")

    @property
    def url(self):
        secret = f":{self.password}@" if self.password else ""
        return f"redis://{secret}127.0.0.1:{self.port}"

    def start(self):
        assert self._try(), self.process.transcript()

    def _try(self):
        """Whether it has got its port."""
        command = [
            "redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
            "--appendonly", "no", *(["--requirepass", self.password] if self.password else []),
        ]
        process = JSONProcess("redis-server", self.namespace.command(*command) if self.namespace else command)
        self.process = process

        def says(words):
            return any(words in line for line in list(process.text))

        wait_until(lambda: says("Ready to accept connections") or says("Failed listening on port"),
                   process.transcript)
        if says("Ready to accept connections"):
            return True
        self.close()
        return False

    def stop(self):
        """As a machine that fails: whoever is connected is cut off, and nothing is left."""
        self.process.kill()
        self.process.wait()
        self.close()

    def command(self, *words):
        """What it answers."""
        login = ["-a", self.password, "--no-auth-warning"] if self.password else []
        command = ["redis-cli", "-h", "127.0.0.1", "-p", str(self.port), *login, *map(str, words)]
        command = self.namespace.command(*command) if self.namespace else command
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def close(self):
        self.process.finish()
