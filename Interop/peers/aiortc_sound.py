"""Sends a file's sound by aiortc as G.711: an offer as a line of JSON on standard output, the answer on standard input."""

import asyncio
import json
import sys

from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.contrib.media import MediaPlayer


async def main(codec, path):
    connection = RTCPeerConnection()
    player = MediaPlayer(path, loop=True)
    transceiver = connection.addTransceiver(player.audio, direction="sendonly")
    codecs = RTCRtpSender.getCapabilities("audio").codecs
    transceiver.setCodecPreferences([known for known in codecs if known.name == codec])
    await connection.setLocalDescription(await connection.createOffer())
    local = connection.localDescription
    say(event="offer", description={"type": local.type, "sdp": local.sdp})
    loop = asyncio.get_running_loop()
    answer = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    await connection.setRemoteDescription(RTCSessionDescription(answer["sdp"], answer["type"]))
    while True:
        await asyncio.sleep(0.1)
        for stats in (await transceiver.sender.getStats()).values():
            if stats.type == "outbound-rtp" and stats.packetsSent >= 150:
                say(event="sent", packets=stats.packetsSent)
                # Until we are ended.
                await asyncio.sleep(3600)


def say(**event):
    print(json.dumps(event), flush=True)


asyncio.run(main(*sys.argv[1:]))
