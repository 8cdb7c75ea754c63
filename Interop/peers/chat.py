"""People of `roost serve --data`: HTTP by requests, the realtime socket by websockets, and nothing of ours between."""

import contextlib
import http.client
import itertools
import json
import re
import socket
import sqlite3
import threading
import time

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from support.waiting import PATIENCE, wait_until

PASSWORD = "correct horse battery staple"
STRANGERS_BURST = 60
"""Requests without a token that one network address has at once."""


class FromAddress(HTTPAdapter):
    """Requests from an address of this machine's loopback: each has limits of its own."""

    def __init__(self, address):
        self.address = address
        super().__init__()

    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, source_address=(self.address, 0), **options)


class InNamespace(HTTPAdapter):
    """Requests to a server in a network namespace."""

    def __init__(self, namespace):
        self.namespace, self.address = namespace, None
        super().__init__()

    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, **options)
        namespace = self.namespace

        class Connection(HTTPConnection):
            def _new_conn(self):
                return namespace.connect(self.host, self.port)

        class Pool(HTTPConnectionPool):
            ConnectionCls = Connection

        self.poolmanager.pool_classes_by_scheme = {"http": Pool}


class Chat:
    """A server's chat, as those see it who reach it."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self.url = f"{process.url}/api/v1"
        self.numbers = itertools.count(1)
        self.names = itertools.count(1)

    def address(self):
        """One that nobody has asked from."""
        number = next(self.numbers)
        return f"127.0.{number // 250 + 1}.{number % 250 + 1}"

    def session(self):
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", self.adapter())
        return session

    def adapter(self):
        return FromAddress(self.address())

    def connect(self, address=None):
        """A connection of TCP to the server."""
        return socket.create_connection(("127.0.0.1", self.process.port), PATIENCE, (address or self.address(), 0))

    def name(self, kind="ann"):
        return f"{kind}{next(self.names)}"

    def stranger(self):
        """Somebody without an account."""
        return Caller(self)

    def person(self, name="ann", **options):
        """Somebody who has just registered and logged in."""
        username = self.name(name)
        person = Person(self, username)
        registered = person.post(
            "/auth/register", email=person.email, username=username, display_name=name.capitalize(),
            password=PASSWORD, **options)
        assert registered.status_code == 202, registered.text
        return person.log_in()

    def link(self, kind, action):
        """What `action` gives, and the secret of the link that the server would have sent because of it: without a mail
        server it is in its log."""
        pattern = re.compile(rf"#/{kind}/([\w-]{{43}})")

        def found():
            return [match[1] for line in list(self.process.text) for match in pattern.finditer(line)]

        count = len(found())
        result = action()
        wait_until(lambda: len(found()) > count, lambda: f"a link to {kind}\n{self.process.transcript()}")
        return result, found()[count]

    def ask(self, statement):
        """The first row that the database answers to it."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/chat.sqlite?mode=ro", uri=True)) as database:
            return database.execute(statement).fetchone()

    def metrics(self):
        """What the server counts, by name and labels as they are written."""
        with self.session() as session:
            text = session.get(f"{self.process.url}/metrics", timeout=PATIENCE).text
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def secret(self):
        """What access tokens are signed with."""
        return self.ask("SELECT value FROM settings WHERE name = 'token_secret'")[0]


class ChatInNamespace(Chat):
    """The same of a server in a network namespace, where LiveKit's SDKs find media as well."""

    def __init__(self, namespace, process, port, folder):
        self.namespace, self.port = namespace, port
        process.url, process.port = f"http://{namespace.address}:{port}", port
        super().__init__(process, folder)

    def adapter(self):
        return InNamespace(self.namespace)

    def connect(self, address=None):
        return self.namespace.connect(self.namespace.address, self.port)


