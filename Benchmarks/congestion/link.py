#!/usr/bin/env python3
"""link.py NAME NEAR FAR: one of the links (links.py), for IP packets between two network namespaces.

It does what `tc netem` with a `tbf` would, for kernels without `netem`: a TUN device `wire0` in each namespace (those of
the processes NEAR and FAR), and between them, for what NEAR sends, one drop-tail queue with a rate that changes, delay,
jitter and loss. What FAR sends is only delayed. Everything passes through it: a call's UDP and a download's TCP.

The run begins with the first line on standard input and ends with its end. Ten times a second it prints a sample as a
line of JSON.
"""

import collections
import ctypes
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import sys
import time

from links import LINKS

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
TCP, UDP = 6, 17
SAMPLING = 0.1
HEADERS = 28
"""IP and UDP, which are not counted as received; the simulator does not count them either."""


def enter(pid):
    """Moves this process into the network namespace of another."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"the network namespace of {pid}")


def open_tun(pid):
    enter(pid)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"wire0", IFF_TUN | IFF_NO_PI))
    return device


class Counter:
    """What of each flow has come out, in bytes: calls in the order of their ports' first packets, then TCP."""

    def __init__(self):
        self.calls, self.tcp = {}, 0

    def add(self, packet):
        start = (packet[0] & 15) * 4
        if packet[9] == TCP:
            self.tcp += len(packet)
        elif packet[9] == UDP:
            port = packet[start + 2 : start + 4]
            self.calls[port] = self.calls.get(port, 0) + len(packet) - HEADERS

    def take(self):
        taken = [*self.calls.values(), self.tcp]
        self.calls, self.tcp = dict.fromkeys(self.calls, 0), 0
        return {"calls": taken[:-1], "tcp": taken[-1]}


class Link:
    def __init__(self, profile, near, far, seed=1):
        self.profile, self.near, self.far, self.random = profile, near, far, random.Random(seed)
        self.start = None
        self.busy_until = self.last_arrival = 0.0
        self.queue, self.queued = collections.deque(), 0
        self.agenda, self.numbers = [], itertools.count()
        self.dropped = self.lost = 0
        self.late = 0.0
        self.counter = Counter()

    def rate(self, at):
        return self.profile.rate(at - self.start if self.start else 0)

    def forward(self, packet, now):
        """From NEAR: through the queue."""
        while self.queue and self.queue[0][0] <= now:
            self.queued -= self.queue.popleft()[1]
        if self.queued + len(packet) > self.profile.limit:
            self.dropped += 1
            return
        begin = max(now, self.busy_until)
        self.busy_until = begin + len(packet) * 8 / self.rate(begin)
        self.queue.append((self.busy_until, len(packet)))
        self.queued += len(packet)
        if self.random.random() < self.profile.loss:
            self.lost += 1
            return
        arrival = self.busy_until + self.profile.delay + self.random.random() * self.profile.jitter
        self.last_arrival = max(self.last_arrival, arrival)
        self.deliver(packet, self.far, self.last_arrival)

    def deliver(self, packet, device, due):
        heapq.heappush(self.agenda, (due, next(self.numbers), device, packet))

    def run_due(self, now):
        while self.agenda and self.agenda[0][0] <= now:
            due, _, device, packet = heapq.heappop(self.agenda)
            self.late = max(self.late, now - due)
            if device == self.far:
                self.counter.add(packet)
            try:
                os.write(device, packet)
            except OSError:
                pass  # An end that is going down.

    def read(self, device, now):
        while True:
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:
                continue  # Neighbour discovery of IPv6.
            if device == self.near:
                self.forward(packet, now)
            else:
                self.deliver(packet, self.near, now + self.profile.delay)

    def sample(self, now):
        at = now - self.start
        line = {
            "at": at, "capacity": self.profile.rate(at), "queue": max(self.busy_until - now, 0),
            "dropped": self.dropped, "lost": self.lost, "late": self.late, **self.counter.take(),
        }
        self.late = 0.0
        print(json.dumps(line), flush=True)

    def run(self):
        samples = 0
        while True:
            now = time.monotonic()
            self.run_due(now)
            sample_at = self.start + (samples + 1) * SAMPLING if self.start else None
            if sample_at and now >= sample_at:
                samples += 1
                self.sample(now)
                continue
            due = min([entry[0] for entry in self.agenda[:1]] + ([sample_at] if sample_at else []), default=None)
            timeout = None if due is None else max(due - time.monotonic(), 0)
            readable, _, _ = select.select([self.near, self.far, sys.stdin], [], [], timeout)
            now = time.monotonic()
            for device in (self.near, self.far):
                if device in readable:
                    self.read(device, now)
            if sys.stdin in readable:
                if not os.read(sys.stdin.fileno(), 100):
                    return
                self.start = now


if __name__ == "__main__":
    ends = [open_tun(pid) for pid in sys.argv[2:4]]
    print("ready", flush=True)
    Link(LINKS[sys.argv[1]], *ends).run()
