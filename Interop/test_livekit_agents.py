"""Agents by LiveKit's own framework, sent for by LiveKit's own package: workers, jobs, and what becomes of them."""

import os
import signal
import subprocess
import time

import aiohttp
import pytest
from livekit import api

from peers.livekit_agents import PYTHON, BareWorker, Worker, ask, worker_token
from peers.livekit_room import KEY, SECRET, Front, Participant, Server
from peers.livekit_service import call, from_inside
from peers.roost_peer import find_roost
from support.evidence import REPOSITORY
from support.process import JSONProcess
from support.waiting import wait_until


@pytest.fixture(scope="module")
def server(namespace):
    server = Server(namespace)
    yield server
    assert server.close() == 0


@pytest.fixture(scope="module")
def robot(server):
    worker = Worker(server, "robot")
    yield worker
    worker.close()


@pytest.fixture
def sfu(server):
    yield server
    server.leave_all()


@pytest.fixture
def room(sfu):
    return sfu.new_room()


def dispatch(server, room, name="robot", **fields):
    return ask(server, "create_dispatch", {"agent_name": name, "room": room, **fields})["answer"]


def jobs(server, room):
    found = ask(server, "list_dispatch", room).get("answer", [])
    return [job for one in found for job in one["state"].get("jobs", [])]


def wait_for_status(server, room, *statuses):
    def states():
        return [(job["state"].get("status", "JS_PENDING"), job["state"].get("error", "")) for job in jobs(server, room)]

    wait_until(lambda: tuple(status for status, _ in states()) == statuses, lambda: f"jobs are {statuses}: {states()}")
    return jobs(server, room)


def test_an_agent_comes_speaks_and_leaves_when_it_is_no_longer_wanted(sfu, room, robot):
    ann = sfu.join(room, "ann")
    made = dispatch(sfu, room, metadata="be kind", attributes={"language": "de"})
    assert made["id"].startswith("AD_") and made["agent_name"] == "robot" and made["metadata"] == "be kind"
    job = robot.wait_for("job", dispatch=made["id"])
    assert job["metadata"] == "be kind" and job["attributes"] == {"language": "de"} and job["room"] == room
    there = robot.wait_for("in_room", job=job["job"])
    assert there["others"] == ["ann"] and there["attributes"]["lk.agent_name"] == "robot"
    ann.check_sound(660, name="voice")
    known = call(sfu, "room", "get_participant", "RoomParticipantIdentity", room=room, identity=there["identity"])["answer"]
    assert known["kind"] == "AGENT" and known["name"] == "Robot" and known["metadata"] == "made of tin"
    assert known["attributes"]["mood"] == "calm"
    [listed] = ask(sfu, "get_dispatch", made["id"], room)["answer"]["state"]["jobs"]
    assert listed["id"] == job["job"] and listed["state"]["participant_identity"] == there["identity"]
    assert listed["state"]["worker_id"] == job["worker"] and listed["state"]["status"] == "JS_RUNNING"
    gone = ask(sfu, "delete_dispatch", made["id"], room)
    assert gone["answer"]["state"]["deleted_at"] > made["state"]["created_at"]
    robot.wait_for("job_over", job=job["job"])
    ann.wait_for("gone", who=there["identity"])
    assert jobs(sfu, room) == []


def test_an_agent_that_has_done_its_work_has_succeeded(sfu, room, robot):
    ann = sfu.join(room, "ann")
    made = dispatch(sfu, room)
    job = robot.wait_for("job", dispatch=made["id"])["job"]
    robot.wait_for("in_room", job=job)
    ann.do("send", topic="chat", text="goodbye", reliable=True)
    robot.wait_for("job_over", job=job, reason="as it was told")
    [ended] = wait_for_status(sfu, room, "JS_SUCCESS")
    assert ended["state"]["ended_at"] > ended["state"]["started_at"]


def test_an_agent_that_was_taken_out_or_takes_its_time_to_end_is_not_sent_for_again(sfu, robot):
    rooms = [sfu.new_room(), sfu.new_room()]
    people = [sfu.join(room, "ann") for room in rooms]
    made = [dispatch(sfu, room, metadata='{"slow": 14}') for room in rooms]
    there = [robot.wait_for("in_room", job=robot.wait_for("job", dispatch=one["id"])["job"]) for one in made]
    people[0].do("send", topic="chat", text="goodbye", reliable=True)
    call(sfu, "room", "remove_participant", "RoomParticipantIdentity", room=rooms[1], identity=there[1]["identity"])
    # A process that is told to end has ten seconds.
    robot.wait_for("job_over", job=there[0]["job"])
    for room in rooms:
        wait_until(lambda room=room: jobs(sfu, room)[0]["state"].get("ended_at"), "the job is over")
        assert jobs(sfu, room)[0]["state"]["status"] == "JS_SUCCESS"
    assert [robot.count("job", dispatch=one["id"]) for one in made] == [1, 1]