class Caller:
    """Asks the server, with a token if there is one."""

    def __init__(self, chat):
        self.chat, self.token, self.session = chat, None, chat.session()

    def ask(self, method, path, *, token=None, headers=None, **options):
        token = token or self.token
        headers = {"Authorization": f"Bearer {token}"} | (headers or {}) if token else headers
        return self.session.request(method, self.chat.url + path, headers=headers, timeout=PATIENCE, **options)

    def get(self, path, **query):
        return self.ask("GET", path, params=query)

    def post(self, path, **body):
        return self.ask("POST", path, json=body)

    def put(self, path, *, version=None, **body):
        headers = {"If-Match": version} if version else None
        return self.ask("PUT", path, json=body, headers=headers) if body else self.ask("PUT", path, headers=headers)

    def patch(self, path, *, version=None, **body):
        return self.ask("PATCH", path, json=body, headers={"If-Match": version} if version else None)

    def delete(self, path):
        return self.ask("DELETE", path)


class Person(Caller):
    def __init__(self, chat, username):
        super().__init__(chat)
        self.username, self.email = username, f"{username}@example.org"

    def log_in(self, device="a test"):
        answer = self.post("/auth/login", login=self.username, password=PASSWORD, device=device)
        assert answer.status_code == 200, answer.text
        return self.take(answer.json())

    def take(self, pair):
        """Goes on with these tokens."""
        self.token, self.refresh_token = pair["access_token"], pair["refresh_token"]
        self.id = pair["account"]["profile"]["id"]
        return self

    def on_another_device(self):
        return Person(self.chat, self.username).log_in("another device")

    def at(self, chat):
        """The same person with the same session, who asks another of the servers that are one."""
        person = Person(chat, self.username)
        person.token, person.refresh_token, person.id = self.token, self.refresh_token, self.id
        return person

    def workspace(self, name="A team"):
        """A new one; its listing."""
        return done(self.post("/workspaces", name=name), 201)

    def channel(self, workspace, name=None, **options):
        made = self.post(f"/workspaces/{workspace}/channels", name=name or self.chat.name("room-"), **options)
        return done(made, 201)["channel"]["id"]

    def general(self, workspace):
        listed = done(self.get(f"/workspaces/{workspace}/channels"))["items"]
        return next(one["channel"]["id"] for one in listed if one["channel"].get("name") == "general")

    def direct(self, workspace, other):
        """The channel of their direct messages."""
        answer = self.post(f"/workspaces/{workspace}/direct", user_ids=[other.id])
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["channel"]["id"]

    def invite(self, workspace, **options):
        """The secret of a link."""
        return done(self.post(f"/workspaces/{workspace}/invitations", **options), 201)["token"]

    def bring(self, workspace, *people, **options):
        """Into the workspace, by a link for all of them."""
        token = self.invite(workspace, **options)
        for person in people:
            done(person.post("/invitations/accept", token=token))

    def say(self, channel, content="hello", **options):
        return done(self.post(f"/channels/{channel}/messages", content=content, **options), 201)

    def history(self, channel, **query):
        """The whole of it, by its cursors."""
        page = done(self.get(f"/channels/{channel}/messages", limit=100, **query))
        messages = page["items"]
        while before := page.get("before"):
            page = done(self.get(f"/channels/{channel}/messages", limit=100, before=before))
            messages = page["items"] + messages
        return messages

    def socket(self, *, resume=None, **options):
        """The realtime socket, by the token in its address, when it follows all workspaces."""
        query = f"?token={self.token}"
        if resume:
            query += "&resume=" + ",".join(f"{id}:{sequence}" for id, sequence in resume.items())
        return Socket(self.chat, query, self.session.adapters["http://"].address, **options).greeted()


