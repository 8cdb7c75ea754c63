"""Header extensions of RTP with a browser: what it sends is understood, and what we send has its effect there.

The echo example sends each frame back with what its packets said, so that one call shows both ways; `save-to-disk`
tells what it has read. What a page cannot see, aiortc tells of its packets.
"""

import contextlib
import subprocess
import sys

import pytest

from peers.examples import Example
from support.evidence import MEDIA
from support.process import JSONProcess
from support.waiting import wait_until
from test_codecs import ANSWER, OUTBOUND, PICTURE, TONE

LEVEL = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
MID = "urn:ietf:params:rtp-hdrext:sdes:mid"
CAPTURE_TIME = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
PLAYOUT_DELAY = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
ORIENTATION = "urn:3gpp:video-orientation"
TRANSPORT_SEQUENCE = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
DESCRIPTOR = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
PROGRAM = MEDIA.parent / "Interop" / "peers" / "aiortc_extensions.py"

# A tone of a tenth of full scale: 3 dB below for the sine, 20 for the tenth.
QUIET = TONE.replace("oscillator.connect(destination)",
                     "oscillator.connect(new GainNode(audio, { gain: 0.1 })).connect(destination)")
QUIET_LEVEL = 23

# Pictures with a bright left half, each of which says that it is to be turned clockwise when it is shown.
TURNED = """
const canvas = new OffscreenCanvas(320, 180);
const context = canvas.getContext('2d');
const track = new MediaStreamTrackGenerator({ kind: 'video' });
const writer = track.writable.getWriter();
let number = 0;
setInterval(() => {
  context.fillStyle = 'black';
  context.fillRect(0, 0, 320, 180);
  context.fillStyle = 'white';
  context.fillRect(0, 0, 160, 180);
  context.fillRect(200 + number * 5 % 100, 80, 10, 10);
  writer.write(new VideoFrame(canvas, { timestamp: number * 33333, rotation: argument.turn }));
  number += 1;
}, 33);
"""
# Where the bright half is shown, by the middle of each side.
SHOWN = """
const { player } = globalThis;
if (!player?.videoWidth) return {};
const [width, height] = [player.videoWidth, player.videoHeight];
const canvas = new OffscreenCanvas(width, height);
const context = canvas.getContext('2d');
context.drawImage(player, 0, 0);
const places = { left: [4, height / 2], right: [width - 4, height / 2], top: [width / 2, 4],
  bottom: [width / 2, height - 4] };
const bright = Object.entries(places).filter(([, [x, y]]) => context.getImageData(x, y, 1, 1).data[1] > 200);
const inbound = [...(await globalThis.connection.getStats()).values()].find(({ type }) => type === 'inbound-rtp');
return { size: [width, height], bright: bright.map(([name]) => name),
  coded: [inbound.frameWidth, inbound.frameHeight] };
"""

# Makes the page negotiate what a browser does not by itself, and leave out what it would.
CHOOSE = """
const choose = (transceiver) => {
  const extensions = transceiver.getHeaderExtensionsToNegotiate?.();
  if (!extensions) return;
  for (const extension of extensions) {
    if (argument.extensions?.includes(extension.uri)) extension.direction = 'sendrecv';
    if (argument.without?.includes(extension.uri)) extension.direction = 'stopped';
  }
  transceiver.setHeaderExtensionsToNegotiate(extensions);
};
const show = (track) => {
  globalThis.player = Object.assign(document.createElement(track.kind),
    { srcObject: new MediaStream([track]), muted: track.kind === 'video', autoplay: true });
  document.documentElement.append(globalThis.player);
};
const gathered = async () => {
  await connection.setLocalDescription();
  if (connection.iceGatheringState !== 'complete') {
    await new Promise((done) => connection.addEventListener('icegatheringstatechange',
      () => connection.iceGatheringState === 'complete' && done()));
  }
  return connection.localDescription.toJSON();
};
const connection = globalThis.connection = new RTCPeerConnection();
"""
OFFER = CHOOSE + """
const transceiver = connection.addTransceiver(track, {
  direction: argument.direction ?? 'sendrecv', sendEncodings: argument.encodings ?? [{}] });
choose(transceiver);
if (argument.codec) {
  transceiver.setCodecPreferences([argument.codec, 'rtx'].flatMap((name) =>
    RTCRtpSender.getCapabilities(track.kind).codecs.filter(({ mimeType, sdpFmtpLine }) =>
      mimeType.split('/')[1] === name && !/profile-id=[1-9]/.test(sdpFmtpLine ?? ''))));
}
connection.addEventListener('track', ({ track }) => show(track));
return gathered();
"""
RECEIVE = CHOOSE + """
await connection.setRemoteDescription({ type: 'offer', sdp: argument.sdp });
connection.getTransceivers().forEach(choose);
connection.getReceivers().forEach(({ track }) => show(track));
return gathered();
"""
SOURCES = """
return globalThis.connection.getReceivers().map((receiver) => {
  const [source] = receiver.getSynchronizationSources();
  // Times of this interface begin in 1900, as those of the wire do.
  return source && { level: source.audioLevel, offset: source.senderCaptureTimeOffset,
    age: source.captureTimestamp && performance.timeOrigin + performance.now() + 2208988800000
      - source.captureTimestamp };
});
"""
DECODED = """
const all = [...(await globalThis.connection.getStats()).values()].filter(({ type }) => type === 'inbound-rtp');
const mean = (entry, name) => 1000 * entry[name] / entry.jitterBufferEmittedCount;
return all.map((entry) => ({ mid: entry.mid, frames: entry.framesDecoded, size: [entry.frameWidth, entry.frameHeight],
  delay: mean(entry, 'jitterBufferDelay') }));
"""
RATE = """
const all = [...(await globalThis.connection.getStats()).values()];
return all.find(({ type, nominated }) => type === 'candidate-pair' && nominated)?.availableOutgoingBitrate ?? 0;
"""


