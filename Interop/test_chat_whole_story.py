"""One story of two people from their accounts to a call, through HTTP and WebSocket alone: with a file, a phone that is
pushed to, a room that is joined with the call's ticket, and a way back to everything that was missed."""

import secrets

import pytest

from peers.apns import TOPIC, APNs
from peers.chat import Chat, check_order, done
from support.command import RoostProcesses
from support.waiting import PATIENCE


@pytest.fixture
def apns(tmp_path):
    service = APNs(tmp_path)
    yield service
    service.close()


@pytest.fixture
def processes():
    started = RoostProcesses()
    yield started
    started.close()


def test_from_an_account_to_a_call_and_back_without_a_gap(apns, processes, tmp_path):
    folder = tmp_path / "data"
    chat = Chat(
        processes.serve("--data", folder, "--rooms", "--media-port", 0, "--media-tcp-port", 0, *apns.options), folder)

    # Two people register, one invites.
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace("Harbour")["workspace"]["id"]
    with_ann, with_bob = ann.socket(), bob.socket()
    done(bob.post("/invitations/accept", token=ann.invite(workspace)))
    with_bob.wait_for("following", workspace_id=workspace)
    with_ann.wait_for("member_joined")

    # A channel, a message, its thread, an answer by emoji, an edit; all of it is found again.
    channel = ann.channel(workspace, "pier-7")
    done(bob.post(f"/channels/{channel}/join"))
    first = ann.say(channel, "the ferry leaves at nine")
    assert with_bob.wait_for("message_sent", id=first["id"])["data"]["content"] == first["content"]
    answer = done(bob.post(f"/channels/{channel}/messages", content="which pier?", thread_id=first["id"]), 201)
    with_ann.wait_for("message_sent", id=answer["id"])
    done(bob.put(f"/messages/{first['id']}/reactions/%E2%9B%B4"))
    assert with_ann.wait_for("reaction_added", message_id=first["id"])["data"]["reaction"]["user_ids"] == [bob.id]
    done(ann.patch(f"/messages/{first['id']}", content="the ferry leaves at ten", version=f'"{first["version"]}"'))
    with_bob.wait_for("message_edited", id=first["id"])
    found = done(bob.get(f"/workspaces/{workspace}/search", query="ferry ten"))["items"]
    assert [one["message"]["id"] for one in found] == [first["id"]] and found[0]["message"]["reply_count"] == 1

    # A file, and somebody who writes.
    data = secrets.token_bytes(100_000)
    upload = done(ann.post(
        f"/channels/{channel}/uploads", name="plan.bin", media_type="application/octet-stream", size=len(data)), 201)
    part = ann.ask("PATCH", f"/uploads/{upload['id']}", data=data, headers={
        "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"})
    assert part.status_code == 204, part.text
    file = done(ann.post(f"/uploads/{upload['id']}/complete"), 201)
    sent = done(ann.post(f"/channels/{channel}/messages", content="", file_ids=[file["id"]]), 201)
    shown = with_bob.wait_for("message_sent", id=sent["id"])["data"]["files"]
    assert [one["name"] for one in shown] == ["plan.bin"]
    url = done(bob.get(f"/files/{file['id']}/link"))["url"]
    assert bob.session.get(chat.process.url + url, timeout=PATIENCE).content == data
    with_ann.send("typing", channel_id=channel)
    with_bob.wait_for("user_typing", user_id=ann.id)

    # Bob goes, and his phone hears of what is for him.
    alert_token, voip_token = secrets.token_hex(32), secrets.token_hex(32)
    done(bob.post(
        "/users/me/devices", platform="ios", app_id=TOPIC, environment="production", alert_token=alert_token,
        voip_token=voip_token), 201)
    with_bob.settle()
    seen = max(frame["sequence"] for frame in with_bob.events(workspace))
    with_bob.close()
    direct = done(ann.post(f"/workspaces/{workspace}/direct", user_ids=[bob.id]), 201)["channel"]["id"]
    missed = ann.say(direct, "are you there?")
    push = apns.wait(alert_token)[0]
    assert "are you there?" in str(push.body) and push.body["aps"]["badge"] >= 1

    # A call rings at it, and he answers with the token that the server gives him.
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id), 201)
    ring = apns.wait(voip_token)[0]
    assert ring.headers["apns-push-type"] == "voip" and ticket["call"]["id"] in str(ring.body)
    phones = []
    for person, given in ((ann, ticket), (bob, done(bob.post(f"/calls/{ticket['call']['id']}/join")))):
        phone = processes.start(
            f"roost join of {person.username}", "join", "--json", "--url", given["url"], "--token", given["token"])
        phone.wait_for("joined")
        phones.append(phone)
    phones[0].wait_for("participant_connected")
    done(bob.post(f"/calls/{ticket['call']['id']}/leave"), 204)
    assert with_ann.wait_for("call_ended")["data"]["end_reason"] == "completed"
    for phone in phones:
        phone.wait(PATIENCE)
    assert not apns.faults, apns.faults

    # He comes back, and nothing is missing, and nothing comes twice.
    last = with_ann.events(workspace)[-1]["sequence"]
    back = bob.socket(resume={workspace: seen})
    back.wait_for("call_ended")
    assert back.wait_for("message_sent", id=missed["id"])["data"]["content"] == "are you there?"
    expected = [frame["sequence"] for frame in with_ann.events(workspace) if seen < frame["sequence"] <= last]
    assert [frame["sequence"] for frame in back.events(workspace) if frame["sequence"] <= last] == expected
    check_order(back, workspace)
