"""What nobody in their right mind sends to chat of `roost serve --data`, and a server that is killed."""

import contextlib
import json
import threading
from urllib.parse import quote

import pytest
import requests

from peers.chat import Chat, done, raw, refused
from support.waiting import PATIENCE, wait_until


def bearer(person):
    return {"Authorization": f"Bearer {person.token}"}


# Bodies


@pytest.mark.parametrize("size, has_length", [((256 << 10) + 1, True), (3 << 20, True), (1 << 20, False)])
def test_a_body_beyond_256_kib_is_refused(team, size, has_length):
    ann, _, workspace = team
    body = b'{"content": "' + b"x" * size
    answer = ann.ask("POST", f"/channels/{ann.general(workspace)}/messages", data=body if has_length else iter([body]))
    refused(answer, 413, "payload_too_large")
    done(ann.get("/users/me"))


def test_a_message_that_is_too_long_is_refused_and_one_that_is_not_is_kept(team):
    ann, _, workspace = team
    channel = ann.general(workspace)
    assert ann.say(channel, "👨‍👩‍👧‍👦" * 100)["content"] == "👨‍👩‍👧‍👦" * 100
    assert ann.say(channel, "🌻" * 12_000)["version"] == 1
    for content in ("x" * 12_001, "🌻" * 12_001, "e" + "\u0301" * 30_000):
        error = refused(ann.post(f"/channels/{channel}/messages", content=content), 413, "message_too_long")
        assert error["field"] == "content"


@pytest.mark.parametrize("body", [
    b"", b"{", b"null", b"[]", b"1", b'"content"', b'{"content": "\xff\xfe"}', b'{"content": "\xed\xa0\x80"}',
    b"\xff" * 99, b'{"content": "\\ud800"}', b'{"content": "\x01"}',
    b"[" * 100_000, b'{"content":' * 20_000, b"[" * 50_000 + b"]" * 50_000,
    b'{"content": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", b'{"content": 1e999999}', b'{"content": {"a": 1}}',
    b'{"content": null}', b'{"content": "a"} trailing', b'{"content": "a", "thread_id": "x"}',
    b'{"content": "a", "thread_id": 7}', b'{"content": "a", "client_id": ""}',
    b'{"content": "a", "client_id": "\xc3\xa9"}',
    b'{"content": "\\u0000"}', b'{"content": " \\n\\t "}',
])
def test_a_body_that_is_not_right_is_refused_with_its_reason(team, body):
    ann, _, workspace = team
    channel = ann.general(workspace)
    answer = ann.ask("POST", f"/channels/{channel}/messages", data=body)
    assert answer.status_code == 400, (answer.status_code, answer.text)
    code = answer.json()["error"]["code"]
    assert code in ("not_json", "invalid_body", "invalid_content", "invalid_client_id"), answer.text
    assert ann.history(channel) == []


# Addresses


@pytest.mark.parametrize("target, status", [
    ("/api/v1/users/%6d%65", 200), ("/api/v1/users/m%65", 200), ("/api/v1/users/%6d%6", 404),
    ("/api/v1/users/%zz", 404), ("/api/v1/users/%ff%fe", 404), ("/api/v1/users/%00", 404),
    ("/api/v1/users/me%00", 404), ("/api/v1/users/%2e%2e", 404), ("/api/v1/users/..", 404),
    ("/api/v1/users/../users/me", 404), ("/api/v1/users/me%2f", 404), ("/api/v1/users%2fme", 404),
    ("/api/v1/%252e%252e/users/me", 404), ("/api/v1/users/%2525", 404), ("/api/v1/users/" + "a" * 20_000, 404),
    ("/api/v1/" + "a/" * 5_000, 404), ("/api/v1", 404), ("/api/v1/", 404), ("/api/v1/users/me;x=1", 404),
    ("/api/v1/users/ME", 404), ("/api/v1/ws/", 404), ("/api/v1/users/me#x", 404),
])
def test_an_address_is_what_it_says_and_nothing_else(team, chat, target, status):
    answer = raw(chat, "GET", target, **bearer(team[0]))
    assert answer[0] == status, answer
    assert answer[1]["Content-Type"] == "application/json"
    assert status == 200 or json.loads(answer[2])["error"]["code"].endswith("_not_found")


