"""Peers of WHIP and WHEP that tests talk to: aiortc, Chromium, GStreamer."""

import subprocess
import sys
from pathlib import Path

from peers.data_peer import GStreamerPeer
from peers.page_peer import WATCH
from peers.pion import find_pion_peer
from peers.whip_client import Session
from support.evidence import Evidence
from support.process import JSONProcess
from support.waiting import wait_until


class ProgramExchange(JSONProcess):
    """A program that says its offer, is told the answer, and ends with its input."""

    def __init__(self, name, server, path, token, *command):
        super().__init__(f"{name} {path}", server.namespace.command(*command), stdin=subprocess.PIPE)
        wait_until(lambda: self._offer() is not None, lambda: f"an offer\n{self.transcript()}")
        self.session = Session(server, path, self._offer(), token)
        self.tell({"type": "answer", "sdp": self.session.answer})

    def _offer(self):
        with self._changed:
            return next((line["sdp"] for line in self.events if line.get("type") == "offer"), None)


class PionExchange(ProgramExchange):
    """A player."""

    def __init__(self, server, path, token):
        super().__init__("Pion", server, path, token, find_pion_peer(), "play")


class AiortcExchange(ProgramExchange):
    def __init__(self, server, path, token, *options):
        program = Path(__file__).with_name("aiortc_exchange.py")
        super().__init__("aiortc", server, path, token, sys.executable, program, *options)
        self.reports = 0

    def report(self):
        self.tell({"do": "report", "number": self.reports})
        self.reports += 1
        return self.wait_for("report", number=self.reports - 1)

    def wait_connected(self):
        self.wait_for("state", state="connected")

    def check_picture(self, frames=45, **limits):
        wait_until(lambda: len(self.report()["counters"]) >= frames, f"{self.name}: {frames} frames")
        Evidence(self.name, counters=self.report()["counters"]).check_picture(least=frames, **limits)

    def check_sound(self, hertz, seconds=2.0):
        pieces = int(seconds * 2) + 1
        wait_until(lambda: len(self.report()["hertz"]) >= pieces, f"{self.name}: {seconds} s of sound")
        Evidence(self.name, hertz=self.report()["hertz"][1:]).check_sound([hertz], seconds - 0.5)


# What a page does; `session` is what it keeps.
BEGIN = """
async ([path, token, publish, layers, scalable]) => {
  const connection = new RTCPeerConnection();
  const session = globalThis.session = { connection, path, token };
  const stream = new MediaStream();
  connection.ontrack = ({ track }) => stream.addTrack(track);
  if (publish) {
    const { patternTrack, toneTrack } = await import('/js/test-pattern.js');
    session.pattern = patternTrack('page');
    session.tone = toneTrack(publish);
    const sendEncodings = layers.map((rid, place) => ({ rid, scaleResolutionDownBy: 2 ** place }));
    if (scalable) sendEncodings.push({ scalabilityMode: 'L3T3_KEY' });
    const picture = connection.addTransceiver(session.pattern.track, { direction: 'sendonly', sendEncodings });
    if (scalable) {
      const { codecs } = RTCRtpSender.getCapabilities('video');
      picture.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === 'video/AV1'));
      const extensions = picture.getHeaderExtensionsToNegotiate();
      extensions.find(({ uri }) => uri.includes('dependency-descriptor')).direction = 'sendrecv';
      picture.setHeaderExtensionsToNegotiate(extensions);
    }
    connection.addTransceiver(session.tone.track, { direction: 'sendonly' });
  } else {
    connection.addTransceiver('video', { direction: 'recvonly' });
    connection.addTransceiver('audio', { direction: 'recvonly' });
  }
  session.gathered = () => new Promise((resolve) => {
    const check = () => connection.iceGatheringState === 'complete' && resolve();
    connection.addEventListener('icegatheringstatechange', check);
    check();
  });
  // The pair that media take, if it is one of the last restart's.
  session.newPair = async () => {
    const report = await connection.getStats();
    const transport = [...report.values()].find(({ type }) => type === 'transport');
    const pair = report.get(transport.selectedCandidatePairId);
    return pair && report.get(pair.localCandidateId)?.usernameFragment === session.fragment ? pair : null;
  };
  await connection.setLocalDescription();
  await session.gathered();
  const response = await fetch(path, {
    method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' },
    body: connection.localDescription.sdp,
  });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  session.url = response.headers.get('Location');
  session.tag = response.headers.get('ETag');
  session.answer = await response.text();
  await connection.setRemoteDescription({ type: 'answer', sdp: session.answer });
  document.getElementById('chat-remote').remove();
  const video = Object.assign(document.createElement('video'), { id: 'chat-remote', autoplay: true, muted: true });
  video.srcObject = stream;
  document.body.prepend(video);
}
"""

