"""The page as a peer, in whichever browser. What it needs of a browser's page is named as in Playwright."""

from urllib.parse import urlencode

from support.evidence import Evidence
from support.waiting import wait_until

# Reads the counter from each new frame of a video, and the loudest frequency of its sound; null for silence.
WATCH = """
async () => {
  const { readCounter } = await import('/js/frame-counter.js');
  const video = document.getElementById('chat-remote');
  const canvas = new OffscreenCanvas(640, 360);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const seen = globalThis.seen = { counters: [], hertz: [] };
  const frame = () => {
    context.drawImage(video, 0, 0, 640, 360);
    seen.counters.push(readCounter(context.getImageData(0, 0, 640, 360)));
    video.requestVideoFrameCallback(frame);
  };
  video.requestVideoFrameCallback(frame);

  const audio = new AudioContext();
  const analyser = new AnalyserNode(audio, { fftSize: 16384, smoothingTimeConstant: 0 });
  new MediaStreamAudioSourceNode(audio, { mediaStream: video.srcObject }).connect(analyser);
  const spectrum = new Float32Array(analyser.frequencyBinCount);
  setInterval(() => {
    analyser.getFloatFrequencyData(spectrum);
    const peak = spectrum.reduce((best, value, bin) => (value > spectrum[best] ? bin : best), 1);
    if (spectrum[peak] < -60) return seen.hertz.push(null);
    const [a, b, c] = [spectrum[peak - 1], spectrum[peak], spectrum[peak + 1] ?? -200];
    const shift = (0.5 * (a - c)) / (a - 2 * b + c || 1);
    seen.hertz.push(Math.round(((peak + shift) * audio.sampleRate) / analyser.fftSize * 10) / 10);
  }, 500);
}
"""

STATS = """
async () => {
  const report = await globalThis.roost.call.connection.getStats();
  const all = [...report.values()];
  const transport = all.find(({ type }) => type === 'transport');
  const inbound = all.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video') ?? {};
  const pair = report.get(transport.selectedCandidatePairId) ?? {};
  return {
    codec: report.get(inbound.codecId)?.mimeType, decoded: inbound.framesDecoded ?? 0, cipher: transport.srtpCipher,
    lost: inbound.packetsLost ?? 0, nacks: inbound.nackCount ?? 0, pair: transport.selectedCandidatePairId,
    changes: transport.selectedCandidatePairChanges, local: report.get(pair.localCandidateId)?.candidateType,
    remote: report.get(pair.remoteCandidateId)?.candidateType,
    ufrags: {
      local: report.get(pair.localCandidateId)?.usernameFragment,
      remote: report.get(pair.remoteCandidateId)?.usernameFragment,
    },
  };
}
"""

# Keeps the ICE user names of both sides, one a generation: whoever looks only now and then may miss a change.
NOTE_CREDENTIALS = r"""
globalThis.credentials = {};
for (const side of ['local', 'remote']) {
  const noted = globalThis.credentials[side] = [];
  const method = `set${side[0].toUpperCase()}${side.slice(1)}Description`;
  const apply = RTCPeerConnection.prototype[method];
  RTCPeerConnection.prototype[method] = async function (...all) {
    await apply.apply(this, all);
    const [, ufrag] = /^a=ice-ufrag:(.*?)\r?$/m.exec(this[`${side}Description`]?.sdp) ?? [];
    if (ufrag && ufrag !== noted.at(-1)) noted.push(ufrag);
  };
}
"""


class PagePeer:
    """The page as caller or callee, with its test picture and tone, started by parameters in its address."""

    returns = 0
    """How often pictures may come again: `Evidence.returns`."""

    def __init__(self, browser, server, room, name, role, codec=None, tone=440):
        self.name, self.tones = name, [tone]
        self.page = browser.new_page()
        query = {"room": room, "name": name, "role": role, "autostart": 1, "pattern": 1, "tone": tone}
        if codec:
            query["codec"] = codec
        self.page.goto(f"{server}/?{urlencode(query)}")

    def wait_joined(self):
        self.wait_true("document.getElementById('room-connection').dataset.state === 'connected'")

    def wait_connected(self):
        self.wait_state("connected")
        self.wait_true("document.getElementById('chat-remote').videoWidth > 0")
        self.page.evaluate(WATCH)

    def wait_state(self, state):
        self.wait_true(f"globalThis.roost.call?.state === '{state}'")

    def wait_true(self, expression):
        """Playwright's own wait_for_function needs eval in the page, which the page's policy forbids."""
        wait_until(lambda: self.page.evaluate(expression), f"{self.name}: {expression}")

    def received(self):
        """How many frames and half seconds of sound have come so far."""
        return tuple(self.page.evaluate("[seen.counters.length, seen.hertz.filter((hertz) => hertz !== null).length]"))

    def statistics(self):
        return self.page.evaluate(STATS)

    def restart_ice(self):
        self.page.evaluate("globalThis.roost.call.restartICE()")

    def wait_ice_restarted(self, side="local"):
        """Until both sides have named new credentials, once, and media takes a pair with the new ones of this side.

        Of the other side they may be the old ones where the peer that restarts is libwebrtc: it pairs its new candidates
        with the ones that it knows, and when the answer comes late it has settled on such a pair, and stays there.
        """

        seen = {}

        def restarted():
            seen.update(self.page.evaluate("credentials"), used=self.statistics().get("ufrags"))
            # For a moment no pair may be in use.
            used = (seen["used"] or {}).get(side)
            return len(seen["local"]) == len(seen["remote"]) == 2 and used == seen[side][1]

        wait_until(restarted, lambda: f"{self.name}: media on a pair of the second generation: {seen}")

    def collect(self):
        """Takes what was seen so far; the page forgets it when the other side ends the call."""
        statistics, seen = self.statistics(), self.page.evaluate("seen")
        codec = (statistics["codec"] or "/").split("/")[1]
        self.evidence = Evidence(self.name, seen["counters"], seen["hertz"], codec, statistics["cipher"])
        self.evidence.returns = self.returns

    def finish(self):
        self.status = 0
        self.close()
        return self.evidence

    def transcript(self):
        try:
            words = self.page.inner_text("main")
        except Exception:
            words = "(the page is closed)"
        return f"--- {self.kind} {self.name}:\n{words}\n" + "\n".join(self.page.lines[-20:])

    def close(self):
        if not self.page.is_closed():
            self.page.context.close()
