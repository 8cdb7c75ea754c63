"""Rooms in which what belongs together is played in step (`sync_streams`), or later than it comes (playout delay), with
LiveKit's Python SDK and with our page in Chromium."""

import re

import pytest

from peers.livekit_service import call
from peers.rooms_page import all_in


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def create(sfu, room, **options):
    assert "answer" in call(sfu, "room", "create_room", "CreateRoomRequest", name=room, **options)


@pytest.mark.parametrize("mode", [(), ("--dual",)], ids=["single", "dual"])
def test_the_sdk_tells_tracks_that_are_played_in_step_apart(sfu, room, mode):
    create(sfu, room, sync_streams=True)
    ann, bob = sfu.join(room, "ann", *mode), sfu.join(room, "bob", *mode)
    ann.publish(hertz=880)
    bob.publish(hertz=550)
    for one, other, hertz in ((ann, "bob", 550), (bob, "ann", 880)):
        one.wait_for("subscribed", who=other, name="camera")
        one.check_picture(name="camera")
        one.check_sound(hertz)


# What the last offer to the page calls its tracks: stream, and name.
TRACKS = r"""
() => roost.room.connections.subscriber.remoteDescription.sdp.split(/^m=/m)
  .filter((section) => section.includes('a=sendonly')).map((section) => /a=msid:(\S+) (\S+)/.exec(section).slice(1))
"""
# For how long a picture has waited on average before it was shown, in milliseconds, and how many have.
WAITED = """
async () => {
  const report = [...(await roost.room.connections.subscriber.getStats()).values()];
  const video = report.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video');
  const { jitterBufferDelay: delay = 0, jitterBufferEmittedCount: count = 0 } = video ?? {};
  return { count, delay: count && 1000 * delay / count };
}
"""


def waited(person):
    person.wait(lambda: person.page.evaluate(WAITED)["count"] >= 60, "sixty pictures are shown")
    return person.page.evaluate(WAITED)["delay"]


def test_the_page_tells_tracks_that_are_played_in_step_apart(sfu, room, join):
    create(sfu, room, sync_streams=True)
    ann, bob = join("Ann", tone=440), join("Bob", tone=554)
    all_in(ann, bob)
    ann.check_picture("Bob")
    ann.check_sound("Bob", 554)
    bob.check_picture("Ann")
    bob.check_sound("Ann", 440)
    tracks = bob.page.evaluate(TRACKS)
    assert len(tracks) == 2 and len({stream for stream, _ in tracks}) == 1, tracks
    assert all(re.fullmatch(r"PA_\w+\|camera", stream) and name.startswith("TR_") for stream, name in tracks), tracks
    # Where Ann's were there is Eve.
    ann.click("leave")
    bob.wait_gone("Ann")
    eve = join("Eve", tone=659)
    all_in(eve)
    bob.check_picture("Eve")
    bob.check_sound("Eve", 659)
    assert [one.errors() for one in (ann, bob, eve)] == [[]] * 3


def test_pictures_are_held_back_as_long_as_the_room_says(sfu, room, join):
    create(sfu, room, min_playout_delay=600, max_playout_delay=2_000)
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    assert waited(bob) > 400
    bob.check_picture("Ann")


def test_nothing_is_held_back_where_the_room_says_nothing(sfu, room, join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    assert waited(bob) < 300
