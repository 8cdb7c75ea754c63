"""Setting up and memory of libdatachannel (C++), by its Python binding: data channels only.

    libdatachannel_peer.py setup COUNT data
    libdatachannel_peer.py memory PAIRS idle|busy
"""

import json
import os
import sys
import threading
import time

import libdatachannel as rtc


class Pair:
    def __init__(self):
        self.begin = time.perf_counter()
        self.times, self.received = {}, 0
        self.up, self.arrived = threading.Event(), threading.Event()
        configuration = rtc.Configuration()
        configuration.ice_servers = []
        configuration.bind_address = "127.0.0.1"
        self.caller, self.callee = rtc.PeerConnection(configuration), rtc.PeerConnection(configuration)
        self.kept = []
        for name, peer, other in (("caller", self.caller, self.callee), ("callee", self.callee, self.caller)):
            peer.on_state_change(lambda state, name=name: self.changed(name, state))
            peer.on_local_description(other.set_remote_description)
            peer.on_local_candidate(other.add_remote_candidate)
        self.callee.on_data_channel(self.opened)
        self.channel = self.caller.create_data_channel("x")
        self.channel.on_open(lambda: self.channel.send("hi"))

    def elapsed(self):
        return (time.perf_counter() - self.begin) * 1e3

    def changed(self, name, state):
        if state == rtc.PeerConnection.State.Connected:
            self.times.setdefault(name, self.elapsed())
            if len(self.times) == 2:
                self.up.set()

    def opened(self, channel):
        self.kept.append(channel)
        channel.on_message(self.message)

    def message(self, _):
        self.received += 1
        if not self.arrived.is_set():
            self.first = self.elapsed()
            self.arrived.set()

    def wait(self):
        if not (self.up.wait(30) and self.arrived.wait(30)):
            sys.exit("libdatachannel did not connect")

    def close(self):
        self.caller.close()
        self.callee.close()


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(pairs):
    message = bytes(1150)
    for _ in range(150):
        for pair in pairs:
            for _ in range(10):
                pair.channel.send(message)
        time.sleep(1 / 30)


def connected():
    pair = Pair()
    pair.wait()
    return pair


mode, count, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if mode == "setup":
    for _ in range(count):
        pair = connected()
        print(json.dumps({"kind": "data", "connected": max(pair.times.values()), "first": pair.first}), flush=True)
        pair.close()
else:
    first = connected()
    load([first])
    before = resident()
    pairs = [connected() for _ in range(count)]
    if kind == "busy":
        load(pairs)
    print(json.dumps({"kind": kind, "KiB": (resident() - before) / 1024 / (2 * count)}), flush=True)
    os._exit(0)
