"""Somebody in a call room who takes no part in a call and hears what the others say: python-socketio's client.

Run as a program, room_listener.py URL ROOM, it prints each offer, answer and candidate as a line of JSON.
"""

import asyncio
import json
import re
import sys
from pathlib import Path

import socketio

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.process import JSONProcess  # noqa: E402
from support.waiting import PATIENCE, wait_until  # noqa: E402


class RoomListener:
    """Eve, in a process of the namespace."""

    def __init__(self, namespace, server, room):
        self.process = JSONProcess("Eve, who listens", namespace.command(sys.executable, __file__, server, room))
        self.process.wait_for("room")

    def heard(self, kind):
        """All offers, answers or candidates so far."""
        return [line["payload"] for line in list(self.process.events) if line["event"] == kind]

    def credentials(self, kind):
        """The ICE user names in the offers or answers so far, each once, in their order."""
        names = (re.search(r"^a=ice-ufrag:(\S+)", signal["sdp"], re.M)[1] for signal in self.heard(kind))
        return list(dict.fromkeys(names))

    def wait_ice_restarted(self):
        """Until an offer and an answer have named new credentials."""
        wait_until(
            lambda: len(self.credentials("offer")) == len(self.credentials("answer")) == 2,
            "an offer and an answer that restart ICE",
        )

    def close(self):
        self.process.finish()


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


async def main(server, room):
    client = socketio.AsyncClient(reconnection=False)
    for kind in ("offer", "answer", "candidate"):
        client.on(kind, lambda payload, kind=kind: say(kind, payload=payload))
    # As a caller, for nobody calls a caller.
    query = f"?roomId={room}&username=Eve&isCaller=true"
    await client.connect(server + query, transports=["websocket"], wait_timeout=PATIENCE)
    say("room")
    await client.wait()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        pass