def test_an_agent_that_dies_is_sent_for_again(sfu, room, robot):
    ann = sfu.join(room, "ann")
    made = dispatch(sfu, room)
    first = robot.wait_for("job", dispatch=made["id"])["job"]
    robot.wait_for("in_room", job=first)
    ann.do("send", topic="chat", text="die", reliable=True)
    wait_until(lambda: robot.count("job", dispatch=made["id"]) == 2, lambda: f"it comes again\n{robot.process.transcript()}")
    failed, again = wait_for_status(sfu, room, "JS_FAILED", "JS_RUNNING")
    assert failed["id"] == first
    robot.wait_for("in_room", job=again["id"])
    ann.wait_for("subscribed", who=again["state"]["participant_identity"], name="voice")


def test_a_job_that_its_worker_says_nobody_is_to_do_is_over(sfu, room, robot):
    dispatch(sfu, room, metadata="not for me")
    wait_for_status(sfu, room, "JS_SUCCESS")
    assert robot.count("job", room=room) == 0


@pytest.mark.parametrize("way", ["token", "CreateRoom"])
def test_a_room_is_made_with_its_agents(sfu, room, robot, way):
    wish = api.RoomAgentDispatch(agent_name="robot", metadata=f"by {way}")
    if way == "CreateRoom":
        call(sfu, "room", "create_room", "CreateRoomRequest", name=room,
             agents=[{"agent_name": "robot", "metadata": wish.metadata}])
    else:
        ticket = api.AccessToken(KEY, SECRET).with_identity("ann").with_grants(api.VideoGrants(room_join=True, room=room))
        ticket = ticket.with_room_config(api.RoomConfiguration(agents=[wish])).to_jwt()
        sfu.peers.append(Participant(sfu, room, "ann", (), {}, ticket=(sfu.url, ticket)))
    job = robot.wait_for("job", room=room)
    assert job["metadata"] == wish.metadata
    robot.wait_for("in_room", job=job["job"])


def test_agents_without_a_name_come_into_every_new_room_and_those_who_publish_get_theirs(namespace):
    server = Server(namespace)
    try:
        worker, clerk = Worker(server), Worker(server, "", "--type", "publisher")
        ann = server.join("lobby", "ann")
        worker.wait_for("in_room")
        ann.publish()
        job = clerk.wait_for("job")
        assert job["who"] == "ann" and job["room"] == "lobby"
        clerk.wait_for("in_room", job=job["job"])
        # One for the room, and none for agents, though each of them publishes.
        assert worker.count("job") == 1 and clerk.count("job") == 1
        assert server.metrics()["roost_livekit_agent_jobs"] == 2 and server.metrics()["roost_livekit_agent_workers"] == 2
        worker.close(), clerk.close()
    finally:
        assert server.close() == 0


def test_who_is_asked_for_by_name_comes_when_a_worker_does_and_again_when_that_is_lost(sfu, room):
    ann = sfu.join(room, "ann")
    dispatch(sfu, room, "late")
    assert jobs(sfu, room) == []
    worker = Worker(sfu, "late")
    first = worker.wait_for("in_room")["job"]
    ann.check_sound(660, name="voice")
    worker.kill()
    # Nobody is there when it is to be done once more.
    wait_until(lambda: [job["state"]["status"] for job in jobs(sfu, room)] == ["JS_FAILED"], "its agent is missed")
    time.sleep(3)
    other = Worker(sfu, "late")
    again = other.wait_for("in_room")["job"]
    assert again != first
    assert [job["id"] for job in wait_for_status(sfu, room, "JS_FAILED", "JS_RUNNING")] == [first, again]
    other.close()
    worker.close()


def test_many_who_are_wanted_at_once_all_come(sfu):
    """The framework takes one of them at a time where it has one process that waits, and says no to the rest."""
    worker = Worker(sfu, "burst")
    rooms = [sfu.new_room() for _ in range(5)]
    for room in rooms:
        dispatch(sfu, room, "burst")
    for room in rooms:
        wait_for_status(sfu, room, "JS_RUNNING")
    worker.close()


