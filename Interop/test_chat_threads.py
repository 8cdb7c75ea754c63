"""Threads that people follow: their list, what is unread in it, and what other devices and notifications make of it."""

import contextlib

import pytest

from peers.chat import done, refused


@pytest.fixture
def thread(team):
    """Ann, Bob, the workspace, its channel, and a message of Ann's that Bob has answered."""
    ann, bob, workspace = team
    channel = ann.general(workspace)
    parent = ann.say(channel, "Who is on watch?")
    reply = bob.say(channel, "I am.", thread_id=parent["id"])
    return ann, bob, workspace, channel, parent["id"], reply


def threads(person, workspace, **query):
    return done(person.get(f"/workspaces/{workspace}/threads", **query))["items"]


def unread(person, workspace):
    return done(person.get(f"/workspaces/{workspace}"))["unread_threads"]


def test_threads_are_listed_with_what_is_unread(thread):
    ann, bob, workspace, channel, parent, reply = thread
    [listed] = threads(ann, workspace)
    assert listed["message"]["id"] == parent and listed["message"]["reply_count"] == 1
    assert (listed["unread"], listed["last_read"], listed["last_reply"]) == (1, 0, reply["sequence"])
    assert unread(ann, workspace) == 1 and unread(bob, workspace) == 0
    assert [one["unread"] for one in threads(bob, workspace)] == [0]
    # The newest answer first, in pages.
    other = bob.say(channel, "And tomorrow?")["id"]
    ann.say(channel, "Nobody.", thread_id=other)
    assert [one["message"]["id"] for one in threads(ann, workspace)] == [other, parent]
    page = done(ann.get(f"/workspaces/{workspace}/threads", limit=1))
    assert [one["message"]["id"] for one in page["items"]] == [other]
    page = done(ann.get(f"/workspaces/{workspace}/threads", limit=1, cursor=page["after"]))
    assert [one["message"]["id"] for one in page["items"]] == [parent] and not page.get("after")
    assert [one["message"]["id"] for one in threads(ann, workspace, unread="true")] == [parent]


def test_what_one_device_has_read_of_a_thread_the_other_has(thread):
    ann, bob, workspace, channel, parent, reply = thread
    with contextlib.closing(ann.on_another_device().socket()) as other, contextlib.closing(bob.socket()) as bobs:
        assert ann.put(f"/messages/{parent}/read", last_read=reply["sequence"]).status_code == 204
        mark = other.wait_for("thread_marked", thread_id=parent)["data"]
        assert mark == {
            "thread_id": parent, "channel_id": channel, "last_read": reply["sequence"], "is_following": True}
        assert unread(ann, workspace) == 0
        # Writing is reading, and of others' marks nobody hears.
        answer = ann.say(channel, "Good.", thread_id=parent)
        other.wait_for("thread_marked", last_read=answer["sequence"])
        bobs.wait_for("message_sent", id=answer["id"])
        assert "thread_marked" not in bobs.settle().types()
    assert unread(bob, workspace) == 1


def test_one_turns_away_from_a_thread_and_follows_another(thread, chat):
    ann, bob, workspace, channel, parent, _ = thread
    assert ann.delete(f"/messages/{parent}/follow").status_code == 204
    bob.say(channel, "Still here.", thread_id=parent)
    assert threads(ann, workspace) == [] and unread(ann, workspace) == 0
    cleo = chat.person("cleo")
    ann.bring(workspace, cleo)
    assert threads(cleo, workspace) == []
    assert cleo.put(f"/messages/{parent}/follow").status_code == 204
    last = bob.say(channel, "Over.", thread_id=parent)
    assert [(one["unread"], one["last_reply"]) for one in threads(cleo, workspace)] == [(1, last["sequence"])]
    refused(cleo.put(f"/messages/{last['id']}/follow"), 400, "invalid_thread_id")
    stranger = chat.person("stranger")
    refused(stranger.put(f"/messages/{parent}/follow"), 404, "message_not_found")
    refused(stranger.get(f"/workspaces/{workspace}/threads"), 404, "workspace_not_found")
