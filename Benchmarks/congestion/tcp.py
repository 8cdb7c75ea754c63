#!/usr/bin/env python3
"""tcp.py receive ADDRESS | send ADDRESS PORT SECONDS: a download beside the call.

The receiver prints its port, and reads until the end. The sender sends as much as CUBIC lets it.
"""

import socket
import sys
import time

if sys.argv[1] == "receive":
    with socket.create_server((sys.argv[2], 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        with connection:
            try:
                while connection.recv(1 << 16):
                    pass
            except ConnectionResetError:
                pass  # The sender's way to end at once.
else:
    address, port, seconds = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    with socket.socket() as connection:
        # The machine's default may be another one.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        # What is not on its way when the time is over is not sent.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.connect((address, port))
        connection.settimeout(1)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                connection.send(bytes(1 << 14))
            except TimeoutError:
                continue
