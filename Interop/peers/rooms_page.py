"""A participant of a room for many: the page rooms.html in Chromium, and what it shows and plays."""

from urllib.parse import parse_qs, urlencode, urlsplit

from livekit.protocol import rtc

from support.evidence import FRAMES
from support.waiting import wait_until

# Reads the counter of each picture that is shown, some times a second, and the loudest frequency of each sound.
WATCH = """
async () => {
  const { readCounter } = await import('/js/frame-counter.js');
  const seen = globalThis.seen = new Map();
  const of = (name) => seen.get(name) ?? seen.set(name, { counters: [], sizes: [], hertz: [] }).get(name);
  const [WIDTH, HEIGHT, PAUSE] = [320, 180, 150];
  const context = new OffscreenCanvas(WIDTH, HEIGHT).getContext('2d', { willReadFrequently: true });
  const watched = new WeakSet();
  const look = (video) => {
    let last = -PAUSE;
    const frame = (now) => {
      video.requestVideoFrameCallback(frame);
      const name = video.closest('li')?.querySelector('.tile-name').textContent;
      if (!name || now - last < PAUSE || video.videoWidth === 0) return;
      last = now;
      context.drawImage(video, 0, 0, WIDTH, HEIGHT);
      of(name).counters.push(readCounter(context.getImageData(0, 0, WIDTH, HEIGHT)));
      of(name).sizes.push([video.videoWidth, video.videoHeight]);
    };
    video.requestVideoFrameCallback(frame);
  };
  const audio = new AudioContext();
  const ears = new Map();
  const listen = (track) => {
    const analyser = new AnalyserNode(audio, { fftSize: 16384, smoothingTimeConstant: 0 });
    new MediaStreamAudioSourceNode(audio, { mediaStream: new MediaStream([track]) }).connect(analyser);
    ears.set(track, analyser);
    return analyser;
  };
  const spectrum = new Float32Array(8192);
  setInterval(() => {
    for (const video of document.querySelectorAll('.tile video')) {
      if (watched.has(video)) continue;
      watched.add(video);
      look(video);
    }
    for (const { info } of roost.room?.roster.others ?? []) {
      const sound = info.tracks.find(({ source }) => source === 2);
      const track = sound && roost.room.media(sound.sid);
      if (!track) continue;
      const analyser = ears.get(track) ?? listen(track);
      analyser.getFloatFrequencyData(spectrum);
      const peak = spectrum.reduce((best, value, bin) => (value > spectrum[best] ? bin : best), 1);
      of(info.name || info.identity).hertz.push(
        spectrum[peak] < -60 ? null : Math.round((peak * audio.sampleRate) / analyser.fftSize));
    }
  }, 400);
}
"""

# What the tile of somebody says.
TILE = """
(name) => {
  const tile = [...document.querySelectorAll('.tile')]
    .find((one) => one.querySelector('.tile-name').textContent === name);
  if (!tile) return null;
  const video = tile.querySelector('video');
  const { width, height } = tile.getBoundingClientRect();
  return {
    hasPicture: tile.classList.contains('has-picture'), isSpeaking: tile.classList.contains('is-speaking'),
    isMuted: !tile.querySelector('.tile-muted').hasAttribute('hidden'), words: tile.querySelector('.unseen').textContent,
    size: [video.videoWidth, video.videoHeight], width, height,
  };
}
"""

# Which layers of the camera are sent, the smallest first.
LAYERS = """
async () => {
  const report = await roost.room.connections.publisher.getStats();
  return [...report.values()].filter(({ type, kind }) => type === 'outbound-rtp' && kind === 'video')
    .map(({ rid, active }) => ({ rid, active }))
    .sort((a, b) => 'qhf'.indexOf(a.rid) - 'qhf'.indexOf(b.rid));
}
"""

# What sound is sent and received in by the descriptions, the first of them; statistics name Opus for RED, too.
SOUND_FORMATS = """
() => {
  const first = (description) => {
    const section = description.sdp.split('\\r\\nm=').find((one) => one.startsWith('audio '));
    const type = section.split(' ')[3].split('\\r\\n')[0];
    return new RegExp(`a=rtpmap:${type} (\\\\w+)/`).exec(section)[1];
  };
  const { publisher, subscriber } = roost.room.connections;
  return { sent: first(publisher.remoteDescription), received: first(subscriber.localDescription) };
}
"""

