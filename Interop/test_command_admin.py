"""`roost admin` beside a running server: people, workspaces, invitations."""

import json

import pytest

from peers.chat import PASSWORD, done, refused
from support.command import fails, run


def admin(chat, *arguments):
    ended = run("admin", *arguments, "--data", chat.folder)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    return ended.stdout.splitlines()


def test_who_is_there_is_listed(chat):
    ann, bob = chat.person("ann"), chat.person("bob")
    lines = [line.split("  ") for line in admin(chat, "users", "list")]
    assert [ann.username, ann.email, "Ann"] in [line[:3] for line in lines]
    accounts = {one["profile"]["username"]: one for one in map(json.loads, admin(chat, "users", "list", "--json"))}
    assert accounts[bob.username]["email"] == bob.email and list(accounts) == sorted(accounts)


def test_who_is_deactivated_is_out_and_may_come_back(chat):
    chat.person("owner")
    ann = chat.person("ann")
    ann.workspace()
    socket = ann.socket()
    admin(chat, "users", "deactivate", ann.username)
    assert socket.wait_closed() == 4001
    refused(ann.get("/users/me"), 401, "session_over")
    login = {"login": ann.username, "password": PASSWORD, "device": "a test"}
    refused(ann.post("/auth/login", **login), 401, "wrong_credentials")
    fails("admin", "users", "reset-password", ann.email, "--data", chat.folder, says="reactivate")
    admin(chat, "users", "reactivate", ann.email.upper())
    done(ann.log_in().get("/users/me"))


def test_a_password_is_chosen_by_the_link_that_is_printed(chat):
    ann = chat.person("ann")
    [link] = admin(chat, "users", "reset-password", ann.username, "--public-url", "https://chat.example.org")
    beginning, secret = link.rsplit("/", 1)
    assert beginning == "https://chat.example.org/#/reset-password"
    assert ann.post("/auth/reset_password", token=secret, password="another password").status_code == 204
    refused(ann.get("/users/me"), 401, "session_over")
    done(ann.post("/auth/login", login=ann.username, password="another password", device="a test"))


def test_an_owner_is_made_and_sees_it_at_once(chat):
    ann, bob = chat.person("ann"), chat.person("bob")
    listing = ann.workspace()
    workspace, slug = listing["workspace"]["id"], listing["workspace"]["slug"]
    refused(bob.get(f"/workspaces/{workspace}"), 404, "workspace_not_found")
    admin(chat, "users", "make-owner", bob.username, slug)
    assert done(bob.get(f"/workspaces/{workspace}"))["role"] == "owner"
    assert not done(bob.get("/users/me"))["is_server_owner"]
    admin(chat, "users", "make-owner", bob.username)
    assert done(bob.get("/users/me"))["is_server_owner"]
    # Whoever is connected hears of it without anything happening.
    socket = ann.socket()
    carl = chat.person("carl")
    admin(chat, "users", "make-owner", carl.username, workspace)
    socket.wait_for("member_joined", where=lambda frame: frame["data"]["user"]["id"] == carl.id)


def test_workspaces_are_listed_and_invited_into(chat):
    ann, bob, guest = chat.person("ann"), chat.person("bob"), chat.person("guest")
    listing = ann.workspace("Harbour")
    workspace, slug = listing["workspace"]["id"], listing["workspace"]["slug"]
    channel = ann.channel(workspace, "pier-7")
    entry = next(one for one in map(json.loads, admin(chat, "workspaces", "list", "--json"))
                 if one["workspace"]["id"] == workspace)
    assert (entry["members"], entry["channels"], entry["messages"]) == (1, 2, 0)
    [link] = admin(chat, "invites", "create", slug, "--role", "admin", "--uses", "1")
    assert done(bob.post("/invitations/accept", token=link.rsplit("/", 1)[1]))["role"] == "admin"
    refused(guest.post("/invitations/accept", token=link.rsplit("/", 1)[1]), 410, "invitation_over")
    [link] = admin(chat, "invites", "create", workspace, "--role", "guest", "--channel", "pier-7")
    done(guest.post("/invitations/accept", token=link.rsplit("/", 1)[1]))
    assert [one["channel"]["id"] for one in done(guest.get(f"/workspaces/{workspace}/channels"))["items"]] == [channel]


@pytest.mark.parametrize("arguments, says", [
    (["users", "deactivate", "nobody"], "no such user"),
    (["users", "make-owner", "nobody"], "no such user"),
    (["invites", "create", "nowhere"], "no such workspace"),
])
def test_what_is_not_there_is_told(chat, arguments, says):
    fails("admin", *arguments, "--data", chat.folder, says=says)


def test_a_folder_without_a_chat_is_left_alone(tmp_path):
    fails("admin", "users", "list", "--data", tmp_path, says="no chat")
    assert not list(tmp_path.iterdir())
    assert run("admin", "users", "list").returncode == 64
