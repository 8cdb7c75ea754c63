"""Every codec with peers that we did not write: Chromium sends to save-to-disk, and play-from-disk to Chromium."""

import itertools
import json
import subprocess
import sys

import pytest

from peers.chromium import Browser
from peers.examples import Example
from support.evidence import MEDIA, TONES
from support.namespace import Wire
from support.waiting import wait_until

# A picture that moves, as a track.
PICTURE = """
const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 });
const context = canvas.getContext('2d');
let number = 0;
setInterval(() => {
  context.fillStyle = `hsl(${number * 7 % 360} 80% 50%)`;
  context.fillRect(0, 0, 320, 180);
  context.fillStyle = 'white';
  context.fillRect(number * 5 % 300, number * 3 % 160, 20, 20);
  number += 1;
}, 33);
const track = canvas.captureStream(30).getVideoTracks()[0];
"""
TONE = """
const audio = new AudioContext();
const oscillator = new OscillatorNode(audio, { frequency: 440 });
const destination = new MediaStreamAudioDestinationNode(audio);
oscillator.connect(destination);
oscillator.start();
const track = destination.stream.getAudioTracks()[0];
"""
OFFER = """
const connection = globalThis.connection = new RTCPeerConnection();
const transceiver = globalThis.transceiver = connection.addTransceiver(track, {
  direction: 'sendonly', sendEncodings: argument.encodings ?? [] });
const all = RTCRtpSender.getCapabilities(track.kind).codecs;
// In the order in which they are wanted, and what repairs them; a codec may have more than one profile.
const names = [...argument.codecs, 'rtx', 'telephone-event'];
const wanted = names.flatMap((name) => all.filter(({ mimeType, sdpFmtpLine }) =>
  mimeType.split('/')[1].toLowerCase() === name.toLowerCase() && !/profile-id=[1-9]/.test(sdpFmtpLine ?? '')));
transceiver.setCodecPreferences(wanted);
await connection.setLocalDescription();
if (connection.iceGatheringState !== 'complete') {
  await new Promise((done) => connection.addEventListener('icegatheringstatechange',
    () => connection.iceGatheringState === 'complete' && done()));
}
return connection.localDescription.toJSON();
"""
ANSWER = "await globalThis.connection.setRemoteDescription(argument);"
OUTBOUND = """
const all = [...(await globalThis.connection.getStats()).values()];
const outbound = all.filter(({ type }) => type === 'outbound-rtp');
const least = (name) => outbound.length && Math.min(...outbound.map((entry) => entry[name] ?? 0));
return { frames: least('framesEncoded'), packets: least('packetsSent'), streams: outbound.length,
  codecs: outbound.map(({ codecId }) => all.find(({ id }) => id === codecId)?.mimeType) };
"""


