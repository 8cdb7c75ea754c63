"""`roost join` publishes files of one picture in several sizes; LiveKit's Python SDK chooses among them."""

import pytest

from peers.roost_join import joined
from support.evidence import MEDIA
from support.layers import make_layers
from support.waiting import wait_until
from test_livekit_sdk import both_modes

SIZES = {"LOW": (160, 90), "MEDIUM": (320, 180), "HIGH": (640, 360)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_layers(tmp_path_factory.mktemp("layers"), SIZES, frames=300, key_frame_every=30)


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


def publish(join, files, *options):
    return join("bob", "--publish", files["HIGH"], "--layer", files["LOW"], "--layer", files["MEDIUM"], *options)


def choose(ann, quality):
    """Of libwebrtc's decoder, what was of the layer before may still come."""
    width = SIZES[quality][0]
    ann.do("quality", name="HIGH", quality=quality)
    ann.wait_until(
        "HIGH", lambda report: [one for one, _ in report["sizes"][-10:]] == [width] * 10, f"pictures {width} wide")


@both_modes
def test_a_subscriber_chooses_among_the_sizes(sfu, room, join, files, mode):
    ann = sfu.join(room, "ann", *mode)
    bob = publish(join, files)
    assert "VP8" in ann.wait_for("subscribed", who="bob", name="HIGH")["codec"].upper()
    for quality in ("LOW", "HIGH", "MEDIUM", "LOW"):
        choose(ann, quality)
    # In a new session all of them come again.
    bob.tell({"do": "simulate", "scenario": "full_reconnect"})
    bob.wait_for("reconnected")
    wait_until(
        lambda: sum(line["event"] == "subscribed" and line["name"] == "HIGH" for line in ann.process.events) == 2,
        ann.process.transcript)
    for quality in ("MEDIUM", "HIGH"):
        choose(ann, quality)
    ann.report("HIGH", fresh=True)
    ann.check_picture(30, "HIGH")


def test_sizes_that_nobody_takes_wait(sfu, room, join, files):
    ann = sfu.join(room, "ann")
    bob = publish(join, files, "--dynacast")
    ann.wait_for("subscribed", who="bob", name="HIGH")
    choose(ann, "LOW")
    bob.wait_for("local_track_wanted", quality="low")
    ann.report("HIGH", fresh=True)
    ann.check_picture(30, "HIGH")
    choose(ann, "HIGH")
    bob.wait_for("local_track_wanted", quality="high")
    ann.report("HIGH", fresh=True)
    ann.check_picture(30, "HIGH")


def test_files_that_are_no_sizes_of_one_picture_are_refused(sfu, room, join, files):
    for layer, sentence in [
        (MEDIA / "webRtcTestVideo.ogg", "holds no picture"), (MEDIA / "webRtcTestVideo.mp4", "in another codec"),
    ]:
        bob = join("bob", "--publish", files["HIGH"], "--layer", layer, wait=False)
        assert bob.wait() == 1
        assert any(sentence in line for line in bob.text), bob.transcript()
