"""A camera in VP9 with VP8 behind it, from Chromium: LiveKit's SDK takes the first, a browser without VP9 the second."""

import pytest
from livekit.protocol import models

from peers.backup_publisher import BackupPublisher


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


@pytest.fixture
def ann(sfu, room, new_page):
    page = new_page()
    page.goto(f"http://127.0.0.1:{sfu.page}/js/packets.js")
    publisher = BackupPublisher(page, sfu, room, "ann")
    yield publisher
    publisher.close()


def test_who_lacks_the_first_codec_has_the_second(sfu, room, ann, join):
    bob = sfu.join(room, "bob")
    ann.publish("vp9", "vp8", models.SIMULCAST)
    bob.wait_for("subscribed", name="picture", codec="video/VP9")
    bob.check_picture(name="picture")
    assert not ann.wanted, "as long as all have the first codec nothing is said of the second"
    cat = join("Cat", lacks="VP9")
    ann.wait_wanted(vp8=True)
    ann.publish_backup("vp8")
    cat.check_picture("ann")
    # The one does not take the other's place.
    for codec in ("vp9", "vp8"):
        ann.encodes(codec)
    bob.report("picture", fresh=True)
    bob.check_picture(name="picture")
    cat.page.click("#meeting-leave")
    ann.wait_wanted(vp9=True, vp8=False)


def test_all_go_over_to_the_second_codec_where_one_encoder_is_to_do(sfu, room, ann, join):
    bob = sfu.join(room, "bob")
    ann.publish("vp9", "vp8", models.REGRESSION)
    bob.wait_for("subscribed", name="picture", codec="video/VP9")
    bob.check_picture(name="picture")
    cat = join("Cat", lacks="VP9")
    ann.wait_wanted(vp8=True)
    ann.publish_backup("vp8")
    cat.check_picture("ann")
    ann.wait_wanted(vp9=False, vp8=True)
    # Its SDK names the codec that the track was published in, whatever comes.
    bob.wait_for("subscribed", name="picture", times=2)
    bob.report("picture", fresh=True)
    bob.check_picture(name="picture")
