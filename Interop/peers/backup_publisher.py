"""Somebody whose camera comes in two codecs, as LiveKit's SDK for browsers makes it: the second one when the server asks.

Chromium encodes and sends; LiveKit's own messages go by a WebSocket of the test's, which that SDK, an npm package, cannot
be here.
"""

import contextlib
import json
import queue
import threading
import time
from urllib.parse import urlencode

from livekit.protocol import models, rtc
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from peers.livekit_room import token
from support.waiting import PATIENCE

PING = 5
"""Seconds. The server gives up who has said nothing for three times as long."""

SETUP = """
async (width) => {
  const { patternTrack } = await import('/js/test-pattern.js');
  const { layersOf } = await import('/js/rooms/publisher.js');
  const camera = patternTrack('ann', { width, rate: 20 }).track;
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  connection.createDataChannel('_reliable');
  globalThis.ann = {
    camera, connection,
    send(track, codec, isScalable) {
      const layers = layersOf(width, (width * 9) / 16).map(({ encoding }) => encoding);
      const transceiver = connection.addTransceiver(track, {
        direction: 'sendonly', streams: [new MediaStream([track])],
        sendEncodings: isScalable ? [{ maxBitrate: 1_000_000, scalabilityMode: 'L3T3_KEY' }] : layers,
      });
      transceiver.setCodecPreferences(RTCRtpSender.getCapabilities('video').codecs
        .filter(({ mimeType }) => [`video/${codec}`, 'video/rtx'].includes(mimeType.toLowerCase())));
    },
    async offer() {
      await connection.setLocalDescription();
      while (connection.iceGatheringState !== 'complete') {
        await new Promise((done) => connection.addEventListener('icegatheringstatechange', done, { once: true }));
      }
      return connection.localDescription.sdp;
    },
    async encoded() {
      const report = [...(await connection.getStats()).values()];
      const frames = {};
      for (const { type, kind, codecId, framesEncoded } of report) {
        if (type !== 'outbound-rtp' || kind !== 'video' || !codecId) continue;
        const codec = report.find(({ id }) => id === codecId).mimeType.slice(6).toLowerCase();
        frames[codec] = (frames[codec] ?? 0) + framesEncoded;
      }
      return frames;
    },
  };
  return camera.id;
}
"""


class BackupPublisher:
    def __init__(self, page, server, room, identity, width=640):
        """`page`: one of the server's own, for its pictures."""
        self.page, self.identity, self.width = page, identity, width
        self.answered = self.offers = 0
        self.sid, self.wanted, self.log = None, {}, []
        # Who may not subscribe has one connection, on which it publishes.
        access = token(room, identity, can_subscribe=False)
        query = urlencode({"access_token": access, "protocol": 16, "sdk": "js", "version": "2.15.0"})
        self.socket = connect(
            f"{server.url}/rtc?{query}", sock=server.namespace.connect(server.namespace.address, server.port),
            proxy=None, compression=None, max_size=None, open_timeout=PATIENCE)
        self.heard = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.wait(lambda: "join" in self.log, "joins")
        self.camera = page.evaluate(SETUP, width)

    def say(self, **request):
        self.socket.send(rtc.SignalRequest(**request).SerializeToString())

    def wait(self, check, what):
        """Until it is so; hears meanwhile what the server says."""
        deadline = time.monotonic() + PATIENCE
        while not check():
            assert time.monotonic() < deadline, f"{self.identity} {what}: heard {self.log}, of the codecs {self.wanted}"
            with contextlib.suppress(queue.Empty):
                self.take(self.heard.get(timeout=0.2))

    def listen(self):
        """Whatever the test waits for. The page can be asked only by the thread that made it."""
        said_at = time.monotonic()
        with contextlib.suppress(ConnectionClosed):
            while True:
                with contextlib.suppress(TimeoutError):
                    self.heard.put(rtc.SignalResponse.FromString(self.socket.recv(timeout=PING)))
                if time.monotonic() > said_at + PING:
                    said_at = time.monotonic()
                    self.say(ping_req=rtc.Ping(timestamp=int(1000 * time.time())))

    def take(self, said):
        kind = said.WhichOneof("message")
        self.log.append(kind)
        if kind == "answer":
            self.page.evaluate(
                "(sdp) => ann.connection.setRemoteDescription({ type: 'answer', sdp })", said.answer.sdp)
            self.answered += 1
        elif kind == "track_published":
            self.sid = said.track_published.track.sid
        elif kind == "subscribed_quality_update":
            # LiveKit's SDK goes by the last word on each codec.
            for codec in said.subscribed_quality_update.subscribed_codecs:
                self.wanted[codec.codec] = any(one.enabled for one in codec.qualities)

    def publish(self, codec, backup, policy):
        """As `picture`, in the first codec. Names the second, whose track does not exist yet."""
        codecs = [rtc.SimulcastCodec(codec=codec, cid=self.camera), rtc.SimulcastCodec(codec=backup, cid="")]
        self.say(add_track=rtc.AddTrackRequest(
            cid=self.camera, name="picture", type=models.VIDEO, source=models.CAMERA, width=self.width,
            height=self.width * 9 // 16, layers=self.layers(), simulcast_codecs=codecs, backup_codec_policy=policy))
        self.wait(lambda: self.sid, "publishes the camera")
        self.send("ann.camera", codec, is_scalable=True)

    def publish_backup(self, codec):
        """Of the same track, as its SDK does: a copy, announced under the track's sid, in an offer of its own."""
        cid = self.page.evaluate("() => (ann.copy = ann.camera.clone()).id")
        published = self.log.count("track_published")
        self.say(add_track=rtc.AddTrackRequest(
            cid=cid, type=models.VIDEO, source=models.CAMERA, sid=self.sid, width=self.width, layers=self.layers(),
            height=self.width * 9 // 16, simulcast_codecs=[rtc.SimulcastCodec(codec=codec, cid=cid)]))
        self.wait(lambda: self.log.count("track_published") > published, "publishes the second codec")
        self.send("ann.copy", codec, is_scalable=False)

    def layers(self):
        # The qualities are numbers, 0 to 2.
        sizes = {quality: self.width >> 2 - quality for quality in (models.LOW, models.MEDIUM, models.HIGH)}
        return [models.VideoLayer(quality=quality, width=width, height=width * 9 // 16)
                for quality, width in sizes.items()]

    def send(self, track, codec, is_scalable):
        self.page.evaluate(f"([codec, isScalable]) => ann.send({track}, codec, isScalable)", [codec, is_scalable])
        self.offers += 1
        self.say(offer=rtc.SessionDescription(type="offer", sdp=self.page.evaluate("ann.offer()"), id=self.offers))
        self.wait(lambda: self.answered == self.offers, f"has its offer {self.offers} answered")

    def wait_wanted(self, **codecs):
        """Until the server wants these codecs, or no more."""
        self.wait(lambda: self.wanted.items() >= codecs.items(), f"is told {json.dumps(codecs)}")

    def encoded(self):
        """Frames so far, by codec."""
        return self.page.evaluate("ann.encoded()")

    def encodes(self, codec, frames=20):
        before = self.encoded().get(codec, 0)
        self.wait(lambda: self.encoded().get(codec, 0) >= before + frames, f"encodes {codec}")

    def close(self):
        self.socket.close()
