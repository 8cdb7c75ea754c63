#!/usr/bin/env python3
"""Runs rtc-bench and its peers in turns and prints one table of ratios. `run.sh` builds them and starts this.

Times on a shared machine drift by a factor of two within minutes, so whatever is compared runs in the same round, one
after the other, and a ratio is the median of the rounds' ratios. Packets are counted against the CPU clock of the
measured process, which no other process disturbs much.
"""

import json
import os
import statistics
import subprocess
import sys
import time

SETUPS = 10  # a round
SECONDS = 3


def run(command):
    """The lines of JSON that a program prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Subject:
    """A program that is commanded by lines of JSON; see Subject.swift."""

    def __init__(self, command):
        self.process = subprocess.Popen([*command, "subject"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Linux: the clock of another process's CPU time, in nanoseconds.
        self.clock = (~self.process.pid << 3) | 2

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def read(self, key):
        while line := self.process.stdout.readline():
            values = json.loads(line)
            if key in values:
                return values[key]
        raise SystemExit("a peer ended early")

    def ask(self, key, **command):
        self.tell(**command)
        return self.read(key)

    def look(self):
        return time.clock_gettime(self.clock), self.ask("packets", do="count")


def packets(subject, load, sends, frames, per_frame):
    """CPU microseconds of the subject for each packet that it sent or received."""
    with Subject(subject) as measured, Subject(load) as other:
        sender, receiver = (measured, other) if sends else (other, measured)
        answer = receiver.ask("sdp", do="answer", sdp=sender.ask("sdp", do="offer"))
        sender.tell(do="accept", sdp=answer)
        measured.read("connected")
        other.read("connected")
        sender.tell(do="send", frames=frames, packets=per_frame)
        time.sleep(1)
        cpu, count = measured.look()
        time.sleep(SECONDS)
        cpu2, count2 = measured.look()
        if count2 == count:
            raise SystemExit(f"{subject}: no packets")
        return {"us": (cpu2 - cpu) * 1e6 / (count2 - count), "rate": (count2 - count) / SECONDS}


class Table:
    def __init__(self):
        self.values = {}

    def add(self, row, who, value):
        self.values.setdefault(row, {}).setdefault(who, []).append(value)

    def show(self):
        print(f"\n{'':44} {'Roost':>10}   others: figure (ratio to Roost, median of the rounds)")
        for row, columns in self.values.items():
            ours = columns.get("roost")
            if not ours:
                continue
            cells = []
            for who, theirs in columns.items():
                if who == "roost":
                    continue
                ratios = [t / o for t, o in zip(theirs, ours)]
                cells.append(f"{who} {statistics.median(theirs):.4g} ({statistics.median(ratios):.2f})")
            print(f"{row:44} {statistics.median(ours):10.4g}   {'  '.join(cells)}")


def rotated(items, number):
    items = list(items)
    shift = number % len(items)
    return items[shift:] + items[:shift]


def main():
    rounds = int(sys.argv[1])
    bench, evp, pion = (os.environ[name] for name in ("BENCH", "EVP", "PION"))
    directory = os.path.dirname(os.path.abspath(__file__))
    aiortc = [os.environ["PYTHON"], f"{directory}/peers/aiortc_peer.py"]
    peers = {"roost": [bench], "pion": [pion], "aiortc": aiortc}
    if os.environ.get("LIBDATACHANNEL_PYTHON"):
        peers["libdatachannel"] = [
            os.environ["LIBDATACHANNEL_PYTHON"], f"{directory}/peers/libdatachannel_peer.py"]
    only = set(os.environ.get("ONLY", "srtp setup packets memory").split())
    table = Table()

    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        if "srtp" in only:
            for cipher in ("gcm", "cm"):
                for operation in ("protect", "unprotect"):
                    for who, command in rotated([("roost", [bench, "srtp"]), ("EVP", [evp])], number):
                        # The best of three: a neighbour only ever adds.
                        best = min(run([*command, "200000", cipher, operation])[0]["ns"] for _ in range(3))
                        table.add(f"{operation} 1,200 bytes, {cipher}, ns", who, best)
        if "setup" in only:
            # rtc-bench sets up a picture in both: data channels are not in it yet, and beside libdatachannel there is no other.
            for kind, name in (("video", "video"), ("data", "data (Roost: video)")):
                able = {who: command for who, command in peers.items()
                        if (who, kind) not in {("libdatachannel", "video")}}
                times = {who: {"connected": [], "first": []} for who in able}
                for turn in range(SETUPS // 2):
                    for who, command in rotated(able.items(), number + turn):
                        # The first one of a process loads libraries.
                        for line in run([*command, "setup", "3", kind])[1:]:
                            times[who]["connected"].append(line["connected"])
                            times[who]["first"].append(line["first"])
                for what, text in (("connected", "connected"), ("first", "first frame or message")):
                    for who in able:
                        if times[who][what]:
                            table.add(f"{name}: to {text}, ms", who, statistics.median(times[who][what]))
        if "packets" in only:
            for sends in (False, True):
                verb = "sent" if sends else "received"
                for frames, whom in ((50, ("roost", "pion", "aiortc")), (500, ("roost", "pion"))):
                    for who in rotated(whom, number):
                        figure = packets(peers[who], [pion], sends, frames, 20)
                        table.add(f"CPU us a packet {verb}, {frames * 20}/s", who, figure["us"])
                        table.add(f"  packets a second meanwhile ({verb}, {frames * 20}/s)", who, figure["rate"])
        if "memory" in only:
            for kind in ("idle", "busy"):
                for who, command in rotated(peers.items(), number):
                    pairs = "5" if who == "aiortc" else "20"
                    table.add(f"KiB of a connection, {kind}", who, run([*command, "memory", pairs, kind])[0]["KiB"])
    table.show()


main()
