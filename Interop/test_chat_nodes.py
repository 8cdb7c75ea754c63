"""Two servers of one database and one Redis behave as one: what happens at one of them is seen at the other at once."""

import concurrent.futures
import json
import secrets
import statistics
import time

import pytest

from peers.chat import PASSWORD, check_order, done, fence, refused
from peers.chat_nodes import AT_ONCE, online, told_of, wait_online
from support.waiting import PATIENCE

GRACE = 10
"""Seconds after which somebody without a connection is gone."""


@pytest.fixture
def team(nodes):
    """Ann at the first server, Bob at the second, and Ann's workspace, of which both are."""
    first, second = nodes.chats
    ann, bob = first.person("ann"), second.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    return ann, bob, workspace


def somebody(chat, ann, workspace, name="cid", **options):
    """One more in the workspace, who asks this server."""
    person = chat.person(name)
    ann.bring(workspace, person, **options)
    return person


# Events


def test_what_is_said_at_one_server_is_heard_at_the_other_at_once(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    with_ann, with_bob = ann.socket(), bob.socket()
    for speaker, listener in ((ann, with_bob), (bob, with_ann)):
        seconds = []
        for number in range(20):
            sent = speaker.say(channel, f"number {number}")
            began = time.monotonic()
            told = listener.wait_for("message_sent", id=sent["id"])
            seconds.append(time.monotonic() - began)
            assert told["sequence"] == sent["sequence"] and told["data"] == sent
        assert statistics.median(seconds) < AT_ONCE, seconds
    by_frame = with_bob.ask("send_message", channel_id=channel, content="by a frame")["data"]
    with_ann.wait_for("message_sent", id=by_frame["id"])
    fence(ann, channel, with_ann, with_bob)
    for socket in (with_ann, with_bob):
        check_order(socket, workspace)
    assert with_ann.events(workspace) == with_bob.events(workspace)


def test_what_becomes_of_a_message_is_seen_at_both(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    with_ann, with_bob = ann.socket(), bob.socket()
    first = ann.say(channel, f"@{bob.username} how?")
    answer = bob.say(channel, "so", thread_id=first["id"])
    with_ann.wait_for("message_sent", id=answer["id"], thread_id=first["id"])
    done(bob.put(f"/messages/{first['id']}/reactions/%F0%9F%91%8D"))
    with_ann.wait_for("reaction_added", message_id=first["id"], user_id=bob.id)
    tag = bob.get(f"/messages/{answer['id']}").headers["ETag"]
    done(bob.at(ann.chat).patch(f"/messages/{answer['id']}", version=tag, content="not so"))
    with_ann.wait_for("message_edited", id=answer["id"], content="not so")
    refused(bob.patch(f"/messages/{answer['id']}", version=tag, content="late"), 412, "outdated")
    done(ann.delete(f"/messages/{first['id']}"), 204)
    with_bob.wait_for("message_deleted", message_id=first["id"])


def test_sending_twice_at_two_servers_is_sending_once(team, nodes):
    ann, _, workspace = team
    channel = ann.general(workspace)
    both = [ann.at(chat) for chat in nodes.chats]
    once = ann.say(channel, "once", client_id="a-name")
    assert done(both[1].post(f"/channels/{channel}/messages", content="twice", client_id="a-name")) == once
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for number in range(10):
            def send(who, name=f"at-once-{number}"):
                return who.post(f"/channels/{channel}/messages", content=name, client_id=name)

            answers = list(pool.map(send, both * 2))
            assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201], answers
            assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(ann.history(channel)) == 11


def test_what_was_missed_at_one_server_is_caught_up_with_at_the_other(team, nodes):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    before = bob.at(nodes.chats[0]).socket()
    seen = ann.say(channel, "seen")
    before.wait_for("message_sent", id=seen["id"])
    before.close()
    missed = [ann.say(channel, f"missed {number}")["sequence"] for number in range(5)]
    after = bob.socket(resume={workspace: seen["sequence"]})
    assert after.wait_for("resuming", workspace_id=workspace)["data"]["sequence"] == seen["sequence"]
    fence(ann, channel, after)
    assert [event["sequence"] for event in after.events(workspace)][:5] == missed
    check_order(after, workspace)


def test_who_comes_into_a_workspace_at_one_server_follows_it_at_the_other(nodes):
    first, second = nodes.chats
    ann, bob = first.person("ann"), second.person("bob")
    phone = bob.at(first).socket()
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    phone.wait_for("following", workspace_id=workspace)
    said = ann.say(ann.general(workspace))
    phone.wait_for("message_sent", id=said["id"])


def test_who_is_put_out_at_one_server_hears_nothing_more_at_the_other(team, nodes):
    ann, bob, workspace = team
    cid = somebody(nodes.chats[1], ann, workspace)
    with_bob, with_cid = bob.socket(), cid.socket()
    done(ann.delete(f"/workspaces/{workspace}/members/{bob.id}"), 204)
    with_bob.wait_for("member_left", user_id=bob.id)
    count = len(with_bob.frames)
    fence(ann, ann.general(workspace), with_cid)
    with_bob.settle()
    assert [frame["type"] for frame in with_bob.frames[count:]] == ["pong"], with_bob.transcript()


def test_who_looks_at_a_channel_at_one_server_sees_what_is_written_at_the_other(team):
    ann, bob, workspace = team
    channel, with_bob = ann.channel(workspace), bob.socket()
    assert with_bob.ask("join_channel", channel_id=channel)["type"] == "ack"
    said = ann.say(channel, "seen")
    with_bob.wait_for("message_sent", id=said["id"])


def test_a_file_that_comes_in_parts_to_both_is_whole_at_both(team, nodes):
    ann, bob, workspace = team
    channel, with_bob, both = ann.general(workspace), bob.socket(), [ann.at(chat) for chat in nodes.chats]
    data = secrets.token_bytes(400_000)
    upload = done(ann.post(f"/channels/{channel}/uploads", name="plan.bin", size=len(data)), 201)["id"]
    for number in range(4):
        offset = 100_000 * number
        part = both[number % 2].ask("PATCH", f"/uploads/{upload}", data=data[offset:offset + 100_000], headers={
            "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"})
        assert part.status_code == 204, part.text
    file = done(both[0].post(f"/uploads/{upload}/complete"), 201)
    sent = ann.say(channel, "", file_ids=[file["id"]])
    with_bob.wait_for("message_sent", id=sent["id"])
    url = done(bob.get(f"/files/{file['id']}/link"))["url"]
    for chat in nodes.chats:
        assert bob.session.get(chat.process.url + url, timeout=PATIENCE).content == data


# Presence


def test_who_comes_at_one_server_is_there_at_the_other(team, nodes):
    ann, bob, workspace = team
    cid = somebody(nodes.chats[1], ann, workspace)
    with_cid = cid.socket()
    with_ann = ann.socket()
    with_cid.wait_for("presence_changed", workspace_id=workspace, user_id=ann.id, is_online=True)
    with_bob = bob.socket()
    told = with_bob.wait_for("following", workspace_id=workspace)["data"]["online"]
    assert told == sorted([ann.id, bob.id, cid.id])
    with_ann.wait_for("presence_changed", workspace_id=workspace, user_id=bob.id, is_online=True)
    wait_online(workspace, [ann, bob, cid], with_ann, with_bob, with_cid)


def test_the_first_who_follows_a_workspace_at_a_server_hears_who_is_at_the_other(team):
    ann, bob, workspace = team
    with_ann = ann.socket()
    with_bob = bob.socket()
    wait_online(workspace, [ann, bob], with_ann, with_bob)


def test_who_has_a_device_at_the_other_server_is_still_there(team, nodes):
    first, second = nodes.chats
    ann, bob, workspace = team
    cid, dan = somebody(second, ann, workspace), somebody(first, ann, workspace, "dan")
    witnesses = [ann.socket(), cid.socket()]
    phone, pad, moving = bob.at(first).on_another_device().socket(), bob.socket(), dan.socket()
    tablet = dan.on_another_device()
    wait_online(workspace, [ann, bob, cid, dan], *witnesses)
    # Of a call between two, who has no device left has hung up.
    call = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id, kind="peer"), 201)["call"]
    done(bob.post(f"/calls/{call['id']}/join"))
    counts = [len(witness.frames) for witness in witnesses]
    phone.close()
    moving.close()
    of_dan = [dan.at(second).socket()]
    time.sleep(GRACE + 3)
    for witness, count in zip(witnesses, counts):
        assert False not in told_of(bob, witness, count) + told_of(dan, witness, count), witness.transcript()
    assert not done(ann.get(f"/calls/{call['id']}")).get("ended_at")
    # The one loses his last, the other both of his at once.
    of_dan.append(tablet.socket())
    for socket in [pad, *of_dan]:
        socket.close()
    closed = time.monotonic()
    for witness, count in zip(witnesses, counts):
        for person in (bob, dan):
            witness.wait_for("presence_changed", after=count, user_id=person.id, is_online=False)
    assert time.monotonic() - closed > GRACE - 1
    assert witnesses[0].wait_for("call_ended", id=call["id"])["data"]["end_reason"] == "completed"
    back = bob.socket()
    wait_online(workspace, [ann, bob, cid], *witnesses, back)
    for witness, count in zip(witnesses, counts):
        assert told_of(bob, witness, count).count(False) == 1, witness.transcript()
        assert told_of(dan, witness, count).count(False) == 1, witness.transcript()


