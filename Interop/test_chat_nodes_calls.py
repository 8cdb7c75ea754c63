"""Calls of two servers that are one, each of which carries the media of its own; and pushes, which either may send."""

import secrets
import time

import pytest

from peers.chat import done, refused
from peers.chat_calls import over, states
from peers.chat_nodes import Nodes, kill, wait_online
from peers.devices import passed, register
from peers.livekit_room import KEY, SECRET, Participant
from support.waiting import PATIENCE, wait_until

ROOMS = ("--rooms", "--livekit-key", f"{KEY}:{SECRET}", "--livekit-port", 0, "--media-port", 0, "--media-tcp-port", 0)
FAILED = 60
"""Seconds after which calls of a server that was killed are over."""
SILENT = 30
"""Seconds after which the people of such a server are gone."""
BUSY = 5
"""Seconds that a machine with other work may take longer."""


@pytest.fixture(scope="module")
def nodes(postgres, tmp_path_factory):
    """Two servers with rooms."""
    nodes = Nodes(postgres, tmp_path_factory.mktemp("nodes"), *ROOMS)
    yield nodes
    nodes.close()


def start_team(nodes):
    """Ann at the first server, Bob at the second, and their workspace."""
    first, second = nodes.chats
    ann, bob = first.person("ann"), second.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    return ann, bob, workspace


@pytest.fixture
def team(nodes):
    return start_team(nodes)


def url_of(chat):
    """Of its rooms."""
    return "ws" + chat.process.url.removeprefix("http")


def goes_on(person, call):
    return not done(person.get(f"/calls/{call['id']}")).get("ended_at")


# Calls


def test_who_joins_at_the_other_server_comes_into_the_room_of_the_first(nodes, team, join_call):
    first, second = nodes.chats
    ann, bob, workspace = team
    with_ann, with_bob, elsewhere = ann.socket(), bob.socket(), bob.at(first).on_another_device().socket()
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id), 201)
    call = ticket["call"]
    with_bob.wait_for("call_started", id=call["id"])
    answered = done(bob.post(f"/calls/{call['id']}/join"))
    assert ticket["url"] == answered["url"] == url_of(first) and answered["room"] == ticket["room"]
    elsewhere.wait_for("call_updated", id=call["id"], where=lambda frame: states(frame["data"])[bob.id] == "joined")
    for_ann, for_bob = join_call(ticket, "Ann"), join_call(answered, "Bob")
    for_ann.wait_for("participant_connected")
    assert states(done(bob.get(f"/calls/{call['id']}"))) == {ann.id: "joined", bob.id: "joined"}
    done(bob.post(f"/calls/{call['id']}/leave"), 204)
    over(with_ann, call, "completed")
    over(with_bob, call, "completed")
    # The room is at the first server, and nobody stays behind in it.
    for process in (for_ann, for_bob):
        process.wait(PATIENCE)


def test_a_channels_call_is_one_at_whatever_server_it_is_asked_for(nodes, team, join_call):
    first, second = nodes.chats
    ann, bob, workspace = team
    channel, with_bob = ann.general(workspace), bob.socket()
    ticket = done(bob.at(first).post(f"/channels/{channel}/calls"), 201)
    again = done(ann.at(second).post(f"/channels/{channel}/calls"))
    assert again["call"]["id"] == ticket["call"]["id"]
    assert ticket["url"] == again["url"] == url_of(first) and again["room"] == ticket["room"]
    for_bob, for_ann = join_call(ticket, "Bob"), join_call(again, "Ann")
    # Who goes without a word is told of by the room, wherever they ask.
    for_ann.finish()
    with_bob.wait_for(
        "call_updated", id=again["call"]["id"], where=lambda frame: states(frame["data"])[ann.id] == "left")
    assert done(ann.at(second).post(f"/calls/{again['call']['id']}/end"))["end_reason"] == "completed"
    over(with_bob, again["call"], "completed")
    for_bob.wait(PATIENCE)
    # Another one is where it is begun.
    other = done(bob.post(f"/channels/{channel}/calls"), 201)
    assert other["url"] == url_of(second)
    done(bob.at(first).post(f"/calls/{other['call']['id']}/end"))


def test_who_is_put_out_at_the_other_server_is_put_out_of_the_room(nodes, team, join_call):
    _, second = nodes.chats
    ann, bob, workspace = team
    channel = ann.channel(workspace, kind="private")
    done(ann.post(f"/channels/{channel}/members", user_id=bob.id), 204)
    ticket = done(ann.post(f"/channels/{channel}/calls"), 201)
    join_call(ticket, "Ann")
    there = join_call(done(bob.post(f"/calls/{ticket['call']['id']}/join")), "Bob")
    done(ann.at(second).delete(f"/channels/{channel}/members/{bob.id}"), 204)
    there.wait(PATIENCE)
    refused(bob.post(f"/calls/{ticket['call']['id']}/join"), 404, "call_not_found")
    assert goes_on(ann, ticket["call"])
    done(ann.at(second).post(f"/calls/{ticket['call']['id']}/end"))