@pytest.fixture
def start(namespace):
    started = []

    def begin(name, *arguments):
        started.append(Example(namespace, name, *arguments))
        return started[-1]

    yield begin
    for program in started:
        program.finish()
        print(program.transcript())


@pytest.fixture
def send(run_in, start):
    """Sends a browser's track to an example; returns what runs more on the page, the example, and its answer."""

    def call(name, source, *arguments, kind="chromium", **options):
        run, program = run_in(kind), start(name, *arguments)
        offer = run(source + OFFER, options)
        program.tell(offer)
        answer = program.description("answer")
        run(ANSWER, answer)
        return run, program, answer["sdp"]

    return call


@pytest.fixture
def play(run_in, start):
    """Files that play-from-disk plays to Chromium; returns what runs more on the page, and the program."""

    def call(*arguments, change=lambda sdp: sdp, **options):
        run, player = run_in("chromium"), start("play-from-disk", *arguments)
        answer = run(RECEIVE, {"sdp": change(player.description("offer")["sdp"]), **options})
        player.tell(answer)
        return run, player, answer["sdp"]

    return call


def agreed(sdp, uri):
    return any(line.startswith("a=extmap:") and line.split()[1] == uri for line in sdp.splitlines())


def told(saver):
    """What save-to-disk says of its only track at its end."""
    assert saver.end() == 0
    return saver.wait_for("saved")


def sources(run):
    """What the browser's only receiver says of the last packets that it played."""
    return run(SOURCES)[0] or {}


# Audio level, RFC 6464


def test_chromium_says_how_loud_it_is(send, tmp_path):
    run, saver, _ = send("save-to-disk", QUIET, tmp_path, direction="sendonly")
    wait_until(lambda: run(OUTBOUND)["packets"] >= 100, "two seconds are sent")
    loudest = int(told(saver)["loudest"].removesuffix(" dBov"))
    assert loudest == pytest.approx(-QUIET_LEVEL, abs=1)


@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_browsers_hear_how_loud_we_say_it_is(send, kind):
    run, _, answer = send("echo", QUIET, kind=kind)
    assert agreed(answer, LEVEL)
    wait_until(lambda: sources(run).get("level"), "a level is known")
    # Of a number of decibels exactly: it is what the packet said, and not what was decoded.
    assert sources(run)["level"] in [pytest.approx(10 ** (-level / 20)) for level in (22, 23, 24)]


def test_without_the_extension_chromium_knows_no_level(send):
    run, _, answer = send("echo", QUIET, without=[LEVEL])
    assert not agreed(answer, LEVEL)
    wait_until(lambda: sources(run), "sound")
    assert sources(run).get("level") is None


# Video orientation, 3GPP TS 26.114


def check_shown(run, turn, side):
    """The bright left half of a picture is shown at another side."""
    opposite = {"top": "bottom", "bottom": "top", "right": "left"}[side]

    def is_turned():
        bright = run(SHOWN).get("bright", [])
        return side in bright and opposite not in bright

    wait_until(is_turned, f"the left half is shown at the {side}")
    shown = run(SHOWN)
    # Turned by the browser that shows it, not by whoever coded it.
    assert shown["coded"] == [320, 180]
    assert shown["size"] == ([320, 180] if turn == 180 else [180, 320])


def test_chromium_says_how_its_camera_is_held(send, tmp_path):
    run, saver, _ = send("save-to-disk", TURNED, tmp_path, turn=270, direction="sendonly")
    wait_until(lambda: run(OUTBOUND)["frames"] >= 30, "30 pictures are sent")
    assert told(saver)["turned"] == "270"


