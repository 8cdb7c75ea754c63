#!/usr/bin/env python3
"""Runs rtc-bench and its peers in turns and prints one table of ratios. `run.sh` builds them and starts this.

Times on a shared machine drift by a factor of two within minutes, so whatever is compared runs in the same round, one
after the other, and a ratio is the median of the rounds' ratios. Packets are counted against the CPU clock of the
measured process, which no other process disturbs much.
"""

import json
import os
import select
import statistics
import subprocess
import sys
import time

SETUPS = 50  # a round
SECONDS = float(os.environ.get("WINDOW", "3"))
# Packets a second, in frames of twenty: of a call, of many calls, and more than the slower ones keep up with.
RATES = [int(rate) for rate in os.environ.get("RATES", "1000 10000 40000").split()]


def run(command):
    """The lines of JSON that a program prints."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
    except subprocess.TimeoutExpired as late:
        raise NoAnswer(f"nothing after {late.timeout:.0f} s") from None
    return [json.loads(line) for line in done.stdout.splitlines() if is_report(line)]


def run_of(who, command):
    """libdatachannel's program now and then hangs at its end, and is run again. Ours is to do so never."""
    return run(command) if who == "roost" else again(run, command)


def is_report(line):
    """libdatachannel's warnings come on the standard output too."""
    return line.startswith(b"{")


class NoAnswer(Exception):
    pass


