"""Data tracks by LiveKit's Python SDK, whose frames have a number and what belongs to it."""

import pytest

from peers.livekit_data_tracks import SIZES
from support.waiting import wait_until

MODES = {"single": (), "dual": ("--dual",)}
both_modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


def frames(peer, name="pose"):
    return [line for line in peer.process.events if line["event"] == "frame" and line["name"] == name]


def check_frames(peer, name="pose", count=3 * len(SIZES)):
    """So many more come, whole and of all sizes. Which ones the SDK leaves out is its own affair: the one behind a large
    one, on a machine that has no time for it."""
    before = len(frames(peer, name))

    def have_come():
        came = frames(peer, name)[before:]
        return len(came) >= count and {frame["size"] for frame in came} == set(SIZES)

    wait_until(have_come, lambda: f"{count} frames of {name}\n{peer.process.transcript()}")
    came = frames(peer, name)[before:]
    assert all(frame["whole"] for frame in came), came
    numbers = [frame["number"] for frame in came]
    assert numbers == sorted(numbers)


def ends_in_publication(peer):
    events = [line["event"] for line in peer.process.events if line["event"].startswith("data_track_")]
    return events.count("data_track_published") == 2 and events[-1] == "data_track_published"


def publish(peer, *listeners, name="pose"):
    peer.do("publish_data_track", name=name)
    peer.wait_for("own_data_track", name=name)
    for listener in listeners:
        listener.wait_for("data_track_published", who=peer.identity, name=name)
        listener.do("subscribe_to_data", name=name)


@both_modes
def test_frames_come_to_those_who_asked_for_them(sfu, room, mode):
    ann, bob, eve = (sfu.join(room, name, *mode) for name in ("ann", "bob", "eve"))
    publish(ann, bob, name="pose")
    publish(ann, bob, name="lidar")
    publish(bob, ann, name="wheels")
    for name in ("pose", "lidar"):
        check_frames(bob, name)
    check_frames(ann, "wheels")
    eve.wait_for("data_track_published", name="pose")
    assert not frames(eve)
    bob.do("unsubscribe_from_data", name="lidar")
    bob.wait_for("data_closed", name="lidar")
    ann.do("unpublish_data_track", name="pose")
    bob.wait_for("data_track_unpublished")
    bob.wait_for("data_ended", name="pose")
    eve.wait_for("data_track_unpublished")


@both_modes
def test_whoever_comes_later_finds_what_is_there(sfu, room, mode):
    ann = sfu.join(room, "ann", *mode)
    publish(ann)
    bob = sfu.join(room, "bob", *mode)
    bob.wait_for("data_track_published", who="ann", name="pose")
    bob.do("subscribe_to_data", name="pose")
    check_frames(bob)


@pytest.mark.combinations
@both_modes
@pytest.mark.parametrize("who", ["ann", "bob"])
@pytest.mark.parametrize("scenario", ["SIGNAL_RECONNECT", "FULL_RECONNECT"])
def test_they_go_on_after_a_reconnect(sfu, room, mode, who, scenario):
    people = {name: sfu.join(room, name, *mode) for name in ("ann", "bob")}
    publish(people["ann"], people["bob"])
    check_frames(people["bob"])
    people[who].do("simulate", scenario=scenario)
    people[who].wait_for("reconnected")
    if scenario == "FULL_RECONNECT" and who == "ann":
        # The SDK leaves first: its tracks end for the others, and come anew.
        people["bob"].wait_for("data_ended", name="pose")
        wait_until(lambda: ends_in_publication(people["bob"]), people["bob"].process.transcript)
        people["bob"].do("subscribe_to_data", name="pose")
    check_frames(people["bob"])


def test_what_is_encrypted_from_end_to_end_is_passed_on(sfu, room):
    ann, bob = (sfu.join(room, name, "--key", "known to both") for name in ("ann", "bob"))
    publish(ann, bob)
    assert bob.wait_for("data_track_published", name="pose")["encrypted"]
    check_frames(bob)


def test_who_may_not_publish_data_or_has_the_name_already_is_told(sfu, room):
    ann, eve = sfu.join(room, "ann"), sfu.join(room, "eve", can_publish_data=False)
    publish(ann)
    ann.do("publish_data_track", name="pose")
    assert "name" in ann.wait_for("data_track_refused")["error"]
    eve.do("publish_data_track", name="pose")
    eve.wait_for("data_track_refused")


def test_a_publisher_says_who_may_have_it(sfu, room):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.do("allow", everybody=False)
    publish(ann, bob)
    eve = sfu.join(room, "eve")
    eve.wait_for("data_track_published", name="pose")
    assert not frames(bob)
    ann.do("allow", everybody=True)
    check_frames(bob)
