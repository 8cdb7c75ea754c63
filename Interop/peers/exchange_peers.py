"""Peers of WHIP and WHEP that tests talk to: aiortc, Chromium, GStreamer."""

import subprocess
import sys
from pathlib import Path

from peers.data_peer import GStreamerPeer
from peers.whip_client import Session
from support.evidence import Evidence
from support.process import JSONProcess
from support.waiting import wait_until


class AiortcExchange(JSONProcess):
    def __init__(self, server, path, token, *options):
        program = Path(__file__).with_name("aiortc_exchange.py")
        super().__init__(
            f"aiortc {path}", server.namespace.command(sys.executable, program, *options), stdin=subprocess.PIPE)
        wait_until(lambda: self._offer() is not None, lambda: f"an offer\n{self.transcript()}")
        self.session = Session(server, path, self._offer(), token)
        self.tell({"type": "answer", "sdp": self.session.answer})
        self.reports = 0

    def _offer(self):
        with self._changed:
            return next((line["sdp"] for line in self.events if line.get("type") == "offer"), None)

    def report(self):
        self.tell({"do": "report", "number": self.reports})
        self.reports += 1
        return self.wait_for("report", number=self.reports - 1)

    def wait_connected(self):
        self.wait_for("state", state="connected")

    def check_picture(self, frames=45, **limits):
        wait_until(lambda: len(self.report()["counters"]) >= frames, f"{self.name}: {frames} frames")
        Evidence(self.name, counters=self.report()["counters"]).check_picture(least=frames, **limits)

    def check_sound(self, hertz, seconds=2.0):
        pieces = int(seconds * 2) + 1
        wait_until(lambda: len(self.report()["hertz"]) >= pieces, f"{self.name}: {seconds} s of sound")
        Evidence(self.name, hertz=self.report()["hertz"][1:]).check_sound([hertz], seconds - 0.5)
