"""Settings of `roost serve` from options, the environment and a file, and `roost config`, which tells what holds."""

import os
import re

import pytest

from support.command import fails, run

SETTINGS = """
# What people see.
public-url = https://chat.example.org
port = 0
signaling_port = 0
host = "127.0.0.1"
echo = no
allow-origin = https://one.example
allow-origin = https://two.example
"""


def settings(*arguments, **environment):
    """What `roost config` says: of each name its values and where they come from."""
    done = run("config", *arguments, env=clean(environment))
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        name, value, origin = re.fullmatch(r"(\S+) = (.*)  \((.*)\)", line).groups()
        found.setdefault(name, []).append((value, origin))
    return found


def clean(more):
    return {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")} | more


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "roost.conf"
    path.write_text(SETTINGS + f"data = {tmp_path}\n")
    return path


def test_options_win_over_the_environment_and_that_over_the_file(file):
    found = settings("--config", file, "--port", "8123", ROOST_PORT="8124", ROOST_HOST="::1", ROOST_SAMPLE="true",
                     ROOST_DATA=str(file.parent))
    assert found["port"] == [("8123", "command line")]
    assert found["host"] == [("::1", "ROOST_HOST")]
    assert found["sample"] == [("true", "ROOST_SAMPLE")]
    assert found["public-url"] == [("https://chat.example.org", f"{file}, line 3")]
    assert found["echo"] == [("no", f"{file}, line 7")]
    assert found["turn-port"] == [("3478", "default")]
    assert "database" not in found


def test_what_the_environment_has_besides_options_is_no_slip_of_the_pen():
    secret = "x" * 40
    found = settings(
        ROOST_LIVEKIT_KEYS=f"name:{secret}", ROOST_S3_ACCESS_KEY="a", ROOST_S3_SECRET_KEY="b", ROOST_SMTP_PASSWORD="")
    assert {name for name in found if name.startswith("ROOST_")} == {
        "ROOST_LIVEKIT_KEYS", "ROOST_S3_ACCESS_KEY", "ROOST_S3_SECRET_KEY"}
    assert found["ROOST_LIVEKIT_KEYS"] == [("(hidden)", "the environment")]


@pytest.mark.parametrize(
    "options, says, status",
    [
        (["--media-port", 5], "--media-port needs --livekit-key, --livekit-dev or --rooms", 64),
        (["--livekit-recordings", "/tmp"], "--livekit-recordings needs --livekit-key or --livekit-dev", 64),
        (["--livekit-url", "wss://cluster.example"], "--livekit-url needs the cluster's API key", 64),
        (["--livekit-dev"], "--livekit-dev needs --host 127.0.0.1", 64),
        (["--livekit-key", "name:short"], "secret", 1),
    ],
)
def test_what_the_server_refuses_is_refused_here_as_well(options, says, status):
    for command in ("config", "serve"):
        fails(command, *options, says=says, status=status)


def test_a_list_repeats_its_name_and_is_replaced_as_a_whole(file):
    found = settings("--config", file)
    assert found["allow-origin"] == [
        ("https://one.example", f"{file}, line 8"), ("https://two.example", f"{file}, line 9")]
    found = settings(ROOST_CONFIG=str(file), ROOST_ALLOW_ORIGIN="https://a.example https://b.example")
    assert [value for value, _ in found["allow-origin"]] == ["https://a.example", "https://b.example"]
    found = settings("--config", file, "--allow-origin", "https://c.example")
    assert found["allow-origin"] == [("https://c.example", "command line")]


def test_secrets_are_not_printed(file, tmp_path):
    file.write_text(
        "database = postgresql://roost:hunter2@db.example/chat\nturn-secret = hunter2\nturn = true\n"
        "livekit-key = name:hunter2-that-is-long-enough-to-be-taken\nsmtp = smtps://roost:hunter2@mail.example\n"
        "mail-from = chat@example.org\n")
    done = run("config", "--config", file, "--data", tmp_path, env=clean({}))
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in done.stdout and done.stdout.count("(hidden)") == 4
    assert "postgresql://roost:(hidden)@db.example/chat" in done.stdout and "name:(hidden)" in done.stdout


def test_the_password_of_anothers_relay_is_not_printed_and_where_a_secret_is_kept_is(tmp_path):
    found = settings(ROOST_TURN_URL="turn:a.example turns:b.example", ROOST_TURN_USERNAME="roost",
                     ROOST_TURN_PASSWORD="hunter2")
    assert [value for value, _ in found["turn-url"]] == ["turn:a.example", "turns:b.example"]
    assert found["turn-username"] == [("roost", "ROOST_TURN_USERNAME")]
    assert found["turn-password"] == [("(hidden)", "ROOST_TURN_PASSWORD")]
    found = settings("--turn", ROOST_TURN_SECRET_FILE=str(tmp_path / "secret"))
    assert found["turn-secret-file"] == [(str(tmp_path / "secret"), "ROOST_TURN_SECRET_FILE")]


@pytest.mark.parametrize("name, value, shown", [
    ("database", r"host=db password='it\'s secret' dbname=chat", "host=db password=(hidden) dbname=chat"),
    ("database", r"password='s \\' dbname=chat", "password=(hidden) dbname=chat"),
    ("database", r"password=s\ t&u sslpassword = 'v' dbname=chat", "password=(hidden) sslpassword = (hidden) dbname=chat"),
    ("database", "dbname=chat password='never ends", "dbname=chat password=(hidden)"),
    ("database", "postgresql://ann@db/chat?sslmode=require&password=a%20b&connect_timeout=3",
     "postgresql://ann@db/chat?sslmode=require&password=(hidden)&connect_timeout=3"),
    ("database", "POSTGRESQL://ann:p@ss@db/chat", "POSTGRESQL://ann:(hidden)@db/chat"),
    ("livekit-webhook", "https://hook.example/in?token=a&id=b", "https://hook.example/in?token=(hidden)&id=(hidden)"),
    ("livekit-webhook", "https://hook.example/in?secret", "https://hook.example/in?(hidden)"),
    ("livekit-webhook", "https://ann:pass@hook.example/in?token=a",
     "https://ann:(hidden)@hook.example/in?token=(hidden)"),
    ("livekit-webhook", "https://hook.example:8443/in?token=a@b", "https://hook.example:(hidden)"),
    ("livekit-webhook", "https://hook.example:8443/in", "https://hook.example:8443/in"),
    ("livekit-webhook", "https://token123@hook.example/in", "https://(hidden)@hook.example/in"),
    ("livekit-webhook", "https://token123@hook.example:8443/in?id=a@b", "https://(hidden)@hook.example:(hidden)"),
    ("livekit-webhook", "https://hook.example/@me/in", "https://hook.example/@me/in"),
    ("database", "postgresql://me@example.org:hunter2@db/chat", "postgresql://me@example.org:(hidden)@db/chat"),
    ("database", "postgresql://me@db:5432/chat", "postgresql://me@db:5432/chat"),
    ("database", "postgresql://a/b:hunter2@db/chat", "postgresql://a/b:(hidden)@db/chat"),
    ("database", " postgresql://u:hunter2@db/chat", " postgresql://u:(hidden)@db/chat"),
    ("database", '"postgresql://u:hunter2@db/chat"', '"postgresql://u:(hidden)@db/chat"'),
    ("database", "host=db user=roost password=ab://c dbname=chat",
     "host=db user=roost password=(hidden) dbname=chat"),
])
def test_no_part_of_a_secret_is_printed(name, value, shown, tmp_path):
    # Some are for rooms, which want a key.
    found = settings("--data", tmp_path, f"--{name}={value}", ROOST_LIVEKIT_KEYS=f"name:{'x' * 40}")
    assert found[name] == [(shown, "command line")]


def test_the_password_of_who_logs_in_by_an_address_is_not_printed(tmp_path):
    found = settings("--data", tmp_path, "--mail-from", "chat@example.org",
                     ROOST_SMTP="smtps://me@example.org:hunter2@mail.example.org",
                     ROOST_DATABASE=" postgresql://u:hunter2@db/chat")
    assert found["smtp"] == [("smtps://me@example.org:(hidden)@mail.example.org", "ROOST_SMTP")]
    assert found["database"] == [(" postgresql://u:(hidden)@db/chat", "ROOST_DATABASE")]


@pytest.mark.parametrize("text, says", [
    ("prot = 1", r"line 1: there is no setting 'prot'; 'port' is one"),
    ("\n\nport 1", r"line 3: this is not of the form"),
    ("port = 1\nport = 2", r"line 2: 'port' is there twice"),
    ("port =", r"line 1: 'port' has no value"),
    ("echo = perhaps", r"line 1: 'echo' is true or false"),
    ("config = other", r"there is no setting 'config'"),
])
@pytest.mark.parametrize("command", ["serve", "config"])
def test_a_file_that_is_wrong_is_refused_by_its_line(command, text, says, tmp_path):
    file = tmp_path / "roost.conf"
    file.write_text(text)
    fails(command, "--config", file, says=says, status=64)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    fails("serve", "--config", tmp_path / "nothing", says="cannot be read", status=64)
    (tmp_path / "bytes").write_bytes(b"port = \xff\n")
    fails("serve", "--config", tmp_path / "bytes", says="no text of settings", status=64)


def test_a_slip_in_the_environment_is_told_and_other_variables_are_not_ours():
    done = run("config", env=clean({"ROOST_PUBLIC_ULR": "https://chat.example.org"}))
    assert done.returncode == 64 and "ROOST_PUBLIC_URL is one" in done.stderr
    assert "public-url" not in settings(ROOST_BUILD_NUMBER="7", ROOST_BIN="/nowhere", ROOST_PUBLIC_URL="")


def test_a_value_that_the_option_refuses_is_refused(file):
    """Whoever has to mend it is told where."""
    file.write_text("# many\nport = many")
    for command in ("serve", "config"):
        done = run(command, "--config", file, env=clean({}))
        assert done.returncode == 64 and f"--port is 'many' in {file}, line 2." in done.stderr, done.stderr
        done = run(command, env=clean({"ROOST_MEDIA_WORKERS": "65", "ROOST_PORT": "8081"}))
        assert done.returncode == 64 and done.stderr.rstrip().endswith("--media-workers is '65' in ROOST_MEDIA_WORKERS.")
        assert "8081" not in done.stderr
    # What was just typed is known.
    done = run("serve", "--port", "many", env=clean({}))
    assert done.returncode == 64 and "--port is" not in done.stderr


@pytest.mark.parametrize("command", ["serve", "config"])
def test_what_is_about_the_chat_is_refused_without_one(command, tmp_path):
    fails(command, "--no-registration", says="--no-registration needs --data: it is about the chat", status=64)
    fails(command, "--max-file-size", "5M", says="--max-file-size needs --data", status=64)
    file = tmp_path / "roost.conf"
    file.write_text("# a name\npublic-url = https://chat.example.org")
    fails(command, "--config", file, says="line 2: 'public-url' needs 'data'", status=64)
    done = run(command, env=clean({"ROOST_RING_TIME": "20s"}))
    assert done.returncode == 64 and "ROOST_RING_TIME: 'ring-time' needs 'data'" in done.stderr, done.stderr


def test_a_server_is_as_the_file_and_the_environment_say(roost, file, tmp_path):
    environment = clean({"ROOST_CONFIG": str(file), "ROOST_DATA": str(tmp_path / "chat"), "ROOST_JSON": "true"})
    process = roost.start("roost serve", "serve", env=environment)
    process.wait_for("listening")
    assert (tmp_path / "chat" / "chat.sqlite").exists()
