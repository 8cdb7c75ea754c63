"""Two servers that are one, and one of them is killed or goes down under load, or Redis does."""

import concurrent.futures
import contextlib
import random
import signal
import time

from peers.chat import done, fence, refused
from peers.chat_nodes import AT_ONCE, kill, told_of, wait_online
from peers.chat_roamer import Poster, Roamer
from support.waiting import PATIENCE, wait_until

BY_THE_DATABASE = 6
"""Seconds: servers look into it every two."""
GONE = 30
"""Seconds after which the people of a server that was killed are gone."""
BUSY = 5
"""Seconds that a machine with other work may take longer."""


def start_team(nodes):
    """Ann at the first server, Bob at the second, their workspace and its channel."""
    first, second = nodes.chats
    ann, bob = first.person("ann"), second.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    return ann, bob, workspace, ann.general(workspace)


def somebody(chat, ann, workspace, name="cid"):
    person = chat.person(name)
    ann.bring(workspace, person)
    return person


# A server that is gone


CLIENTS, SENDERS = 20, 10
BATCHES, BATCH, PAUSE = 12, 5, 0.5
"""Each sends so many messages at once, so often, with so many seconds between: 100 a second, all together."""


class Load:
    """Twenty clients at two servers, of whom ten send, by frames and by HTTP; the first server goes meanwhile."""

    def __init__(self, nodes, end):
        self.chats, self.end = nodes.chats, end
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.people = list(pool.map(lambda number: self.chats[number % 2].person("ann"), range(CLIENTS)))
        ann = self.people[0]
        self.workspace = ann.workspace()["workspace"]["id"]
        self.channel = ann.general(self.workspace)
        ann.bring(self.workspace, *self.people[1:])
        self.clients = [Roamer(person, self.order(number), self.workspace) for number, person in enumerate(self.people)]
        # At each server some send by frames and some by HTTP.
        self.voices = [self.clients[number] if number // 2 % 2 == 0 else Poster(self.people[number], self.order(number))
                       for number in range(SENDERS)]
        for client in self.clients:
            client.wait_following()

    def order(self, number):
        return self.chats if number % 2 == 0 else self.chats[::-1]

    def run(self):
        began = time.monotonic()

        def talk(number):
            for batch in range(BATCHES):
                due = began + batch * PAUSE + random.uniform(0, PAUSE / 2)
                time.sleep(max(0, due - time.monotonic()))
                names = [f"{number}-{batch}-{place}" for place in range(BATCH)]
                # With frames of its own on their way.
                is_its_turn = (number, batch) == (0, BATCHES // 2)
                self.voices[number].say(self.channel, names, self.end if is_its_turn else None)

        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(talk, range(SENDERS)))
        acknowledged = {}
        for voice in self.voices:
            acknowledged |= voice.acknowledged
        for client in self.clients:
            client.wait_seen(max(acknowledged.values()))
        return acknowledged

    def check(self, acknowledged):
        """Each message is there once, and everybody has had each once, in its order."""
        wanted = sorted(f"{number}-{batch}-{place}" for number in range(SENDERS) for batch in range(BATCHES)
                        for place in range(BATCH))
        survivor = self.people[1].at(self.chats[1])
        history = [(message["sequence"], message["client_id"]) for message in survivor.history(self.channel)]
        assert sorted(name for _, name in history) == wanted == sorted(acknowledged)
        assert {name: sequence for sequence, name in history} == acknowledged
        assert history == sorted(history)
        for client in self.clients:
            assert client.faults == [], client.story()
            assert client.messages == history, f"{client.story()}: {set(history) ^ set(client.messages)}"
        for voice in self.voices:
            assert voice.faults == [], voice.faults

    def close(self):
        for client in self.clients:
            client.close()


def test_a_kill_under_load_loses_nothing_and_repeats_nothing(start_nodes):
    nodes = start_nodes()
    with contextlib.closing(Load(nodes, lambda: nodes.chats[0].process.kill())) as load:
        acknowledged = load.run()
        load.check(acknowledged)
        # It was in the midst of it: something had to be sent again, and half of the clients had to move.
        assert sum(voice.attempts for voice in load.voices) > len(acknowledged)
        for client in load.clients[::2]:
            assert client.codes == [1006], client.story()
        for client in load.clients[1::2]:
            assert client.codes == [], client.story()