class Subject:
    """A program that is commanded by lines of JSON; see Subject.swift."""

    def __init__(self, command, mode="subject"):
        self.process = subprocess.Popen([*command, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.unread = b""
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
        self.process.stdin.write(json.dumps(command).encode() + b"\n")

    def read(self, key):
        while True:
            line, end, rest = self.unread.partition(b"\n")
            if end:
                self.unread = rest
                if not is_report(line):
                    continue
                values = json.loads(line)
                if key in values:
                    return values[key]
                continue
            if not select.select([self.process.stdout], [], [], 30)[0]:
                raise NoAnswer(key)
            more = self.process.stdout.read(65536)
            if not more:
                raise SystemExit("a peer ended early")
            self.unread += more

    def ask(self, key, **command):
        self.tell(**command)
        return self.read(key)

    def cpu(self):
        """Seconds."""
        return time.clock_gettime(self.clock)

    def look(self):
        return self.cpu(), self.ask("packets", do="count")


def connect(sender, receiver, kind):
    answer = receiver.ask("sdp", do="answer", sdp=sender.ask("sdp", do="offer", kind=kind))
    sender.tell(do="accept", sdp=answer)
    sender.read("connected")
    receiver.read("connected")


def again(measure, *arguments):
    """Among many pairs of a peer's one now and then does not connect; another takes its place."""
    for _ in range(3):
        try:
            return measure(*arguments)
        except NoAnswer as missing:
            print(f"{' '.join(arguments[0])}: no answer ({missing}); once more", file=sys.stderr)
    raise SystemExit("a pair did not connect three times")


def packets(subject, mode, load, sends, frames, per_frame):
    """CPU microseconds of the subject for each packet that it sent or received."""
    with Subject(subject, mode) as measured, Subject(load) as other:
        sender, receiver = (measured, other) if sends else (other, measured)
        connect(sender, receiver, "video")
        sender.tell(do="send", frames=frames, packets=per_frame)
        time.sleep(1)
        cpu, count = measured.look()
        time.sleep(SECONDS)
        cpu2, count2 = measured.look()
        if count2 == count:
            raise SystemExit(f"{subject}: no packets")
        return {"us": (cpu2 - cpu) * 1e6 / (count2 - count), "rate": (count2 - count) / SECONDS}


def messages(program, size):
    """What one reliable channel carries between two processes of the same program, and the CPU time of both."""
    with Subject(program) as sender, Subject(program) as receiver:
        connect(sender, receiver, "data")
        sender.tell(do="send", bytes=size)
        time.sleep(1)

        def look():
            received = receiver.ask("bytes", do="count")
            return time.monotonic(), received, sender.cpu(), receiver.cpu()

        before = look()
        time.sleep(SECONDS)
        seconds, received, sent_cpu, received_cpu = (b - a for a, b in zip(before, look()))
        if not received:
            raise SystemExit(f"{program}: no messages")
        return {"MB/s": received / 1e6 / seconds, "sender": sent_cpu * 1e9 / received,
                "receiver": received_cpu * 1e9 / received}


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
    bench, evp, floor, pion = (os.environ[name] for name in ("BENCH", "EVP", "FLOOR", "PION"))
    directory = os.path.dirname(os.path.abspath(__file__))
    aiortc = [os.environ["PYTHON"], f"{directory}/peers/aiortc_peer.py"]
    peers = {"roost": [bench], "pion": [pion], "aiortc": aiortc}
    if os.environ.get("LIBDATACHANNEL_PYTHON"):
        peers["libdatachannel"] = [
            os.environ["LIBDATACHANNEL_PYTHON"], f"{directory}/peers/libdatachannel_peer.py"]

    def carrying(kind):
        # libdatachannel carries pictures that its user has made packets of, and is measured with data alone.
        return {who: command for who, command in peers.items() if kind == "data" or who != "libdatachannel"}

    only = set(os.environ.get("ONLY", "srtp setup packets messages memory").split())
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
            for kind in ("video", "data"):
                able = carrying(kind)
                times = {who: {"connected": [], "first": []} for who in able}
                for turn in range(5):
                    for who, command in rotated(able.items(), number + turn):
                        # The first one of a process loads libraries.
                        for line in run_of(who, [*command, "setup", str(SETUPS // 5 + 1), kind])[1:]:
                            times[who]["connected"].append(line["connected"])
                            times[who]["first"].append(line["first"])
                first = {"video": "first frame", "data": "first message"}[kind]
                for what, text in (("connected", "connected"), ("first", first)):
                    for who in able:
                        table.add(f"{kind}: to {text}, ms", who, statistics.median(times[who][what]))
        if "packets" in only:
            for sends in (False, True):
                verb = "sent" if sends else "received"
                # The peers do not pace what they send.
                # And they read packets, where Roost makes frames of them unless it is told otherwise.
                if sends:
                    subjects = [("roost", [bench], "subject"), ("unpaced", [bench], "subject-unpaced")]
                else:
                    subjects = [("roost", [bench], "subject-packets"), ("frames", [bench], "subject")]
                subjects += [(who, command, "subject") for who, command in carrying("video").items() if who != "roost"]
                subjects.append(("floor", [floor], verb))
                for frames in (rate // 20 for rate in RATES):
                    for who, command, mode in rotated(subjects, number):
                        if who == "floor":
                            figure = run([*command, mode, str(frames), "20", str(SECONDS)])[0]
                        else:
                            figure = again(packets, command, mode, [pion], sends, frames, 20)
                        table.add(f"CPU us a packet {verb}, {frames * 20}/s", who, figure["us"])
                        table.add(f"  packets a second ({verb}, {frames * 20}/s)", who, figure["rate"])
        if "messages" in only:
            for size in (16_384, 1_200):
                for who, command in rotated(peers.items(), number):
                    figure = again(messages, command, size)
                    table.add(f"messages of {size:,} bytes, MB/s", who, figure["MB/s"])
                    table.add(f"  CPU s a GB, both ends ({size:,})", who, figure["sender"] + figure["receiver"])
                    for end in ("sender", "receiver"):
                        table.add(f"  of it the {end} ({size:,})", who, figure[end])
        if "memory" in only:
            for kind in ("video", "data"):
                for load in ("idle", "busy"):
                    for who, command in rotated(carrying(kind).items(), number):
                        pairs = "5" if who == "aiortc" else "20"
                        figure = run_of(who, [*command, "memory", pairs, load, kind])[0]
                        table.add(f"KiB of a connection, {kind}, {load}", who, figure["KiB"])
    table.show()


main()