@pytest.mark.parametrize("emoji, status", [
    ("👍", 200), ("👨‍👩‍👧‍👦", 200), (":wave:", 200), ("a", 400), ("👍👍", 400), ("1", 400), (":", 400), ("::", 400),
    (":" + "a" * 65 + ":", 400),
    ("\x00", 400), ("👍" + "\u0301" * 100, 400), (":a b:", 400), ("1\u0301", 400), ("../..", 400),
])
def test_a_reaction_is_an_emoji(team, emoji, status):
    ann, _, workspace = team
    message = ann.say(ann.general(workspace))
    assert ann.put(f"/messages/{message['id']}/reactions/{quote(emoji, safe='')}").status_code == status


@pytest.mark.parametrize("query", [
    "prefix=" + "a" * 60_000, "prefix=%", "prefix=%25", "prefix=_", "prefix=%00", "prefix=%ff", "x=1&" * 10_000,
    "prefix=!", "&&&=&=", "prefix=a&prefix=b", "limit=0", "limit=9223372036854775807",
])
def test_a_query_is_read_or_passed_over(team, chat, query):
    ann, _, workspace = team
    status, _, body = raw(chat, "GET", f"/api/v1/workspaces/{workspace}/members?{query}", **bearer(ann))
    assert status == 200, body
    names = [member["user"]["username"] for member in json.loads(body)["items"]]
    assert len(names) == (0 if query.startswith("prefix=") and not query.startswith("prefix=a&") else len(names))


@pytest.mark.parametrize("query, code", [
    ("limit=-1", "invalid_limit"), ("limit=x", "invalid_limit"), ("limit=1.5", "invalid_limit"),
    ("limit=", "invalid_limit"),
    ("limit=99999999999999999999", "invalid_limit"), ("before=x", "invalid_cursor"), ("after=nann", "invalid_cursor"),
    ("before=s-1", "invalid_cursor"), ("after=", "invalid_cursor"), ("around=x", "invalid_around"),
    ("before=s1&after=s1", "invalid_after"),
])
def test_a_query_that_is_wrong_is_refused(team, query, code):
    ann, _, workspace = team
    refused(ann.ask("GET", f"/channels/{ann.general(workspace)}/messages?{query}"), 400, code)


def test_a_cursor_of_another_list_is_refused(team):
    ann, _, workspace = team
    channel = ann.general(workspace)
    for number in range(3):
        ann.say(channel, f"number {number}")
    of_messages = done(ann.get(f"/channels/{channel}/messages", limit=1))["before"]
    of_members = done(ann.get(f"/workspaces/{workspace}/members", limit=1))["after"]
    for list in ("members", "channels/public"):
        refused(ann.get(f"/workspaces/{workspace}/{list}", cursor=of_messages), 400, "invalid_cursor")
    refused(ann.get(f"/channels/{channel}/messages", before=of_members), 400, "invalid_cursor")


def test_whatever_cursor_is_given_out_is_taken_back(team):
    ann, _, workspace = team
    channel = ann.general(workspace)
    sent = [ann.say(channel, f"number {number}")["id"] for number in range(3)]
    page = done(ann.get(f"/channels/{channel}/messages", around=sent[2], limit=1))
    assert [message["id"] for message in page["items"]] == [sent[2]] and page.get("before")
    for query in (
        {"before": "s0"}, {"before": page["before"]}, {"after": "s0", "limit": 1}, {"around": sent[1], "limit": 2},
    ):
        page = done(ann.get(f"/channels/{channel}/messages", **query))
        for direction in ("before", "after"):
            if cursor := page.get(direction):
                done(ann.get(f"/channels/{channel}/messages", **{direction: cursor}))


# The end of the server


