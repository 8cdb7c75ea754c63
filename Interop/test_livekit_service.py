"""The room service and the webhooks of `roost serve` for LiveKit's own package for Python, with its SDK in the rooms."""

import json
import time

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from livekit import api
from livekit.protocol.agent_dispatch import ListAgentDispatchRequest, ListAgentDispatchResponse

from peers.livekit_room import KEY, SECRET, Server
from peers.livekit_service import Webhooks, call, perform_rpc, without_nothing
from support.namespace import Namespace
from support.waiting import wait_until


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
    assert service("list_participants", "ListParticipantsRequest", room=room) == {"answer": {}}
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
    gone = service(
        "mute_published_track", "MuteRoomTrackRequest", room=room, identity="ann", track_sid="TR_gone", muted=True)
    assert gone == {"answer": {}}, "no track, and no error"

    one = service("get_participant", "RoomParticipantIdentity", room=room, identity="ann")["answer"]
    assert {track["name"] for track in one["tracks"]} == {"camera", "microphone"}
    assert service("remove_participant", "RoomParticipantIdentity", room=room, identity="ann") == {"answer": {}}
    ann.wait_for("disconnected", reason="PARTICIPANT_REMOVED")
    bob.wait_for("gone", who="ann")
    gone = service("get_participant", "RoomParticipantIdentity", room=room, identity="ann")
    assert (gone["code"], gone["status"]) == ("not_found", 404)


def test_json_is_what_protobuf_makes_of_it(sfu, room):
    grants = api.VideoGrants(room_admin=True, room_list=True, room=room)
    token = api.AccessToken(KEY, SECRET).with_grants(grants).to_jwt()

    def fetch(service, method, body, form):
        headers = {"Content-Type": f"application/{form}", "Authorization": f"Bearer {token}"}
        return sfu.namespace.fetch(f"{sfu.http}/twirp/livekit.{service}/{method}", body, headers)

    def both(method, request, answer, service="RoomService"):
        """The answer in JSON, and what protobuf's own package makes of the same answer in bytes."""
        answer.ParseFromString(fetch(service, method, request.SerializeToString(), "protobuf"))
        return json.loads(fetch(service, method, MessageToJson(request), "json")), MessageToDict(
            answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)

    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.publish()
    bob.check_picture(15)
    ours, expected = both("ListParticipants", api.ListParticipantsRequest(room=room), api.ListParticipantsResponse())
    assert without_nothing(ours) == expected
    assert len(ours["participants"]) == 2 and any(one["tracks"] for one in ours["participants"])
    ours, expected = both("ListRooms", api.ListRoomsRequest(), api.ListRoomsResponse())
    assert without_nothing(ours) == expected and len(ours["rooms"]) >= 1
    fetch("AgentDispatchService", "CreateDispatch", json.dumps({"room": room, "agent_name": "nobody"}), "json")
    ours, expected = both(
        "ListDispatch", ListAgentDispatchRequest(room=room), ListAgentDispatchResponse(), "AgentDispatchService")
    assert without_nothing(ours) == expected and len(ours["agent_dispatches"]) >= 1


def test_permissions_are_taken_away(service, sfu, room):
    ann = sfu.join(room, "ann")
    permission = {"can_subscribe": True, "can_publish": False, "can_publish_data": False}
    service("update_participant", "UpdateParticipantRequest", room=room, identity="ann", permission=permission)
    ann.wait_for("permission", who="ann", may_publish=False)
    ann.do("publish_audio")
    ann.wait_for("not_published", name="microphone")


MODES = pytest.mark.parametrize("mode", [(), ("--dual",)], ids=["single", "dual"])


@pytest.fixture
def permit(service, room):
    """Says anew what somebody in the room may do: all that is not taken away."""
    def ask(identity, **taken):
        permission = {"can_subscribe": True, "can_publish": True, "can_publish_data": True, **taken}
        answer = service(
            "update_participant", "UpdateParticipantRequest", room=room, identity=identity, permission=permission)
        assert "answer" in answer, answer

    return ask


def bytes_of_a_second(server):
    """Sent to everybody."""
    before = server.metrics()["roost_livekit_sent_bytes_total"]
    time.sleep(1)
    return server.metrics()["roost_livekit_sent_bytes_total"] - before


LITTLE = 4_000
"""Bytes that are sent in a second where there is nothing but reports: sound alone is more."""