# A new credential and its candidates, by PATCH; the answer is the one before with what comes back.
RESTART = r"""
async (late) => {
  const { connection, url, token, gathered } = session;
  const field = (text, name) => new RegExp(`^a=${name}:(.*?)\r?$`, 'm').exec(text)[1];
  await connection.setLocalDescription(await connection.createOffer({ iceRestart: true }));
  await gathered();
  const { sdp } = connection.localDescription;
  session.fragment = field(sdp, 'ice-ufrag');
  while (late && !(await session.newPair())) await new Promise((resolve) => setTimeout(resolve, 50));
  const lines = sdp.split('\r\n');
  const fragment = [
    `a=ice-ufrag:${field(sdp, 'ice-ufrag')}`, `a=ice-pwd:${field(sdp, 'ice-pwd')}`,
    lines.find((line) => line.startsWith('m=')), `a=mid:${field(sdp, 'mid')}`,
    ...lines.filter((line) => line.startsWith('a=candidate:')), 'a=end-of-candidates', '',
  ].join('\r\n');
  const response = await fetch(url, {
    method: 'PATCH', body: fragment,
    headers: {
      Authorization: `Bearer ${token}`, 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*',
    },
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const answered = await response.text();
  session.tag = response.headers.get('ETag');
  session.answer = session.answer
    .replaceAll(/^a=ice-ufrag:.*?$/gm, `a=ice-ufrag:${field(answered, 'ice-ufrag')}`)
    .replaceAll(/^a=ice-pwd:.*?$/gm, `a=ice-pwd:${field(answered, 'ice-pwd')}`);
  await connection.setRemoteDescription({ type: 'answer', sdp: session.answer });
}
"""

# Its encoders make another of the agreed codecs, without negotiation (W3C webrtc-extensions: RTCRtpEncodingParameters.codec).
ENCODE = """
async (mimeType) => {
  const sender = session.connection.getSenders().find(({ track }) => track.kind === 'video');
  const parameters = sender.getParameters();
  const codec = parameters.codecs.find((codec) => codec.mimeType === mimeType);
  for (const encoding of parameters.encodings) encoding.codec = codec;
  await sender.setParameters(parameters);
}
"""

# One layer is to cost no more than this, in bits a second.
LIMIT = """
async ([rid, maxBitrate]) => {
  const sender = session.connection.getSenders().find(({ track }) => track.kind === 'video');
  const parameters = sender.getParameters();
  parameters.encodings.find((encoding) => encoding.rid === rid).maxBitrate = maxBitrate;
  await sender.setParameters(parameters);
}
"""

# Whether that pair carries media both ways.
ON_NEW_PATH = """
async () => {
  const pair = await session.newPair();
  return Boolean(pair && pair.packetsSent > 0 && pair.packetsReceived > 0);
}
"""


class ChromiumExchange:
    """A page of the server's that publishes a pattern and a tone, or plays."""

    def __init__(self, browser, server, path, token, publish=None, layers=(), scalable=False):
        self.name = f"Chromium {path}"
        self.page = browser.new_page()
        self.page.goto(f"http://{server.namespace.address}:{server.page}")
        self.page.evaluate(BEGIN, [path, token, publish, list(layers), scalable])
        if not publish:
            wait_until(lambda: self.page.evaluate("document.getElementById('chat-remote').videoWidth > 0"),
                       f"{self.name} has a picture")
            self.page.evaluate(WATCH)

    def seen(self):
        return self.page.evaluate("seen")

    def check(self, hertz, frames=45, seconds=2.0):
        def enough():
            seen = self.seen()
            return len(seen["counters"]) >= frames and len(seen["hertz"]) >= 2 * seconds + 1

        wait_until(enough, lambda: f"{self.name}: pictures and sound: {self.seen()}")
        seen = self.seen()
        evidence = Evidence(self.name, counters=seen["counters"], hertz=seen["hertz"][1:])
        evidence.check_picture(least=frames)
        evidence.check_sound([hertz], seconds - 0.5)

    def forget(self):
        self.page.evaluate("Object.assign(seen, { counters: [], hertz: [] })")

    def restart(self, late=False):
        """Finds new paths, and waits until media takes one of them. `late`: it tells the server when a new path works
        already, by the server's former credential. Chromium keeps that path then, and that credential."""
        self.page.evaluate(RESTART, late)
        wait_until(lambda: self.page.evaluate(ON_NEW_PATH), f"{self.name}: media on the new path, both ways")

    def encode(self, mime_type):
        self.page.evaluate(ENCODE, mime_type)

    def limit(self, rid, bitrate):
        self.page.evaluate(LIMIT, [rid, bitrate])

    def close(self):
        self.page.context.close()


class GStreamerExchange(GStreamerPeer):
    """webrtcbin that publishes a ball and a tone, or is sent a room's pictures and sound."""

    def __init__(self, server, path, token, codec="RECEIVE"):
        super().__init__(server.namespace, codec)
        _, sdp = self.offer()
        self.session = Session(server, path, sdp, token)
        self.accept(("answer", self.session.answer))
