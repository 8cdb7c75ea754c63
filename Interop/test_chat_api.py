"""docs/openapi.yaml is what the chat server does: the same routes, the same answers, whatever is asked."""

import itertools
import json
import re
import uuid
import zlib

import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance, ignored_auth, response_headers_conformance, response_schema_conformance,
    status_code_conformance,
)

from peers.chat import Chat, done, raw
from support.command import RoostProcesses
from support.evidence import REPOSITORY
from support.waiting import PATIENCE

DOCUMENT = REPOSITORY / "docs" / "openapi.yaml"
SOURCES = REPOSITORY / "Sources"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    response_headers_conformance, ignored_auth,
]

schema = schemathesis.openapi.from_path(DOCUMENT)
DESCRIPTION = schema.raw_schema
schema.config.generation.update(max_examples=10, deterministic=True)
schema.config.request_timeout = PATIENCE
# Those are asked for below, and held against `Allow`.
schema.config.phases.coverage.unexpected_methods = set()


def described():
    """Each operation, and whether it is for anybody."""
    return {
        (method.upper(), path): operation.get("security") == []
        for path, item in DESCRIPTION["paths"].items() for method, operation in item.items() if method != "parameters"
    }


# The document and the code


def test_routes_of_the_code_and_of_the_document_are_the_same():
    route = re.compile(r'Route\(\s*"([A-Z]+)",\s*"(/[^"]*)",(\s*for: \.(?:anybody|link),)?')
    files = sorted((SOURCES / "ChatServer" / "API").glob("*Routes.swift"))
    found = [match.groups() for file in files for match in route.finditer(file.read_text())]
    routes = {(method, path): bool(anybody) for method, path, anybody in found}
    assert len(found) == len(routes) == sum(file.read_text().count("Route(\"") for file in files)
    assert routes == described()


def test_error_codes_of_the_code_and_of_the_document_are_the_same():
    patterns = {
        r'(?:code: |\.conflict\(\s*|\.forbidden\(\s*)"([a-z_]+)"': "{}",
        r'\.notFound\("([a-z]+)"': "{}_not_found",
        r'(?:\.invalid\(\s*|field: |number\()"([a-z0-9_]+)"': "invalid_{}",
    }
    files = [file for module in ("ChatCore", "ChatServer") for file in (SOURCES / module).rglob("*.swift")]
    text = "".join(file.read_text() for file in files)
    found = {code.format(name) for pattern, code in patterns.items() for name in re.findall(pattern, text)}
    listed = set(DESCRIPTION["components"]["schemas"]["ErrorCode"]["enum"])
    realtime = (REPOSITORY / "docs" / "specs" / "chat-realtime.md").read_text()
    assert {code for code in found - listed if f"`{code}`" not in realtime} == set()
    # Made of names in variables: of the times of a search, and of the parts of a history that are asked for together.
    assert listed - found == {"invalid_before", "invalid_unread"}


def test_other_methods_get_405_with_those_that_there_are(chat, team):
    ann = team[0]
    for path in DESCRIPTION["paths"]:
        target = re.sub(r"\{\w+\}", str(uuid.UUID(int=0)), path)
        there = sorted(method for method, other in described() if other == path)
        for method in (method for method in (*METHODS, "OPTIONS", "HEAD") if method not in there):
            status, headers, body = raw(chat, method, f"/api/v1{target}", Authorization=f"Bearer {ann.token}")
            assert status == 405, (method, path, status, body)
            assert sorted(headers["Allow"].split(", ")) == there, (method, path, headers["Allow"])
            if method == "HEAD":
                assert body == b""
                continue
            error = json.loads(body)["error"]
            assert error["code"] == "wrong_method" and error["message"] == f"This address takes {headers['Allow']}."


# The document and a server