def test_ringing_ends_at_both(start_nodes):
    ann, bob, workspace = start_team(start_nodes(*ROOMS, "--ring-time", "5s"))
    channel = ann.direct(workspace, bob)
    with_ann, with_bob = ann.socket(), bob.socket()
    missed = done(ann.post(f"/channels/{channel}/calls"), 201)["call"]
    with_bob.wait_for("call_started", id=missed["id"])
    assert states(over(with_bob, missed, "missed"))[bob.id] == "missed"
    over(with_ann, missed, "missed")
    declined = done(ann.post(f"/channels/{channel}/calls"), 201)["call"]
    done(bob.post(f"/calls/{declined['id']}/decline"), 204)
    over(with_ann, declined, "declined")
    ends = [frame["data"]["id"] for frame in with_ann.frames if frame["type"] == "call_ended"]
    assert ends == [missed["id"], declined["id"]]


def test_a_call_between_two_leads_both_to_one_server(nodes, team):
    first, _ = nodes.chats
    ann, bob, workspace = team
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id, kind="peer"), 201)
    answered = done(bob.post(f"/calls/{ticket['call']['id']}/join"))
    assert ticket["url"] == answered["url"] == first.process.url and answered["room"] == ticket["room"]
    done(bob.post(f"/calls/{ticket['call']['id']}/leave"), 204)


def test_livekits_sdk_comes_in_with_the_ticket_of_either_server(start_nodes, namespace):
    nodes = start_nodes(*ROOMS, namespace=namespace)
    first, _ = nodes.chats
    ann, bob, workspace = start_team(nodes)
    with_ann, with_bob = ann.socket(), bob.socket()
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id), 201)
    call = ticket["call"]
    with_bob.wait_for("call_started", id=call["id"])
    answered = done(bob.post(f"/calls/{call['id']}/join"))
    assert ticket["url"] == answered["url"] == url_of(first)
    peers = {}
    for person, given in ((ann, ticket), (bob, answered)):
        peers[person.id] = Participant(nodes, given["room"], person.id, (), {}, (given["url"], given["token"]))
        peers[person.id].wait_for("joined")
    for person, hertz in ((ann, 440), (bob, 880)):
        peers[person.id].do("publish_audio", hertz=hertz)
    peers[ann.id].check_sound(880)
    peers[bob.id].check_sound(440)
    for person in (ann, bob):
        assert states(done(person.get(f"/calls/{call['id']}"))) == {ann.id: "joined", bob.id: "joined"}
    done(bob.post(f"/calls/{call['id']}/leave"), 204)
    for socket in (with_ann, with_bob):
        assert states(over(socket, call, "completed")) == {ann.id: "left", bob.id: "left"}
    for peer in peers.values():
        peer.wait_for("disconnected")
        peer.finish()


@pytest.mark.parametrize("comes_back", [False, True], ids=["for good", "and comes back"])
def test_calls_of_a_server_that_was_killed_are_over_and_those_of_others_are_not(start_nodes, join_call, comes_back):
    nodes = start_nodes(*ROOMS)
    first, second = nodes.chats
    ann, bob, workspace = start_team(nodes)
    cid = second.person("cid")
    ann.bring(workspace, cid)
    general, other = ann.general(workspace), cid.channel(workspace)
    ticket = done(ann.post(f"/channels/{general}/calls"), 201)
    answered = done(bob.post(f"/calls/{ticket['call']['id']}/join"))
    join_call(ticket, "Ann")
    join_call(answered, "Bob")
    at_second = done(cid.post(f"/channels/{other}/calls"), 201)
    assert at_second["url"] == url_of(second)
    join_call(at_second, "Cid")
    with_bob = bob.socket()
    killed = kill(first)
    if comes_back:
        nodes.start(in_place_of=first)
    ended = over(with_bob, ticket["call"], "failed")
    assert time.monotonic() - killed < FAILED + BUSY
    assert set(states(ended).values()) == {"left"}
    assert goes_on(cid, at_second["call"])
    running = done(cid.get(f"/workspaces/{workspace}/calls"))["items"]
    assert [one["id"] for one in running] == [at_second["call"]["id"]]
    # There is room for a new one.
    again = done(bob.post(f"/channels/{general}/calls"), 201)
    assert again["url"] == url_of(second)


