"""`roost watch`, and the senders that it is tried with."""

import signal
import sys
from pathlib import Path

from peers.roost_peer import find_roost, read_counters, read_tones
from support.evidence import REPOSITORY, Evidence
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

HERE = Path(__file__).resolve().parent


class Watcher:
    """`roost watch`: receives from every caller of a room, and records each."""

    def __init__(self, namespace, server, room, folder, *options):
        command = [find_roost(), "watch", "--room", room, "--as", "Watcher", "--server", server, "--json"]
        command += ["--record", folder, "--address", namespace.address, *options]
        self.process = JSONProcess("roost watch", namespace.command(*command), cwd=REPOSITORY)

    def wait_for(self, event, **fields):
        return self.process.wait_for(event, timeout=PATIENCE, **fields)

    def received(self, name):
        """How many pictures and packets of sound have come of a sender so far."""
        peers = (self.process.last("statistics") or {}).get("peers", {})
        tally = peers.get(name, {"video": 0, "audio": 0})
        return int(tally["video"]), int(tally["audio"])

    def wait_pictures(self, more, *names):
        """Until each of these has sent so many more."""
        before = {name: self.received(name)[0] for name in names}

        def enough():
            return all(self.received(name)[0] - before[name] >= more for name in names)

        wait_until(enough, f"{more} more pictures of {', '.join(names)}")

    def evidence(self, name):
        path = self.wait_for("recording", peer=name)["path"]
        return Evidence(name, read_counters(path), read_tones(path))

    def finish(self):
        return self.process.finish()


class AiortcSender:
    """aiortc in a process of its own (aiortc_sender.py)."""

    def __init__(self, namespace, server, room, name, codec="VP8"):
        command = [sys.executable, HERE / "aiortc_sender.py", "--server", server, "--room", room, "--name", name]
        self.process = JSONProcess(f"aiortc {name}", namespace.command(*command, "--codec", codec))

    def add_sound(self):
        self.process.send(signal.SIGUSR1)

    def send_garbage(self):
        self.process.send(signal.SIGUSR2)

    def leave(self):
        self.process.finish()
