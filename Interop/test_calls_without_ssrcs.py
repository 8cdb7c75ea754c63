"""Calls whose descriptions name no SSRC: every `a=ssrc` and `a=ssrc-group` is taken out on the way. Pictures, sound,
retransmissions and simulcast layers have to be told apart by mid, rid and payload type (RFC 9143 §9.2, RFC 8852).
"""

import re

import pytest

from conftest import start_seed_server
from peers.aiortc_process import AiortcPeer
from peers.chromium import Browser, ChromiumPeer
from peers.examples import Example
from peers.firefox import FirefoxPeer
from peers.roost_peer import RoostPeer
from support.call import hold_call, new_room
from support.evidence import MEDIA
from support.waiting import wait_until
from test_codecs import ANSWER, OFFER, OUTBOUND, PICTURE, RECEIVE, probe

VIDEO_STREAMS = """
const all = [...(await (globalThis.connection ?? globalThis.roost.call.connection).getStats()).values()];
const of = (type) => all.find((entry) => entry.type === type && entry.kind === 'video') ?? {};
return { again: of('outbound-rtp').retransmittedPacketsSent ?? 0,
  repaired: of('inbound-rtp').retransmittedPacketsReceived ?? 0 };
"""


@pytest.fixture
def server_without_ssrcs():
    """Makes the seed's server that takes them out, in a namespace; tells whether it did so in both directions."""
    processes = []

    def start(namespace, host="127.0.0.1"):
        process, port = start_seed_server(namespace, "--host", host, "--without-ssrcs")
        processes.append(process)
        return f"http://{host}:{port}"

    yield start
    for process in processes:
        process.finish()
        removed = {}
        for line in process.events:
            if line["event"] == "description":
                removed.setdefault(line["kind"], []).append(line["removed"])
        assert set(removed) == {"offer", "answer"} and all(min(counts) > 0 for counts in removed.values()), removed


def without_ssrcs(description):
    sdp = re.sub(r"(?m)^a=ssrc(?:-group)?:.*\r?\n", "", description["sdp"])
    return {**description, "sdp": sdp}


@pytest.mark.parametrize(
    "kinds",
    # The first has nothing of ours but the page: it shows that browsers do without.
    ["chromium-chromium", "roost-roost", "roost-chromium", "chromium-roost", "roost-firefox", "firefox-roost",
     "roost-aiortc", "aiortc-roost"],
)
def test_picture_and_sound_flow_both_ways(kinds, namespace, browser_called, server_without_ssrcs, tmp_path):
    server, room = server_without_ssrcs(namespace), new_room()

    def peer(kind, role):
        name = {"caller": "Ann", "callee": "Bob"}[role]
        match kind:
            case "roost":
                return lambda: RoostPeer(namespace, server, room, name, role, tmp_path / name, "VP8")
            case "chromium":
                return lambda: ChromiumPeer(browser_called(kind), server, room, name, role, "VP8")
            case "firefox":
                return lambda: FirefoxPeer(browser_called(kind), server, room, name, role)
            case "aiortc":
                return lambda: AiortcPeer(namespace, server, room, name, role, "VP8")

    caller, callee = kinds.split("-")
    result = hold_call(peer(caller, "caller"), peer(callee, "callee"), first="caller")
    for evidence in (result.caller, result.callee):
        evidence.check()


@pytest.mark.parametrize("kinds", ["roost-chromium", "chromium-roost"])
def test_what_is_lost_is_sent_again_without_an_ssrc_group(kinds, wire, playwright, server_without_ssrcs, tmp_path):
    """RTX names no stream that it repeats (RFC 4588 §5.3): its source is found by mid and payload type alone."""
    near, far = wire.ends
    server = server_without_ssrcs(near, near.address)
    browser = Browser(playwright, far)
    page = {}

    def roost(role):
        return lambda: RoostPeer(near, server, 5, "Ann", role, tmp_path, "VP8")

    def chromium(role):
        def make():
            page["peer"] = ChromiumPeer(browser, server, 5, "Bob", role, "VP8")
            return page["peer"]

        return make

    def repaired(*both):
        def told():
            return page["peer"].page.evaluate(f"async () => {{ {VIDEO_STREAMS} }}")

        wait_until(lambda: told()["again"] > 5 and told()["repaired"] > 5, "retransmissions both ways")

    try:
        makers = (roost("caller"), chromium("callee")) if kinds == "roost-chromium" else (
            chromium("caller"), roost("callee"))
        result = hold_call(*makers, frames=150, tones=10, during=repaired, first="caller")
    finally:
        browser.close()
    carried, lost = wire.close()
    assert lost > 0.02 * carried > 0
    for evidence in (result.caller, result.callee):
        evidence.check_picture(least=100, unreadable=0.3, moving=0.5, standing=2, missing=5, stalls=1)
        evidence.check_sound(seconds=4, wrong=0.4, sticking=3)


