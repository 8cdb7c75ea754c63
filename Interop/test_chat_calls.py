"""Calls of the chat: started in a channel or to a person, rung, answered, declined, missed, ended, with LiveKit's
Python SDK and `roost join` in the rooms that the server names."""

import json
import urllib.parse

import pytest

from peers.chat import Chat, ChatInNamespace, done, refused
from peers.chat_calls import over, states
from peers.livekit_room import Participant, Server
from support.command import RoostProcesses, fails, run
from support.waiting import PATIENCE, wait_until

ROOMS = ("--rooms", "--media-port", 0, "--media-tcp-port", 0)


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """A server with chat and rooms."""
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("chat")
    yield Chat(processes.serve("--data", folder, *ROOMS), folder)
    processes.close()


@pytest.fixture
def join(join_call):
    return join_call


@pytest.fixture
def pair(team):
    """Ann and Bob, and the channel of their direct messages."""
    ann, bob, workspace = team
    return ann, bob, workspace, ann.direct(workspace, bob)


def chat_token(person, room):
    """A token for this room of the page, which asks for no account."""
    return person.session.post(f"{person.chat.process.url}/rooms/token", json={"room": room, "name": "Olga"})


def test_who_calls_somebody_talks_to_them_in_a_room(pair, join):
    ann, bob, workspace, direct = pair
    with_ann, with_bob, elsewhere = ann.socket(), bob.socket(), bob.on_another_device().socket()
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id, media="video"), 201)
    call = ticket["call"]
    assert call["channel_id"] == direct and call["kind"] == "room" and call["media"] == "video"
    # Who may come in has the room's name; who may read of the call has not.
    assert ticket["room"].startswith("call-") and "room" not in call
    assert ticket["url"].startswith("ws://127.0.0.1:")
    page = chat_token(ann, ticket["room"])
    assert page.status_code == 403, page.text
    # Nor by other letters that Unicode takes for the same: the sign of kelvin is a K.
    assert chat_token(ann, ticket["room"].replace("K", "\u212a")).status_code == 403
    assert states(call) == {ann.id: "joined", bob.id: "ringing"}
    assert with_bob.wait_for("call_started", id=call["id"])["data"]["started_by"]["id"] == ann.id
    message = with_bob.wait_for("message_sent", kind="call")["data"]
    assert message["call"]["id"] == call["id"] and message["id"] == call["message_id"]
    for_ann = join(ticket, "Ann")

    answered = done(bob.post(f"/calls/{call['id']}/join"))
    assert answered["room"] == ticket["room"] and answered["token"] != ticket["token"]
    # His other device hears that it is to stop.
    told = elsewhere.wait_for(
        "call_updated", id=call["id"], where=lambda frame: states(frame["data"])[bob.id] == "joined")
    assert told["data"]["version"] > call["version"]
    for_bob = join(answered, "Bob")
    for_ann.wait_for("participant_connected")
    assert [one["id"] for one in done(bob.get(f"/workspaces/{workspace}/calls"))["items"]] == [call["id"]]

    done(bob.post(f"/calls/{call['id']}/leave"), 204)
    ended = over(with_ann, call, "completed")
    assert states(ended) == {ann.id: "left", bob.id: "left"}
    # Nobody stays behind in the room.
    for process in (for_ann, for_bob):
        process.wait(PATIENCE)
    shown = next(one for one in ann.history(direct) if one["kind"] == "call")
    assert shown["call"]["end_reason"] == "completed" and shown["id"] == call["message_id"]
    refused(bob.post(f"/calls/{call['id']}/join"), 410, "call_over")
    assert done(ann.get(f"/workspaces/{workspace}/calls"))["items"] == []
    assert [one["id"] for one in done(ann.get(f"/channels/{direct}/calls"))["items"]] == [call["id"]]


def test_nobody_answers(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path, *ROOMS, "--ring-time", "3s"), tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    direct = ann.direct(workspace, bob)
    with_bob = bob.socket()
    call = done(ann.post(f"/channels/{direct}/calls"), 201)["call"]
    assert call["media"] == "audio"
    assert states(over(with_bob, call, "missed"))[bob.id] == "missed"
    unread = next(one for one in done(bob.get(f"/workspaces/{call['workspace_id']}/channels"))["items"]
                  if one["channel"]["id"] == direct)
    assert unread["membership"]["unread"] == 1


