"""An aiortc caller or callee that speaks the seed's protocol: see --help. Says what happens as JSON lines.

It sends the test video with its frame counter and the test tones, decodes what comes, and reads counter and tone back.
aiortc does not trickle: all its candidates are in its descriptions.
"""

import asyncio
import sys
from pathlib import Path

from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc import rtcdtlstransport, rtcrtpreceiver
from aiortc.contrib.media import MediaPlayer
from aiortc.mediastreams import MediaStreamError
from aiortc.sdp import candidate_from_sdp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.room_peer import RoomPeer, room_arguments, say  # noqa: E402
from support.evidence import MEDIA  # noqa: E402

# aiortc's statistics do not tell which codec it decodes, so its choice of a decoder is watched.
decoders = []
get_decoder = rtcrtpreceiver.get_decoder


def noted_decoder(codec):
    decoders.append(codec.mimeType)
    return get_decoder(codec)


rtcrtpreceiver.get_decoder = noted_decoder


class Peer(RoomPeer):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        files = ("webRtcTestVideo.mp4", "webRtcTestVideo.ogg")
        self.players = [MediaPlayer(str(MEDIA / name), loop=True) for name in files]
        self.held, self.tasks = [], []
        self.answering, self.offered = asyncio.Lock(), None
        self.connection.on("connectionstatechange", self.state_changed)
        self.connection.on("track", self.track_came)

    async def close(self):
        await self.connection.close()

    def codec(self):
        video = [name.split("/")[1] for name in decoders if name.startswith("video/")]
        return video[-1] if video else None

    # The room

    def is_idle(self):
        return self.connection.signalingState == "stable"

    async def call(self):
        self.add_tracks()
        await self.connection.setLocalDescription(await self.connection.createOffer())
        await self.describe()

    async def offer(self, description):
        # A caller says its offer again until the answer comes, which on a busy machine takes more than its four
        # seconds: applied a second time, or beside the first, it would begin the connection anew.
        async with self.answering:
            if description["sdp"] == self.offered:
                return await self.describe()
            if self.connection.signalingState != "closed":
                await self.answer_to(description)
                self.offered = description["sdp"]

    async def answer_to(self, description):
        await self.connection.setRemoteDescription(RTCSessionDescription(sdp=description["sdp"], type="offer"))
        if not self.connection.getSenders() or not any(sender.track for sender in self.connection.getSenders()):
            self.add_tracks()
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        await self.describe()
        await self.release()

    async def answer(self, description):
        if self.connection.signalingState != "have-local-offer":
            return  # A second answer, to an offer that was repeated.
        await self.connection.setRemoteDescription(RTCSessionDescription(sdp=description["sdp"], type="answer"))
        await self.release()

    async def candidate(self, payload):
        if not payload or not payload.get("candidate"):
            return
        candidate = candidate_from_sdp(payload["candidate"].split(":", 1)[1])
        candidate.sdpMid, candidate.sdpMLineIndex = payload.get("sdpMid"), payload.get("sdpMLineIndex")
        self.held.append(candidate)
        if self.connection.remoteDescription:
            await self.release()

    async def release(self):
        held, self.held = self.held, []
        for candidate in held:
            # With everything bundled only the first section has a transport.
            if candidate.sdpMLineIndex in (None, 0):
                await self.connection.addIceCandidate(candidate)

    async def describe(self):
        description = self.connection.localDescription
        await self.socket.emit(description.type, {"type": description.type, "sdp": description.sdp})

    def add_tracks(self):
        for player in self.players:
            self.connection.addTrack(player.video or player.audio)
        wanted = (f"video/{self.arguments.codec}".lower(), "video/rtx")
        codecs = [codec for codec in RTCRtpSender.getCapabilities("video").codecs if codec.mimeType.lower() in wanted]
        for transceiver in self.connection.getTransceivers():
            if transceiver.kind == "video":
                transceiver.setCodecPreferences(codecs)

    # Media

    async def state_changed(self):
        state = self.connection.connectionState
        self.state_is(state)
        if state == "connected":
            transport = self.connection.getSenders()[0].transport
            say("transport", cipher=transport._ssl.get_selected_srtp_profile().decode())

    def track_came(self, track):
        self.tasks.append(asyncio.create_task(self.watch(track) if track.kind == "video" else self.listen(track)))

    async def watch(self, track):
        try:
            while True:
                self.see(await track.recv())
        except MediaStreamError:
            pass

    async def listen(self, track):
        try:
            while True:
                self.hear(await track.recv())
        except MediaStreamError:
            pass


def main():
    parser = room_arguments(__doc__)
    parser.add_argument("--srtp", choices=["gcm", "gcm-256", "cm"], help="accept only this protection profile")
    arguments = parser.parse_args()
    if arguments.srtp:
        names = {
            "gcm": b"SRTP_AEAD_AES_128_GCM", "gcm-256": b"SRTP_AEAD_AES_256_GCM", "cm": b"SRTP_AES128_CM_SHA1_80",
        }
        rtcdtlstransport.SRTP_PROFILES[:] = [
            profile for profile in rtcdtlstransport.SRTP_PROFILES if profile.openssl_profile == names[arguments.srtp]
        ]
    asyncio.run(run(arguments))


async def run(arguments):
    await Peer(arguments).run()


if __name__ == "__main__":
    main()