def test_a_job_waits_until_a_worker_has_room(sfu, room):
    worker = Worker(sfu, "busy", "--load", "1")
    wait_until(lambda: "worker is at full capacity" in worker.process.transcript(), "it is full")
    dispatch(sfu, room, "busy")
    [waiting] = wait_for_status(sfu, room, "JS_PENDING")
    assert waiting["state"]["reason"] == "JSR_NO_CAPACITY"
    assert worker.count("job") == 0
    worker.do("load", load=0)
    worker.wait_for("in_room", job=waiting["id"])
    wait_for_status(sfu, room, "JS_RUNNING")
    worker.close()


@pytest.mark.parametrize("speaks_json", [False, True], ids=["bytes", "JSON"])
def test_a_worker_whose_connection_was_lost_goes_on_with_its_jobs(sfu, room, speaks_json):
    worker = BareWorker(sfu, "bare", speaks_json)
    dispatch(sfu, room, "bare")
    job = worker.take_job("agent of mine").job.id
    worker.close()
    worker = BareWorker(sfu, "bare", speaks_json)
    worker.say(migrate_job={"job_ids": [job]})
    worker.say(ping={"timestamp": 42})
    assert worker.hear("pong").last_timestamp == 42
    worker.say(update_job={"job_id": job, "status": "JS_SUCCESS"})
    [ended] = wait_for_status(sfu, room, "JS_SUCCESS")
    assert ended["id"] == job and ended["state"]["participant_identity"] == "agent of mine"
    worker.close()


def test_agents_of_a_cluster_are_reached_through_who_stands_before_it(sfu, room, namespace):
    front = Front(namespace, sfu.url)
    try:
        worker = Worker(front, "far")
        ann = front.join(room, "ann")
        dispatch(front, room, "far")
        worker.wait_for("in_room")
        ann.check_sound(660, name="voice")
        worker.close()
    finally:
        assert front.close() == 0


def test_the_example_in_the_documents_works(sfu, room, tmp_path):
    blocks = (REPOSITORY / "docs/operations/agents.md").read_text().split("```python\n")[1:]
    example = next(block.split("```")[0] for block in blocks if block.startswith("# clerk.py"))
    # On a machine that tests keep busy, with others beside it.
    assert example.count("AgentServer()") == 1
    (tmp_path / "clerk.py").write_text(example.replace("AgentServer()", "AgentServer(load_threshold=100, port=0)"))
    environment = {"LIVEKIT_URL": sfu.url, "LIVEKIT_API_KEY": KEY, "LIVEKIT_API_SECRET": SECRET}
    clerk = JSONProcess(
        "clerk.py", sfu.namespace.command(PYTHON, tmp_path / "clerk.py", "start"), env={**os.environ, **environment},
        start_new_session=True)
    try:
        made = subprocess.run(
            [find_roost(), "token", "create", "--api-key", KEY, "--api-secret", SECRET, "--room", room, "--identity", "ann",
             "--dispatch-agent", "clerk"], capture_output=True, text=True, check=True)
        ann = Participant(sfu, room, "ann", (), {}, ticket=(sfu.url, made.stdout.strip()))
        sfu.peers.append(ann)
        said = ann.wait_for("text", topic="lk.chat")
        assert said["text"].startswith("Hello, I am the clerk.") and said["who"].startswith("agent-")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{clerk.transcript()}") from None
    finally:
        os.killpg(clerk.pid, signal.SIGKILL)
        clerk.finish()


def test_who_may_not_send_for_agents_or_be_a_worker_is_told_so(sfu, room):
    async def knock(session):
        """The status of what is no WebSocket, and of those that are asked for."""
        url = f"{sfu.http}/agent"
        statuses = [(await session.get(url)).status]
        for bearer in ("", worker_token(room_join=True, room=room), worker_token(agent=True)):
            try:
                async with session.ws_connect(url, headers={"Authorization": f"Bearer {bearer}"} if bearer else {}):
                    statuses.append(101)
            except aiohttp.WSServerHandshakeError as error:
                statuses.append(error.status)
        return statuses

    assert from_inside(sfu.namespace, knock) == [426, 401, 401, 101]
    assert ask(sfu, "create_dispatch", {"room": room, "deployment": "a_b"})["code"] == "invalid_argument"
    assert ask(sfu, "list_dispatch", room)["code"] == "not_found"
    sfu.join(room, "ann")
    assert ask(sfu, "delete_dispatch", "AD_none", room)["code"] == "not_found"
    assert ask(sfu, "list_dispatch", room, secret="x" * 40)["status"] == 401