def test_a_server_that_goes_down_under_load_loses_nothing_and_repeats_nothing(start_nodes):
    nodes = start_nodes()
    with contextlib.closing(Load(nodes, lambda: nodes.chats[0].process.send(signal.SIGTERM))) as load:
        load.check(load.run())
        assert nodes.chats[0].process.wait() == 0, nodes.chats[0].process.transcript()
        for client in load.clients[::2]:
            assert client.codes == [1001], client.story()
        for client in load.clients[1::2]:
            assert client.codes == [], client.story()


def test_people_of_a_server_that_was_killed_are_gone_unless_they_came_to_another(start_nodes):
    nodes = start_nodes()
    first, second = nodes.chats
    ann, bob, workspace, channel = start_team(nodes)
    cid, dan = somebody(second, ann, workspace), somebody(first, ann, workspace, "dan")
    with_ann, with_bob, with_cid, with_dan = ann.socket(), bob.at(first).socket(), cid.socket(), dan.socket()
    wait_online(workspace, [ann, bob, cid, dan], with_ann, with_bob, with_cid, with_dan)
    with_ann.send("typing", channel_id=channel)
    with_cid.wait_for("user_typing", channel_id=channel, user_id=ann.id)
    count = len(with_cid.frames)
    killed = kill(first)
    back = bob.socket()
    # Nobody is left to say that she has stopped.
    with_cid.wait_for("user_stopped_typing", after=count, channel_id=channel, user_id=ann.id)
    for person in (ann, dan):
        with_cid.wait_for("presence_changed", after=count, workspace_id=workspace, user_id=person.id, is_online=False)
    assert time.monotonic() - killed < GONE + BUSY
    later = cid.on_another_device().socket()
    fence(bob, channel, with_cid, back, later)
    wait_online(workspace, [bob, cid], with_cid, back, later)
    assert False not in told_of(bob, with_cid, count), with_cid.transcript()
    # Another server takes its place.
    third = nodes.start()
    with_ann = ann.at(third).socket()
    wait_online(workspace, [ann, bob, cid], with_ann, with_cid, back, later)
    said = bob.say(channel, "welcome back")
    with_ann.wait_for("message_sent", id=said["id"])


def test_who_was_at_a_server_that_went_down_is_gone_soon(start_nodes):
    nodes = start_nodes()
    first, _ = nodes.chats
    ann, bob, workspace, _ = start_team(nodes)
    with_ann, with_bob = ann.socket(), bob.socket()
    wait_online(workspace, [ann, bob], with_ann, with_bob)
    assert first.process.finish() == 0
    gone = time.monotonic()
    assert with_ann.wait_closed() == 1001
    wait_online(workspace, [bob], with_bob)
    assert time.monotonic() - gone < GONE + BUSY


# Without Redis


def heard_within(speaker, channel, listener, text="heard"):
    """How many seconds it takes until what the one says is heard by the other."""
    sent = speaker.say(channel, text)
    began = time.monotonic()
    told = listener.wait_for("message_sent", id=sent["id"])
    assert told["sequence"] == sent["sequence"]
    return time.monotonic() - began


def wait_at_once(channel, *pairs):
    """Until word comes at once, and not by looking for it."""
    wait_until(lambda: all(heard_within(speaker, channel, listener) < AT_ONCE / 2 for speaker, listener in pairs * 3),
               "word comes at once")


def guess(chat, person, most):
    """How many wrong passwords one server takes before it asks to wait, and how many seconds that has taken."""
    began, stranger = time.monotonic(), chat.stranger()
    for number in range(most):
        answer = stranger.post("/auth/login", login=person.username, password=f"guess {number}")
        if answer.status_code == 429:
            assert int(answer.headers["Retry-After"]) >= 1
            return number, time.monotonic() - began
        refused(answer, 401, "wrong_credentials")
    raise AssertionError(f"{most} passwords were taken")