def test_who_hides_at_one_server_is_not_seen_at_the_other(team, nodes):
    first, second = nodes.chats
    ann, bob, workspace = team
    cid = somebody(second, ann, workspace)
    witnesses = [ann.socket(), cid.socket()]
    with_bob = bob.socket()
    wait_online(workspace, [ann, bob, cid], *witnesses)
    done(bob.at(first).patch("/users/me", status="offline"))
    wait_online(workspace, [ann, cid], *witnesses)
    counts = [len(witness.frames) for witness in witnesses]
    # Neither does who comes later see him, nor is anybody told of another device.
    later = [ann.at(second).socket(), cid.at(first).socket()]
    tablet = bob.at(first).on_another_device().socket()
    fence(ann, ann.general(workspace), *witnesses, *later, tablet)
    for witness, count in zip(witnesses, counts):
        assert told_of(bob, witness, count) == [], witness.transcript()
    for witness in later:
        assert bob.id not in online(witness, workspace), witness.transcript()
    done(bob.patch("/users/me", status="busy"))
    wait_online(workspace, [ann, bob, cid], *witnesses, *later)
    with_bob.settle()


def test_a_guest_sees_who_shares_a_channel_at_whatever_server(team, nodes):
    first, second = nodes.chats
    ann, bob, workspace = team
    shared = ann.channel(workspace)
    cid = somebody(second, ann, workspace, role="guest", channel_ids=[shared])
    guest = cid.socket()
    with_ann, hidden = ann.socket(), bob.at(first).socket()
    guest.wait_for("presence_changed", workspace_id=workspace, user_id=ann.id, is_online=True)
    wait_online(workspace, [ann, bob, cid], with_ann, hidden)
    later = cid.at(first).socket()
    wait_online(workspace, [ann, cid], guest, later)
    fence(ann, shared, guest, later)
    for socket in (guest, later):
        assert bob.id not in json.dumps(socket.frames), socket.transcript()


