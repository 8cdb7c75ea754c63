"""Puts the load on each server in turns, round by round, and prints medians and the ratios within a round.

A server's figure is its process's CPU time, user and system, for each message that reached a member. Machines change
their speed from minute to minute, so figures are compared within a round only, and the order changes with each."""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from people import Rows, words
from servers import Ejabberd, Postgres, Roost, fill_sqlite

HERE = Path(__file__).resolve().parent
BUILT = HERE / ".build"


def number(name, usual):
    return int(os.environ.get(name, usual))


PARTS = os.environ.get("ONLY", "fan requests idle").split()
EJABBERDS = ("ejabberd", "ejabberd-spinning", "ejabberd-archive")
SERVERS = os.environ.get("SERVERS", " ".join(("roost", *EJABBERDS))).split()
MEMBERS = number("MEMBERS", 1_000)
# As the load program takes them.
RATES = ",".join(os.environ.get("RATES", "10,20").replace(",", " ").split())
SECONDS = number("SECONDS_EACH", 6)
MESSAGES = number("MESSAGES", 1_000_000)
SOCKETS = number("SOCKETS", 5_000)
PEOPLE_OF_SMALL_WORKSPACE = 100
AIM_RATIO, AIM_P99 = 0.5, 50.0


class Load:
    """The load program, and what it has said, by row."""

    def __init__(self, folder):
        self.folder, self.values = folder, {}

    def run(self, row, *arguments, names=None):
        command = [BUILT / "load", *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=150)
        if done.returncode != 0:
            sys.exit(f"The load program has failed at {row}.")
        for line, suffix in zip(done.stdout.splitlines(), names or [""]):
            figures = json.loads(line)
            self.values.setdefault(row + suffix, []).append(figures)
            print(row + suffix, json.dumps({key: round(value, 3) for key, value in figures.items()}), flush=True)

    def file(self, name, lines):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def median(self, row, key):
        return statistics.median(one.get(key, 0) for one in self.values[row])

    def ratio(self, row, other, key="us"):
        pairs = zip(self.values[row], self.values[other])
        return statistics.median(a[key] / b[key] for a, b in pairs if b[key])


def filled(arguments, folder, rows):
    """A folder with a database of these rows, and the secret of its tokens."""
    folder.mkdir()
    with Roost(arguments.roost, folder):
        pass
    return fill_sqlite(folder, rows)


def to(server):
    """How the load program finds a server."""
    return ["-target", server.target, "-address", server.address, "-pid", server.pid]


# Fan-out


def xmpp_members(load, name, count, people_of_room):
    return load.file(name, [f"person{place} room{place // people_of_room}" for place in range(count)])


def fan(load, arguments, is_odd):
    rates = RATES.split(",")
    names = [f" {int(rate) * MEMBERS:,}/s" for rate in rates]
    common = ["-rates", RATES, "-seconds", SECONDS]

    def roost():
        rows = Rows(workspaces=1, people=MEMBERS, channels=1)
        folder = load.folder / "fan"
        secret = filled(arguments, folder, rows)
        members = load.file(
            "members", [f"{token} {rows.channels[0][0]}" for token in rows.tokens(secret)[0]])
        with Roost(arguments.roost, folder) as server:
            load.run("fan roost", "fan", *to(server), "-members", members, *common, names=names)
        shutil.rmtree(folder)

    def ejabberd(name, **options):
        members = xmpp_members(load, "names", MEMBERS, MEMBERS)
        with Ejabberd(**options) as server:
            load.run(f"fan {name}", "fan", *to(server), "-members", members, *common, names=names)

    turns = {
        "roost": roost, "ejabberd": lambda: ejabberd("ejabberd"),
        "ejabberd-spinning": lambda: ejabberd("ejabberd-spinning", is_spinning=True),
        "ejabberd-archive": lambda: ejabberd("ejabberd-archive", is_archiving=True)}
    take_turns(turns, is_odd)


def take_turns(turns, is_odd):
    chosen = [turn for name, turn in turns.items() if name in SERVERS]
    for turn in chosen[::-1] if is_odd else chosen:
        turn()


