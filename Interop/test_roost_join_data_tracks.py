"""Data tracks of `roost join`, with LiveKit's Python SDK as the other participant, or between two of ours."""

import base64
import itertools

import pytest

from peers.livekit_data_tracks import SIZES, frame_of
from peers.roost_join import joined
from support.waiting import wait_until


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


def check_heard(bob, name, publisher="ann"):
    """From now on whole frames of all sizes come from the SDK."""
    def frames():
        return [line for line in bob.events
                if line["event"] == "data_frame" and line["name"] == name and line["participant"] == publisher]

    def came():
        return [base64.b64decode(line["payload"]) for line in frames()[before:]]

    before = len(frames())
    wait_until(lambda: {len(payload) - 4 for payload in came()} == set(SIZES),
               lambda: f"frames of all sizes\n{bob.transcript()}")
    for line in frames():
        payload = base64.b64decode(line["payload"])
        frame = frame_of(int.from_bytes(payload[:4], "big"))
        assert payload == frame.payload
        assert line["timestamp"] == str(frame.user_timestamp)


def check_pushed(bob, listener, name, numbers):
    """Frames of ours come to the SDK, whole and of all sizes."""
    def came():
        frame = frame_of(next(numbers))
        bob.tell({"do": "push", "name": name, "payload": base64.b64encode(frame.payload).decode(),
                  "timestamp": frame.user_timestamp})
        return {line["size"] for line in frames()[before:]} == set(SIZES)

    def frames():
        return [line for line in listener.process.events if line["event"] == "frame" and line["name"] == name]

    before = len(frames())
    wait_until(came, lambda: f"frames of all sizes\n{listener.process.transcript()}\n{bob.transcript()}")
    assert all(line["whole"] for line in frames())


@pytest.mark.parametrize("mode", [(), ("--dual",)], ids=["single", "dual"])
def test_data_tracks_both_ways(sfu, room, join, mode):
    ann, bob = sfu.join(room, "ann", *mode), join("bob")
    ann.do("publish_data_track", name="pose")
    assert not bob.wait_for("data_track_published", participant="ann", name="pose")["encrypted"]
    bob.tell({"do": "subscribe_data_track", "track": "pose"})
    check_heard(bob, "pose")
    bob.tell({"do": "publish_data_track", "name": "wheels"})
    bob.wait_for("local_data_track_published", name="wheels")
    ann.wait_for("data_track_published", who="bob", name="wheels")
    ann.do("subscribe_to_data", name="wheels")
    check_pushed(bob, ann, "wheels", itertools.count())
    bob.tell({"do": "publish_data_track", "name": "wheels"})
    assert "invalid" in bob.wait_for("command_failed", do="publish_data_track")["reason"]
    bob.tell({"do": "unpublish_data_track", "name": "wheels"})
    ann.wait_for("data_ended", name="wheels")
    ann.do("unpublish_data_track", name="pose")
    bob.wait_for("data_track_unpublished", participant="ann", name="pose")
    bob.wait_for("data_track_ended", name="pose")


def test_data_tracks_of_one_name_are_read_beside_each_other(sfu, room, join):
    people, bob = [sfu.join(room, name) for name in ("ann", "eve")], join("bob")
    for person in people:
        person.do("publish_data_track", name="pose")
        sid = bob.wait_for("data_track_published", participant=person.identity, name="pose")["track"]
        bob.tell({"do": "subscribe_data_track", "track": sid})
        bob.wait_for("data_track_subscribed", track=sid)
    for person in people:
        check_heard(bob, "pose", person.identity)


@pytest.mark.parametrize("scenario", ["signal_reconnect", "full_reconnect"])
def test_data_tracks_go_on_after_a_reconnect(sfu, room, join, scenario):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.do("publish_data_track", name="pose")
    bob.wait_for("data_track_published", participant="ann", name="pose")
    bob.tell({"do": "subscribe_data_track", "track": "pose"})
    check_heard(bob, "pose")
    bob.tell({"do": "publish_data_track", "name": "wheels"})
    bob.wait_for("local_data_track_published", name="wheels")
    bob.tell({"do": "simulate", "scenario": scenario})
    bob.wait_for("reconnected")
    check_heard(bob, "pose")
    assert not any(line["event"] == "data_track_ended" for line in bob.events)
    eve = sfu.join(room, "eve")
    eve.wait_for("data_track_published", who="bob", name="wheels")
    eve.do("subscribe_to_data", name="wheels")
    check_pushed(bob, eve, "wheels", itertools.count())


@pytest.mark.parametrize("scenario", ["signal_reconnect", "full_reconnect"])
def test_data_tracks_go_on_when_their_publisher_begins_anew(room, join, scenario):
    ann, bob = join("ann"), join("bob")
    for name in ("pose", "lidar"):
        ann.tell({"do": "publish_data_track", "name": name})
        bob.wait_for("data_track_published", participant="ann", name=name)
        bob.tell({"do": "subscribe_data_track", "track": name})

    def check():
        """From now on frames of both come."""
        def came():
            for name in ("pose", "lidar"):
                ann.tell({"do": "push", "name": name, "payload": "Y29tZQ=="})
            return {line["name"] for line in bob.events[before:] if line["event"] == "data_frame"} == {"pose", "lidar"}

        before = len(bob.events)
        wait_until(came, lambda: f"frames of both\n{bob.transcript()}\n{ann.transcript()}")

    check()
    ann.tell({"do": "simulate", "scenario": scenario})
    ann.wait_for("reconnected")
    check()
    if scenario == "full_reconnect":
        bob.wait_for("participant_disconnected", participant="ann")
    assert not any(line["event"] in ("data_track_ended", "data_track_unpublished") for line in bob.events)


def test_a_data_track_that_is_encrypted_is_not_subscribed_to(sfu, room, join):
    ann, bob = sfu.join(room, "ann", "--key", "known to ann"), join("bob")
    ann.do("publish_data_track", name="pose")
    assert bob.wait_for("data_track_published", participant="ann", name="pose")["encrypted"]
    bob.tell({"do": "subscribe_data_track", "track": "pose"})
    assert "encrypted" in bob.wait_for("command_failed", do="subscribe_data_track")["reason"]


def test_a_data_track_that_its_publisher_does_not_give_is_refused(sfu, room, join):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.do("allow", everybody=False)
    ann.do("publish_data_track", name="pose")
    bob.wait_for("data_track_published", participant="ann", name="pose")
    bob.tell({"do": "subscribe_data_track", "track": "pose"})
    assert "not_allowed" in bob.wait_for("command_failed", do="subscribe_data_track")["reason"]