def test_calls_of_a_server_that_goes_down_are_over_as_if_all_had_hung_up(start_nodes, join_call):
    nodes = start_nodes(*ROOMS)
    first, second = nodes.chats
    ann, _, workspace = start_team(nodes)
    tickets = [done(ann.post(f"/channels/{ann.channel(workspace)}/calls"), 201) for _ in range(3)]
    for ticket in tickets:
        assert ticket["url"] == url_of(first)
        join_call(ticket, "Ann")
    with_ann = ann.at(second).socket()
    assert first.process.finish() == 0
    for ticket in tickets:
        over(with_ann, ticket["call"], "cancelled")


def test_a_server_that_goes_and_starts_leaves_the_calls_of_others_alone(start_nodes, join_call):
    nodes = start_nodes(*ROOMS)
    first, second = nodes.chats
    ann, bob, workspace = start_team(nodes)
    with_ann = ann.socket()
    ticket = done(ann.post(f"/channels/{ann.general(workspace)}/calls"), 201)
    for_ann = join_call(ticket, "Ann")
    assert second.process.finish() == 0
    again = nodes.start(in_place_of=second)
    kill(again)
    again = nodes.start(in_place_of=second)
    # As long as a server that is silent may be taken for one that is there, and then some.
    time.sleep(SILENT + BUSY)
    assert goes_on(ann, ticket["call"])
    answered = done(bob.at(again).post(f"/calls/{ticket['call']['id']}/join"))
    assert answered["url"] == url_of(first)
    join_call(answered, "Bob")
    for_ann.wait_for("participant_connected")
    assert with_ann.settle() and "call_ended" not in with_ann.types()


# Pushes


def texts(pushes):
    """What is shown; others change the number on the icon."""
    return [push.aps["alert"]["body"] for push in pushes if "alert" in push.aps]


def test_each_message_is_pushed_once_whoever_has_written_it_where(start_nodes, apns):
    nodes = start_nodes(*apns.options)
    first, second = nodes.chats
    ann, bob, workspace = start_team(nodes)
    channel, token, both = ann.direct(workspace, bob), register(bob), [ann, ann.at(second)]
    said = [f"number {number}" for number in range(6)]
    for number, text in enumerate(said):
        both[number % 2].say(channel, text)
    apns.wait(token, len(said))
    passed(second, apns, ann, workspace)
    assert sorted(texts(apns.to(token))) == said

    # Who is connected to any of them is connected.
    witnesses = [one.socket() for one in both]
    for chat in nodes.chats:
        socket, counts = bob.at(chat).socket(), [len(witness.frames) for witness in witnesses]
        # Both know that he is there: what he does there is told after that.
        socket.send("typing", channel_id=channel)
        for witness, count in zip(witnesses, counts):
            witness.wait_for("user_typing", after=count, user_id=bob.id)
        socket.send("stop_typing", channel_id=channel)
        for one in both:
            heard = one.say(channel, "to the socket")
            socket.wait_for("message_sent", id=heard["id"])
        passed(chat, apns, ann, workspace)
        assert len(texts(apns.to(token))) == len(said), texts(apns.to(token))
        # What he leaves unread would be pushed once he has gone.
        assert socket.ask("mark_read", channel_id=channel, last_read=heard["sequence"])["type"] == "ack"
        socket.close()
    wait_online(workspace, [ann], *witnesses)
    pocketed = both[1].say(channel, "to the pocket")["sequence"]
    wait_until(lambda: texts(apns.to(token))[len(said):] == ["to the pocket"], lambda: texts(apns.to(token)))

    # The other one goes on when the first is gone, from where that had come, as far as it was written down.
    wait_until(lambda: int(nodes.ask("SELECT sequence FROM push_positions") or 0) >= pocketed, "it is written down")
    kill(first)
    both[1].say(channel, "after the kill")
    wait_until(lambda: "after the kill" in texts(apns.to(token)), lambda: texts(apns.to(token)))
    passed(second, apns, both[1], workspace)
    assert texts(apns.to(token))[len(said):] == ["to the pocket", "after the kill"]


def test_a_call_rings_a_device_once(start_nodes, apns):
    nodes = start_nodes(*apns.options)
    _, second = nodes.chats
    ann, bob, workspace = start_team(nodes)
    voip = secrets.token_hex(32)
    register(bob, voip_token=voip)
    for caller in (ann, ann.at(second)):
        count = len(apns.to(voip))
        call = done(caller.post(f"/workspaces/{workspace}/calls", user_id=bob.id, kind="peer"), 201)["call"]
        push = apns.wait(voip, count + 1)[-1]
        assert push.body["call_id"] == call["id"], push.body
        done(caller.post(f"/calls/{call['id']}/end"))
        passed(second, apns, ann, workspace)
        assert len(apns.to(voip)) == count + 1, apns.to(voip)
