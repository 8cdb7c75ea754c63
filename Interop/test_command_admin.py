"""`roost admin` beside a running server: people, workspaces, invitations; and before one that is older or newer."""

import contextlib
import json
import sqlite3

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


def test_what_commands_a_terminal_is_written_out(chat):
    """Rows of before such addresses were refused."""
    ann = chat.person("ann")
    address = f"{ann.username}\u009b31m\u202e@example.org"
    change(chat.folder, f"UPDATE users SET email = '{address}' WHERE username = '{ann.username}'")
    [line] = [line for line in admin(chat, "users", "list") if line.startswith(f"{ann.username} ")]
    assert f"  {ann.username}\\u{{9b}}31m\\u{{202e}}@example.org  Ann" in line
    [line] = [line for line in admin(chat, "users", "list", "--json") if f'"{ann.username}"' in line]
    assert "\u009b" not in line and "\u202e" not in line and json.loads(line)["email"] == address


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
    with_carl = carl.socket()
    admin(chat, "users", "make-owner", carl.username, workspace)
    socket.wait_for("member_joined", where=lambda frame: frame["data"]["user"]["id"] == carl.id)
    # So does the new owner, who was in no workspace.
    with_carl.wait_for("following", workspace_id=workspace)
    ann.channel(workspace, "after-carl")
    with_carl.wait_for("channel_created", name="after-carl")


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


def test_a_private_channel_that_nobody_is_in_is_opened_again(chat):
    ann, bob = chat.person("ann"), chat.person("bob")
    listing = ann.workspace()
    workspace, slug = listing["workspace"]["id"], listing["workspace"]["slug"]
    ann.bring(workspace, bob)
    channel = done(bob.post(f"/workspaces/{workspace}/channels", name="crew", kind="private"), 201)["channel"]["id"]
    arguments = ["admin", "channels", "reopen", slug, "crew", ann.username]
    fails(*arguments, "--data", chat.folder, says="nobody is in")
    done(ann.delete(f"/workspaces/{workspace}/members/{bob.id}"), 204)
    refused(ann.get(f"/channels/{channel}"), 404, "channel_not_found")
    admin(chat, *arguments[1:])
    assert not done(ann.get(f"/channels/{channel}"))["channel"]["is_archived"]


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


def change(folder, *statements):
    with contextlib.closing(sqlite3.connect(folder / "chat.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


def steps(folder):
    with contextlib.closing(sqlite3.connect(folder / "chat.sqlite")) as database:
        return {name for name, in database.execute("SELECT name FROM schema_steps")}


def test_the_tables_of_another_version_are_left_alone(roost, tmp_path):
    assert roost.serve("--data", tmp_path).finish() == 0
    users = ["admin", "users", "list", "--data", tmp_path]
    assert run(*users).returncode == 0
    # As a version has left it that did not have the last step, and may be running.
    change(tmp_path, "DROP TABLE left_changes", "DROP INDEX former_tokens_by_time",
           "DELETE FROM schema_steps WHERE name = 'left_changes'")
    older = steps(tmp_path)
    for _ in range(2):
        fails(*users, says="'left_changes'.*[Ss]tart the server once with this version")
        assert steps(tmp_path) == older
    migrated = run(*users, "--migrate")
    assert migrated.returncode == 0 and not migrated.stderr, migrated.stderr
    assert steps(tmp_path) == older | {"left_changes"}
    assert list(tmp_path.glob("chat.sqlite.before-left_changes-*"))
    assert run(*users).returncode == 0
    change(tmp_path, "INSERT INTO schema_steps (name, taken_at) VALUES ('of_the_future', 0)")
    for options in ([], ["--migrate"]):
        fails(*users, *options, says="newer version of Roost.*'of_the_future'")
