"""`roost serve --redis`: what it is asked for with, what is wrong with that, and what nobody is to read."""

import os
import socket

import pytest

from peers.chat import Chat
from peers.livekit_room import KEY, SECRET
from peers.redis import Redis
from support.command import fails, run

PASSWORD = "hunter2"
SERVED = ("--port", 0, "--signaling-port", 0, "--host", "127.0.0.1", "--no-echo")
HERE = ("--node-url", "http://127.0.0.1:8080")


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    """One that asks for a password, and knows somebody with another one."""
    redis = Redis(tmp_path_factory.mktemp("redis"), password=PASSWORD)
    assert redis.command("ACL", "SETUSER", "roost", "on", ">a/b@c", "~*", "&*", "+@all") == "OK"
    yield redis
    redis.close()


@pytest.fixture
def options(postgres, tmp_path):
    """Of a server that lacks nothing but Redis."""
    return (*SERVED, "--data", tmp_path, "--database", postgres.database())


def test_redis_needs_a_database_that_others_share(redis, tmp_path):
    done = run("serve", *SERVED, "--data", tmp_path, "--redis", redis.url, *HERE)
    assert done.returncode == 64, (done.returncode, done.stderr)
    assert "--redis" in done.stderr and "--database" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rooms", [("--rooms",), ("--livekit-key", f"{KEY}:{SECRET}", "--livekit-port", 0)])
def test_rooms_of_several_servers_need_to_say_where_they_are(redis, options, rooms):
    media = ("--media-port", 0, "--media-tcp-port", 0)
    done = run("serve", *options, "--redis", redis.url, *rooms, *media)
    assert done.returncode != 0 and "--node-url" in done.stderr, (done.returncode, done.stderr)
    assert PASSWORD not in done.stderr


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://127.0.0.1", "http://"])
def test_a_node_url_is_one_of_http(redis, options, url):
    done = run("serve", *options, "--redis", redis.url, "--node-url", url)
    assert done.returncode != 0 and "--node-url" in done.stderr, (done.returncode, done.stderr)


@pytest.mark.parametrize("url", ["127.0.0.1:6379", "http://127.0.0.1:6379", "redis://", "redis://127.0.0.1:port"])
def test_an_address_that_is_none_is_refused(options, url):
    done = run("serve", *options, "--redis", url, *HERE)
    assert done.returncode != 0 and "redis" in done.stderr.lower(), (done.returncode, done.stderr)


def test_a_redis_that_is_not_there_is_said(options):
    with socket.socket() as holder:
        # Bound and not listening.
        holder.bind(("127.0.0.1", 0))
        fails("serve", *options, "--redis", f"redis://127.0.0.1:{holder.getsockname()[1]}", *HERE, says="(?i)redis")


def test_what_listens_there_and_is_no_redis_is_said(options, roost):
    other = roost.serve()
    fails("serve", *options, "--redis", f"redis://127.0.0.1:{other.port}", *HERE, says="(?i)redis")


@pytest.mark.parametrize("login", ["", ":wrong-hunter3@", "nobody:hunter3@"])
def test_a_wrong_password_of_redis_is_said(redis, options, login):
    done = fails("serve", *options, "--redis", f"redis://{login}127.0.0.1:{redis.port}", *HERE, says="(?i)redis")
    assert "hunter3" not in done.stdout + done.stderr


@pytest.mark.parametrize("login", [f":{PASSWORD}@", f"default:{PASSWORD}@", "roost:a%2Fb%40c@"])
def test_a_right_password_of_redis_is_taken_and_told_to_nobody(redis, postgres, roost, tmp_path, login):
    url = f"redis://{login}127.0.0.1:{redis.port}"
    server = roost.serve(
        "--data", tmp_path, "--database", postgres.database(), "--redis", url, *HERE, "--log-level", "debug")
    chat = Chat(server, tmp_path)
    ann = chat.person("ann")
    workspace = ann.workspace()["workspace"]["id"]
    ann.socket().wait_for("following", workspace_id=workspace)
    assert server.finish() == 0
    said = server.transcript() + "".join(server.text) + str(server.events)
    assert PASSWORD not in said and "a/b@c" not in said and "a%2Fb%40c" not in said


@pytest.mark.parametrize("login, shown", [
    (f":{PASSWORD}@", ":(hidden)@"), (f"roost:{PASSWORD}@", "roost:(hidden)@"), ("", "")])
def test_the_settings_are_told_without_the_password(tmp_path, login, shown):
    file = tmp_path / "roost.conf"
    file.write_text(
        f"data = {tmp_path}\ndatabase = postgresql://roost@db.example/chat\nnode-url = http://10.0.0.1:8080\n"
        f"redis = redis://{login}redis.example:6379\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}
    done = run("config", "--config", file, env=clean)
    assert done.returncode == 0, done.stderr
    assert f"redis = redis://{shown}redis.example:6379" in done.stdout and PASSWORD not in done.stdout
    assert "node-url = http://10.0.0.1:8080" in done.stdout
    by_environment = run("config", "--config", file, env=clean | {"ROOST_REDIS": f"redis://x:{PASSWORD}@other"})
    assert by_environment.returncode == 0 and "redis://x:(hidden)@other" in by_environment.stdout
    assert PASSWORD not in by_environment.stdout