def test_a_password_is_kept_at_the_new_cost_when_its_owner_logs_in(roost, tmp_path):
    def kept(chat, person):
        return chat.ask(f"SELECT password_hash FROM users WHERE username = '{person.username}'")[0]

    chat = Chat(roost.serve("--data", tmp_path, "--password-cost", 9), tmp_path)
    wait_until(lambda: "easy to guess" in chat.process.transcript(), chat.process.transcript)
    ann, bob = chat.person("ann"), chat.person("bob")
    cheap = kept(chat, ann)
    assert cheap.startswith("$scrypt$ln=9,r=8,p=3$"), cheap
    chat.process.finish()

    again = Chat(roost.serve("--data", tmp_path, "--password-cost", 15), tmp_path)
    ann, bob = ann.at(again), bob.at(again)
    refused(ann.post("/auth/login", login=ann.username, password="another"), 401, "wrong_credentials")
    assert kept(again, ann) == cheap
    before = ann.at(again)
    ann.log_in()
    assert kept(again, ann).startswith("$scrypt$ln=15,r=8,p=3$") and kept(again, bob).startswith("$scrypt$ln=9,")
    ann.log_in()
    # Nobody else's session ended, nor hers of before.
    for person in (before, bob):
        done(person.get("/users/me"))
    assert "easy to guess" not in again.process.transcript()


def test_what_was_acknowledged_outlives_a_kill_and_is_there_once(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    people = [chat.person(name) for name in ("ann", "bob", "cid")]
    ann = people[0]
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, *people[1:])
    channel, witness = ann.general(workspace), ann.socket()
    tried, acknowledged, hundred = [], {}, threading.Event()

    def talk(person):
        for number in range(150):
            name = f"{person.username}-{number}"
            tried.append((person, name))
            try:
                acknowledged[name] = person.say(channel, name, client_id=name)["sequence"]
            except requests.RequestException:
                return
            if len(acknowledged) >= 100:
                hundred.set()

    talking = [threading.Thread(target=talk, args=(person,)) for person in people]
    for thread in talking:
        thread.start()
    assert hundred.wait(PATIENCE), f"{len(acknowledged)} messages are acknowledged, not a hundred"
    chat.process.kill()
    for thread in talking:
        thread.join()
    witness.wait_closed()
    assert len(tried) > len(acknowledged), "nobody was speaking when the server was killed"

    chat.process = roost.serve("--data", tmp_path)
    chat.url = f"{chat.process.url}/api/v1"
    kept = {message["client_id"]: message["sequence"] for message in ann.history(channel)}
    assert acknowledged.items() <= kept.items()
    # What was told was kept, and what comes next goes on from it.
    sent = [event for event in witness.events() if event["type"] == "message_sent"]
    told = {event["data"]["client_id"]: event["sequence"] for event in sent}
    assert told.items() <= kept.items()
    newest = max(event["sequence"] for event in witness.events(workspace))
    back = ann.socket(resume={workspace: newest})
    missed = sorted(sequence for sequence in kept.values() if sequence > newest)
    assert [event["sequence"] for event in back.events(workspace)] == missed
    # Who has no answer asks again.
    for person, name in [one for one in tried if one[1] not in acknowledged]:
        assert person.post(f"/channels/{channel}/messages", content=name, client_id=name).status_code in (200, 201)
    names = [message["client_id"] for message in ann.history(channel)]
    assert sorted(names) == sorted(name for _, name in tried)


def test_a_server_that_is_to_end_finishes_what_it_has_begun(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    people = [chat.person(name) for name in ("ann", "bob", "cid")]
    channels = [person.general(person.workspace()["workspace"]["id"]) for person in people]
    statuses = []

    def talk(person, channel):
        with contextlib.suppress(requests.RequestException):
            for _ in range(150):
                statuses.append(person.post(f"/channels/{channel}/messages", content="hello").status_code)

    talking = [threading.Thread(target=talk, args=one) for one in zip(people, channels)]
    for thread in talking:
        thread.start()
    wait_until(lambda: len(statuses) >= 30, "thirty messages are sent")
    chat.process.interrupt()
    for thread in talking:
        thread.join()
    assert chat.process.wait() == 0
    assert set(statuses) == {201}, statuses
