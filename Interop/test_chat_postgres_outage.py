"""PostgreSQL goes away under a server of chat, and comes back: people are told to try again, and what they wrote is there
once."""

import contextlib
import secrets
import signal
import subprocess
import time

import pytest
from websockets.exceptions import InvalidStatus

from peers.chat import Chat, check_order, done, fence, refused
from peers.postgres import Postgres
from support.waiting import PATIENCE, wait_until


@pytest.fixture
def own_postgres():
    """One that other tests do not need meanwhile."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def chat(own_postgres, roost, tmp_path):
    return Chat(roost.serve("--data", tmp_path, "--database", own_postgres.database()), tmp_path)


def health(chat):
    """What balancers and supervisors are told, each by its status."""
    with chat.session() as session:
        return [session.get(f"{chat.process.url}{path}", timeout=PATIENCE).status_code
                for path in ("/health/ready", "/health")]


def test_while_the_database_is_away_people_are_told_to_try_again(chat, own_postgres):
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    channel = ann.general(workspace)
    with_ann, with_bob = ann.socket(), bob.socket()
    before = ann.say(channel, "before")
    with_bob.wait_for("message_sent", id=before["id"])
    assert health(chat) == [200, 200]

    own_postgres.stop()
    once = {"content": "in between", "client_id": secrets.token_hex(8)}
    address = f"/channels/{channel}/messages"
    # More of them than the server keeps connections.
    for _ in range(20):
        refused(ann.get("/users/me"), 503, "database_unavailable")
    refused(ann.post(address, **once), 503, "database_unavailable")
    refused(chat.stranger().post("/auth/login", login=ann.username, password="a guess"), 503, "database_unavailable")
    refusal = with_ann.ask("send_message", channel_id=channel, **once)
    assert refusal["type"] == "error" and refusal["data"]["code"] == "database_unavailable", refusal
    with pytest.raises(InvalidStatus) as newcomer:
        bob.socket()
    assert newcomer.value.response.status_code == 503
    # Nothing is wrong with the server itself, and nobody else is to be sent to it.
    assert health(chat) == [503, 200]

    own_postgres.start()
    wait_until(lambda: health(chat) == [200, 200], "the server is ready again")
    sent = done(ann.post(address, **once), 201)
    again = with_ann.ask("send_message", channel_id=channel, **once)
    assert again["type"] == "ack" and again["data"]["id"] == sent["id"], again
    # Sockets that were open are open, and hear of it.
    with_bob.wait_for("message_sent", id=sent["id"])
    fence(ann, channel, with_ann, with_bob)
    assert [message["content"] for message in ann.history(channel)][:2] == ["before", "in between"]
    for socket in (with_ann, with_bob):
        check_order(socket, workspace)


# What waits in the database when the server goes down

LEFT = "the server ends before all is written and told"


@contextlib.contextmanager
def nobody_writes(url, table):
    """Until the end of it nobody writes into the table: who tries waits. Gives a function that waits for somebody who
    does."""
    with subprocess.Popen(["psql", "-qXAt", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        session.stdin.write(f"BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE; SELECT 'locked';\n")
        session.stdin.flush()
        assert session.stdout.readline() == "locked\n"
        waiting = f"SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass"
        yield lambda: wait_until(lambda: ask(url, waiting) == "t", f"somebody waits for {table}")
        session.stdin.close()


def ask(url, statement):
    return subprocess.run(
        ["psql", "-qXAt", "-c", statement, url], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def served(roost, postgres, tmp_path):
    """A server and the URL of its database."""
    url = postgres.database()
    return Chat(roost.serve("--data", tmp_path, "--database", url), tmp_path), url


@pytest.fixture
def go_down_in_a_message(served):
    """Tells the server to end when somebody's message waits in the database."""
    chat, _ = served
    ann = chat.person("ann")
    channel = ann.general(ann.workspace()["workspace"]["id"])
    socket = ann.socket().settle()

    def go_down(somebody_waits):
        socket.send("send_message", id="late", channel_id=channel, content="late", client_id="late")
        somebody_waits()
        chat.process.send(signal.SIGTERM)
        assert socket.wait_closed() == 1001

    return go_down


def test_a_server_that_goes_down_ends_what_is_being_written(served, go_down_in_a_message):
    chat, url = served
    with nobody_writes(url, "messages") as somebody_waits:
        go_down_in_a_message(somebody_waits)
        # Long enough for one that does not wait to be gone.
        time.sleep(1)
    assert chat.process.wait() == 0, chat.process.transcript()
    is_there = ask(url, "SELECT count(*) FROM messages WHERE content = 'late'") == "1"
    # On a machine that stood still for ten seconds just then, it says so.
    assert is_there or LEFT in chat.process.transcript()


def test_a_server_that_goes_down_does_not_wait_for_ever_for_what_is_being_written(served, go_down_in_a_message):
    chat, url = served
    with nobody_writes(url, "messages") as somebody_waits:
        go_down_in_a_message(somebody_waits)
        assert chat.process.wait() == 0, chat.process.transcript()
    assert LEFT in chat.process.transcript()


def test_a_server_that_goes_down_does_not_wait_for_ever_for_what_it_had_put_off(served):
    chat, url = served
    ann = chat.person("ann")
    with nobody_writes(url, "email_tokens") as somebody_waits:
        # It is answered before it is done, so that nobody can tell whether there is such a person.
        done(chat.stranger().post("/auth/forgot_password", email=ann.email), 202)
        somebody_waits()
        chat.process.send(signal.SIGTERM)
        assert chat.process.wait() == 0, chat.process.transcript()
    assert LEFT in chat.process.transcript()
