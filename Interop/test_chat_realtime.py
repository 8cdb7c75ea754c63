"""The realtime socket of `roost serve --data` by itself: who may open it, what it is told, and what ends it."""

import contextlib
import json
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from peers.chat import Chat, Socket, check_order, done, fence, sequences
from support.waiting import wait_until


# Opening it


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_opens_no_socket(team, chat, origin):
    with pytest.raises(InvalidStatus) as refusal:
        Socket(chat, f"?token={team[0].token}", origin=origin)
    assert refusal.value.response.status_code == 403
    assert b'"other_origin"' in refusal.value.response.body


def test_a_page_of_the_servers_own_opens_one(team, chat):
    team[0].socket(origin=chat.process.url).settle()


def test_the_token_may_come_in_the_first_frame_and_frames_may_be_binary(team, chat):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    newest = ann.say(channel, "seen")["sequence"]
    missed = ann.say(channel, "missed")
    socket = Socket(chat)
    # As URLSession sends `.data`.
    socket.send("authenticate", token=bob.token, resume={workspace: newest}, binary=True)
    socket.greeted()
    assert socket.frames[0]["data"] == {"user_id": bob.id, "workspace_ids": [workspace]}
    assert sequences(socket.events(workspace)) == [missed["sequence"]]
    # The seed's clients write identifiers in upper case.
    socket.send("send_message", id=7, binary=True, channel_id=channel.upper(), content="by bytes")
    assert socket.wait_for("ack", content="by bytes")["id"] == "7"
    assert ann.history(channel)[-1]["content"] == "by bytes"


@pytest.mark.parametrize("first", [
    {"type": "ping", "data": {}}, {"type": "authenticate", "data": {"token": "a.b.c"}}, {"type": "authenticate"},
])
def test_whoever_does_not_say_who_they_are_is_closed(chat, first):
    socket = Socket(chat)
    socket.send(first["type"], **first.get("data", {}))
    assert socket.wait_closed() == 4001
    assert [(frame["type"], frame["data"]["code"]) for frame in socket.frames] == [("error", "bad_token")]


@pytest.mark.parametrize("token", ["", "a.b.c"])
def test_a_wrong_token_in_the_address_is_refused(chat, token):
    with pytest.raises(InvalidStatus) as refusal:
        Socket(chat, f"?token={token}")
    assert refusal.value.response.status_code == 401


# Frames


def test_every_frame_with_an_id_has_one_answer(team):
    ann, _, workspace = team
    channel, socket = ann.general(workspace), ann.socket()
    assert socket.ask("join_channel", channel_id=channel) == {"type": "ack", "id": "n1", "data": {}}
    assert socket.ask("authenticate", token=ann.token)["data"]["code"] == "logged_in"
    told = socket.ask("send_message", channel_id=channel, content=" ")["data"]
    assert (told["code"], told["field"]) == ("invalid_content", "content")
    assert socket.ask("mark_read", channel_id=channel, last_read=-1)["data"]["code"] == "invalid_last_read"
    socket.send("ping")
    assert socket.wait_for("pong")["data"] == {}


