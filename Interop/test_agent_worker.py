"""A worker of agents in Swift (`AgentWorker`, by its example `echo-agent`), sent for by LiveKit's package and heard by
LiveKit's SDK."""

import os
import signal

import pytest

from peers.examples import find_example
from peers.livekit_agents import ask
from peers.livekit_room import KEY, SECRET, Server
from support.process import JSONProcess
from support.waiting import wait_until


@pytest.fixture(scope="module")
def server(namespace):
    server = Server(namespace)
    yield server
    assert server.close() == 0


@pytest.fixture
def sfu(server):
    yield server
    server.leave_all()


class EchoAgent:
    """A process that has registered when this returns."""

    def __init__(self, server, name):
        environment = {"LIVEKIT_URL": server.url, "LIVEKIT_API_KEY": KEY, "LIVEKIT_API_SECRET": SECRET}
        command = server.namespace.command(find_example("echo-agent"), f"--name={name}")
        self.process = JSONProcess("echo-agent", command, env={**os.environ, **environment})
        self.has_said("Registered as AW_")

    def has_said(self, words, times=1):
        said = lambda: self.process.transcript().count(words) >= times
        wait_until(said, lambda: f"the worker says {words}\n{self.process.transcript()}")

    def end(self, number=signal.SIGTERM):
        """Returns its status."""
        self.process.send(number)
        return self.process.wait()

    def close(self):
        self.process.kill()
        self.process.finish()


@pytest.fixture
def echo(sfu, request):
    agent = EchoAgent(sfu, request.node.name)
    yield agent
    agent.close()


def send_for(server, room, name):
    return ask(server, "create_dispatch", {"agent_name": name, "room": room})["answer"]["id"]


def statuses(server, room, dispatch):
    found = ask(server, "get_dispatch", dispatch, room)["answer"]["state"].get("jobs", [])
    return [job["state"].get("status", "JS_PENDING") for job in found]


def wait_for_statuses(server, room, dispatch, *wanted):
    wait_until(lambda: statuses(server, room, dispatch) == list(wanted),
               lambda: f"jobs are {wanted}: {statuses(server, room, dispatch)}")


def test_it_says_back_what_it_hears_and_what_is_written(sfu, echo, request):
    room = sfu.new_room()
    ann = sfu.join(room, "ann")
    ann.do("publish_audio", hertz=550)
    dispatch = send_for(sfu, room, request.node.name)
    agent = ann.wait_for("subscribed", name="ann, again")["who"]
    assert agent.startswith("agent-AJ_")
    ann.check_sound(550, name="ann, again")
    ann.do("send", topic="chat", text="is anybody there?", reliable=True)
    heard = ann.wait_for("data", topic="chat")
    assert heard["text"] == "is anybody there?" and heard["who"] == agent
    ann.do("write", topic="lk.chat", text="and in a chat?")
    answered = ann.wait_for("text", topic="lk.chat")
    assert answered["text"] == "and in a chat?" and answered["who"] == agent
    ann.do("send", topic="chat", text="goodbye", reliable=True)
    ann.wait_for("gone", who=agent)
    wait_for_statuses(sfu, room, dispatch, "JS_SUCCESS")
    # With nothing left to do it ends at once.
    assert echo.end() == 0


def test_it_is_sent_for_again_when_it_is_killed_and_lets_its_jobs_end_when_it_is_asked_to(sfu, echo, request):
    room = sfu.new_room()
    ann = sfu.join(room, "ann")
    dispatch = send_for(sfu, room, request.node.name)
    wait_for_statuses(sfu, room, dispatch, "JS_RUNNING")
    echo.has_said("has begun")
    assert echo.end(signal.SIGKILL) == -signal.SIGKILL
    other = EchoAgent(sfu, request.node.name)
    try:
        wait_for_statuses(sfu, room, dispatch, "JS_FAILED", "JS_RUNNING")
        other.has_said("has begun")
        other.process.send(signal.SIGTERM)
        other.has_said("No more jobs are taken.")
        ann.do("leave")
        assert other.process.wait() == 0
        assert "is done" in other.process.transcript()
    finally:
        other.close()
