"""The same modes as rtc-bench, over aiortc. Nothing is coded or decoded: pictures are ready-made packets, and what comes
in goes to a decoder that gives nothing, so that packets are measured and not libvpx. `setup` decodes, as its users do.

    aiortc_peer.py setup COUNT video|data
    aiortc_peer.py subject
    aiortc_peer.py memory PAIRS idle|busy video|data
"""

import asyncio
import fractions
import json
import logging
import os
import sys
import time

import aioice.ice
import aiortc.rtcrtpreceiver
import av
from aiortc import RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from aiortc.mediastreams import MediaStreamTrack

aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
logging.disable(logging.CRITICAL)
# How much of a data channel may wait to be sent, and where to go on: see Subject.swift.
HIGH_MARK, LOW_MARK = 1 << 20, 1 << 18
KEY_FRAME = bytes([0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0])


class NoDecoder:
    def decode(self, encoded_frame):
        return []


class Pictures(MediaStreamTrack):
    """Frames in the shape of VP8, as many a second as told."""

    kind = "video"

    def __init__(self):
        super().__init__()
        self.rate, self.packets, self.number, self.next = 0, 0, 0, None
        self.told = asyncio.Event()

    def tell(self, rate, packets):
        self.rate, self.packets, self.next = rate, packets, None
        self.told.set()

    def pause(self):
        self.told.clear()

    async def recv(self):
        await self.told.wait()
        self.next = (self.next or time.monotonic()) + 1 / self.rate
        await asyncio.sleep(max(0, self.next - time.monotonic()))
        size = self.packets * 1150
        head = KEY_FRAME if self.number % self.rate == 0 else b"\x11"
        packet = av.Packet(head + bytes(size - len(head)))
        packet.pts, packet.time_base = self.number, fractions.Fraction(1, self.rate)
        self.number += 1
        return packet


def report(values):
    print(json.dumps(values), flush=True)


async def describe(peer, description):
    await peer.setLocalDescription(description)
    return peer.localDescription.sdp


async def connect(caller, callee):
    up = [when_connected(peer) for peer in (caller, callee)]
    offer = await describe(caller, await caller.createOffer())
    offered = time.perf_counter()
    await callee.setRemoteDescription(RTCSessionDescription(sdp=offer, type="offer"))
    answer = await describe(callee, await callee.createAnswer())
    await caller.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
    await asyncio.wait_for(asyncio.gather(*up), 30)
    return offered


def when_connected(peer):
    future = asyncio.get_running_loop().create_future()

    @peer.on("connectionstatechange")
    def changed():
        if peer.connectionState == "connected" and not future.done():
            future.set_result(None)

    return future


async def setup(count, kind):
    for _ in range(count):
        begin = time.perf_counter()
        caller, callee = RTCPeerConnection(), RTCPeerConnection()
        first = asyncio.get_running_loop().create_future()

        def arrived():
            if not first.done():
                first.set_result(time.perf_counter())

        if kind == "data":
            channel = caller.createDataChannel("x")
            channel.on("open", lambda: channel.send("hi"))
            callee.on("datachannel", lambda channel: channel.on("message", lambda _: arrived()))
        else:
            caller.addTrack(VideoStreamTrack())

            async def read(track):
                await track.recv()
                arrived()

            callee.on("track", lambda track: asyncio.ensure_future(read(track)))
        offered = await connect(caller, callee)
        connected = time.perf_counter()
        frame = await asyncio.wait_for(first, 30)
        report({"kind": kind, "offer": (offered - begin) * 1e3, "connected": (connected - begin) * 1e3,
                "first": (frame - begin) * 1e3})
        await caller.close()
        await callee.close()


def packets_of(stats):
    return sum(getattr(s, "packetsSent", 0) if s.type == "outbound-rtp" else
               getattr(s, "packetsReceived", 0) if s.type == "inbound-rtp" else 0 for s in stats.values())


def when_open(channel):
    opened = asyncio.Event()
    channel.on("open", opened.set)
    return opened


