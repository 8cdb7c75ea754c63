"""Ports that have to be known before somebody listens on them."""

import random
import socket

BELOW_EPHEMERAL = range(20_000, 32_000)
"""Linux takes none of these by itself, neither for who connects nor for who asks for any: what was free a moment ago,
or is to come back, still is. Of several test processes each chooses by chance."""


def free_port():
    while True:
        port = random.choice(BELOW_EPHEMERAL)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