def probe(path, *entries):
    """What ffprobe decodes of a file's only stream."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames,width:frame=pts",
         "-of", "json", str(path)], capture_output=True, text=True, check=True)
    assert not done.stderr.strip(), done.stderr
    told = json.loads(done.stdout)
    times = [frame["pts"] for frame in told["frames"]]
    assert times == sorted(set(times)), f"the frames of {path} do not advance"
    return told["streams"][0]


@pytest.fixture
def save(namespace, tmp_path):
    process = Example(namespace, "save-to-disk", tmp_path, "--simulcast")
    yield process
    process.finish()


def connect(run, process, source, codecs, **options):
    offer = run(source + OFFER, {"codecs": codecs, **options})
    process.tell(offer)
    run(ANSWER, process.description("answer"))
    process.wait_for("state", state="connected")
    return offer


@pytest.mark.parametrize("kind, codec, name", [
    ("chromium", "VP8", "vp8"), ("chromium", "VP9", "vp9"), ("chromium", "AV1", "av1"), ("chromium", "H264", "h264"),
    ("firefox", "VP9", "vp9"), ("firefox", "AV1", "av1")])
def test_browsers_send_pictures(run_in, save, kind, codec, name):
    run = run_in(kind)
    connect(run, save, PICTURE, [codec])
    wait_until(lambda: run(OUTBOUND)["frames"] >= 90, "90 pictures are sent")
    assert run(OUTBOUND)["codecs"] == [f"video/{codec}"]
    assert save.end() == 0
    saved = save.wait_for("saved")
    told = probe(saved["path"])
    assert told["codec_name"] == name
    assert told["width"] == 320
    # The connection's first pictures may come before the peer is ready for them.
    assert int(told["nb_read_frames"]) >= 60, saved


@pytest.mark.parametrize("codecs, sent, name", [
    (["opus"], "audio/opus", "opus"), (["PCMU"], "audio/PCMU", "pcm_mulaw"), (["PCMA"], "audio/PCMA", "pcm_alaw")])
def test_chromium_sends_sound(run, save, codecs, sent, name):
    connect(run, save, TONE, codecs)
    wait_until(lambda: run(OUTBOUND)["packets"] >= 150, "three seconds are sent")
    assert run(OUTBOUND)["codecs"] == [sent]
    assert save.end() == 0
    saved = save.wait_for("saved")
    assert int(saved["frames"]) >= 100
    assert probe(saved["path"])["codec_name"] == name


def test_chromium_sends_redundant_sound(run, save):
    """Chromium's statistics name Opus for it, so the receiver's tell: packets have earlier ones inside."""
    connect(run, save, TONE, ["red", "opus"])
    wait_until(lambda: run(OUTBOUND)["packets"] >= 150, "three seconds are sent")
    assert save.end() == 0
    inbound = next(entry for entry in save.wait_for("statistics")["stats"].values() if entry["type"] == "inbound-rtp")
    assert inbound["fecPacketsReceived"] >= 0.5 * inbound["packetsReceived"] >= 50
    assert inbound["packetsRecovered"] + inbound["fecPacketsDiscarded"] == inbound["fecPacketsReceived"]
    saved = save.wait_for("saved")
    assert int(saved["frames"]) >= 100
    assert probe(saved["path"])["codec_name"] == "opus"


def test_chromium_presses_keys(run, save):
    connect(run, save, TONE, ["opus"])
    run("globalThis.transceiver.sender.dtmf.insertDTMF('15#', 100, 70);")
    wait_until(lambda: len(save.all("released")) >= 3, "three keys are released")
    assert [line["key"] for line in save.all("pressed")] == ["1", "5", "#"]
    assert [line["key"] for line in save.all("released")] == ["1", "5", "#"]
    assert save.end() == 0


@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_browsers_send_three_layers(run_in, save, kind):
    run = run_in(kind)
    encodings = [{"rid": "q", "scaleResolutionDownBy": 4}, {"rid": "h", "scaleResolutionDownBy": 2}, {"rid": "f"}]
    large = PICTURE.replace("width: 320, height: 180", "width: 1280, height: 720")
    connect(run, save, large, ["VP8"], encodings=encodings)
    wait_until(lambda: len(save.all("saving")) == 3, "three layers arrive")
    wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures of each are sent")
    assert save.end() == 0
    saved = {line["path"].rsplit("-", 1)[1]: line for line in save.all("saved")}
    widths = {name: probe(line["path"])["width"] for name, line in saved.items()}
    assert widths == {"q.ivf": 320, "h.ivf": 640, "f.ivf": 1280}


INBOUND = """
const all = [...(await globalThis.connection.getStats()).values()];
const inbound = all.find(({ type }) => type === 'inbound-rtp') ?? {};
return { frames: inbound.framesDecoded ?? 0, samples: inbound.totalSamplesReceived ?? 0, level: inbound.audioLevel ?? 0,
  energy: inbound.totalAudioEnergy ?? 0, codec: all.find(({ id }) => id === inbound.codecId)?.mimeType };