def test_no_is_an_answer_and_so_is_thinking_better_of_it(pair):
    ann, bob, _, direct = pair
    with_ann, with_bob = ann.socket(), bob.socket()
    call = done(ann.post(f"/channels/{direct}/calls"), 201)["call"]
    done(bob.post(f"/calls/{call['id']}/decline"), 204)
    over(with_ann, call, "declined")
    call = done(ann.post(f"/channels/{direct}/calls"), 201)["call"]
    refused(ann.post(f"/calls/{call['id']}/decline"), 409, "not_ringing")
    done(ann.post(f"/calls/{call['id']}/leave"), 204)
    assert states(over(with_bob, call, "cancelled"))[bob.id] == "missed"


def test_a_channels_call_goes_on_while_somebody_is_in_its_room(team, chat, join):
    ann, bob, workspace = team
    general = ann.general(workspace)
    cid = chat.person("cid")
    ann.bring(workspace, cid)
    with_cid = cid.socket()
    ticket = done(ann.post(f"/channels/{general}/calls"), 201)
    call = ticket["call"]
    assert states(call) == {ann.id: "joined"}
    first = join(ticket, "Ann")
    # Whoever starts one where one goes on comes into that one.
    again = done(bob.post(f"/channels/{general}/calls"))
    assert again["call"]["id"] == call["id"]
    second = join(again, "Bob")
    rung = done(bob.post(f"/calls/{call['id']}/ring", user_ids=[cid.id]))
    assert states(rung)[cid.id] == "ringing"
    # Who goes without a word is told of by the room.
    first.finish()
    with_cid.wait_for("call_updated", id=call["id"], where=lambda frame: states(frame["data"])[ann.id] == "left")
    refused(cid.post(f"/calls/{call['id']}/end"), 403, "not_yours")
    ended = done(ann.post(f"/calls/{call['id']}/end"))
    assert ended["end_reason"] == "completed"
    second.wait(PATIENCE)
    over(with_cid, call, "completed")


def test_who_is_put_out_of_the_channel_is_put_out_of_its_room(team, join):
    ann, bob, workspace = team
    channel = ann.channel(workspace, kind="private")
    done(ann.post(f"/channels/{channel}/members", user_id=bob.id), 204)
    ticket = done(ann.post(f"/channels/{channel}/calls"), 201)
    join(ticket, "Ann")
    answered = done(bob.post(f"/calls/{ticket['call']['id']}/join"))
    there = join(answered, "Bob")
    done(ann.delete(f"/channels/{channel}/members/{bob.id}"), 204)
    there.wait(PATIENCE)
    refused(bob.get(f"/calls/{ticket['call']['id']}"), 404, "call_not_found")
    refused(bob.post(f"/calls/{ticket['call']['id']}/join"), 404, "call_not_found")


def test_a_call_between_two_names_a_call_room(pair):
    ann, bob, _, direct = pair
    with_ann = ann.socket()
    ticket = done(ann.post(f"/channels/{direct}/calls", kind="peer"), 201)
    assert "token" not in ticket and urllib.parse.urlsplit(ticket["url"]).scheme == "http"
    call = ticket["call"]
    socket = bob.socket()
    answered = done(bob.post(f"/calls/{call['id']}/join"))
    assert answered["room"] == ticket["room"]
    with_ann.wait_for("call_updated", id=call["id"])
    # No server watches its media: who closes all that is open has hung up.
    socket.close()
    over(with_ann, call, "completed")


def test_what_is_no_call_of_ones_own(pair, chat):
    ann, _, workspace, direct = pair
    call = done(ann.post(f"/channels/{direct}/calls"), 201)["call"]
    zoe = chat.person("zoe")
    for answer in (zoe.get(f"/calls/{call['id']}"), zoe.post(f"/calls/{call['id']}/join"),
                   zoe.post(f"/calls/{call['id']}/leave"), zoe.post(f"/calls/{call['id']}/end")):
        refused(answer, 404, "call_not_found")
    refused(zoe.post(f"/channels/{direct}/calls"), 404, "channel_not_found")
    refused(zoe.get(f"/channels/{direct}/calls"), 404, "channel_not_found")
    refused(ann.post(f"/workspaces/{workspace}/calls", user_id=zoe.id), 404, "user_not_found")
    refused(ann.post(f"/workspaces/{workspace}/calls", user_id=ann.id), 400, "invalid_user_id")
    refused(ann.post(f"/channels/{direct}/calls", kind="conference"), 400, "invalid_body")
    done(ann.post(f"/calls/{call['id']}/end"))


