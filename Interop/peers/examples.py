"""The programs of Examples as peers: descriptions as lines of JSON on their standard input and output."""

import os
import subprocess
from pathlib import Path

import pytest

from support.evidence import REPOSITORY
from support.process import JSONProcess
from support.waiting import wait_until


def find_example(name):
    """In $ROOST_EXAMPLES, which Scripts/test.sh sets, or where `swift build` leaves it. A test without it fails."""
    path = Path(os.environ.get("ROOST_EXAMPLES", REPOSITORY / ".build" / "debug")) / name
    if not path.exists():
        pytest.fail(f"{path} is missing: swift build --product {name}")
    return path


class Example(JSONProcess):
    def __init__(self, namespace, name, *arguments):
        super().__init__(name, namespace.command(find_example(name), *arguments), stdin=subprocess.PIPE)

    def description(self, kind):
        """What it offers or answers, with its candidates."""
        wait_until(lambda: self._find(kind) or self._process.poll() is not None, f"{self.name} has an {kind}")
        found = self._find(kind)
        assert found, self.transcript()
        return found

    def _find(self, kind):
        with self._changed:
            return next((line for line in self.events if line.get("type") == kind), None)

    def all(self, event):
        with self._changed:
            return [line for line in self.events if line.get("event") == event]

    def end(self):
        """Ends it in order, by the end of its input."""
        self._process.stdin.close()
        status = self.wait()
        self._process.stdout.close()
        return status