"""
CONCEALED = """
const all = [...(await globalThis.connection.getStats()).values()];
const inbound = all.find(({ type }) => type === 'inbound-rtp') ?? {};
const { packetsLost: lost = 0, packetsReceived: received, packetsDiscarded: discarded } = inbound;
const { concealedSamples: concealed, totalSamplesReceived: samples } = inbound;
return { lost, received, discarded, concealed, samples };
"""
# The loudest frequency below and above 1,050 Hz, 25 times a second, where both sound or either does.
HEARD = """
const [receiver] = globalThis.connection.getReceivers();
const audio = new AudioContext();
const analyser = new AnalyserNode(audio, { fftSize: 4096, smoothingTimeConstant: 0 });
new MediaStreamAudioSourceNode(audio, { mediaStream: new MediaStream([receiver.track]) }).connect(analyser);
const spectrum = new Float32Array(analyser.frequencyBinCount);
const width = audio.sampleRate / analyser.fftSize;
const loudest = (from, to) => {
  let best = Math.ceil(from / width);
  for (let bin = best; bin < to / width; bin += 1) if (spectrum[bin] > spectrum[best]) best = bin;
  return Math.round(best * width);
};
const heard = [];
const timer = setInterval(() => {
  analyser.getFloatFrequencyData(spectrum);
  if (Math.max(...spectrum) > -60) heard.push([loudest(300, 1050), loudest(1050, 2500)]);
}, 40);
await new Promise((done) => setTimeout(done, DURATION));
clearInterval(timer);
return heard;
"""
KEYS = {"1": (697, 1209), "5": (770, 1336), "#": (941, 1477)}
RECEIVE = """
const connection = globalThis.connection = new RTCPeerConnection();
connection.addEventListener('track', ({ track, streams }) => {
  const player = document.createElement(track.kind);
  Object.assign(player, { srcObject: streams[0], muted: track.kind === 'video', autoplay: true });
  document.documentElement.append(player);
});
await connection.setRemoteDescription(argument);
await connection.setLocalDescription();
if (connection.iceGatheringState !== 'complete') {
  await new Promise((done) => connection.addEventListener('icegatheringstatechange',
    () => connection.iceGatheringState === 'complete' && done()));
}
return connection.localDescription.toJSON();
"""


@pytest.mark.parametrize("file, codec", [
    ("webRtcTestVideo.mp4", "video/H264"), ("webRtcTestVideo.ivf", "video/VP8"),
    ("webRtcTestVideo-vp9.ivf", "video/VP9"), ("webRtcTestVideo-av1.ivf", "video/AV1"),
    ("webRtcTestVideo.ogg", "audio/opus"), ("webRtcTestVideo-pcmu.wav", "audio/PCMU")])
def test_chromium_plays_files(run, namespace, file, codec):
    player = Example(namespace, "play-from-disk", MEDIA / file)
    try:
        player.tell(run(RECEIVE, player.description("offer")))
        if codec.startswith("video"):
            wait_until(lambda: run(INBOUND)["frames"] >= 60, "60 pictures are decoded")
        else:
            wait_until(lambda: run(INBOUND)["energy"] > 0.01, "sound is heard")
        assert run(INBOUND)["codec"] == codec
        assert player.end() == 0
    finally:
        player.finish()


@pytest.fixture
def tenth():
    """A wire that loses every tenth datagram and delays none more than another."""
    wire = Wire(loss=0.1, delay=0.01, jitter=0)
    yield wire
    if wire.process.poll() is None:
        wire.close()


@pytest.mark.parametrize("options", [["--redundant"], []], ids=["redundant", "alone"])
def test_chromium_takes_lost_sound_from_later_packets(tenth, playwright, options):
    """It makes up a tenth of the sound, but of redundant sound only where two packets in a row were lost."""
    near, far = tenth.ends
    browser = Browser(playwright, far)
    page = browser.new_page()
    player = Example(near, "play-from-disk", MEDIA / "webRtcTestVideo.ogg", *options)
    try:
        def run(body, argument=None):
            return page.evaluate(f"async (argument) => {{ {body} }}", argument)

        offer = player.description("offer")
        assert ("red/48000" in offer["sdp"]) == bool(options)
        player.tell(run(RECEIVE, offer))
        before = dict.fromkeys(("lost", "received", "discarded", "concealed", "samples"), 0)
        for last in (False, False, True):
            wait_until(lambda: run(CONCEALED)["lost"] >= before["lost"] + 30, "30 packets are lost")
            now = run(CONCEALED)
            heard = {name: now[name] - before[name] for name in now}
            before = now
            made_up = heard["concealed"] / heard["samples"]
            if options:
                # Each packet repeats the one before. What had come already is discarded, the rest is what was lost.
                # Nine of ten can be had; a computer that is busy may play past one of them.
                assert heard["received"] - heard["discarded"] >= 0.6 * heard["lost"], heard
                # While the computer stands still sound is made up too, redundant or not: another stretch is looked at.
                if made_up <= 0.08:
                    break
                assert not last, heard
            else:
                assert heard["discarded"] == 0 and made_up >= 0.06, heard
                break
        heard = run(HEARD.replace("DURATION", "4000"))
        # The file's notes, one a second; a change between two of them is neither.
        right = [any(abs(one - tone) < 15 for one in pair for tone in TONES) for pair in heard]
        assert sum(right) >= 0.8 * len(right) >= 40, heard
    finally:
        player.finish()
        browser.close()


def test_chromium_hears_the_keys_that_we_press(run, namespace):
    """It makes the two tones of each key itself (ITU-T Q.23); nothing else sounds meanwhile."""
    player = Example(namespace, "play-from-disk", MEDIA / "webRtcTestVideo.ogg", "--dial=,15#")
    try:
        player.tell(run(RECEIVE, player.description("offer")))
        wait_until(lambda: run(INBOUND)["energy"] > 0.01, "sound is heard")
        heard = run(HEARD.replace("DURATION", "5000"))
        keys = [min(KEYS, key=lambda key: abs(KEYS[key][0] - low) + abs(KEYS[key][1] - high)) for low, high in heard
                if any(abs(pair[0] - low) < 15 and abs(pair[1] - high) < 15 for pair in KEYS.values())]
        assert [key for key, _ in itertools.groupby(keys)] == ["1", "5", "#"], heard
        # Half a second each, looked at 25 times a second.
        assert all(keys.count(key) >= 6 for key in "15#"), keys
    finally:
        player.finish()


@pytest.mark.parametrize("codec, name", [("PCMU", "pcm_mulaw"), ("PCMA", "pcm_alaw")])
def test_aiortc_sends_g711(save, namespace, codec, name):
    """aiortc in a process of the namespace, its descriptions as ours."""
    program = MEDIA.parent / "Interop" / "peers" / "aiortc_sound.py"
    from support.process import JSONProcess
    sender = JSONProcess("aiortc", namespace.command(sys.executable, program, codec, MEDIA / "webRtcTestVideo.ogg"),
                         stdin=subprocess.PIPE)
    try:
        save.tell(sender.wait_for("offer")["description"])
        sender.tell(save.description("answer"))
        save.wait_for("saving")
        sender.wait_for("sent")
        assert save.end() == 0
        saved = save.wait_for("saved")
        assert int(saved["frames"]) >= 100
        assert probe(saved["path"])["codec_name"] == name
    finally:
        sender.finish()