async def flood(channel, opened, size):
    """Sends messages as fast as they go."""
    low = asyncio.Event()
    channel.bufferedAmountLowThreshold = LOW_MARK
    channel.on("bufferedamountlow", low.set)
    message = bytes(size)
    await opened.wait()
    while True:
        low.clear()
        while channel.bufferedAmount <= HIGH_MARK:
            channel.send(message)
        await low.wait()


async def subject():
    aiortc.rtcrtpreceiver.get_decoder = lambda codec: NoDecoder()
    peer, track, channel, received = RTCPeerConnection(), Pictures(), None, 0

    @peer.on("datachannel")
    def opened_by_peer(theirs):
        @theirs.on("message")
        def message(message):
            nonlocal received
            received += len(message)

    when_connected(peer).add_done_callback(lambda _: report({"connected": True}))
    reader = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    peer.on("track", lambda track: asyncio.ensure_future(track.recv()))
    while line := await reader.readline():
        command = json.loads(line)
        if command["do"] == "offer":
            if command.get("kind") == "data":
                channel = peer.createDataChannel("x")
                opened = when_open(channel)
            else:
                peer.addTransceiver(track, direction="sendonly")
            report({"sdp": await describe(peer, await peer.createOffer())})
        elif command["do"] == "answer":
            await peer.setRemoteDescription(RTCSessionDescription(sdp=command["sdp"], type="offer"))
            report({"sdp": await describe(peer, await peer.createAnswer())})
        elif command["do"] == "accept":
            await peer.setRemoteDescription(RTCSessionDescription(sdp=command["sdp"], type="answer"))
        elif command["do"] == "send" and channel:
            flooding = asyncio.ensure_future(flood(channel, opened, command["bytes"]))
            # Else a failure of it would be told at the end only.
            flooding.add_done_callback(lambda task: task.result())
        elif command["do"] == "send":
            track.tell(command["frames"], command["packets"])
        elif command["do"] == "count":
            report({"packets": packets_of(await peer.getStats()), "bytes": received})


class Messages:
    """Sends as many messages as `Pictures` has packets."""

    def __init__(self, channel):
        self.channel, self.number, self.task = channel, 0, None

    def tell(self, rate, packets):
        self.task = asyncio.ensure_future(self.send(rate, packets))

    async def send(self, rate, packets):
        message = bytes(1150)
        for self.number in range(1, 151):
            for _ in range(packets):
                self.channel.send(message)
            await asyncio.sleep(1 / rate)

    def pause(self):
        self.task.cancel()


async def memory(count, busy, kind):
    aiortc.rtcrtpreceiver.get_decoder = lambda codec: NoDecoder()

    async def pair():
        caller, callee = RTCPeerConnection(), RTCPeerConnection()
        if kind == "data":
            channel = caller.createDataChannel("x")
            opened = when_open(channel)
            callee.on("datachannel", lambda theirs: theirs.on("message", lambda _: None))
            await connect(caller, callee)
            await asyncio.wait_for(opened.wait(), 30)
            return caller, callee, Messages(channel)
        track = Pictures()
        caller.addTransceiver(track, direction="sendonly")
        callee.on("track", lambda track: asyncio.ensure_future(track.recv()))
        await connect(caller, callee)
        return caller, callee, track

    async def load(pairs):
        for _, _, source in pairs:
            source.tell(30, 10)
        # aiortc cannot send 300 packets a second on many connections at once: until each has sent its 1,500.
        while any(source.number < 150 for _, _, source in pairs):
            await asyncio.sleep(0.1)

    first = await pair()
    await load([first])
    first[2].pause()
    before = resident()
    pairs = [await pair() for _ in range(count)]
    if busy:
        await load(pairs)
    report({"kind": "busy" if busy else "idle", "KiB": (resident() - before) / 1024 / (2 * count)})
    os._exit(0)


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


mode = sys.argv[1]
if mode == "setup":
    asyncio.run(setup(int(sys.argv[2]), sys.argv[3]))
elif mode == "subject":
    asyncio.run(subject())
elif mode == "memory":
    asyncio.run(memory(int(sys.argv[2]), sys.argv[3] == "busy", sys.argv[4]))
