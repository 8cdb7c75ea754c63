"""Deleting a workspace: by its owner, and by whoever runs the server."""

import contextlib
import sqlite3

import pytest

from peers.chat import Chat, done, refused
from support.command import fails, run
from support.waiting import wait_until

TABLES = ("messages", "channels", "members", "mentions", "reactions", "thread_followers", "files", "uploads", "invitations")


def rows(chat, workspace):
    """What there is of a workspace in the tables that name it, and of all in the others."""
    with contextlib.closing(sqlite3.connect(f"file:{chat.folder}/chat.sqlite?mode=ro", uri=True)) as database:
        def count(table):
            columns = [column[1] for column in database.execute(f"PRAGMA table_info({table})")]
            if "workspace_id" not in columns:
                return 0
            id = bytes.fromhex(workspace.replace("-", ""))
            return database.execute(f"SELECT COUNT(*) FROM {table} WHERE workspace_id = ?", (id,)).fetchone()[0]

        return {table: count(table) for table in (*TABLES, "workspace_leftovers")}


def file_of(person, channel):
    upload = done(person.post(f"/channels/{channel}/uploads", name="a.txt", size=5), 201)["id"]
    answer = person.ask("PATCH", f"/uploads/{upload}", data=b"bytes", headers={"Upload-Offset": "0"})
    assert answer.status_code == 204, answer.text
    return done(person.post(f"/uploads/{upload}/complete"), 201)["id"]


@pytest.fixture
def filled(chat, team):
    """A workspace in which there is something of everything; its listing, and the path of a file."""
    ann, bob, workspace = team
    channel = ann.general(workspace)
    parent = ann.say(channel, "hello")
    done(bob.put(f"/messages/{parent['id']}/reactions/%F0%9F%91%8D"))
    for number in range(30):
        bob.say(channel, f"@{ann.username} {number}", thread_id=parent["id"])
    file = file_of(ann, channel)
    ann.say(channel, "", file_ids=[file])
    [path] = chat.folder.glob(f"files/*/{file}")
    return done(ann.get(f"/workspaces/{workspace}")), path


def test_an_owner_deletes_a_workspace_for_all(chat, team, filled):
    ann, bob, workspace = team
    listing, path = filled
    slug, channel = listing["workspace"]["slug"], ann.general(workspace)
    refused(ann.delete(f"/workspaces/{workspace}"), 400, "invalid_slug")
    refused(ann.delete(f"/workspaces/{workspace}?slug=another"), 400, "invalid_slug")
    refused(bob.delete(f"/workspaces/{workspace}?slug={slug}"), 403, "role_required")
    with contextlib.closing(ann.socket()) as anns, contextlib.closing(bob.socket()) as bobs:
        assert ann.delete(f"/workspaces/{workspace}?slug={slug}").status_code == 204
        for socket in (anns, bobs):
            last = socket.wait_for("workspace_deleted", workspace_id=workspace)
            assert socket.settle().events(workspace)[-1] == last
        # The socket stays, for what else there is.
        other = ann.workspace("Another team")["workspace"]["id"]
        anns.wait_for("following", workspace_id=other)
    for person in (ann, bob):
        refused(person.get(f"/workspaces/{workspace}"), 404, "workspace_not_found")
        refused(person.get(f"/channels/{channel}/messages"), 404, "channel_not_found")
        refused(person.post(f"/channels/{channel}/messages", content="hello"), 404, "channel_not_found")
    assert done(bob.get("/workspaces"))["items"] == []
    assert done(bob.post("/workspaces", name="A team", slug=slug), 201)["workspace"]["slug"] == slug
    # Who comes back later finds it gone.
    with contextlib.closing(bob.socket(resume={workspace: listing["sequence"]})) as again:
        assert workspace not in again.frames[0]["data"]["workspace_ids"]
        assert not again.settle().events(workspace)
    wait_until(lambda: not any(rows(chat, workspace).values()), lambda: str(rows(chat, workspace)))
    wait_until(lambda: not path.exists(), "the file's bytes are taken away")


def test_whoever_runs_the_server_deletes_a_workspace(chat, team, filled):
    ann, _, workspace = team
    listing, path = filled
    with contextlib.closing(ann.socket()) as socket:
        ended = run("admin", "workspaces", "delete", listing["workspace"]["slug"], "--data", chat.folder)
        assert ended.returncode == 0 and not ended.stderr, ended.stderr
        # By the log alone, which the server looks at every two seconds.
        socket.wait_for("workspace_deleted", workspace_id=workspace)
    refused(ann.get(f"/workspaces/{workspace}"), 404, "workspace_not_found")
    assert not any(rows(chat, workspace).values())
    fails(
        "admin", "workspaces", "delete", listing["workspace"]["slug"], "--data", chat.folder, says="no such workspace")


def test_what_a_server_that_was_killed_has_not_taken_away_the_next_does(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    ann = chat.person("ann")
    listing = ann.workspace()
    workspace, slug = listing["workspace"]["id"], listing["workspace"]["slug"]
    channel = ann.general(workspace)
    for number in range(150):
        ann.say(channel, f"message {number}")
    assert ann.delete(f"/workspaces/{workspace}?slug={slug}").status_code == 204
    chat.process.kill()
    again = Chat(roost.serve("--data", tmp_path), tmp_path)
    wait_until(lambda: not any(rows(again, workspace).values()), lambda: str(rows(again, workspace)))
