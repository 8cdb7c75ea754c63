"""wire.py PID PID LOSS DELAY JITTER SEED FLIGHTS: a TUN device in each of two namespaces, and what happens between.

Kernels in containers often have no netem; TUN is everywhere. UDP is lost with probability LOSS and comes DELAY plus up
to JITTER seconds later, so datagrams overtake each other; everything else (the signaling's TCP) passes untouched.

Of each kind of DTLS flight that FLIGHTS names, with commas between, the first datagram is lost besides. A flight is
named by what its first datagram begins with: client_hello, server_hello, certificate (a client's last flight, where it
shows one) or change_cipher_spec (a server's last).

A line of its standard input says how many bits of UDP a second it carries from then on, each way; 0 for as many as
come. What comes faster waits, and is lost where it would wait too long.

Ends with its standard input and then says how many datagrams it carried and lost, and in JSON how many of each kind of
flight have come to it.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
UDP = 17
QUEUE = 0.3
"""Seconds that a datagram waits at most for those before it."""

HANDSHAKE, CHANGE_CIPHER_SPEC = 22, 20
MESSAGES = {1: "client_hello", 2: "server_hello", 11: "certificate"}

pids, (loss, delay, jitter, seed) = sys.argv[1:3], map(float, sys.argv[3:7])
to_lose = set(filter(None, sys.argv[7].split(",")))
libc = ctypes.CDLL(None, use_errno=True)


def enter(pid):
    kinds = ["net"] if os.geteuid() == 0 else ["user", "net"]
    for kind in kinds:
        with open(f"/proc/{pid}/ns/{kind}") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWUSER if kind == "user" else CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {kind}")


def open_end(pid):
    enter(pid)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"wire0", IFF_TUN | IFF_NO_PI))
    return device


def flight(packet):
    """What a datagram of DTLS begins with (RFC 6347 §4.1, §4.2.2); None for what begins no flight, a later fragment."""
    datagram = packet[(packet[0] & 15) * 4 + 8:]
    if len(datagram) < 14 or datagram[3:5] != b"\0\0":
        return None
    if datagram[0] == HANDSHAKE and datagram[19:22] == b"\0\0\0":
        return MESSAGES.get(datagram[13])
    return "change_cipher_spec" if datagram[0] == CHANGE_CIPHER_SPEC else None


ends = [open_end(pid) for pid in pids]
print("ready", flush=True)
chance = random.Random(seed)
queue, order, carried, lost, flights = [], 0, 0, 0, {}
rate, free_at = 0, [0.0, 0.0]

while True:
    wait = max(0, queue[0][0] - time.monotonic()) if queue else None
    readable, _, _ = select.select([*ends, sys.stdin], [], [], wait)
    if sys.stdin in readable:
        if not (line := sys.stdin.readline()):
            break
        rate = float(line)
    for device in ends:
        while device in readable:
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                break
            due = time.monotonic()
            is_udp = packet[0] >> 4 == 4 and packet[9] == UDP
            if is_udp:
                carried += 1
                kind = flight(packet)
                if kind:
                    flights[kind] = flights.get(kind, 0) + 1
                way = ends.index(device)
                begins = max(due, free_at[way])
                is_full = rate > 0 and begins - due > QUEUE
                if is_full or chance.random() < loss or kind in to_lose:
                    to_lose.discard(kind)
                    lost += 1
                    continue
                if rate > 0:
                    due = free_at[way] = begins + 8 * len(packet) / rate
                due += delay + chance.random() * jitter
            order += 1
            heapq.heappush(queue, (due, order, ends[1 - ends.index(device)], packet))
    while queue and queue[0][0] <= time.monotonic():
        _, _, device, packet = heapq.heappop(queue)
        try:
            os.write(device, packet)
        except OSError:
            pass  # An end that is going down.

print(carried, lost, json.dumps(flights), flush=True)