@pytest.mark.parametrize("turn, side", [(90, "top"), (180, "right"), (270, "bottom")])
def test_chromium_turns_pictures_as_we_say(send, turn, side):
    run, _, answer = send("echo", TURNED, turn=turn)
    assert agreed(answer, ORIENTATION)
    check_shown(run, turn, side)


# A picture with a bright left half, as long as it takes to look.
HALVES = "color=black:s=320x180:r=30,drawbox=x=0:y=0:w=160:h=180:color=white:t=fill"


@pytest.mark.parametrize("turn, side", [(90, "bottom"), (180, "right"), (270, "top")])
def test_a_file_of_a_camera_that_was_turned_is_shown_as_ffmpeg_shows_it(play, tmp_path, turn, side):
    """ffmpeg's `rotate` goes the other way round."""
    plain, turned = tmp_path / "plain.mp4", tmp_path / "turned.mp4"
    ffmpeg = ["ffmpeg", "-v", "error"]
    subprocess.run([*ffmpeg, "-f", "lavfi", "-i", HALVES, "-t", "3", "-c:v", "libx264", "-profile:v", "baseline",
                    "-bf", "0", "-g", "30", "-pix_fmt", "yuv420p", plain], check=True)
    subprocess.run([*ffmpeg, "-i", plain, "-c", "copy", "-metadata:s:v", f"rotate={turn}", turned], check=True)
    run, _, _ = play(turned)
    check_shown(run, turn, side)


# Absolute capture time


@pytest.mark.parametrize("source", [TONE, PICTURE], ids=["sound", "pictures"])
def test_chromium_says_when_it_captured_something(send, tmp_path, source):
    run, saver, _ = send("save-to-disk", source, tmp_path, extensions=[CAPTURE_TIME], direction="sendonly")
    wait_until(lambda: run(OUTBOUND)["packets"] >= 60, "60 packets are sent")
    # Both have one clock; Chromium takes a picture for a little older than it is.
    assert -100 < float(told(saver)["captureDelay"].removesuffix(" ms")) < 2_000


def test_chromium_knows_when_what_we_play_was_captured(play):
    run, _, answer = play(MEDIA / "webRtcTestVideo.ivf", MEDIA / "webRtcTestVideo.ogg", extensions=[CAPTURE_TIME])
    assert agreed(answer, CAPTURE_TIME)
    wait_until(lambda: all(source and source["age"] for source in run(SOURCES)), "both are dated")
    for source in run(SOURCES):
        assert -100 < source["age"] < 2_000
        assert source["offset"] == pytest.approx(0, abs=1)


# Playout delay


def test_chromium_holds_pictures_back_as_long_as_we_ask(play):
    run, _, answer = play(MEDIA / "webRtcTestVideo.ivf", "--playout-delay=700")
    assert agreed(answer, PLAYOUT_DELAY)
    wait_until(lambda: any(entry["frames"] >= 90 for entry in run(DECODED)), "three seconds are decoded")
    assert run(DECODED)[0]["delay"] > 500


def test_chromium_holds_nothing_back_by_itself(play):
    run, _, _ = play(MEDIA / "webRtcTestVideo.ivf")
    wait_until(lambda: any(entry["frames"] >= 90 for entry in run(DECODED)), "three seconds are decoded")
    assert run(DECODED)[0]["delay"] < 400


# MID, RFC 9143. Layers' names (RFC 8852) are shown by the simulcast of test_codecs.py.


def without_sources(sdp):
    """A description that names no source: where sections share payload types, packets themselves must say theirs."""
    return "".join(line for line in sdp.splitlines(keepends=True) if not line.startswith(("a=ssrc", "a=msid")))


TWO = """
const canvases = [[320, 180], [160, 90]].map(([width, height]) =>
  Object.assign(document.createElement('canvas'), { width, height }));
let number = 0;
setInterval(() => {
  for (const canvas of canvases) {
    const context = canvas.getContext('2d');
    context.fillStyle = `hsl(${number * 7 % 360} 80% 50%)`;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  number += 1;
}, 33);
const connection = globalThis.connection = new RTCPeerConnection();
for (const canvas of canvases) {
  connection.addTransceiver(canvas.captureStream(30).getVideoTracks()[0], { direction: 'sendonly' });
}
await connection.setLocalDescription();
await new Promise((done) => connection.addEventListener('icecandidate', ({ candidate }) => candidate ?? done()));
return connection.localDescription.toJSON();
"""


