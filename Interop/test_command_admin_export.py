"""`roost admin export`, `import` and `import-slack` beside a running server."""

import json
import stat
import zipfile

import pytest

from peers.chat import PASSWORD, done
from support.command import fails, run


def admin(chat, *arguments):
    ended = run("admin", *arguments, "--data", chat.folder)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    return ended.stdout.splitlines()


def records(lines, type):
    return [record for record in map(json.loads, lines) if record["type"] == type]


@pytest.fixture
def busy(chat, team):
    """Ann's workspace with Bob, in which something was said: both, and its address."""
    ann, bob, workspace = team
    general = ann.general(workspace)
    first = ann.say(general, f"hello @{bob.username}")
    bob.say(general, "an answer", thread_id=first["id"])
    for number in range(3):
        bob.say(general, f"number {number}")
    slug = done(ann.get(f"/workspaces/{workspace}"))["workspace"]["slug"]
    return ann, bob, slug


def test_a_workspace_is_exported_and_comes_back_as_another(chat, busy, tmp_path):
    ann, bob, slug = busy
    file = tmp_path / "harbour.jsonl"
    assert admin(chat, "export", slug, "--output", file) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [file]
    lines = file.read_text().splitlines()
    assert json.loads(lines[0])["version"] == 1 and json.loads(lines[-1]) == {"type": "end", "messages": 5}
    assert {user["email"] for user in records(lines, "user")} == {ann.email, bob.email}
    assert PASSWORD not in file.read_text() and "scrypt" not in file.read_text()
    # Their addresses were never confirmed, for this server has no letters.
    fails("admin", "import", file, "--slug", f"{slug}-2", "--data", chat.folder, says="--trust-addresses")
    [line] = admin(chat, "import", file, "--slug", f"{slug}-2", "--trust-addresses")
    assert line.startswith(f"{slug}-2  ") and "0 new accounts, 1 new channels, 5 new messages" in line
    workspaces = {one["workspace"]["slug"]: one for one in done(bob.get("/workspaces"))["items"]}
    copy = workspaces[f"{slug}-2"]["workspace"]["id"]
    history = bob.history(bob.general(copy))
    assert [one["content"] for one in history] == [f"hello @{bob.username}", "number 0", "number 1", "number 2"]
    assert history[0]["mentions"]["user_ids"] == [bob.id] and history[0]["reply_count"] == 1
    # What was there goes on.
    ann.say(ann.general(copy), "and on")
    [line] = admin(chat, "import", file, "--trust-addresses")
    assert "0 new accounts, 0 new channels, 0 new messages" in line


def test_an_export_may_go_to_standard_output(chat, busy):
    _, _, slug = busy
    lines = admin(chat, "export", slug)
    assert [one["content"] for one in records(lines, "message")][1:] == ["an answer", "number 0", "number 1", "number 2"]
    fails("admin", "export", "nowhere", "--data", chat.folder, says="no such workspace")


def test_a_file_that_has_broken_off_is_told_and_goes_on(chat, busy, tmp_path):
    ann, _, slug = busy
    lines = admin(chat, "export", slug)
    file = tmp_path / "part.jsonl"
    file.write_text("\n".join(lines[:-4])[:-10])
    arguments = ["--slug", f"{slug}-3", "--trust-addresses", "--data", chat.folder]
    fails("admin", "import", file, *arguments, says="breaks off")
    assert f"{slug}-3" not in [one["workspace"]["slug"] for one in done(ann.get("/workspaces"))["items"]]
    file.write_text("\n".join(lines) + "\n")
    assert admin(chat, "import", file, *arguments[:3])
    assert f"{slug}-3" in [one["workspace"]["slug"] for one in done(ann.get("/workspaces"))["items"]]


def test_what_is_no_export_is_told(chat, tmp_path):
    file = tmp_path / "file"
    file.write_text("hello\n")
    fails("admin", "import", file, "--data", chat.folder, says="no export")
    fails("admin", "import", tmp_path / "nothing", "--data", chat.folder, says="no file")
    fails("admin", "import-slack", file, "--data", chat.folder, says="ZIP")
    fails("admin", "import-slack", tmp_path, "--data", chat.folder, says="users.json")


def slack_archive(path, email, **more):
    files = {
        "users.json": [{"id": "U1", "team_id": "T1", "name": "olga", "is_owner": True,
                        "profile": {"display_name": "Olga", "email": email}}],
        "channels.json": [{"id": "C1", "name": "general", "created": 1690000000, "creator": "U1", "members": ["U1"]}],
        "general/2023-11-14.json": [
            {"type": "message", "user": "U1", "ts": "1700000001.000200", "text": "<@U1> &amp; <https://example.org|us>"}],
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | more).items():
            archive.writestr(name, json.dumps(content))
    return path


def test_an_archive_of_slacks_becomes_a_workspace(chat, tmp_path):
    olga = chat.person("olga")
    path = slack_archive(tmp_path / "Pier 9 Slack export Nov 14 2023 - Nov 14 2023.zip", olga.email)
    [line] = admin(chat, "import-slack", path, "--trust-addresses")
    assert line.startswith("pier-9  Pier 9  ") and "1 new messages" in line
    workspace = next(one["workspace"]["id"] for one in done(olga.get("/workspaces"))["items"]
                     if one["workspace"]["slug"] == "pier-9")
    [message] = olga.history(olga.general(workspace))
    assert message["content"] == f"@{olga.username} & [us](https://example.org)"
    assert message["created_at"] == "2023-11-14T22:13:21.000Z" and message["user"]["id"] == olga.id


def test_an_archive_that_leads_elsewhere_is_refused(chat, tmp_path):
    path = slack_archive(tmp_path / "bad.zip", "bad@example.org", **{"../elsewhere.json": []})
    fails("admin", "import-slack", path, "--data", chat.folder, says="outside")
    assert [one.name for one in tmp_path.iterdir()] == ["bad.zip"]