# Requests of one kind, by their first byte (the number of the field in `SignalRequest`), go nowhere until `release`.
HOLD = """
(first) => {
  const send = WebSocket.prototype.send;
  globalThis.held = [];
  globalThis.release = ({ isLost = false } = {}) => {
    WebSocket.prototype.send = send;
    if (!isLost) for (const [socket, data] of held) send.call(socket, data);
  };
  WebSocket.prototype.send = function (data) {
    if (data[0] === first) held.push([this, data]);
    else send.call(this, data);
  };
}
"""
FIRST_BYTES = {"offer": 1 << 3 | 2, "add_track": 4 << 3 | 2, "mute": 5 << 3 | 2}

# All WebSockets, the newest last.
KEEP_SOCKETS = """
globalThis.openSockets = [];
globalThis.WebSocket = class extends WebSocket {
  constructor(...where) {
    super(...where);
    openSockets.push(this);
  }
};
"""
# As if the server had said it.
HEAR = """
(bytes) => openSockets.at(-1).dispatchEvent(new MessageEvent('message', { data: Uint8Array.from(bytes).buffer }))
"""

# WebSockets that nobody answers, until `release`.
CUT_OFF = """
() => {
  const real = WebSocket;
  globalThis.WebSocket = class { static OPEN = 1; close() {} };
  globalThis.release = () => {
    globalThis.WebSocket = real;
    roost.room.dropSignal();
  };
  roost.room.dropSignal();
}
"""

# What the room says of a track: null while it is not there.
TRACK = """
([name, source]) => {
  const { info } = roost.room.roster.others.find(({ info }) => info.name === name) ?? {};
  return info?.tracks.find((track) => track.source === source) ?? null;
}
"""
SOURCES = {"camera": 1, "microphone": 2, "screen": 3}


# As if the browser had been built without a codec.
LACKS = """
const set = RTCPeerConnection.prototype.setRemoteDescription;
RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
  return set.call(this, { type, sdp: sdp.replaceAll(' CODEC/90000', ' unknown/90000') });
};
"""


