#!/usr/bin/env python3
"""netem.py NAME NEAR FAR: what link.py does, by the kernel: a veth pair with `tc netem` and `tbf` at its ends.

    netem.py NAME       prints the commands instead, and does nothing

`tbf` is the bottleneck and its queue; `netem`, its parent, delays and loses, so packets are
lost before the queue and not behind it. A link whose packets keep their order under jitter cannot be had this way.
"""

import json
import os
import select
import socket
import subprocess
import sys
import time

from link import SAMPLING, Counter, enter
from links import LINKS

ETH_P_IP = 0x0800
BURST = 1_600
"""A packet and its Ethernet header."""
TUNNEL = ["parent", "1:1", "handle", "10:", "tbf"]


def shape(profile, rate):
    return [*TUNNEL, "rate", f"{rate:.0f}bit", "burst", BURST, "limit", f"{profile.limit:.0f}"]


def lines(profile, far):
    """At NEAR's end. Segments leave one by one, for `netem` would lose whole bursts."""
    delay = f"{profile.delay * 1e3:.0f}ms"
    return [
        ["ip", "link", "add", "wire0", "gso_max_segs", 1, "type", "veth", "peer", "name", "wire0", "netns", far],
        ["tc", "qdisc", "add", "dev", "wire0", "root", "handle", "1:", "netem", "delay", delay, "loss",
         f"{profile.loss * 100:.0f}%"],
        ["tc", "qdisc", "add", "dev", "wire0", *shape(profile, profile.rate(0))],
    ]


def way_back(profile):
    """At FAR's end."""
    return ["tc", "qdisc", "add", "dev", "wire0", "root", "netem", "delay", f"{profile.delay * 1e3:.0f}ms"]


def run(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


class Netem:
    def __init__(self, profile, near, far):
        self.profile, self.counter = profile, Counter()
        enter(near)
        for command in lines(profile, far):
            run(command)
        enter(far)
        run(way_back(profile))
        # Packets of this protocol that come in; those that go out are told to nobody.
        self.taps = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        enter(near)

    def count(self):
        while True:
            try:
                self.counter.add(self.taps.recv(65536))
            except BlockingIOError:
                return

    def sample(self, start, late):
        at = time.monotonic() - start
        rate = self.profile.rate(at)
        queues = {queue["kind"]: queue for queue in json.loads(run(["tc", "-s", "-j", "qdisc", "show", "dev", "wire0"]))}
        return {
            "at": at, "capacity": rate, "queue": queues["tbf"]["backlog"] * 8 / rate, "dropped": queues["tbf"]["drops"],
            # Its own, and those of the queue below it.
            "lost": max(queues["netem"]["drops"] - queues["tbf"]["drops"], 0), "late": late, **self.counter.take(),
        }

    def measure(self):
        sys.stdin.readline()
        # Not earlier: until the run begins the device is down.
        self.taps.bind(("wire0", ETH_P_IP))
        start, samples, rate = time.monotonic(), 0, self.profile.rate(0)
        while True:
            due = start + (samples + 1) * SAMPLING
            readable, _, _ = select.select([self.taps, sys.stdin], [], [], max(due - time.monotonic(), 0))
            if sys.stdin in readable and not os.read(sys.stdin.fileno(), 100):
                return
            self.count()
            now = time.monotonic()
            if now < due:
                continue
            if (other := self.profile.rate(now - start)) != rate:
                rate = other
                run(["tc", "qdisc", "change", "dev", "wire0", *shape(self.profile, rate)])
            samples += 1
            print(json.dumps(self.sample(start, now - due)), flush=True)


if __name__ == "__main__":
    profile = LINKS[sys.argv[1]]
    if len(sys.argv) == 2:
        for command in lines(profile, "FAR"):
            print("near:", *command)
        print("far: ", *way_back(profile))
        for since, rate in profile.capacity[1:]:
            print(f"near, after {since} s:", "tc qdisc change dev wire0", *shape(profile, rate))
    else:
        link = Netem(profile, *sys.argv[2:4])
        print("ready", flush=True)
        link.measure()
