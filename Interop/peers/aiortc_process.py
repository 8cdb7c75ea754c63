"""aiortc as a peer: starts aiortc_peer.py and reads what it says."""

import sys
from pathlib import Path

from support.evidence import TONES, Evidence
from support.process import JSONProcess

HERE = Path(__file__).resolve().parent


class AiortcPeer:
    """aiortc in a process of its own (aiortc_peer.py)."""

    tones = TONES
    program = "aiortc_peer.py"

    def __init__(self, namespace, server, room, name, role, codec="VP8", srtp=None):
        command = [sys.executable, HERE / self.program, "--server", server, "--room", room, "--name", name]
        command += ["--codec", codec] + (["--caller"] if role == "caller" else []) + (["--srtp", srtp] if srtp else [])
        self.name = name
        self.process = JSONProcess(f"{self.program} {name}", namespace.command(*command))

    def wait_joined(self):
        self.process.wait_for("room")

    def wait_connected(self):
        self.process.wait_for("state", state="connected")

    def received(self):
        """How many frames and half seconds of sound have come so far."""
        line = self.process.last("statistics") or {"frames": 0, "tones": 0}
        return line["frames"], line["tones"]

    def collect(self):
        """Nothing to do: the process gives its evidence at its end."""

    def finish(self):
        transport = self.process.last("transport") or {}
        self.status = self.process.finish()
        summary = self.process.last("summary")
        assert summary is not None, f"{self.name} gave no summary\n{self.process.transcript()}"
        return Evidence(self.name, summary["counters"], summary["hertz"], summary["codec"], transport.get("cipher"))

    def transcript(self):
        return self.process.transcript()

    def close(self):
        self.process.finish()