class World:
    """People of all roles, and things that are there for them to ask about."""

    # These end the session or the account of who asks, which is nobody else's.
    suicides = {
        "POST /auth/logout", "POST /auth/logout_all", "DELETE /users/me", "POST /auth/change_password",
        "DELETE /auth/sessions/{session_id}",
    }

    def __init__(self, chat):
        self.chat = chat
        owners = [chat.person("owner") for _ in range(6)]
        self.owner, others = owners[0], [chat.person("member") for _ in range(3)]
        guest, self.outsider, self.victim = chat.person("guest"), chat.person("outsider"), chat.person("victim")
        self.workspace = self.owner.workspace()["workspace"]["id"]
        self.owner.bring(self.workspace, *owners[1:], *others, self.victim)
        for person in owners[1:]:
            done(self.owner.patch(f"/workspaces/{self.workspace}/members/{person.id}", role="owner"))
        self.channel, self.members = self.owner.channel(self.workspace), [*owners, *others]
        self.owner.bring(self.workspace, guest, role="guest", channel_ids=[self.channel])
        for person in owners[1:] + others + [self.victim]:
            done(person.post(f"/channels/{self.channel}/join"))
        self.message = self.owner.say(self.channel, "hello @channel")["id"]
        self.owner.say(self.channel, "an answer", thread_id=self.message)
        invitation = done(self.owner.post(f"/workspaces/{self.workspace}/invitations"), 201)
        upload, file = (
            done(self.owner.post(f"/channels/{self.channel}/uploads", name="a.txt", size=1), 201)["id"] for _ in range(2))
        self.owner.ask("PATCH", f"/uploads/{file}", data=b"x", headers={"Upload-Offset": "0"})
        done(self.owner.post(f"/uploads/{file}/complete"), 201)
        self.owner.say(self.channel, "", file_ids=[file])
        self.ids = {
            "workspace_id": self.workspace, "channel_id": self.channel, "message_id": self.message,
            "user_id": others[0].id, "invitation_id": invitation["id"], "upload_id": upload, "file_id": file,
            "session_id": done(self.victim.get("/auth/sessions"))["items"][0]["id"],
            "call_id": self.call(),
            "device_id": done(self.owner.post(
                "/users/me/devices", platform="ios", app_id="org.example.app", environment="production",
                alert_token="ab" * 32), 201)["id"],
        }
        self.link = invitation["token"]
        # Owners get furthest, so they ask most.
        self.askers = itertools.cycle([*owners, *owners, *others, guest, self.outsider])
        self.sessions = itertools.cycle([chat.session() for _ in range(40)])
        self.doomed, self.slugs = {}, {}
        self.answers = {}

    def call(self):
        """One that goes on, in a channel of its own in which everybody is."""
        channel = self.owner.channel(self.workspace)
        for person in self.members[1:]:
            done(person.post(f"/channels/{channel}/join"))
        return done(self.owner.post(f"/channels/{channel}/calls"), 201)["call"]["id"]

    def doomed_of(self, label):
        if label not in self.doomed or label == "DELETE /auth/sessions/{session_id}":
            self.doomed[label] = self.chat.person("doomed")
        return self.doomed[label]

    def prepare(self, case):
        """Real identifiers in most of the cases; the others keep what was made up."""
        label = case.operation.label
        person = self.doomed_of(label) if label in self.suicides else next(self.askers)
        chance = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode())
        if chance % 4:
            for name in case.path_parameters:
                if name in self.ids:
                    case.path_parameters[name] = self.id(name, label, person)
                elif name == "emoji" and chance % 3:
                    case.path_parameters[name] = "👍"
        if label == "DELETE /workspaces/{workspace_id}" and chance % 3 and isinstance(case.query, dict):
            case.query["slug"] = self.slugs.get(case.path_parameters["workspace_id"], "none")
        if chance % 3 and isinstance(case.body, dict):
            self.fill(case.body, label)
        return {"Authorization": f"Bearer {person.token}"}

    def id(self, name, label, person):
        """What is asked about. What a request ends is its own: the next finds everything as it was."""
        match label, name:
            case "DELETE /workspaces/{workspace_id}", "workspace_id":
                listing = person.workspace()["workspace"]
                self.slugs[listing["id"]] = listing["slug"]
                return listing["id"]
            case "DELETE /messages/{message_id}", "message_id":
                return self.owner.say(self.channel, "short-lived")["id"]
            case "POST /channels/{channel_id}/archive" | "POST /channels/{channel_id}/leave", "channel_id":
                return (person if person in self.members else self.owner).channel(self.workspace)
            case "DELETE /workspaces/{workspace_id}/invitations/{invitation_id}", "invitation_id":
                return done(self.owner.post(f"/workspaces/{self.workspace}/invitations"), 201)["id"]
            case "POST /calls/{call_id}/end", "call_id":
                channel = self.owner.channel(self.workspace)
                return done(self.owner.post(f"/channels/{channel}/calls"), 201)["call"]["id"]
            case "DELETE /auth/sessions/{session_id}", "session_id":
                return done(person.get("/auth/sessions"))["items"][0]["id"]
            case (
                "DELETE /workspaces/{workspace_id}/members/{user_id}"
                | "PATCH /workspaces/{workspace_id}/members/{user_id}"
                | "DELETE /channels/{channel_id}/members/{user_id}", "user_id",
            ):
                victim = self.doomed_of(label)
                # Whoever is there already stays what they are.
                self.owner.bring(self.workspace, victim)
                victim.post(f"/channels/{self.channel}/join")
                return victim.id
        return self.ids[name]

    def fill(self, body, label):
        if "/invitations/" in label and isinstance(body.get("token"), str):
            body["token"] = self.link
        if isinstance(body.get("user_id"), str):
            body["user_id"] = self.ids["user_id"]
        if body.get("thread_id"):
            body["thread_id"] = self.message
        if body.get("user_ids"):
            body["user_ids"] = [self.ids["user_id"], self.victim.id]
        if body.get("channel_ids"):
            body["channel_ids"] = [self.channel]


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """A server that has everything that is described, rooms for calls among it."""
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("chat")
    yield Chat(processes.serve("--data", folder, "--rooms", "--media-port", 0, "--media-tcp-port", 0), folder)
    processes.close()


@pytest.fixture(scope="module")
def world(chat):
    world = World(chat)
    yield world
    print({label: dict(sorted(statuses.items())) for label, statuses in world.answers.items()})


@schema.parametrize()
def test_whatever_is_asked_the_answer_is_as_it_is_described(case, world):
    headers = world.prepare(case) if case.operation.definition.raw.get("security") != [] else {}
    answer = case.call_and_validate(
        base_url=world.chat.url, session=next(world.sessions), headers=headers, checks=CHECKS)
    statuses = world.answers.setdefault(case.operation.label, {})
    statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
