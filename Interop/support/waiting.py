"""How long tests wait, and how."""

import time

PATIENCE = 90
"""Seconds for a thing that takes one or two. Nothing waits longer than it has to: this is for machines that are busy
with other work, where a tight deadline would only say that they are."""


def wait_until(check, what, timeout=PATIENCE):
    """Asks until `check` is true; for what has no event to wait for. `what` may be a function, asked in the end."""
    deadline = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < deadline, f"not in {timeout} s: {what() if callable(what) else what}"
        time.sleep(0.1)
