#!/usr/bin/env python3
"""The links over real sockets: congestion-peer sends to a second one (transport-wide feedback) or to aiortc (REMB).

    sockets.py PROGRAM DIRECTORY roost|aiortc [NAME...]      writes RECEIVER-NAME.csv
"""

import asyncio
import json
import pathlib
import sys

from link import Link, redirect

LINKS = {
    "steady": (60, dict(capacity=[(0, 1e6)])),
    "step": (100, dict(capacity=[(0, 2.5e6), (40, 0.5e6), (65, 2.5e6)])),
    "loss": (60, dict(capacity=[(0, 1e6)], loss=0.05)),
    "bufferbloat": (60, dict(capacity=[(0, 1e6)], queue=2.0)),
    "long-way": (60, dict(capacity=[(0, 1e6)], delay=0.15)),
}


async def start(program, role, seconds):
    return await asyncio.create_subprocess_exec(
        program, role, str(seconds), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )


async def say(process, description):
    process.stdin.write((json.dumps(description) + "\n").encode())
    await process.stdin.drain()


class Roost:
    """A second process of ours."""

    def __init__(self, program, seconds):
        self.program, self.seconds = program, seconds

    async def answer(self, offer):
        self.process = await start(self.program, "receive", self.seconds + 2)
        await say(self.process, offer)
        return json.loads(await self.process.stdout.readline())

    async def close(self):
        self.process.stdin.close()
        await self.process.wait()


class Aiortc:
    """aiortc, which answers with REMB. What it gets is not decoded: the pictures hold nothing."""

    def __init__(self, program, seconds):
        from aiortc import RTCConfiguration, RTCPeerConnection, rtcrtpreceiver
        import aioice.ice

        rtcrtpreceiver.decoder_worker = lambda loop, frames, output, error: list(iter(frames.get, None)) and None
        aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))

    async def answer(self, offer):
        from aiortc import RTCSessionDescription

        await self.connection.setRemoteDescription(RTCSessionDescription(**offer))
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        local = self.connection.localDescription
        return {"type": local.type, "sdp": local.sdp}

    async def close(self):
        await self.connection.close()


async def run(program, kind, name, directory):
    seconds, arguments = LINKS[name]
    link = await Link(**arguments).open()
    sender = await start(program, "send", seconds)
    receiver = {"roost": Roost, "aiortc": Aiortc}[kind](program, seconds)
    offer = json.loads(await sender.stdout.readline())
    offer["sdp"], link.near.peer = redirect(offer["sdp"], link.far.port)
    answer = await receiver.answer(offer)
    answer["sdp"], link.far.peer = redirect(answer["sdp"], link.near.port)
    link.begin()
    await say(sender, answer)
    target = 300_000
    rows = []

    async def listen():
        nonlocal target
        while line := await sender.stdout.readline():
            target = json.loads(line)["target"]

    listening = asyncio.create_task(listen())
    while len(rows) < seconds * 10 and sender.returncode is None:
        before = link.received
        await asyncio.sleep(max(0, (len(rows) + 1) / 10 - link.now))
        rows.append([link.now, link.rate(link.now) / 1e3, link.queue_delay * 1e3, link.dropped, link.lost,
                     target / 1e3, (link.received - before) * 8 / 100])
    await listening
    await sender.wait()
    await receiver.close()
    link.close()
    table = directory / f"{kind}-{name}.csv"
    with table.open("w") as file:
        print("time_s,capacity_kbps,queue_ms,dropped,lost,target_0_kbps,received_0_kbps", file=file)
        for row in rows:
            print(",".join(f"{value:.1f}" for value in row), file=file)
    late = [row for row in rows if row[0] > 15]
    used = sum(row[6] for row in late) / sum(row[1] for row in late)
    queue = sorted(row[2] for row in late)[int(len(late) * 0.95)]
    print(f"| {name} | {kind} | {used * 100:.0f} | {queue:.0f} | {link.dropped} |", flush=True)


async def main():
    program, directory, kind = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    directory.mkdir(parents=True, exist_ok=True)
    print("| link | receiver | used after 15 s, % | queue, 95th percentile, ms | dropped |\n|---|---|---|---|---|")
    # Side by side: each is mostly waiting.
    await asyncio.gather(*(run(program, kind, name, directory) for name in sys.argv[4:] or LINKS))


if __name__ == "__main__":
    asyncio.run(main())