def test_a_server_that_was_killed_has_no_calls_left(tmp_path):
    processes = RoostProcesses()
    server = processes.serve("--data", tmp_path, *ROOMS)
    before = Chat(server, tmp_path)
    ann = before.person("ann")
    workspace = ann.workspace()["workspace"]["id"]
    call = done(ann.post(f"/channels/{ann.general(workspace)}/calls"), 201)["call"]
    server.kill()
    server.wait()
    ann.chat = Chat(processes.serve("--data", tmp_path, *ROOMS), tmp_path)
    ended = done(ann.get(f"/calls/{call['id']}"))
    assert ended["end_reason"] == "failed"
    processes.close()


@pytest.mark.parametrize("options", [[], ["--database"]], ids=["sqlite", "postgresql"])
def test_a_server_that_cannot_begin_ends_nobodys_calls(options, tmp_path, request):
    """With the same chat: a second one by mistake, which finds the folder or a port taken."""
    processes = RoostProcesses()
    if options:
        options = ["--database", request.getfixturevalue("postgres").database()]
    first = processes.serve("--data", tmp_path / "first", *options, *ROOMS)
    ann = Chat(first, tmp_path / "first").person("ann")
    workspace = ann.workspace()["workspace"]["id"]
    call = done(ann.post(f"/channels/{ann.general(workspace)}/calls"), 201)["call"]
    arguments = ["serve", "--host", "127.0.0.1", "--signaling-port", 0, "--no-echo", *options, *ROOMS]
    if not options:
        fails(*arguments, "--port", 0, "--data", tmp_path / "first",
              says=f"Another `roost serve` .process {first.pid}. keeps its chat in {tmp_path / 'first'}")
    else:
        fails(*arguments, "--port", first.port, "--data", tmp_path / "second",
              says=f"Port {first.port} on 127.0.0.1 is taken by another program")
    assert "ended_at" not in done(ann.get(f"/calls/{call['id']}"))
    processes.close()


def test_without_rooms_there_are_calls_between_two_only(tmp_path):
    processes = RoostProcesses()
    chat = Chat(processes.serve("--data", tmp_path), tmp_path)
    ann = chat.person("ann")
    general = ann.general(ann.workspace()["workspace"]["id"])
    refused(ann.post(f"/channels/{general}/calls"), 503, "no_rooms")
    done(ann.post(f"/channels/{general}/calls", kind="peer"), 201)
    processes.close()


def test_livekits_sdk_comes_in_with_the_ticket(namespace, tmp_path):
    server = Server(namespace, "--data", tmp_path)
    chat = ChatInNamespace(namespace, server.process, server.page, tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    with_ann = ann.socket()
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id), 201)
    answered = done(bob.post(f"/calls/{ticket['call']['id']}/join"))
    peers = {}
    for person, given in ((ann, ticket), (bob, answered)):
        peers[person.id] = Participant(server, given["room"], person.id, (), {}, (given["url"], given["token"]))
        peers[person.id].wait_for("joined")
    for person, hertz in ((ann, 440), (bob, 880)):
        peers[person.id].do("publish_audio", hertz=hertz)
    peers[ann.id].check_sound(880)
    peers[bob.id].check_sound(440)
    # With the phone down, the room tells: nobody has asked the chat.
    peers[bob.id].leave()
    ended = over(with_ann, ticket["call"], "completed")
    assert states(ended) == {ann.id: "left", bob.id: "left"}
    peers[ann.id].wait_for("disconnected")
    assert json.dumps(ended).count(ticket["token"]) == 0
    wait_until(lambda: done(ann.get(f"/workspaces/{workspace}/calls"))["items"] == [], "the call is over")
    for peer in peers.values():
        peer.finish()
    server.close()


def test_who_is_deactivated_by_an_administrator_is_put_out_of_the_room(chat, team, join):
    ann, bob, workspace = team
    general = ann.general(workspace)
    with_ann = ann.socket()
    ticket = done(ann.post(f"/channels/{general}/calls"), 201)
    call = ticket["call"]
    for_ann = join(ticket, "Ann")
    for_bob = join(done(bob.post(f"/calls/{call['id']}/join")), "Bob")
    for_ann.wait_for("participant_connected")
    ended = run("admin", "users", "deactivate", bob.username, "--data", chat.folder)
    assert ended.returncode == 0, ended.stderr
    # Another process has written it; the server has the room.
    for_bob.wait(PATIENCE)
    with_ann.wait_for("call_updated", id=call["id"], where=lambda frame: states(frame["data"])[bob.id] == "left")
    for_ann.wait_for("participant_disconnected")
    assert [one["id"] for one in done(ann.get(f"/workspaces/{workspace}/calls"))["items"]] == [call["id"]]
    done(ann.post(f"/calls/{call['id']}/leave"), 204)
    for_ann.wait(PATIENCE)
