"""Several servers that are one: `roost serve --redis` twice over the same PostgreSQL and the same Redis."""

import random
import subprocess
import time

from peers.chat import Chat, ChatInNamespace
from peers.redis import Redis
from peers.roost_peer import cheap_passwords, find_roost
from support.evidence import REPOSITORY
from support.ports import BELOW_EPHEMERAL, free_port
from support.process import JSONProcess
from support.waiting import wait_until

AT_ONCE = 1
"""Seconds. A server that only looks into the database finds what another one has written every two."""


class Nodes:
    """What the servers share, a folder for files among it, and the chat of each, in `chats`."""

    trusts = None
    """They have no certificates, for the participants of `livekit_room.py`."""

    def __init__(self, postgres, folder, *options, count=2, namespace=None):
        """`namespace`: where all of it is, if not on this machine's loopback."""
        self.folder, self.options, self.namespace = folder, options, namespace
        self.chats = []
        self.redis = Redis(folder, namespace=namespace)
        self.database = postgres.database()
        try:
            for _ in range(count):
                self.start()
        except BaseException:
            self.close()
            raise

    def start(self, in_place_of=None):
        """One more server, whose URL is known before it is there; or one that comes back where another was."""
        host = self.namespace.address if self.namespace else "127.0.0.1"
        if in_place_of:
            port = in_place_of.process.port
        else:
            port = random.choice(BELOW_EPHEMERAL) if self.namespace else free_port()
        name, folder = f"roost serve {len(self.chats)}", self.folder / "data"
        command = [
            find_roost(), "serve", "--json", "--no-echo", "--host", host, "--port", port, "--signaling-port", port,
            "--data", folder, "--database", self.database, "--redis", self.redis.url,
            "--node-url", f"http://{host}:{port}", *cheap_passwords(["--data", *self.options]), *self.options,
        ]
        command = self.namespace.command(*command) if self.namespace else command
        process = JSONProcess(name, command, cwd=REPOSITORY)
        try:
            process.wait_for("listening")
        except AssertionError:
            process.finish()
            raise
        if self.namespace:
            chat = ChatInNamespace(self.namespace, process, port, folder)
        else:
            process.url, process.port = f"http://{host}:{port}", port
            chat = Chat(process, folder)
        if self.chats:
            # Names and addresses that nobody has used at any of them.
            chat.names, chat.numbers = self.chats[0].names, self.chats[0].numbers
        self.chats.append(chat)
        return chat

    def ask(self, statement):
        """What the database answers to it."""
        command = ["psql", "-qXAt", "-c", statement, self.database]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def close(self):
        for chat in reversed(self.chats):
            chat.process.finish()
        self.redis.close()


def kill(chat):
    """As a power cut does; when."""
    chat.process.kill()
    killed = time.monotonic()
    chat.process.wait()
    return killed


def online(socket, workspace):
    """Who is there, as a client knows that began with `following` and went on from it."""
    people = set()
    for frame in list(socket.frames):
        match frame["type"], frame["data"]:
            case "following", {"workspace_id": id, "online": everybody} if id == workspace:
                people = set(everybody)
            case "presence_changed", {"workspace_id": id, "user_id": user, "is_online": is_online} if id == workspace:
                people = people | {user} if is_online else people - {user}
    return people


def wait_online(workspace, people, *sockets):
    """Until these people are there, and nobody else, as each of the sockets knows."""
    names = {person.id: person.username for person in people}

    def told(socket):
        return sorted(names.get(id, id) for id in online(socket, workspace))

    expected = sorted(names.values())
    wait_until(lambda: all(told(socket) == expected for socket in sockets),
               lambda: f"{expected} are there; told are {[told(socket) for socket in sockets]}")


def told_of(person, socket, after):
    """What a socket was told of somebody's coming and going, behind its first `after` frames."""
    return [frame["data"]["is_online"] for frame in list(socket.frames)[after:]
            if frame["type"] == "presence_changed" and frame["data"]["user_id"] == person.id]