# Typing


def test_typing_at_one_server_is_seen_at_the_other_and_ends_by_itself(team, nodes):
    first, second = nodes.chats
    ann, bob, workspace = team
    private, cid = ann.channel(workspace, kind="private"), somebody(second, ann, workspace)
    done(ann.post(f"/channels/{private}/members", user_id=bob.id), 204)
    with_ann, with_bob, outsider = ann.socket(), bob.socket(), cid.socket()
    her_other, his_other = ann.at(second).socket(), bob.at(first).socket()
    everybody = [with_ann, with_bob, her_other, his_other]
    fence(ann, private, *everybody)

    with_ann.send("typing", channel_id=private)
    seen = with_bob.wait_for("user_typing", channel_id=private, user_id=ann.id)
    assert "sequence" not in seen
    began = time.monotonic()
    assert with_ann.ask("stop_typing", channel_id=private)["type"] == "ack"
    with_bob.wait_for("user_stopped_typing", channel_id=private, user_id=ann.id)
    assert time.monotonic() - began < 5
    # Of a thread, the other way round, and with nothing said of its end.
    thread = ann.say(private, "a thread")["id"]
    with_bob.send("typing", channel_id=private, thread_id=thread)
    with_ann.wait_for("user_typing", channel_id=private, user_id=bob.id, thread_id=thread)
    # Each server forgets him by its own clock, and his next word shall come after both have.
    for socket in (with_ann, her_other):
        socket.wait_for("user_stopped_typing", channel_id=private, user_id=bob.id)
    assert with_bob.ask("typing", channel_id=private)["type"] == "ack"
    assert with_bob.ask("stop_typing", channel_id=private)["type"] == "ack"
    his_typing = ["user_typing", "user_stopped_typing"] * 2
    with_ann.wait_for("user_stopped_typing", after=next(
        place for place, frame in enumerate(with_ann.frames) if frame["type"] == "user_stopped_typing") + 1)
    fence(ann, private, *everybody)
    fence(ann, ann.general(workspace), outsider)

    def typing(socket):
        return [frame["type"] for frame in list(socket.frames) if "typing" in frame["type"]]

    # Each sees the other, on all devices and once, and nobody else does.
    assert typing(with_ann) == typing(her_other) == his_typing
    assert typing(with_bob) == typing(his_other) == his_typing[:2]
    assert typing(outsider) == []
    assert outsider.ask("typing", channel_id=private)["data"]["code"] == "channel_not_found"