class Socket:
    """A realtime socket; everything that came stays in `frames`."""

    def __init__(self, chat, query="", address=None, *, reads=True, **options):
        """`reads` false for one that leaves everything where it is."""
        self.frames, self.code, self.reason, self.is_closed = [], None, None, False
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._connection = connect(
            f"ws{chat.url[4:]}/ws{query}", sock=chat.connect(address),
            proxy=None, compression=None, open_timeout=PATIENCE, max_size=None, ping_interval=None, **options)
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def read_late(self):
        """What has come to one that did not read, until it is over."""
        self._read()
        return self.frames

    def _read(self):
        with contextlib.suppress(ConnectionClosed):
            for message in self._connection:
                with self._changed:
                    self.frames.append(json.loads(message))
                    self._changed.notify_all()
        with self._changed:
            self.code, self.reason = self._connection.close_code, self._connection.close_reason
            self.is_closed = True
            self._changed.notify_all()

    def greeted(self):
        hello = self.wait_for("hello")
        for id in hello["data"]["workspace_ids"]:
            self.wait_for("following", workspace_id=id)
        return self

    def wait_for(self, type, *, after=0, timeout=PATIENCE, where=lambda frame: True, **data):
        """The first frame of this type, of those behind the first `after`, with these members of its data."""
        def found():
            return next((frame for frame in self.frames[after:] if frame["type"] == type
                         and data.items() <= frame["data"].items() and where(frame)), None)

        deadline = time.monotonic() + timeout
        with self._changed:
            while (frame := found()) is None:
                left = deadline - time.monotonic()
                assert left > 0 and not self.is_closed, f"no {type} with {data} came:\n{self.transcript()}"
                self._changed.wait(min(left, 0.5))
            return frame

    def wait_closed(self, timeout=PATIENCE):
        """The code with which the server closed it."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.is_closed, timeout), f"not closed:\n{self.transcript()}"
            return self.code

    def send(self, type, *, id=None, binary=False, **data):
        frame = json.dumps({"type": type, "data": data} | ({"id": id} if id is not None else {}))
        self._connection.send(frame.encode() if binary else frame)

    def send_raw(self, text):
        self._connection.send(text)

    def ask(self, type, **data):
        """Sends it with a number, and gives the answer: an `ack` or an `error`."""
        id = f"n{next(self._numbers)}"
        self.send(type, id=id, **data)
        with self._changed:
            assert self._changed.wait_for(lambda: self.is_closed or self._answer(id), PATIENCE), self.transcript()
            assert self._answer(id), f"closed without an answer to {type}:\n{self.transcript()}"
            return self._answer(id)

    def _answer(self, id):
        return next((frame for frame in self.frames if frame.get("id") == id), None)

    def settle(self):
        """What the server had sent before this was called has come when it returns."""
        count = len(self.frames)
        self.send("ping")
        self.wait_for("pong", after=count)
        return self

    def events(self, workspace=None):
        """Those that have a place in a workspace's order."""
        return [frame for frame in list(self.frames)
                if "sequence" in frame and workspace in (None, frame["workspace_id"])]

    def types(self):
        return [frame["type"] for frame in list(self.frames)]

    def transcript(self):
        lines = [json.dumps(frame)[:300] for frame in self.frames[-30:]]
        return f"closed: {self.code} {self.reason}\n" + "\n".join(lines)

    def close(self):
        self._connection.close()


def done(answer, status=200):
    """The JSON of an answer that is as it is to be."""
    assert answer.status_code == status, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def refused(answer, status, code):
    """The error of an answer that says no: the shape that all of them have."""
    assert answer.status_code == status, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text}"
    assert answer.headers["Content-Type"] == "application/json", answer.headers
    error = answer.json()["error"]
    assert error["code"] == code and error["message"] and set(error) <= {"code", "message", "field"}, error
    return error


def raw(chat, method, target, body=b"", **headers):
    """A request whose target is sent as it stands: status, headers, body."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", chat.process.port, timeout=PATIENCE, source_address=(chat.address(), 0))
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def sequences(frames):
    return [frame["sequence"] for frame in frames]


def check_order(socket, workspace):
    """Each event of a workspace has come at most once, and in its order."""
    seen = sequences(socket.events(workspace))
    assert seen == sorted(set(seen)), seen


def fence(speaker, channel, *sockets):
    """Everything that was told before has come to those who were told: a message that comes after it has."""
    for _ in range(2):
        last = speaker.say(channel, "a mark")
    for socket in sockets:
        socket.wait_for("message_sent", id=last["id"])
