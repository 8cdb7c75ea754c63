"""What callers and callees over the seed's protocol have in common, whatever their connection is."""

import argparse
import asyncio
import json
import signal
from urllib.parse import urlencode

import numpy as np
import socketio

from support.evidence import PIECE, frame_counter, loudest
from support.waiting import PATIENCE


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class RoomPeer:
    """In a room from its beginning until somebody leaves, or until it is interrupted.

    Who inherits has `call`, `offer`, `answer`, `candidate`, `is_idle`, `close` and `codec`, and hands over what it
    decodes, as PyAV's frames, to `see` and `hear`.
    """

    def __init__(self, arguments):
        self.arguments = arguments
        self.socket = socketio.AsyncClient(reconnection=False, request_timeout=PATIENCE)
        self.counters, self.hertz, self.pieces = [], [], []
        self.ended = asyncio.Event()
        for name in ("room_user_joined", "room_user_left", "offer", "answer", "candidate"):
            self.socket.on(name, getattr(self, name))

    async def run(self):
        a = self.arguments
        query = urlencode({"roomId": a.room, "username": a.name, "isCaller": str(a.caller).lower()})
        await self.socket.connect(f"{a.server}?{query}", transports=["websocket"], wait_timeout=PATIENCE)
        say("room")
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.ended.set)
        loop.add_signal_handler(signal.SIGTERM, self.ended.set)
        reporter = asyncio.create_task(self.report())
        await self.ended.wait()
        reporter.cancel()
        await self.socket.disconnect()
        await self.close()
        say("summary", counters=self.counters, hertz=self.hertz, codec=self.codec())

    async def room_user_joined(self, user):
        say("presence", username=user["username"])
        if self.arguments.caller and not user["isCaller"] and self.is_idle():
            await self.call()

    async def room_user_left(self, user):
        say("left", username=user["username"])
        self.ended.set()

    def state_is(self, state):
        say("state", state=state)
        if state == "failed":
            self.ended.set()

    # Media

    def see(self, frame):
        # The luma plane as it lies there: converting each frame costs what a busy machine lacks.
        plane = frame.planes[0]
        luma = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: frame.height, : frame.width]
        self.counters.append(frame_counter.read_counter(luma))

    def hear(self, frame):
        """Samples of 16 bits, the channels beside each other."""
        self.pieces.append(frame.to_ndarray().reshape(-1, len(frame.layout.channels))[:, 0].astype(float))
        if sum(map(len, self.pieces)) >= PIECE * frame.sample_rate:
            self.hertz.append(loudest(np.concatenate(self.pieces), frame.sample_rate))
            self.pieces = []

    async def report(self):
        while True:
            await asyncio.sleep(0.5)
            say("statistics", frames=len(self.counters), tones=sum(hertz is not None for hertz in self.hertz))


def room_arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--server", required=True)
    parser.add_argument("--room", type=int, required=True)
    parser.add_argument("--name", default="Ann")
    parser.add_argument("--caller", action="store_true")
    parser.add_argument("--codec", choices=["H264", "VP8"], default="VP8")
    return parser
