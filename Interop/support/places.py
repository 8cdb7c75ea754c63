"""As many tests with browsers at once as there are cores, however many processes run tests.

Live media is a load that does not wait: calls beside each other on too few cores take longer, load the machine for as long,
and in the end each runs into its deadline. Forty tests of rooms take 145 s two at a time, and 378 s four at a time.
"""

import fcntl
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

BROWSERS = {"browser", "browser_called", "browser_without_devices", "firefox", "playwright"}


def needs_place(item):
    return not BROWSERS.isdisjoint(item.fixturenames)


@contextmanager
def place():
    """One of the places of this run of tests, as soon as one is free. The lock of a process that is killed goes with it."""
    # The same for all processes of one run, and no other's.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
    names = [Path(tempfile.gettempdir()) / f"roost-place-{run}-{number}" for number in range(os.cpu_count())]
    files = [open(name, "w") for name in names]
    try:
        while not any(take(file) for file in files):
            time.sleep(0.05)
        yield
    finally:
        for file in files:
            file.close()


def take(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