def test_without_redis_chat_goes_on_and_with_it_all_is_right_again(start_nodes):
    nodes = start_nodes()
    first, second = nodes.chats
    ann, bob, workspace, channel = start_team(nodes)
    cid, dan, eve = (somebody(second, ann, workspace, name) for name in ("cid", "dan", "eve"))
    with_ann, with_bob, with_dan, with_eve = ann.socket(), bob.socket(), dan.socket(), eve.socket()
    wait_online(workspace, [ann, bob, dan, eve], with_ann, with_bob, with_dan, with_eve)
    assert heard_within(ann, channel, with_bob) < BUSY

    call = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id, kind="peer"), 201)["call"]
    done(bob.post(f"/calls/{call['id']}/join"))

    nodes.redis.stop()
    for speaker, listener in ((ann, with_bob), (bob, with_ann)) * 2:
        assert heard_within(speaker, channel, listener, "by the database") < BY_THE_DATABASE + BUSY
    # Each server counts alone, and counts.
    for chat in (first, second):
        taken, seconds = guess(chat, cid, 30)
        assert taken <= 11 + seconds / 30, taken
    # Who comes and goes now: Cid comes, Dan goes, Eve moves.
    with_cid = cid.socket()
    assert with_cid.ask("typing", channel_id=channel)["type"] == "ack"
    with_dan.close()
    moved = eve.at(first).socket()
    with_eve.close()
    # A session that is ended now is over now, and whoever listens at the other server does not do so for ever.
    stolen = ann.on_another_device()
    there = stolen.at(second).socket()
    done(stolen.post("/auth/logout"), 204)
    refused(stolen.at(second).get("/users/me"), 401, "session_over")

    nodes.redis.start()
    wait_at_once(channel, (ann, with_bob), (bob, with_ann))
    everybody = [with_ann, with_bob, with_cid, moved]
    wait_online(workspace, [ann, bob, cid, eve], *everybody)
    later = [ann.at(second).socket(), bob.at(first).socket()]
    wait_online(workspace, [ann, bob, cid, eve], *later)
    assert there.wait_closed() == 4001
    assert not done(ann.get(f"/calls/{call['id']}")).get("ended_at")
    # Counted together again, from the beginning.
    tried, strangers = 0, [chat.stranger() for chat in (first, second)]
    strangers[1].session = strangers[0].session
    while (answer := strangers[tried % 2].post(
            "/auth/login", login=dan.username, password="a guess")).status_code == 401:
        tried += 1
        assert tried < 17, "each server counts alone"
    refused(answer, 429, "too_many_requests")


def test_a_redis_that_does_not_answer_holds_nobody_up_for_long(start_nodes):
    nodes = start_nodes()
    first, second = nodes.chats
    ann, bob, workspace, channel = start_team(nodes)
    with_ann, with_bob = ann.socket(), bob.socket()
    wait_online(workspace, [ann, bob], with_ann, with_bob)
    # Its system takes what is sent to it, and nothing comes back.
    nodes.redis.process.send(signal.SIGSTOP)
    try:
        began = time.monotonic()
        for speaker, listener in ((ann, with_bob), (bob, with_ann)):
            heard_within(speaker, channel, listener)
            assert speaker.socket().ask("typing", channel_id=channel)["type"] == "ack"
        refused(second.stranger().post("/auth/login", login=ann.username, password="a guess"), 401, "wrong_credentials")
        assert time.monotonic() - began < PATIENCE / 2
        began = time.monotonic()
        for _ in range(10):
            done(ann.get("/users/me"))
        # What was found out once is not waited for with each request.
        assert time.monotonic() - began < 10
    finally:
        nodes.redis.process.send(signal.SIGCONT)
    wait_at_once(channel, (ann, with_bob), (bob, with_ann))
    wait_online(workspace, [ann, bob], with_ann, with_bob)


def test_servers_start_again_over_a_redis_that_has_forgotten_everything(start_nodes):
    nodes = start_nodes()
    first, second = nodes.chats
    ann, bob, workspace, channel = start_team(nodes)
    with_bob = bob.socket()
    kill(first)
    nodes.redis.command("FLUSHALL")
    again = nodes.start(in_place_of=first)
    with_ann = ann.at(again).socket()
    wait_online(workspace, [ann, bob], with_ann, with_bob)
    wait_at_once(channel, (ann.at(again), with_bob), (bob, with_ann))