def test_chromiums_packets_say_their_section(run, start, tmp_path):
    saver = start("save-to-disk", tmp_path)
    offer = run(TWO)
    saver.tell({**offer, "sdp": without_sources(offer["sdp"])})
    run(ANSWER, saver.description("answer"))
    wait_until(lambda: len(saver.all("saving")) == 2, "both tracks arrive")
    wait_until(lambda: run(OUTBOUND)["frames"] >= 30, "30 pictures of each are sent")
    assert saver.end() == 0
    assert all(int(line["frames"]) >= 20 for line in saver.all("saved"))


def test_chromium_finds_the_section_of_our_packets(play):
    files = [MEDIA / "webRtcTestVideo.ivf", MEDIA / "webRtcTestVideo.ivf"]
    run, _, answer = play(*files, change=without_sources)
    assert agreed(answer, MID)
    wait_until(lambda: sorted(entry["mid"] for entry in run(DECODED) if (entry["frames"] or 0) >= 30) == ["0", "1"],
               "30 pictures of each are decoded")


# Transport-wide sequence numbers


def test_feedback_about_chromiums_numbers_lets_it_send_more(send, tmp_path):
    # What it makes of its first probes stays for long, and on a busy machine that is little: then by another connection.
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        run, _, answer = send("save-to-disk", PICTURE, folder, direction="sendonly")
        assert agreed(answer, TRANSPORT_SEQUENCE) and "goog-remb" not in answer
        # It begins with 300 kbit/s.
        with contextlib.suppress(AssertionError):
            return wait_until(lambda: run(RATE) > 600_000, "Chromium knows of more", timeout=30)
    pytest.fail("Chromium never knew of more than 600 kbit/s")


# What a page cannot see


def test_aiortc_reads_what_our_packets_say(namespace, start):
    player = start("play-from-disk", MEDIA / "webRtcTestVideo.ivf", MEDIA / "webRtcTestVideo.ogg")
    reader = JSONProcess("aiortc", namespace.command(sys.executable, PROGRAM), stdin=subprocess.PIPE)
    try:
        reader.tell(player.description("offer"))
        player.tell(reader.wait_for("answer")["description"])
        video, audio = reader.wait_for("packets", kind="video"), reader.wait_for("packets", kind="audio")
        # 24 bits of seconds, 18 of them behind the point, by the clock that both have.
        assert all(-0.05 < age < 1 for age in video["ages"])
        assert set(video["mids"]) == {"0"} and set(audio["mids"]) == {"1"}
    finally:
        reader.finish()


# The dependency descriptor, AV1 RTP specification appendix A


@pytest.mark.parametrize("codec", ["VP8", "VP9", "AV1", "H264"])
def test_chromium_decodes_what_we_describe(send, codec):
    """Where it is negotiated, Chromium goes by it alone, and drops packets whose descriptor it cannot read."""
    run, _, answer = send("echo", PICTURE, codec=codec, extensions=[DESCRIPTOR])
    assert agreed(answer, DESCRIPTOR)
    wait_until(lambda: any(entry["frames"] >= 90 for entry in run(DECODED)), "90 pictures are decoded")


LARGE = PICTURE.replace("320, height: 180", "1280, height: 720").replace("320, 180", "1280, 720")


@pytest.mark.parametrize("codec, mode, chains", [
    ("VP8", "L1T2", 0), ("H264", "L1T3", 1), ("AV1", "L1T3", 1), ("AV1", "L3T3", 3), ("VP9", "L3T3", 3)])
def test_layers_that_chromium_describes_are_understood(send, tmp_path, codec, mode, chains):
    run, saver, answer = send("save-to-disk", LARGE, tmp_path, codec=codec, extensions=[DESCRIPTOR],
                              direction="sendonly", encodings=[{"scalabilityMode": mode}])
    assert agreed(answer, DESCRIPTOR)
    wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures are sent")
    said = told(saver)
    spatial, temporal = int(mode[1]), int(mode[3])
    assert said["layers"] == f"{spatial}x{temporal}"
    assert (int(said["decodeTargets"]), int(said["chains"])) == (spatial * temporal, chains)
    # Every frame, and not only those with the structure.
    assert said["described"] == said["frames"]


def test_each_layer_of_a_simulcast_is_described_by_itself(send, tmp_path):
    encodings = [{"rid": "q", "scaleResolutionDownBy": 4}, {"rid": "h", "scaleResolutionDownBy": 2}, {"rid": "f"}]
    run, saver, _ = send("save-to-disk", LARGE, tmp_path, "--simulcast", codec="VP8", extensions=[DESCRIPTOR],
                         direction="sendonly", encodings=encodings)
    wait_until(lambda: len(saver.all("saving")) == 3, "three layers arrive")
    wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures of each are sent")
    assert saver.end() == 0
    for said in saver.all("saved"):
        assert said["layers"].startswith("1x")
        assert said["described"] == said["frames"]