@pytest.mark.parametrize("frame, code", [
    ({"type": "sing", "data": {}}, "invalid_body"),
    ({"type": "typing"}, "invalid_body"),
    ({"type": "typing", "data": {"channel_id": "here"}}, "invalid_body"),
    ({"type": "send_message", "data": {"channel_id": "019396a8-0000-7000-8000-000000000000"}}, "invalid_body"),
    ({"data": {}}, "invalid_body"),
])
def test_a_frame_that_is_not_understood_is_answered_by_its_id(team, frame, code):
    socket = team[0].socket()
    socket.send_raw(json.dumps(frame | {"id": "mine"}))
    told = socket.wait_for("error")
    assert told["data"]["code"] == code, told
    socket.settle()
    assert told.get("id") == "mine", told


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"a"', "[" * 100_000, '{"a":' * 20_000, b"\xff\xfe{", b"\x00"])
def test_what_is_no_frame_is_an_error_and_no_more(team, text):
    socket = team[0].socket()
    socket.send_raw(text)
    assert socket.wait_for("error")["data"]["code"] == "not_json"
    socket.settle()


def test_a_workspace_that_is_not_there_or_not_ones_own_is_resumed_by_nobody(team, chat):
    ann, _, workspace = team
    other = chat.person("cid").workspace()["workspace"]["id"]
    socket = ann.socket()
    for id in (other, "019396a8-0000-7000-8000-000000000000"):
        count = len(socket.frames)
        socket.send("resume", id="7", workspaces={id: 0})
        socket.settle()
        assert not {"following", "resuming"} & {frame["type"] for frame in socket.frames[count:]}
    fence(ann, ann.general(workspace), socket)


# Looking at a channel without being in it


def test_who_looks_at_a_channel_sees_what_is_written_until_they_turn_away(team):
    ann, bob, workspace = team
    channel, general, socket = ann.channel(workspace), ann.general(workspace), bob.socket()
    ann.say(channel, "unseen")
    assert socket.ask("join_channel", channel_id=channel)["type"] == "ack"
    ann.say(channel, "seen")
    socket.wait_for("message_sent", content="seen")
    assert socket.ask("leave_channel", channel_id=channel)["type"] == "ack"
    ann.say(channel, "unseen as well")
    fence(ann, general, socket)
    assert not any(frame["data"].get("content", "").startswith("unseen") for frame in socket.frames)


def test_who_resumes_goes_on_looking_and_does_so_once_a_second(team):
    ann, bob, workspace = team
    channel, socket = ann.channel(workspace), bob.socket()
    seen = ann.say(ann.general(workspace), "seen")["sequence"]
    assert socket.ask("join_channel", channel_id=channel)["type"] == "ack"
    # The second is there when the first is done.
    for id in ("first", "second"):
        socket.send("resume", id=id, workspaces={workspace: seen})
    too_soon = socket.wait_for("error", code="too_many_requests")
    assert too_soon["id"] == "second"
    socket.wait_for("ack", where=lambda frame: frame["id"] == "first")
    ann.say(channel, "still seen")
    socket.wait_for("message_sent", content="still seen")
    time.sleep(1)
    assert socket.ask("resume", workspaces={workspace: seen})["type"] == "ack"


def test_who_looks_at_a_channel_and_joins_it_sees_everything_once(team):
    ann, bob, workspace = team
    channel, socket = ann.channel(workspace), bob.socket()
    assert socket.ask("join_channel", channel_id=channel)["type"] == "ack"
    done(bob.post(f"/channels/{channel}/join"))
    socket.wait_for("channel_joined")
    fence(ann, channel, socket)
    socket.settle()
    check_order(socket, workspace)


@pytest.mark.parametrize("how", ["removed", "made a guest"])
def test_who_looks_at_a_channel_and_may_no_longer_sees_nothing_more(team, chat, how):
    ann, bob, workspace = team
    channel, cid = ann.channel(workspace), chat.person("cid")
    ann.bring(workspace, cid)
    done(cid.post(f"/channels/{channel}/join"))
    socket, other = bob.socket(), cid.socket()
    assert socket.ask("join_channel", channel_id=channel)["type"] == "ack"
    member = f"/workspaces/{workspace}/members/{bob.id}"
    if how == "removed":
        done(ann.delete(member), 204)
        socket.wait_for("member_left", user_id=bob.id)
    else:
        done(ann.patch(member, role="guest"))
        socket.wait_for("member_updated", role="guest")
    ann.say(channel, "a secret")
    fence(ann, channel, other)
    socket.settle()
    assert "a secret" not in [frame["data"].get("content") for frame in socket.frames], socket.transcript()


def test_a_guest_sees_the_channels_they_were_put_into_and_who_is_there(team, chat):
    ann, bob, workspace = team
    shared, cid = ann.channel(workspace), chat.person("cid")
    ann.bring(workspace, cid, role="guest", channel_ids=[shared])
    guest, with_bob = cid.socket(), bob.socket()
    with_ann = ann.socket()
    guest.wait_for("presence_changed", user_id=ann.id, is_online=True)
    ann.say(ann.general(workspace), "for members")
    done(bob.patch("/users/me", status_text="busy with cards"))
    fence(ann, shared, guest, with_ann)
    text = json.dumps(guest.frames)
    assert "for members" not in text and bob.id not in text and "general" not in text, guest.transcript()
    check_order(guest, workspace)
    # Put into a channel of somebody who has been there all the time, and out of it again.
    other = bob.channel(workspace)
    done(bob.post(f"/channels/{other}/members", user_id=cid.id), 204)
    guest.wait_for("presence_changed", user_id=bob.id, is_online=True)
    done(bob.delete(f"/channels/{other}/members/{cid.id}"), 204)
    guest.wait_for("presence_changed", user_id=bob.id, is_online=False)
    with_bob.close()


@pytest.mark.parametrize("how", ["removed", "gone"])
def test_a_guest_who_leaves_the_workspace_is_told(team, chat, how):
    ann, _, workspace = team
    cid = chat.person("cid")
    ann.bring(workspace, cid, role="guest", channel_ids=[ann.channel(workspace)])
    guest = cid.socket()
    done((ann if how == "removed" else cid).delete(f"/workspaces/{workspace}/members/{cid.id}"), 204)
    guest.wait_for("member_left", user_id=cid.id)


# Too much


def large(channel, person, count):
    """Messages of 48 KB each."""
    return [person.say(channel, f"{number:04d}" + "🌻" * 11_900)["id"] for number in range(count)]


def test_who_has_missed_nearly_two_mebibytes_comes_back_to_all_of_them(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    newest = ann.say(channel, "seen")["sequence"]
    sent = large(channel, ann, 40)
    socket = bob.socket(resume={workspace: newest})
    socket.settle()
    assert [event["data"]["id"] for event in socket.events(workspace)] == sent


def test_who_does_not_read_is_dropped_and_nobody_waits_for_them(team, chat):
    ann, bob, workspace = team
    channel, with_ann, cid = ann.general(workspace), ann.socket(), chat.person("cid")
    ann.bring(workspace, cid)
    stuck = Socket(chat, f"?token={bob.token}", reads=False)
    sent = large(channel, ann, 150) + large(channel, cid, 150)
    with_ann.wait_for("message_sent", id=sent[-1])
    received = stuck.read_late()
    assert stuck.code in (4008, 1006) and len(received) < len(sent), (stuck.code, len(received))


def test_who_has_missed_more_than_fits_reads_it_anew(team, chat):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    before = ann.say(channel, "before")["sequence"]
    large(channel, ann, 50)
    newest = ann.say(channel, "after")["sequence"]
    socket = Socket(chat, f"?token={bob.token}&resume={workspace}:{before}").greeted()
    assert socket.wait_for("reload_needed", workspace_id=workspace)["data"]["sequence"] >= newest
    assert "message_sent" not in [frame["type"] for frame in socket.frames]


def comes_in(chat, person):
    socket = Socket(chat, f"?token={person.token}")
    try:
        socket.greeted()
        return True
    except AssertionError:
        return False


def test_nobody_has_more_than_32_sockets(team, chat):
    ann, bob, _ = team
    sockets = [ann.socket() for _ in range(32)]
    assert Socket(chat, f"?token={ann.token}").wait_closed() == 4009
    # Others are not disturbed, and where one closes there is room again.
    bob.socket().settle()
    sockets[0].close()
    sockets[0].wait_closed()
    wait_until(lambda: comes_in(chat, ann), lambda: "there was no room again")
    sockets[-1].settle()


def test_a_flood_ends_the_socket_and_no_other(team):
    ann, bob, _ = team
    socket, other = ann.socket(), bob.socket()
    with contextlib.suppress(ConnectionClosed):
        for _ in range(2_000):
            socket.send("ping")
    assert socket.wait_closed() in (4029, 1008)
    other.settle()


def test_a_frame_beyond_256_kib_ends_the_socket(team):
    socket = team[0].socket()
    socket.send("ping", text="x" * (255 << 10))
    socket.settle()
    with contextlib.suppress(ConnectionClosed):
        socket.send("ping", text="x" * (257 << 10))
    assert socket.wait_closed() == 1009


def test_a_server_that_goes_down_says_so(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    ann = chat.person("ann")
    ann.workspace()
    socket = ann.socket()
    chat.process.interrupt()
    assert socket.wait_closed() == 1001
    assert chat.process.wait() == 0
