"""A participant of a room by LiveKit's Python SDK: see --help. Does what lines of JSON on its standard input tell it,
and says what happens as JSON lines.

The picture is gray with the test video's frame counter in it, the sound one tone.
"""

import argparse
import asyncio
import collections
import json
import os
import sys
from pathlib import Path

import numpy as np
from livekit import rtc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.livekit_data_tracks import DataTracks  # noqa: E402
from peers.livekit_streams import Streams  # noqa: E402
from support.evidence import FRAMES, PIECE, frame_counter, loudest  # noqa: E402

RATE = frame_counter.SAMPLE_RATE
# So much sound at once: each piece that the SDK takes or gives is work for Python.
CHUNK = RATE // 10


def say(event, **fields):
    # In one piece: the SDK's own threads write to the log, which is read with this.
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


class Picture:
    """I420 with a counter, as `frame_counter.read_counter` finds it. Each is drawn over the last, of which the SDK has
    taken a copy: memory for a new one costs more than the drawing.
    """

    def __init__(self, width, height):
        self.width, self.data = width, bytearray(width * height * 3 // 2)
        luma, chroma = np.split(np.frombuffer(self.data, np.uint8), [width * height])
        luma = luma.reshape(height, width)
        luma[:], chroma[:] = 96, 128
        self.half = luma[: height // 2]
        self.rows = luma[height * 52 // 60 : height * 56 // 60], luma[height * 56 // 60 :]
        # Which cell each column belongs to.
        self.cells = ((np.arange(width) + 1) * frame_counter.CELLS - 1) // width

    def draw(self, number, noise=0):
        # Something that moves, so that coders have to say something of every frame.
        left = self.width * number // FRAMES
        self.half[:] = 96
        self.half[:, left : left + self.width // 8] = 160
        self.half[:] += noise
        bits = np.array(frame_counter.cells(number), np.uint8)[self.cells]
        self.rows[0][:], self.rows[1][:] = 16 + 219 * bits, 235 - 219 * bits
        return self.data


class Received:
    """What came on one track."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.counters, self.sizes, self.hertz, self.samples = [], [], [], np.empty(0, "<i2")

    def see(self, frame):
        luma = np.frombuffer(frame.data, np.uint8)[: frame.width * frame.height].reshape(frame.height, frame.width)
        self.counters.append(frame_counter.read_counter(luma))
        self.sizes.append([frame.width, frame.height])

    def hear(self, frame):
        self.samples = np.append(self.samples, np.frombuffer(frame.data, "<i2")[:: frame.num_channels])
        length = int(PIECE * RATE)
        while len(self.samples) >= length:
            piece, self.samples = self.samples[:length], self.samples[length:]
            self.hertz.append(loudest(piece.astype(np.float64), RATE))

    def report(self):
        return {"counters": self.counters, "sizes": self.sizes, "hertz": self.hertz}


class Peer(Streams, DataTracks):
    say = staticmethod(say)

    def __init__(self, arguments):
        self.arguments = arguments
        self.room = rtc.Room()
        self.tasks, self.tracks, self.received, self.streams = set(), {}, {}, {}
        self.times = collections.Counter()
        self.ended = asyncio.Event()
        on = self.room.on
        on("participant_connected", lambda who: say("connected", who=who.identity))
        on("participant_disconnected", lambda who: say("gone", who=who.identity))
        on("track_published", lambda track, who: say("published", who=who.identity, name=track.name))
        on("track_unpublished", lambda track, who: say("unpublished", who=who.identity, name=track.name))
        on("track_subscribed", self.subscribed)
        on("track_unsubscribed", self.unsubscribed)
        on("track_muted", lambda who, track: say("muted", who=who.identity, name=track.name))
        on("track_unmuted", lambda who, track: say("unmuted", who=who.identity, name=track.name))
        on("data_received", self.data_received)
        on("active_speakers_changed", lambda speakers: say("speakers", who=[one.identity for one in speakers]))
        on("room_metadata_changed", lambda _, new: say("metadata", metadata=new))
        on("participant_name_changed", lambda who, _, new: say("named", who=who.identity, name=new))
        on("participant_attributes_changed", self.attributes_changed)
        on("participant_permissions_changed", self.permissions_changed)
        on("reconnecting", lambda: say("reconnecting"))
        on("reconnected", lambda: say("reconnected"))
        on("token_refreshed", lambda: say("token"))
        on("e2ee_state_changed", self.encryption_changed)
        on("disconnected", self.disconnected)
        self.watch_data_tracks()

    def start(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.done)
        return task

    def done(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()):
            say("fault", of=repr(task.get_coro()), fault=repr(fault))

    # What happens

    def subscribed(self, track, publication, who):
        received = self.received.setdefault(publication.name, Received())
        if track.kind == rtc.TrackKind.KIND_VIDEO:
            stream = rtc.VideoStream(track, format=rtc.VideoBufferType.I420)
            self.start(self.take(stream, received.see))
        else:
            stream = rtc.AudioStream(track, sample_rate=RATE, num_channels=1, frame_size_ms=1000 * CHUNK // RATE)
            self.start(self.take(stream, received.hear))
        self.streams[publication.sid] = stream
        self.times[publication.sid] += 1
        say("subscribed", who=who.identity, name=publication.name, codec=publication.mime_type,
            sid=publication.sid, times=self.times[publication.sid],
            encryption=rtc.EncryptionType.Name(publication.encryption_type))

    def unsubscribed(self, _, publication, who):
        # libwebrtc uses a receiver again, and whoever looked at the old track would see the new one.
        if stream := self.streams.pop(publication.sid, None):
            self.start(stream.aclose())
        say("unsubscribed", who=who.identity, name=publication.name)

    async def take(self, stream, into):
        async for event in stream:
            into(event.frame)

    def data_received(self, packet):
        who = packet.participant.identity if packet.participant else None
        say("data", who=who, text=packet.data.decode(), topic=packet.topic)

    def attributes_changed(self, changed, who):
        say("attributes", who=who.identity, attributes=dict(who.attributes))

    def permissions_changed(self, who, permission):
        say("permission", who=who.identity, may_publish=permission.can_publish, may_subscribe=permission.can_subscribe)

    def encryption_changed(self, who, state):
        say("encryption", who=who.identity, state=rtc.EncryptionState.Name(state))

    def disconnected(self, reason):
        say("disconnected", reason=rtc.DisconnectReason.Name(reason))
        self.ended.set()

    # What is to be done

    async def join(self):
        options = rtc.RoomOptions(
            auto_subscribe=not self.arguments.no_subscribe, dynacast=self.arguments.dynacast,
            single_peer_connection=not self.arguments.dual)
        if self.arguments.relay_only:
            # The servers are those that the room names.
            relay = rtc.IceTransportType.TRANSPORT_RELAY
            options.rtc_config = rtc.RtcConfiguration(ice_transport_type=relay)
        if self.arguments.key:
            keys = rtc.KeyProviderOptions(shared_key=self.arguments.key.encode())
            options.encryption = rtc.E2EEOptions(key_provider_options=keys)
        await self.room.connect(self.arguments.url, self.arguments.token, options)
        local = self.room.local_participant
        local.register_rpc_method("shout", self.shout)
        self.read_streams()
        tracks = [
            [who.identity, track.name] for who in self.room.remote_participants.values()
            for track in who.track_publications.values()
        ]
        say("joined", sid=local.sid, room=self.room.name, others=list(self.room.remote_participants), tracks=tracks,
            metadata=self.room.metadata)

    async def shout(self, call):
        say("called", who=call.caller_identity)
        if call.payload == "fail":
            raise rtc.RpcError(1234, "as you like")
        return call.payload.upper()

    async def publish_video(self, name="camera", codec="VP8", width=640, height=360, simulcast=False, bitrate=None,
                            scalability=None, rough=False):
        source = rtc.VideoSource(width, height)
        track = rtc.LocalVideoTrack.create_video_track(name, source)
        options = rtc.TrackPublishOptions(
            source=rtc.TrackSource.SOURCE_CAMERA, simulcast=simulcast, video_codec=rtc.VideoCodec.Value(codec))
        if scalability:
            options.scalability_mode = scalability
        if bitrate:
            options.video_encoding.max_bitrate = bitrate
            options.video_encoding.max_framerate = frame_counter.RATE
        self.start(self.draw(source, width, height, rough))
        await self.publish(name, track, options)

    async def draw(self, source, width, height, rough):
        """`rough`: with noise, so that coders need all the bits that they may use."""
        picture = Picture(width, height)
        noise = np.random.default_rng(1).integers(-48, 48, picture.half.shape, np.int8).view(np.uint8)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        number = 0
        while True:
            data = picture.draw(number % FRAMES, np.roll(noise, 7919 * number) if rough else 0)
            source.capture_frame(rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, data))
            number += 1
            await asyncio.sleep(max(0, begun + number / frame_counter.RATE - loop.time()))

    async def publish_audio(self, name="microphone", hertz=880, red=None):
        source = rtc.AudioSource(RATE, 1)
        track = rtc.LocalAudioTrack.create_audio_track(name, source)
        self.start(self.sound(source, hertz))
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        if red is not None:
            options.red = red
        await self.publish(name, track, options)

    async def sound(self, source, hertz):
        first = 0
        while True:
            times = np.arange(first, first + CHUNK) / RATE
            samples = (8_000 * np.sin(2 * np.pi * hertz * times)).astype("<i2")
            await source.capture_frame(rtc.AudioFrame(samples.tobytes(), RATE, 1, CHUNK))
            first += CHUNK

    async def publish(self, name, track, options):
        try:
            publication = await self.room.local_participant.publish_track(track, options)
        except rtc.participant.PublishTrackError as error:
            return say("not_published", name=name, error=error.message)
        self.tracks[name] = track, publication
        say("own_track", name=name, sid=publication.sid)

    async def unpublish(self, name):
        await self.room.local_participant.unpublish_track(self.tracks.pop(name)[1].sid)
        say("withdrawn", name=name)

    async def mute(self, name):
        self.tracks[name][0].mute()

    async def unmute(self, name):
        self.tracks[name][0].unmute()

    async def send(self, text, to=(), reliable=True, topic=""):
        await self.room.local_participant.publish_data(
            text, reliable=reliable, destination_identities=list(to), topic=topic)
        say("sent", text=text)

    async def call(self, who, payload):
        try:
            answer = await self.room.local_participant.perform_rpc(
                destination_identity=who, method="shout", payload=payload)
            say("answer", answer=answer)
        except rtc.RpcError as error:
            say("answer", code=error.code, message=error.message)

    def remote(self, name):
        return next(
            track for who in self.room.remote_participants.values() for track in who.track_publications.values()
            if track.name == name)

    async def quality(self, name, quality):
        self.remote(name).set_video_quality(rtc.VideoQuality.Value(f"VIDEO_QUALITY_{quality}"))

    async def subscribe(self, name, wanted):
        self.remote(name).set_subscribed(wanted)

    async def allow(self, everybody):
        self.room.local_participant.set_track_subscription_permissions(allow_all_participants=everybody)

    async def metadata(self, name, attributes):
        await self.room.local_participant.set_name(name)
        await self.room.local_participant.set_attributes(attributes)

    async def simulate(self, scenario):
        await self.room.simulate_scenario(rtc.SimulateScenarioKind.Value(f"SIMULATE_{scenario}"))
        say("simulated", scenario=scenario)

    async def report(self, name, fresh=False):
        """All that came on a track; `fresh` forgets it afterwards."""
        say("report", name=name, number=self.arguments.reports, **self.received.get(name, Received()).report())
        self.arguments.reports += 1
        if fresh and name in self.received:
            self.received[name].forget()

    async def traffic(self, name):
        """What the network has brought of a track, whether or not it could be decoded."""
        track = self.remote(name).track
        statistics = await track.get_stats() if track else []
        inbound = [one.inbound_rtp for one in statistics if one.WhichOneof("stats") == "inbound_rtp"]
        say("traffic", name=name, number=self.arguments.traffics,
            packets=sum(one.received.packets_received for one in inbound),
            bytes=sum(one.inbound.bytes_received for one in inbound))
        self.arguments.traffics += 1

    async def own_traffic(self, name):
        """What has left for the network of a track of ours."""
        statistics = await self.tracks[name][0].get_stats()
        outbound = [one.outbound_rtp for one in statistics if one.WhichOneof("stats") == "outbound_rtp"]
        say("own_traffic", name=name, number=self.arguments.traffics,
            frames=sum(one.outbound.frames_encoded for one in outbound),
            packets=sum(one.sent.packets_sent for one in outbound))
        self.arguments.traffics += 1

    async def leave(self):
        await self.room.disconnect()
        self.ended.set()

    async def listen(self):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            await getattr(self, command.pop("do"))(**command)
        self.ended.set()

    async def run(self):
        try:
            await self.join()
        except rtc.ConnectError as error:
            return say("refused", error=error.message)
        listening = self.start(self.listen())
        ended = self.start(self.ended.wait())
        await asyncio.wait({listening, ended}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            # A command that fails is a fault of the test.
            listening.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--dual", action="store_true", help="one connection to publish and one to subscribe")
    parser.add_argument("--dynacast", action="store_true")
    parser.add_argument("--no-subscribe", action="store_true", help="subscribe to nothing unasked")
    parser.add_argument("--relay-only", action="store_true", help="by way of TURN servers, or not at all")
    parser.add_argument("--key", help="everything is encrypted from end to end with this")
    parser.set_defaults(reports=0, traffics=0)
    asyncio.run(run(parser.parse_args()))
    # The SDK's own threads still run, and now and then abort the process while the interpreter is taken down.
    sys.stdout.flush()
    os._exit(0)


async def run(arguments):
    # The room takes the loop that runs when it is made.
    await Peer(arguments).run()


if __name__ == "__main__":
    main()
