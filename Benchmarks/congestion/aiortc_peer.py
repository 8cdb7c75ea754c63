#!/usr/bin/env python3
"""aiortc_peer.py send|receive SECONDS ADDRESS: what congestion-peer is, with aiortc; the same lines of JSON.

Sent is what `Sources/CongestionLinks/Encoder.swift` makes, so the two ends differ in their congestion control and in
nothing else: aiortc's encoders follow the peer's last REMB, and so does this one. Pictures hold nothing and are not
decoded.
"""

import asyncio
import fractions
import json
import random
import sys
import time

import aioice.ice
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
    rtcrtpreceiver,
    rtcrtpsender,
)
from aiortc.codecs import vpx
from av import VideoFrame

INTERVAL = 1 / 30
MINIMUM, MAXIMUM = 30_000, 2_500_000
CLOCK = 90_000


class Encoder(vpx.Vp8Encoder):
    """Thirty pictures a second whose sizes follow the target."""

    def __init__(self):
        super().__init__()
        self.target, self.random, self.debt = vpx.DEFAULT_BITRATE, random.Random(1), 0.0

    @property
    def target_bitrate(self):
        return self.target

    @target_bitrate.setter
    def target_bitrate(self, bitrate):
        self.target = min(max(bitrate, MINIMUM), MAXIMUM)

    def encode(self, frame, force_keyframe=False):
        is_key = force_keyframe or self.picture_is_first()
        mean = self.target * 0.95 * INTERVAL / 8
        if is_key:
            size = mean * 4
        else:
            size = mean * self.random.uniform(0.8, 1.2) - min(self.debt / 15, mean * 0.6)
        self.debt = max(self.debt + size - mean, 0)
        # RFC 6386 §9.1: bit 0 of the frame tag is 0 for a key frame, whose start code and size follow.
        head = bytes([0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00]) if is_key else bytes([0x11, 0, 0])
        payloads = self._packetize(head + bytes(max(int(size), 60)), self.picture_id)
        self.picture_id = (self.picture_id + 1) % (1 << 15)
        return payloads, frame.pts

    is_begun = False

    def picture_is_first(self):
        is_first, self.is_begun = not self.is_begun, True
        return is_first


class Camera(MediaStreamTrack):
    kind = "video"

    def __init__(self):
        super().__init__()
        self.start, self.number = None, 0
        self.frame = VideoFrame(16, 16)

    async def recv(self):
        if self.start is None:
            self.start = time.monotonic()
        await asyncio.sleep(self.start + self.number * INTERVAL - time.monotonic())
        self.frame.pts, self.frame.time_base = self.number * CLOCK // 30, fractions.Fraction(1, CLOCK)
        self.number += 1
        return self.frame


async def read():
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return RTCSessionDescription(**json.loads(line))


async def say(connection):
    local = connection.localDescription
    print(json.dumps({"type": local.type, "sdp": local.sdp}), flush=True)


async def main(role, seconds, address):
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: [address]
    rtcrtpreceiver.decoder_worker = lambda loop, frames, output, error: list(iter(frames.get, None)) and None
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    if role == "send":
        encoder = Encoder()
        rtcrtpsender.get_encoder = lambda codec: encoder
        connection.addTrack(Camera())
        await connection.setLocalDescription(await connection.createOffer())
        await say(connection)
        await connection.setRemoteDescription(await read())
        for _ in range(int(seconds * 10)):
            print(json.dumps({"target": encoder.target}), flush=True)
            await asyncio.sleep(0.1)
    else:
        await connection.setRemoteDescription(await read())
        await connection.setLocalDescription(await connection.createAnswer())
        await say(connection)
        await asyncio.sleep(seconds)
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), sys.argv[3]))