# How often somebody may ask


def test_passwords_are_counted_at_all_servers_together(team, nodes):
    ann, bob, _ = team
    began, tried, answer = time.monotonic(), 0, None
    strangers = [chat.stranger() for chat in nodes.chats]
    # From one address: each has tries of its own.
    strangers[1].session = strangers[0].session
    while tried < 40:
        answer = strangers[tried % 2].post("/auth/login", login=ann.username, password=f"guess {tried}")
        if answer.status_code == 429:
            break
        refused(answer, 401, "wrong_credentials")
        tried += 1
    refused(answer, 429, "too_many_requests")
    assert int(answer.headers["Retry-After"]) >= 1
    # One comes back every 30 seconds.
    assert 10 <= tried <= 10 + (time.monotonic() - began) / 30, tried
    bob.on_another_device()


def test_requests_are_counted_at_all_servers_together(team, nodes):
    ann, bob, _ = team
    both = [ann.at(chat) for chat in nodes.chats]
    began, statuses = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        while statuses.count(429) < 20 and len(statuses) < 2_000:
            asked = pool.map(lambda number: both[number % 2].get("/users/me"), range(40))
            statuses += [answer.status_code for answer in asked]
        seconds = time.monotonic() - began
    assert set(statuses) == {200, 429}, set(statuses)
    # 200 at once and 20 a second; each server alone would let as many pass.
    assert 150 <= statuses.count(200) <= 230 + 20 * seconds, (statuses.count(200), seconds)
    done(bob.get("/users/me"))


# Sessions


def log_out(person, first):
    done(person.at(first).post("/auth/logout"), 204)


def log_out_everywhere(person, first):
    done(person.at(first).on_another_device().post("/auth/logout_all"), 204)


def end_the_session(person, first):
    tablet = person.at(first).on_another_device()
    session = next(one for one in done(tablet.get("/auth/sessions"))["items"] if not one["is_current"])
    done(tablet.delete(f"/auth/sessions/{session['id']}"), 204)


def choose_a_password(person, first):
    tablet = person.at(first).on_another_device()
    body = {"current_password": PASSWORD, "password": "another password"}
    done(tablet.post("/auth/change_password", **body), 204)


def leave_the_server(person, first):
    done(person.at(first).on_another_device().delete("/users/me"), 204)


def use_a_refresh_token_again(person, first):
    stolen, at_first = person.refresh_token, person.at(first)
    at_first.take(done(at_first.post("/auth/refresh", refresh_token=stolen)))
    done(at_first.get("/users/me"))
    refused(first.stranger().post("/auth/refresh", refresh_token=stolen), 401, "session_over")


@pytest.mark.parametrize("ends", [
    log_out, log_out_everywhere, end_the_session, choose_a_password, leave_the_server, use_a_refresh_token_again])
def test_a_session_that_is_ended_at_one_server_is_over_at_the_other(nodes, ends):
    first, second = nodes.chats
    seconds = []
    for _ in range(3):
        person = second.person("bob")
        socket = person.socket()
        ends(person, first)
        began = time.monotonic()
        assert socket.wait_closed() == 4001
        seconds.append(time.monotonic() - began)
        refused(person.get("/users/me"), 401, "session_over")
    assert statistics.median(seconds) < AT_ONCE, seconds


def test_what_is_read_at_one_server_is_read_at_the_other(team, nodes):
    first, _ = nodes.chats
    ann, bob, workspace = team
    channel = ann.general(workspace)
    messages = [ann.say(channel, f"number {number}") for number in range(3)]
    phone, pad, other = bob.at(first).socket(), bob.on_another_device().socket(), ann.socket()
    done(bob.at(first).put(f"/channels/{channel}/read", last_read=messages[1]["sequence"]), 204)
    for socket in (phone, pad):
        socket.wait_for("channel_read", channel_id=channel, last_read=messages[1]["sequence"])
    assert pad.ask("mark_read", channel_id=channel, last_read=messages[2]["sequence"])["type"] == "ack"
    phone.wait_for("channel_read", channel_id=channel, last_read=messages[2]["sequence"])
    fence(ann, channel, other)
    assert "channel_read" not in other.types()
