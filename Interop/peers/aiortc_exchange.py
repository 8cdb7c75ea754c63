"""An aiortc peer that offers once: see --help. Its offer and the answer are lines of JSON on its standard output and
input; what it decodes it tells when it is asked, and in the end.
"""

import argparse
import asyncio
import json
import signal
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.contrib.media import MediaPlayer
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.evidence import MEDIA, PIECE, frame_counter, loudest  # noqa: E402

RATE = frame_counter.SAMPLE_RATE


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Tone(MediaStreamTrack):
    kind = "audio"

    def __init__(self, hertz):
        super().__init__()
        self.hertz, self.first, self.begun = hertz, 0, None

    async def recv(self):
        loop = asyncio.get_running_loop()
        self.begun = self.begun or loop.time()
        await asyncio.sleep(max(0, self.begun + self.first / RATE - loop.time()))
        count = RATE // 50
        times = np.arange(self.first, self.first + count) / RATE
        samples = (8_000 * np.sin(2 * np.pi * self.hertz * times)).astype("<i2")
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, self.first, Fraction(1, RATE)
        self.first += count
        return frame


class Peer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.counters, self.hertz, self.pieces, self.tasks = [], [], [], []
        self.connection.on("connectionstatechange", lambda: say(event="state", state=self.connection.connectionState))
        self.connection.on("track", lambda track: self.tasks.append(asyncio.ensure_future(self.take(track))))

    def add_tracks(self):
        if not self.arguments.publish:
            for kind in self.arguments.play.split(","):
                self.connection.addTransceiver(kind, direction="recvonly")
            return
        self.player = MediaPlayer(str(MEDIA / "webRtcTestVideo.mp4"), loop=True)
        video = self.connection.addTransceiver(self.player.video, direction="sendonly")
        wanted = (f"video/{self.arguments.publish}".lower(), "video/rtx")
        codecs = RTCRtpSender.getCapabilities("video").codecs
        video.setCodecPreferences([codec for codec in codecs if codec.mimeType.lower() in wanted])
        self.connection.addTransceiver(Tone(self.arguments.hertz), direction="sendonly")

    async def take(self, track):
        try:
            while True:
                frame = await track.recv()
                self.see(frame) if track.kind == "video" else self.hear(frame)
        except MediaStreamError:
            pass

    def see(self, frame):
        plane = frame.planes[0]
        luma = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: frame.height, : frame.width]
        self.counters.append(frame_counter.read_counter(luma))

    def hear(self, frame):
        self.pieces.append(frame.to_ndarray().reshape(-1, len(frame.layout.channels))[:, 0].astype(float))
        if sum(map(len, self.pieces)) >= PIECE * frame.sample_rate:
            self.hertz.append(loudest(np.concatenate(self.pieces), frame.sample_rate))
            self.pieces = []

    async def obey(self, line):
        if line.get("type") == "answer":
            await self.connection.setRemoteDescription(RTCSessionDescription(line["sdp"], "answer"))
        elif line.get("do") == "report":
            say(event="report", number=line["number"], counters=self.counters, hertz=self.hertz)

    async def run(self):
        self.add_tracks()
        await self.connection.setLocalDescription(await self.connection.createOffer())
        say(type="offer", sdp=self.connection.localDescription.sdp)
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_signal_handler(signal.SIGINT, ended.set)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

        async def listen():
            while line := await reader.readline():
                await self.obey(json.loads(line))

        listening = asyncio.ensure_future(listen())
        ending = asyncio.ensure_future(ended.wait())
        await asyncio.wait({listening, ending}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            listening.result()
        await self.connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--publish", choices=["VP8", "H264"], help="send the test video in this codec, and a tone")
    parser.add_argument("--hertz", type=float, default=880)
    parser.add_argument("--play", default="video,audio", help="the kinds to receive, in the order of their sections")
    asyncio.run(run(parser.parse_args()))


async def run(arguments):
    await Peer(arguments).run()


if __name__ == "__main__":
    main()
