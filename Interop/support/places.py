"""As many tests with browsers at once as there are cores, however many processes run tests.

Live media is a load that does not wait: calls beside each other on too few cores take longer, load the machine for as long,
and in the end each runs into its deadline. On two cores `pytest -n 2 Interop/test_web_rooms.py` took 145 s, and `-n 4`, before there
were places, 378 s, with three that failed.
"""

import errno
import os
import socket
import time
from contextlib import contextmanager

# Fixtures behind all browsers: Chromium's come from Playwright, and `browser_called` asks for either while a test runs.
BROWSERS = {"playwright", "firefox", "browser_called"}


def needs_place(item):
    return not BROWSERS.isdisjoint(item.fixturenames)


@contextmanager
def place():
    """One of the places of this run of tests, as soon as one is free."""
    # The same for all processes of one run, and no other's.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
    while True:
        for number in range(os.cpu_count()):
            # A name without a file, which goes with its process, even if that is killed (unix(7), abstract addresses).
            taken = socket.socket(socket.AF_UNIX)
            try:
                taken.bind(f"\0roost-place-{run}-{number}")
            except OSError as error:
                taken.close()
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            with taken:
                yield
            return
        # No system call waits for the first of several names to become free.
        time.sleep(0.05)
