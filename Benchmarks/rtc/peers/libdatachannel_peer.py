"""The modes of rtc-bench for data channels, over libdatachannel (C++) by its Python binding. A message that is sent or comes
in costs a call into Python here; what is inside a message, and every packet, is the library's alone.

    libdatachannel_peer.py setup COUNT data
    libdatachannel_peer.py subject
    libdatachannel_peer.py memory PAIRS idle|busy data
"""

import json
import os
import sys
import threading
import time

import libdatachannel as rtc

# How much of a data channel may wait to be sent, and where to go on: see Subject.swift.
HIGH_MARK, LOW_MARK = 1 << 20, 1 << 18


def configuration():
    made = rtc.Configuration()
    made.ice_servers = []
    made.bind_address = "127.0.0.1"
    return made


class Pair:
    def __init__(self):
        self.begin = time.perf_counter()
        self.times, self.received = {}, 0
        self.up, self.arrived = threading.Event(), threading.Event()
        self.caller, self.callee = rtc.PeerConnection(configuration()), rtc.PeerConnection(configuration())
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


def report(values):
    # In one piece: callbacks come from threads of the library's.
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


class Subject:
    def __init__(self):
        self.peer, self.received = rtc.PeerConnection(configuration()), 0
        self.gathered, self.opened, self.low = threading.Event(), threading.Event(), threading.Event()
        self.peer.on_gathering_state_change(self.gathering_changed)
        self.peer.on_state_change(self.changed)
        self.peer.on_data_channel(self.opened_by_peer)

    def gathering_changed(self, state):
        if state == rtc.PeerConnection.GatheringState.Complete:
            self.gathered.set()

    def changed(self, state):
        if state == rtc.PeerConnection.State.Connected:
            report({"connected": True})

    def opened_by_peer(self, channel):
        self.channel = channel
        channel.on_message(self.message)

    def message(self, message):
        self.received += len(message)

    def describe(self):
        if not self.gathered.wait(30):
            sys.exit("libdatachannel gathers for ever")
        report({"sdp": str(self.peer.local_description())})

    def flood(self, size):
        message = bytes(size)
        self.channel.set_buffered_amount_low_threshold(LOW_MARK)
        self.channel.on_buffered_amount_low(self.low.set)
        self.opened.wait()
        while True:
            self.low.clear()
            while self.channel.buffered_amount() <= HIGH_MARK:
                self.channel.send(message)
            self.low.wait()

    def obey(self, command):
        match command["do"]:
            case "offer":
                # It describes itself as soon as there is a channel.
                self.channel = self.peer.create_data_channel("x")
                self.channel.on_open(self.opened.set)
                self.describe()
            case "answer":
                self.peer.set_remote_description(rtc.Description(command["sdp"], "offer"))
                self.describe()
            case "accept":
                self.peer.set_remote_description(rtc.Description(command["sdp"], "answer"))
            case "send":
                threading.Thread(target=self.flood, args=[command["bytes"]], daemon=True).start()
            case "count":
                report({"bytes": self.received})


mode = sys.argv[1]
if mode == "subject":
    subject = Subject()
    for line in sys.stdin:
        subject.obey(json.loads(line))
    os._exit(0)
count = int(sys.argv[2])
if mode == "setup":
    for _ in range(count):
        pair = connected()
        report({"kind": "data", "connected": max(pair.times.values()), "first": pair.first})
        pair.close()
else:
    first = connected()
    load([first])
    before = resident()
    pairs = [connected() for _ in range(count)]
    if sys.argv[3] == "busy":
        load(pairs)
    report({"kind": sys.argv[3], "KiB": (resident() - before) / 1024 / (2 * count)})
    os._exit(0)