def idle(load, arguments, is_odd):
    rows = Rows(workspaces=SOCKETS // PEOPLE_OF_SMALL_WORKSPACE, people=PEOPLE_OF_SMALL_WORKSPACE, channels=1)

    def roost():
        folder = load.folder / "idle"
        secret = filled(arguments, folder, rows)
        tokens = rows.tokens(secret)
        lines = [f"{token} {rows.channels[number][0]}" for number in tokens for token in tokens[number]]
        with Roost(arguments.roost, folder) as server:
            load.run("idle roost", "idle", *to(server), "-members", load.file("members", lines))
        shutil.rmtree(folder)

    def ejabberd():
        members = xmpp_members(load, "names", SOCKETS, PEOPLE_OF_SMALL_WORKSPACE)
        with Ejabberd() as server:
            load.run("idle ejabberd", "idle", *to(server), "-members", members)

    take_turns({"roost": roost, "ejabberd": ejabberd}, is_odd)


# Sends, history and search


class BigChat:
    """A million messages in five workspaces of 200 people and 20 channels. Writing, history and each kind of search
    have a workspace of their own, so that none takes from the others what a person may ask in a second."""

    def __init__(self, load, arguments, store):
        self.load, self.arguments, self.store = load, arguments, store
        self.name = "postgresql" if store else "sqlite"
        self.folder = load.folder / self.name
        self.rows = Rows(workspaces=5, people=200, channels=20, messages=MESSAGES)
        self.some = {}
        self.seen = 0

    @property
    def url(self):
        return self.store.url if self.store else None

    def fill(self):
        self.folder.mkdir()
        with Roost(self.arguments.roost, self.folder, self.url):
            pass
        fill = self.store.fill if self.store else lambda *these: fill_sqlite(self.folder, *these)
        self.secret = fill(self.rows, self.see)

    def see(self, number, message, channel):
        self.seen += 1
        if self.seen // 5 % max(1, MESSAGES // 5_000) == 0:
            self.some.setdefault(number, []).append((message, channel))

    def requests(self, name, number, count, make):
        """Lines of requests by the people of a workspace, one after the other."""
        tokens = self.rows.tokens(self.secret)[number]
        lines = []
        for index in range(count):
            method, path, body = make(index)
            token = tokens[index % len(tokens)]
            lines.append(json.dumps(
                {"method": method, "path": path, "token": token, "body": body and json.dumps(body)}))
        return self.load.file(f"{self.name}-{name}", lines)

    def measure(self):
        channel = self.rows.channels[0][0]
        text = ("the quick brown fox jumps over the lazy dog " * 5)[:200]
        language = words()
        common, middling, rare = language[5:25], language[300:400], language[5_000:6_000]
        places = self.some[1]

        def around(message, channel):
            return "GET", f"/channels/{channel}/messages?limit=50&around={message}", ""

        def search(pick):
            return lambda number: lambda index: (
                "GET", f"/workspaces/{self.rows.workspaces[number]}/search?query={pick(index)}", "")

        loads = [
            ("send", 0, 2_000, lambda index: ("POST", f"/channels/{channel}/messages", {"content": text})),
            ("history, the end", 1, 2_000, lambda index: (
                "GET", f"/channels/{self.rows.channels[1][index % 20]}/messages?limit=50", "")),
            ("history, anywhere", 1, 2_000, lambda index: around(*places[index % len(places)])),
            ("search, a rare word", 2, 1_000, search(lambda index: rare[index % len(rare)])(2)),
            ("search, two words", 3, 1_000, search(
                lambda index: f"{middling[index % 100]}%20{middling[(index * 7 + 1) % 100]}")(3)),
            ("search, a common word", 4, 1_000, search(lambda index: common[index % len(common)])(4)),
        ]
        with Roost(self.arguments.roost, self.folder, self.url) as server:
            for name, number, count, make in loads:
                path = self.requests(name.replace(", ", "-").replace(" ", "-"), number, count, make)
                for parallel in (1, 32):
                    self.load.run(f"{name}, {parallel} at a time, {self.name}", "requests", "-address", server.address,
                                  "-requests", path, "-parallel", parallel, "-seconds", 3 if "send" in name else 2)


# All of it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int)
    parser.add_argument("--roost", required=True, type=lambda path: str(Path(path).resolve()))
    arguments = parser.parse_args()
    # So that servers end with this program when it is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        load = Load(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-bench-"))))
        chats = []
        if "requests" in PARTS:
            chats = [BigChat(load, arguments, None), BigChat(load, arguments, stack.enter_context(Postgres()))]
            for chat in chats:
                print(f"filling {chat.name} with {MESSAGES:,} messages", flush=True)
                chat.fill()
        for round in range(arguments.rounds):
            print(f"round {round + 1}", flush=True)
            if "fan" in PARTS:
                fan(load, arguments, round % 2 == 1)
            if "requests" in PARTS:
                load.run("one fdatasync of 4 KiB", "sync", "-file", load.folder / "synced", "-seconds", 1)
            for chat in chats[::-1] if round % 2 else chats:
                chat.measure()
            if "idle" in PARTS:
                idle(load, arguments, round % 2 == 1)
        report(load)


def report(load):
    table = {
        "fan": ("us", "p50", "p99", "per_second", "cores", "lost"),
        "idle": ("kib", "before_kib", "after_kib", "cores"),
        "": ("per_second", "p50", "p99", "refused"),
    }
    titles = {"us": "us/delivery", "p50": "p50 ms", "p99": "p99 ms", "per_second": "a second", "kib": "KiB/socket"}
    for part, keys in table.items():
        rows = [row for row in load.values if (row.split()[0] if row.split()[0] in table else "") == part]
        if rows:
            print(f"\n{'medians':46}" + "".join(f"{titles.get(key, key):>13}" for key in keys))
        for row in rows:
            print(f"{row:46}" + "".join(f"{load.median(row, key):13.2f}" for key in keys))
    print()
    for rate in RATES.split(",") if "fan" in PARTS and "roost" in SERVERS else []:
        place = f"{int(rate) * MEMBERS:,}/s"
        for other in (name for name in EJABBERDS if name in SERVERS):
            ratio = load.ratio(f"fan roost {place}", f"fan {other} {place}")
            print(f"roost / {other}, CPU per delivery at {place}: {ratio:.2f}"
                  + (f" (aim: at most {AIM_RATIO})" if other == "ejabberd" else ""))
        print(f"roost p99 at {place}: {load.median(f'fan roost {place}', 'p99'):.1f} ms"
              + (f" (aim: below {AIM_P99:.0f})" if int(rate) * MEMBERS == 10_000 else ""))
    if "idle" in PARTS and {"roost", "ejabberd"} <= set(SERVERS):
        print(f"roost / ejabberd, memory of a socket: {load.ratio('idle roost', 'idle ejabberd', 'kib'):.2f}")


if __name__ == "__main__":
    main()