def test_a_browsers_retransmissions_find_their_stream(wire, playwright, tmp_path):
    """What Chromium sends again fills the gaps: our own count of them, beside its own."""
    near, far = wire.ends
    browser = Browser(playwright, far)
    save = Example(near, "save-to-disk", tmp_path)
    try:
        page = browser.new_page()
        page.goto("about:blank")

        def run(body, argument=None):
            return page.evaluate(f"async (argument) => {{ {body} }}", argument)

        offer = run(PICTURE + OFFER, {"codecs": ["VP8"]})
        assert "a=ssrc-group:FID" in offer["sdp"]
        save.tell(without_ssrcs(offer))
        run(ANSWER, without_ssrcs(save.description("answer")))
        save.wait_for("state", state="connected")
        wait_until(lambda: run(VIDEO_STREAMS)["again"] > 20, "Chromium sends packets again")
        assert save.end() == 0
    finally:
        save.finish()
        browser.close()
    stats = save.wait_for("statistics")["stats"].values()
    inbound = next(entry for entry in stats if entry["type"] == "inbound-rtp")
    assert inbound["retransmittedPacketsReceived"] > 10, inbound
    assert inbound["rtxSsrc"] not in (None, inbound["ssrc"])
    assert inbound["framesReceived"] >= 60


# Two pictures of different sizes in two sections with the same payload types: only the mid tells them apart.
TWO_PICTURES = """
const connection = globalThis.connection = new RTCPeerConnection();
for (const [width, height] of [[320, 180], [160, 160]]) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  let number = 0;
  setInterval(() => {
    context.fillStyle = `hsl(${number++ * 7 % 360} 80% 50%)`;
    context.fillRect(0, 0, width, height);
  }, 33);
  const [track] = canvas.captureStream(30).getVideoTracks();
  const transceiver = connection.addTransceiver(track, { direction: 'sendonly' });
  transceiver.setCodecPreferences(
    RTCRtpSender.getCapabilities('video').codecs.filter(({ mimeType }) => /VP8|rtx/.test(mimeType)));
}
await connection.setLocalDescription();
if (connection.iceGatheringState !== 'complete') {
  await new Promise((done) => connection.addEventListener('icegatheringstatechange',
    () => connection.iceGatheringState === 'complete' && done()));
}
return connection.localDescription.toJSON();
"""
DECODED = """
const all = [...(await globalThis.connection.getStats()).values()];
const inbound = all.filter(({ type }) => type === 'inbound-rtp');
return inbound.map(({ mid, framesDecoded }) => [mid, framesDecoded ?? 0]).sort();
"""


@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_two_pictures_are_told_apart_by_mid_alone(run_in, kind, namespace, tmp_path):
    run = run_in(kind)
    save = Example(namespace, "save-to-disk", tmp_path)
    try:
        save.tell(without_ssrcs(run(TWO_PICTURES)))
        run(ANSWER, without_ssrcs(save.description("answer")))
        save.wait_for("state", state="connected")
        wait_until(lambda: run(OUTBOUND)["frames"] >= 90, "90 of each are sent")
        assert save.end() == 0
    finally:
        save.finish()
    saved = [line["path"] for line in save.all("saved")]
    assert sorted(probe(path)["width"] for path in saved) == [160, 320], saved
    assert all(int(probe(path)["nb_read_frames"]) >= 60 for path in saved)


def test_a_browser_tells_our_two_pictures_apart_by_mid_alone(run, namespace):
    play = Example(namespace, "play-from-disk", *[MEDIA / "webRtcTestVideo.ivf"] * 2)
    try:
        play.tell(without_ssrcs(run(RECEIVE, without_ssrcs(play.description("offer")))))
        wait_until(lambda: [frames >= 60 for _, frames in run(DECODED)] == [True, True], "both pictures advance")
        assert len({mid for mid, _ in run(DECODED)}) == 2
    finally:
        play.finish()


@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_layers_are_told_apart_by_rid_alone(run_in, kind, namespace, tmp_path):
    run = run_in(kind)
    encodings = [{"rid": "q", "scaleResolutionDownBy": 4}, {"rid": "h", "scaleResolutionDownBy": 2}, {"rid": "f"}]
    large = PICTURE.replace("width: 320, height: 180", "width: 1280, height: 720")
    save = Example(namespace, "save-to-disk", tmp_path, "--simulcast")
    try:
        offer = run(large + OFFER, {"codecs": ["VP8"], "encodings": encodings})
        assert "a=rid:q send" in offer["sdp"]
        save.tell(without_ssrcs(offer))
        run(ANSWER, without_ssrcs(save.description("answer")))
        save.wait_for("state", state="connected")
        wait_until(lambda: len(save.all("saving")) == 3, "three layers arrive")
        wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures of each are sent")
        assert save.end() == 0
    finally:
        save.finish()
    stats = save.wait_for("statistics")["stats"].values()
    layers = {entry["rid"]: entry["framesReceived"] for entry in stats if entry["type"] == "inbound-rtp"}
    assert set(layers) == {"q", "h", "f"} and min(layers.values()) >= 30, layers
