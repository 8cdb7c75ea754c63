"""LiveKit's framework for agents as a worker, and a worker that says what it is told to, by LiveKit's messages alone."""

import os
import signal
import subprocess
from pathlib import Path

from google.protobuf.json_format import MessageToJson, Parse
from livekit import api
from livekit.protocol import agent as messages
from websockets.sync.client import connect

from peers.livekit_room import KEY, SECRET
from peers.livekit_service import ask_each
from support.evidence import REPOSITORY
from support.process import JSONProcess
from support.waiting import PATIENCE

PYTHON = REPOSITORY / ".venv/agents/bin/python"
WORKER = Path(__file__).with_name("agent_worker.py")


def ask(server, method, *arguments, secret=SECRET):
    """A method of `livekit.agent_dispatch`; the answer, or the error's code, status and message."""
    if method == "create_dispatch":
        arguments = [api.CreateAgentDispatchRequest(**arguments[0])]
    return ask_each(server, lambda livekit: getattr(livekit.agent_dispatch, method)(*arguments), secret=secret)[0]


class Worker:
    """A process that has registered when this returns; its jobs are processes of their own."""

    def __init__(self, server, name="", *options, wait=True):
        assert PYTHON.exists(), "LiveKit Agents is not there: Scripts/agents-environment.sh installs it"
        command = [PYTHON, WORKER, "--url", server.url, "--key", KEY, "--secret", SECRET, "--name", name, *options]
        self.process = JSONProcess(
            f"worker {name}", server.namespace.command(*command), stdin=subprocess.PIPE, start_new_session=True)
        self.wait_for = self.process.wait_for
        if wait:
            self.wait_for("registered")

    def do(self, what, **fields):
        self.process.tell({"do": what, **fields})

    def count(self, event, **fields):
        wanted = {"event": event, **fields}
        return sum(wanted.items() <= line.items() for line in list(self.process.events))

    def kill(self):
        """With all processes of its jobs, as when the machine goes down."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process._process.poll() is None:
            self.kill()
        self.process.finish()


def worker_token(**grants):
    return api.AccessToken(KEY, SECRET).with_identity("worker").with_grants(api.VideoGrants(**grants)).to_jwt()


class BareWorker:
    """LiveKit's messages over a WebSocket, in the server's namespace."""

    def __init__(self, server, name, speaks_json=False):
        self.speaks_json = speaks_json
        headers = {"Authorization": f"Bearer {worker_token(agent=True)}"}
        connection = server.namespace.connect(server.namespace.address, server.port)
        self.socket = connect(f"{server.url}/agent", sock=connection, additional_headers=headers, legacy=True)
        self.say(register=messages.RegisterWorkerRequest(agent_name=name, version="1"))
        self.id = self.hear("register").worker_id

    def say(self, **fields):
        message = messages.WorkerMessage(**fields)
        if self.speaks_json:
            self.socket.send(MessageToJson(message))
        else:
            self.socket.send(message.SerializeToString())

    def hear(self, kind):
        message = messages.ServerMessage()
        received = self.socket.recv(PATIENCE)
        if self.speaks_json:
            assert isinstance(received, str)
            Parse(received, message)
        else:
            message.ParseFromString(received)
        assert message.WhichOneof("message") == kind, message
        return getattr(message, kind)

    def take_job(self, identity):
        job = self.hear("availability").job
        self.say(availability=messages.AvailabilityResponse(job_id=job.id, available=True, participant_identity=identity))
        assignment = self.hear("assignment")
        assert assignment.job.id == job.id
        return assignment

    def close(self):
        self.socket.close()