@MODES
def test_who_may_not_publish_any_more_is_no_longer_seen_until_allowed_again(sfu, room, permit, mode):
    ann, bob = sfu.join(room, "ann", *mode), sfu.join(room, "bob", *mode)
    ann.publish(hertz=880)
    bob.check_picture(15)
    assert bytes_of_a_second(sfu) > LITTLE
    permit("ann", can_publish=False)
    ann.wait_for("permission", who="ann", may_publish=False)
    for name in ("camera", "microphone"):
        bob.wait_for("unpublished", who="ann", name=name)
    # Ann's program goes on sending, but nothing of that goes on.
    wait_until(lambda: bytes_of_a_second(sfu) < LITTLE, "no media is sent")
    ann.do("publish_video", name="refused")
    ann.wait_for("not_published", name="refused")
    permit("ann")
    ann.do("publish_video", name="again")
    ann.wait_for("own_track", name="again")
    bob.wait_for("subscribed", who="ann", name="again")
    bob.check_picture(30, name="again")
    assert not any(line["event"] == "published" and line["name"] == "refused" for line in bob.process.events)


@MODES
def test_who_may_not_subscribe_any_more_is_sent_nothing_until_allowed_again(sfu, room, permit, mode):
    ann, bob = sfu.join(room, "ann", *mode), sfu.join(room, "bob", *mode)
    ann.publish(hertz=880)
    bob.check_picture(15)
    assert bytes_of_a_second(sfu) > LITTLE
    permit("bob", can_subscribe=False)
    bob.wait_for("permission", who="bob", may_subscribe=False)
    # The SDK has no event for it: pictures stop.
    bob.wait_until_still("camera")
    wait_until(lambda: bytes_of_a_second(sfu) < LITTLE, "no media is sent")
    # Whoever may see nobody may still be seen.
    bob.publish(hertz=554)
    ann.check_picture(15)
    ann.check_sound(554)
    for name in ("camera", "microphone"):
        bob.report(name, fresh=True)
    permit("bob")
    bob.check_picture(30)
    bob.check_sound(880)


def test_the_server_calls_a_method_of_somebody(sfu, room):
    ann = sfu.join(room, "ann")
    who = {"destination_identity": "ann", "method": "shout"}
    assert perform_rpc(sfu, room, **who, payload="quiet") == {"answer": {"payload": "QUIET"}}
    assert ann.wait_for("called")["who"].startswith("RPC_"), "nobody's identity, and not none"
    failed = perform_rpc(sfu, room, **who, payload="fail")
    assert (failed["code"], failed["status"]) == ("internal", 500)
    assert failed["message"] == "RpcError 1234: as you like", failed
    unknown = perform_rpc(sfu, room, destination_identity="ann", method="whisper", payload="quiet")
    assert (unknown["code"], unknown["status"]) == ("invalid_argument", 400)
    assert unknown["message"] == "RpcError 1400: Method not supported at destination", unknown
    nobody = perform_rpc(sfu, room, destination_identity="bob", method="shout", payload="quiet")
    assert (nobody["code"], nobody["status"]) == ("not_found", 404)
    unsaid = perform_rpc(sfu, room, method="shout", payload="quiet")
    assert (unsaid["code"], unsaid["status"]) == ("invalid_argument", 400)


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


def test_whoever_dies_before_and_after_coming_is_told_apart():
    """Both are killed: one whose media never came, one who was there."""
    network = Namespace().add_interface()
    hooks = Webhooks(network)
    server = Server(network, "--livekit-webhook", hooks.url)
    try:
        told = server.process.wait_for("listening")
        ann = server.join("kitchen", "ann")
        # From here on no media gets through. Addresses of this host are looked up after the rules.
        network.ip("rule", "add", "pref", 100, "lookup", "local")
        network.ip("rule", "del", "pref", 0)
        for protocol, port in [("udp", told["media_port"]), ("tcp", told["media_tcp_port"])]:
            network.ip("rule", "add", "pref", 10, "ipproto", protocol, "dport", port, "blackhole")
        bob = server.join("kitchen", "bob", wait=False)
        wait_until(
            lambda: "bob" in [one["identity"] for one in people(server)], lambda: f"Bob comes\n{bob.process.transcript()}")
        for one in (bob, ann):
            one.process.kill()

        def events(identity):
            return [
                (event.event, event.participant.identity, api.DisconnectReason.Name(event.participant.disconnect_reason))
                for event in hooks.received() if event.participant.identity == identity
            ]

        wait_until(lambda: len(events("bob")) + len(events("ann")) == 3, lambda: f"{events('ann')}, {events('bob')}")
        assert events("bob") == [("participant_connection_aborted", "bob", "SIGNAL_CLOSE")]
        assert [name for name, *_ in events("ann")] == ["participant_joined", "participant_left"]
        aborted = next(event for event in hooks.received() if event.event == "participant_connection_aborted")
        assert aborted.room.name == "kitchen" and aborted.id and aborted.created_at
    finally:
        code = server.close()
        hooks.close()
        network.close()
    assert code == 0


def people(server):
    return call(server, "room", "list_participants", "ListParticipantsRequest", room="kitchen")["answer"]["participants"]
