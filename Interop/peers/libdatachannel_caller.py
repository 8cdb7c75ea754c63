"""A libdatachannel caller or callee that speaks the seed's protocol: see --help. Says what happens as JSON lines.

The connection is libdatachannel_peer.py's, in a process with the Python that it needs. It carries frames as they are:
here the test files are taken apart for it, and what it hands over is decoded with PyAV.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path

import av
from av.bitstream import BitStreamFilterContext

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.libdatachannel_process import find_libdatachannel_python  # noqa: E402
from peers.room_peer import RoomPeer, room_arguments, say  # noqa: E402
from support.evidence import MEDIA  # noqa: E402

CLOCKS = {"audio": 48_000, "video": 90_000}
FILES = {"H264": "webRtcTestVideo.mp4", "VP8": "webRtcTestVideo.ivf", "opus": "webRtcTestVideo.ogg"}
LARGEST_LINE = 1 << 22


def frames_of(codec):
    """The encoded frames of a test file and when each is due, in seconds, again and again."""
    begin = 0.0
    while True:
        with av.open(str(MEDIA / FILES[codec])) as file:
            stream = file.streams[0]
            # With the parameter sets in the stream, as RTP wants them.
            filtering = BitStreamFilterContext("h264_mp4toannexb", stream) if codec == "H264" else None
            due = begin
            for packet in file.demux(stream):
                if packet.pts is None:
                    continue
                duration = float(packet.duration * packet.time_base)
                for piece in filtering.filter(packet) if filtering else [packet]:
                    yield due, bytes(piece)
                due += duration
            begin = due


class Peer(RoomPeer):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.codecs = {"audio": "opus", "video": arguments.codec}
        self.decoders = {kind: av.CodecContext.create(codec.lower(), "r") for kind, codec in self.codecs.items()}
        self.decoded = None
        self.resampler = av.AudioResampler("s16", "mono")
        self.offered, self.is_calling, self.answering = None, False, asyncio.Lock()
        self.described = asyncio.Queue()
        self.tasks = []

    async def run(self):
        program = Path(__file__).with_name("libdatachannel_peer.py")
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", find_libdatachannel_python(), program,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LARGEST_LINE,
        )
        self.tasks.append(asyncio.create_task(self.follow()))
        self.tell(action="take", kind="video", codec=self.arguments.codec)
        await super().run()

    def tell(self, **order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")

    async def close(self):
        for task in self.tasks:
            task.cancel()
        self.tell(action="quit")
        await self.process.wait()

    def codec(self):
        return self.decoded

    # The room

    def is_idle(self):
        return not self.is_calling

    async def call(self):
        self.is_calling = True
        for kind, codec in self.codecs.items():
            self.tell(action="addMedia", kind=kind, codec=codec)
        self.tell(action="offer")
        await self.socket.emit("offer", await self.described.get())

    async def offer(self, description):
        # A caller says its offer again until the answer comes.
        async with self.answering:
            if description["sdp"] != self.offered:
                self.tell(type="offer", sdp=description["sdp"])
                self.answered, self.offered = await self.described.get(), description["sdp"]
            await self.socket.emit("answer", self.answered)

    async def answer(self, description):
        if self.is_calling and self.offered is None:
            self.offered = description["sdp"]
            self.tell(type="answer", sdp=description["sdp"])

    async def candidate(self, payload):
        if payload and payload.get("candidate"):
            self.tell(action="candidate", candidate=payload["candidate"], mid=payload.get("sdpMid") or "")

    # The connection

    async def follow(self):
        async for line in self.process.stdout:
            if not line.startswith(b"{"):
                print(line.decode(), end="", flush=True)
                continue
            said = json.loads(line)
            if "sdp" in said:
                self.described.put_nowait({"type": said["type"], "sdp": said["sdp"]})
                continue
            match said["event"]:
                case "state":
                    self.state_is(said["state"])
                case "trackOpen":
                    self.tasks.append(asyncio.create_task(self.play(said["kind"])))
                case "frame":
                    self.decode(said["kind"], base64.b64decode(said["base64"]))
        # It ends only when it is told to.
        self.ended.set()

    async def play(self, kind):
        loop = asyncio.get_running_loop()
        start = loop.time()
        for due, frame in frames_of(self.codecs[kind]):
            await asyncio.sleep(start + due - loop.time())
            self.tell(action="frame", kind=kind, timestamp=round(due * CLOCKS[kind]),
                      base64=base64.b64encode(frame).decode())

    def decode(self, kind, frame):
        try:
            decoded = self.decoders[kind].decode(av.Packet(frame))
        except av.FFmpegError as error:
            say("undecodable", kind=kind, reason=str(error))
            return
        for frame in decoded:
            if kind == "video":
                self.decoded = self.codecs[kind]
                self.see(frame)
            else:
                for piece in self.resampler.resample(frame):
                    self.hear(piece)


async def run(arguments):
    await Peer(arguments).run()


if __name__ == "__main__":
    asyncio.run(run(room_arguments(__doc__).parse_args()))