class RoomsPage:
    """`tone` in Hz, `width` of the picture in pixels, `rate` in frames a second, `lacks` a codec."""

    def __init__(self, browser, server, room, name, tone=440, width=320, rate=10, query=(), lacks=None, **options):
        self.name, self.room, self.tone = name, room, tone
        self.page = browser.new_page(**options)
        self.tokens = []
        self.page.add_init_script(KEEP_SOCKETS)
        if lacks:
            self.page.add_init_script(LACKS.replace("CODEC", lacks))
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._heard))
        parameters = {"room": room, "name": name, "join": 1, "pattern": 1, "tone": tone, "width": width, "rate": rate}
        self.address = f"{server}/rooms.html?{urlencode({**parameters, **dict(query)})}"
        self.page.goto(self.address)
        self.page.evaluate(WATCH)

    def _heard(self, frame):
        if token := rtc.SignalResponse.FromString(frame).refresh_token:
            self.tokens.append(token)

    def state(self):
        return self.page.evaluate("globalThis.roost?.room?.state ?? null")

    def wait(self, check, what):
        wait_until(check, lambda: f"{self.name}: {what}\n{self.transcript()}")

    def wait_state(self, state):
        self.wait(lambda: self.state() == state, f"is {state}")

    def tile(self, name):
        return self.page.evaluate(TILE, name)

    def wait_tile(self, name, check, what):
        self.wait(lambda: (tile := self.tile(name)) is not None and check(tile), f"{name}'s tile: {what}")

    def wait_gone(self, name):
        self.wait(lambda: self.tile(name) is None, f"{name} is gone")

    def seen(self, name):
        return self.page.evaluate("(name) => seen.get(name) ?? { counters: [], sizes: [], hertz: [] }", name)

    def forget(self):
        self.page.evaluate("seen.clear()")

    def check_picture(self, name, least=10):
        """So many pictures with a counter that goes forward: neither frozen nor torn nor somebody else's."""
        self.wait(lambda: sum(number is not None for number in self.seen(name)["counters"]) > least, f"sees {name}")
        # The first one is coded before anything is known of the path, and may be too coarse to be read right.
        counters = [number for number in self.seen(name)["counters"] if number is not None][1:]
        steps = [(after - before) % FRAMES for before, after in zip(counters, counters[1:])]
        forward = sum(0 < step < FRAMES // 2 for step in steps)
        assert forward >= 0.7 * len(steps), f"{self.name} sees {name} go from {counters}"
        assert not any(step >= FRAMES // 2 for step in steps), f"{self.name} sees {name} go back: {counters}"

    def check_sound(self, name, tone, least=3):
        def heard():
            return [hertz for hertz in self.seen(name)["hertz"] if hertz is not None]

        self.wait(lambda: sum(abs(hertz - tone) <= 6 for hertz in heard()) >= least, f"hears {name} at {tone} Hz")
        # Of the beginning some may be missing; nothing else than the tone may be heard.
        others = [hertz for hertz in heard() if abs(hertz - tone) > 6]
        assert len(others) <= 1, f"{self.name} hears {others} of {name}, who sends {tone} Hz"

    def wait_size(self, name, check, what):
        """Until the last pictures of somebody are of a size."""
        def is_so():
            sizes = self.seen(name)["sizes"][-3:]
            return len(sizes) == 3 and all(check(width) for width, _ in sizes)

        self.wait(is_so, what)

    def sockets(self):
        """The addresses of all WebSockets so far. Playwright tells of them while it is asked something."""
        self.page.evaluate("null")
        return self.page.sockets

    def token(self, number):
        """The one that came with the WebSocket of this number."""
        return parse_qs(urlsplit(self.sockets()[number]).query)["access_token"][0]

    def newest_token(self):
        """Of those that the server has sent; None before the first."""
        self.page.evaluate("null")
        return self.tokens[-1] if self.tokens else None

    def identity(self):
        return self.page.evaluate("roost.room.roster.own.info.identity")

    def track(self, name, source):
        """What the room says of somebody's track, None while it is not there."""
        return self.page.evaluate(TRACK, [name, SOURCES[source]])

    def hold(self, request):
        """Requests of this kind do not reach the server until `release`."""
        self.page.evaluate(HOLD, FIRST_BYTES[request])

    def wait_held(self, count):
        self.wait(lambda: self.page.evaluate("held.length") >= count, f"has asked {count} times")

    def held(self):
        """What was held back."""
        messages = self.page.evaluate("held.map(([, data]) => [...data])")
        return [rtc.SignalRequest.FromString(bytes(message)) for message in messages]

    def hear(self, **message):
        """As if the server said this, which it does not say of itself."""
        self.page.evaluate(HEAR, list(rtc.SignalResponse(**message).SerializeToString()))

    def cut_off(self):
        """The WebSocket is gone and none comes in its place until `release`."""
        self.page.evaluate(CUT_OFF)

    def release(self, **how):
        self.page.evaluate("(how) => release(how)", how)

    def is_off(self, what):
        return self.page.get_attribute(f"#meeting-{what}", "aria-pressed") == "true"

    def layers(self):
        return self.page.evaluate(LAYERS)

    def sound_formats(self):
        return self.page.evaluate(SOUND_FORMATS)

    def enlarge(self, name):
        # The button shows under the pointer alone.
        self.page.locator(f'.tile-enlarge[aria-label="Enlarge {name}"]').dispatch_event("click")

    def click(self, what):
        self.page.click(f"#meeting-{what}")

    def errors(self):
        return [line for line in self.page.lines if line.startswith("error")]

    def say(self, text):
        """In the messages, which are open."""
        self.page.fill("#messages-text", text)
        self.page.press("#messages-text", "Enter")

    def transcript(self):
        try:
            words = self.page.inner_text("main")
        except Exception:
            words = "(the page is closed)"
        return f"--- {self.name}:\n{words}\n" + "\n".join(self.page.lines[-20:])

    def close(self):
        if not self.page.is_closed():
            self.page.context.close()


def all_in(*people):
    for one in people:
        one.wait_state("connected")
