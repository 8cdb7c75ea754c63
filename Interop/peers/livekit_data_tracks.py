"""Data tracks for `livekit_peer.py`: each frame is made from its number, so that whoever gets one can say what it has to
be."""

import asyncio
import random

from livekit import rtc
from livekit.rtc.participant import PublishDataTrackError

# Frames of one packet, and of several.
SIZES = [0, 5, 900, 30_000]


def frame_of(number):
    data = random.Random(number).randbytes(SIZES[number % len(SIZES)])
    return rtc.DataTrackFrame(payload=number.to_bytes(4, "big") + data, user_timestamp=number + 1)


class DataTracks:
    """What a peer does with data tracks; `say` tells, `start` runs beside the rest."""

    def watch_data_tracks(self):
        self.data_tracks, self.remote_data_tracks, self.data_streams = {}, {}, {}
        self.room.on("data_track_published", self.data_track_published)
        self.room.on("data_track_unpublished", lambda sid: self.say("data_track_unpublished"))

    def data_track_published(self, track):
        self.remote_data_tracks[track.info.name] = track
        self.say("data_track_published", who=track.publisher_identity, name=track.info.name, sid=track.info.sid,
                 encrypted=track.info.uses_e2ee)

    async def publish_data_track(self, name):
        try:
            self.data_tracks[name] = await self.room.local_participant.publish_data_track(name=name)
        except PublishDataTrackError as error:
            return self.say("data_track_refused", name=name, error=error.message)
        self.say("own_data_track", name=name)
        self.start(self.push(name))

    async def push(self, name):
        """Frames until the track ends; while it is published anew some are refused."""
        number = 0
        track = self.data_tracks[name]
        while name in self.data_tracks:
            try:
                track.try_push(frame_of(number))
            except rtc.PushFrameError:
                pass
            number += 1
            await asyncio.sleep(0.05)

    async def unpublish_data_track(self, name):
        await self.data_tracks.pop(name).unpublish()

    async def subscribe_to_data(self, name):
        stream = self.data_streams[name] = self.remote_data_tracks[name].subscribe()
        self.start(self.read_data(name, stream))

    async def read_data(self, name, stream):
        try:
            async for frame in stream:
                number = int.from_bytes(frame.payload[:4], "big")
                self.say("frame", name=name, number=number, size=len(frame.payload) - 4, whole=frame == frame_of(number))
        except rtc.SubscribeDataTrackError as error:
            return self.say("data_refused", name=name, error=error.message)
        self.say("data_ended", name=name)

    async def unsubscribe_from_data(self, name):
        self.data_streams.pop(name).close()
        self.say("data_closed", name=name)
