"""An aiortc caller that names itself, for rooms with several callers: see --help. Says what happens as JSON lines.

It sends the test video. SIGUSR1 adds the test tones by a second offer, SIGUSR2 sends an offer that is none.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.aiortc_peer import Peer  # noqa: E402
from peers.room_peer import say  # noqa: E402


class Sender(Peer):
    """Hears only what is addressed to it, and says who it is: everybody in a room hears everything."""

    async def run(self):
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: self.tasks.append(loop.create_task(self.add_sound())))
        loop.add_signal_handler(signal.SIGUSR2, lambda: self.tasks.append(loop.create_task(self.send_garbage())))
        await super().run()

    async def room_user_left(self, user):
        say("left", username=user["username"])

    async def offer(self, description):
        """Another caller's."""

    async def answer(self, description):
        if description.get("to") == self.arguments.name:
            await super().answer(description)

    async def candidate(self, payload):
        if payload and payload.get("to") == self.arguments.name:
            await super().candidate(payload)

    async def describe(self):
        await self.send_offer(self.connection.localDescription.sdp)

    async def send_offer(self, sdp):
        await self.socket.emit("offer", {"type": "offer", "sdp": sdp, "from": self.arguments.name})

    def add_tracks(self):
        video, self.sound = self.players
        self.players = [video]
        super().add_tracks()

    async def add_sound(self):
        self.connection.addTrack(self.sound.audio)
        await self.connection.setLocalDescription(await self.connection.createOffer())
        await self.describe()

    async def send_garbage(self):
        await self.send_offer("v=0\r\nthis is no description\r\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--room", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--codec", choices=["H264", "VP8"], default="VP8")
    parser.set_defaults(caller=True)
    asyncio.run(run(parser.parse_args()))


async def run(arguments):
    await Sender(arguments).run()


if __name__ == "__main__":
    main()
