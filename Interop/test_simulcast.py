"""Three layers of one picture, sent to Pion, which takes them as an SFU does and asks for key frames."""

from math import inf

import pytest

from peers.examples import Example
from peers.pion import PionPeer
from support.layers import make_layers
from support.waiting import wait_until
from test_codecs import ANSWER, OFFER, PICTURE

# Of smaller pictures Chromium sends two layers.
LAYERS = {"q": (320, 180), "h": (640, 360), "f": (1280, 720)}
ROUND = 300
"""Frames of a layer's file, of which only the first is a key frame."""


@pytest.fixture(scope="module")
def layer_files(tmp_path_factory):
    return list(make_layers(tmp_path_factory.mktemp("layers"), LAYERS, ROUND).values())


@pytest.fixture
def pion(namespace):
    peer = PionPeer(namespace)
    yield peer
    peer.finish()
    print(peer.transcript())


@pytest.fixture
def play_layers(namespace, layer_files):
    player = Example(namespace, "play-from-disk", *layer_files, "--simulcast")
    yield lambda pion: player.tell(pion.answer(player.description("offer")))
    player.finish()
    print(player.transcript())


@pytest.fixture
def send(request):
    """Joins a sender of three layers to Pion. With Chromium, where nothing is ours, it is the harness that is tried."""

    def start(kind, pion):
        if kind == "roost":
            return request.getfixturevalue("play_layers")(pion)
        run = request.getfixturevalue("run")
        encodings = [{"rid": rid, "scaleResolutionDownBy": LAYERS["f"][0] / LAYERS[rid][0]} for rid in LAYERS]
        large = PICTURE.replace("width: 320, height: 180", "width: 1280, height: 720")
        run(ANSWER, pion.answer(run(large + OFFER, {"codecs": ["VP8"], "encodings": encodings})))

    return start


@pytest.mark.parametrize("kind", ["roost", "chromium"])
def test_pion_receives_three_layers_and_asks_for_key_frames(send, pion, kind):
    send(kind, pion)
    for rid in LAYERS:
        assert pion.wait_for("track", rid=rid)["codec"] == "video/VP8"
    for rid, size in LAYERS.items():
        # A layer may grow into its size, as Chromium's do while they share what bandwidth there is.
        wait_until(lambda: [line for line in pion.frames(rid) if (line["width"], line["height"]) == size],
                   f"{rid} is {size}")
        wait_until(lambda: len(pion.frames(rid)) >= 60, f"60 frames of {rid}")
        assert pion.frames(rid)[-1]["missing"] == 0
        assert pion.frames(rid)[-1]["packets"] >= len(pion.frames(rid))
    for rid in LAYERS:
        # Early in a round of the file: its own next key frame is too far away to be taken for the one asked for.
        before = wait_for_frames_after_a_key_frame(pion, rid, ROUND / 3 if kind == "roost" else inf)
        pion.request_key_frame(rid)
        wait_until(lambda: key_frames(pion, rid)[-1] > before, f"a key frame of {rid}")
        assert next(number for number in key_frames(pion, rid) if number > before) - before < ROUND / 2


def key_frames(pion, rid):
    """Which frames of a layer were key frames."""
    return [line["number"] for line in pion.frames(rid) if line["isKeyFrame"]]


def wait_for_frames_after_a_key_frame(pion, rid, most, least=30):
    """A sender takes no request that comes so soon that it could be about the key frame before. Returns the number of
    the newest frame."""
    newest = None

    def is_between():
        nonlocal newest
        newest = pion.frames(rid)[-1]["number"]
        last = max(number for number in key_frames(pion, rid) if number <= newest)
        return least <= newest - last <= most

    wait_until(is_between, f"{least} frames of {rid}, and {most} at most, since its last key frame")
    return newest
