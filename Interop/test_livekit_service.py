"""The room service and the webhooks of `roost serve` for LiveKit's own package for Python, with its SDK in the rooms."""

import json
import subprocess
import sys

import pytest
from livekit import api

from peers.livekit_room import KEY, SECRET, Server
from peers.livekit_service import Webhooks, call, without_nothing
from support.waiting import wait_until

# Run inside the namespace: the answer in JSON, and what protobuf's own package makes of the same answer in bytes.
BOTH_FORMS = """
import json, sys, urllib.request
from google.protobuf.json_format import MessageToDict
from livekit import api

url, token, method, kind, fields = sys.argv[1:]
def ask(body, type):
    headers = {"Content-Type": type, "Authorization": "Bearer " + token}
    request = urllib.request.Request(f"{url}/twirp/livekit.RoomService/{method}", body, headers)
    return urllib.request.urlopen(request).read()

message = getattr(api, kind)()
message.ParseFromString(ask(b"\\n" + bytes([len(fields)]) + fields.encode() if fields else b"", "application/protobuf"))
expected = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
print(json.dumps([json.loads(ask(json.dumps({"room": fields} if fields else {}).encode(), "application/json")), expected]))
"""

@pytest.fixture(scope="module")
def hooks(namespace):
    webhooks = Webhooks(namespace)
    yield webhooks
    webhooks.close()


@pytest.fixture(scope="module")
def sfu(namespace, hooks):
    server = Server(namespace, "--livekit-webhook", hooks.url)
    yield server
    assert server.close() == 0


@pytest.fixture
def service(sfu):
    return lambda method, message, **fields: call(sfu, "room", method, message, **fields)


def test_rooms_are_made_and_ended(service, room):
    made = service("create_room", "CreateRoomRequest", name=room, metadata="warm", max_participants=3)["answer"]
    assert made["name"] == room and made["sid"].startswith("RM_") and made["metadata"] == "warm"
    listed = service("list_rooms", "ListRoomsRequest", names=[room])["answer"]["rooms"]
    assert [one["sid"] for one in listed] == [made["sid"]]
    assert service("delete_room", "DeleteRoomRequest", room=room) == {"answer": {}}
    assert service("list_rooms", "ListRoomsRequest", names=[room])["answer"].get("rooms", []) == []
    assert service("delete_room", "DeleteRoomRequest", room=room)["code"] == "not_found"


def test_another_secret_is_refused(service):
    refused = service("list_rooms", "ListRoomsRequest", secret="another secret that is as long as the first")
    assert (refused["code"], refused["status"]) == ("unauthenticated", 401)


def test_participants_are_listed_changed_muted_and_removed(service, sfu, room):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    _, microphone = ann.publish()
    bob.check_picture(15)
    people = service("list_participants", "ListParticipantsRequest", room=room)["answer"]["participants"]
    assert {one["identity"] for one in people} == {"ann", "bob"}

    service("update_participant", "UpdateParticipantRequest", room=room, identity="ann", name="Ann")
    bob.wait_for("named", who="ann", name="Ann")
    service("update_room_metadata", "UpdateRoomMetadataRequest", room=room, metadata="late")
    bob.wait_for("metadata", metadata="late")

    muted = service(
        "mute_published_track", "MuteRoomTrackRequest", room=room, identity="ann", track_sid=microphone, muted=True)
    assert muted["answer"]["track"]["muted"]
    bob.wait_for("muted", who="ann", name="microphone")

    one = service("get_participant", "RoomParticipantIdentity", room=room, identity="ann")["answer"]
    assert {track["name"] for track in one["tracks"]} == {"camera", "microphone"}
    assert service("remove_participant", "RoomParticipantIdentity", room=room, identity="ann") == {"answer": {}}
    ann.wait_for("disconnected", reason="PARTICIPANT_REMOVED")
    bob.wait_for("gone", who="ann")
    gone = service("get_participant", "RoomParticipantIdentity", room=room, identity="ann")
    assert (gone["code"], gone["status"]) == ("not_found", 404)


def test_json_is_what_protobuf_makes_of_it(sfu, room):
    def both(method, kind, room=""):
        grants = api.VideoGrants(room_admin=True, room_list=True, room=room)
        token = api.AccessToken(KEY, SECRET).with_grants(grants).to_jwt()
        command = sfu.namespace.command(sys.executable, "-c", BOTH_FORMS, sfu.http, token, method, kind, room)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.publish()
    bob.check_picture(15)
    ours, expected = both("ListParticipants", "ListParticipantsResponse", room)
    assert without_nothing(ours) == expected
    assert len(ours["participants"]) == 2 and any(one["tracks"] for one in ours["participants"])
    ours, expected = both("ListRooms", "ListRoomsResponse")
    assert without_nothing(ours) == expected and len(ours["rooms"]) >= 1


def test_permissions_are_taken_away(service, sfu, room):
    ann = sfu.join(room, "ann")
    permission = {"can_subscribe": True, "can_publish": False, "can_publish_data": False}
    service("update_participant", "UpdateParticipantRequest", room=room, identity="ann", permission=permission)
    ann.wait_for("permission", who="ann", may_publish=False)
    ann.do("publish_audio")
    ann.wait_for("not_published", name="microphone")


def test_the_server_sends_data(service, sfu, room):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    # ParseDict takes bytes in base64.
    service("send_data", "SendDataRequest", room=room, data="aGVsbG8=", kind="RELIABLE", topic="news",
            destination_identities=["ann"])
    ann.wait_for("data", text="hello", topic="news", who=None)
    assert not any(line["event"] == "data" for line in bob.process.events)


def test_a_room_that_is_deleted_sends_everybody_away(service, sfu, room):
    ann = sfu.join(room, "ann")
    service("delete_room", "DeleteRoomRequest", room=room)
    ann.wait_for("disconnected", reason="ROOM_DELETED")


def test_events_are_posted_signed_and_in_order(sfu, room, hooks, service):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.do("publish_audio")
    bob.wait_for("subscribed", name="microphone")
    ann.leave()
    bob.wait_for("gone", who="ann")
    service("delete_room", "DeleteRoomRequest", room=room)

    def events():
        return [
            event.event for event in hooks.received()
            if event.room.name == room and event.participant.identity in ("", "ann")
        ]

    wait_until(lambda: "room_finished" in events(), "the last webhook has come")
    seen = events()
    assert seen[0] == "room_started" and seen[-1] == "room_finished", seen
    in_order = ["participant_joined", "track_published", "track_unpublished", "participant_left"]
    assert [name for name in seen if name in in_order] == in_order, seen
    left = next(event for event in hooks.received() if event.event == "participant_left" and event.room.name == room
                and event.participant.identity == "ann")
    assert left.participant.disconnect_reason == api.DisconnectReason.CLIENT_INITIATED
