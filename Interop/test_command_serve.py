"""`roost serve` on the command line: what keeps it from starting, its end, and the echo peer that it brings."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from peers.roost_peer import find_roost
from support.command import call_arguments, fails, run
from support.waiting import PATIENCE


@pytest.mark.parametrize("which", ["--port", "--signaling-port"])
def test_a_port_that_is_taken(which):
    other = {"--port": "--signaling-port", "--signaling-port": "--port"}[which]
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        says = f"Port {port} on 127.0.0.1 is taken by another program. {which} takes another one."
        fails("serve", "--host", "127.0.0.1", which, port, other, 0, "--no-echo", says=says)


@pytest.mark.parametrize("which", ["--media-port", "--media-tcp-port"])
def test_a_port_for_media_that_is_taken(which):
    kind = socket.SOCK_DGRAM if which == "--media-port" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            holder.listen()
        port = holder.getsockname()[1]
        other = {"--media-port": "--media-tcp-port", "--media-tcp-port": "--media-port"}[which]
        fails("serve", "--host", "127.0.0.1", "--port", 0, "--signaling-port", 0, "--no-echo", "--livekit-dev",
              "--livekit-port", 0, which, port, other, 0, says=f"taken by another program. {which} takes another one.")


def said_at_the_start(program, *options, **more):
    """What a person reads; the server ends then."""
    process = subprocess.Popen(
        [program, "serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", *options],
        stdout=subprocess.PIPE, text=True, **more)
    try:
        text = ""
        for line in process.stdout:
            text += line
            if line.startswith("Ctrl-C"):
                break
        return text
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


def test_without_the_test_film_there_is_no_echo_peer_and_all_else(tmp_path):
    """As of a program that was copied somewhere without its files."""
    program = shutil.copy(find_roost(), tmp_path / "roost")
    text = said_at_the_start(program, cwd=tmp_path, env={**os.environ, "ROOST_HOME": str(tmp_path)})
    assert "There is no echo peer: its film (Media) was not found" in text
    assert "An echo peer waits" not in text


@pytest.mark.parametrize("path", ["/api/v1/ws", "/rtc", "/rtc/v1"])
def test_the_address_of_a_websocket_says_so_to_who_asks_as_a_page(path, roost, tmp_path):
    """A proxy that does not pass Upgrade on makes this of every socket."""
    server = roost.serve(
        "--data", tmp_path / "chat", "--livekit-dev", "--livekit-port", 0, "--media-port", 0, "--media-tcp-port", 0)
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}")
    assert refusal.value.code == 426
    assert refusal.value.headers["Upgrade"] == "websocket"
    assert b"has to pass Upgrade on" in refusal.value.read()


def test_what_people_write_is_for_the_server_alone_whoever_may_read_the_folder(roost, tmp_path):
    folder = tmp_path / "chat"
    folder.mkdir(mode=0o755)
    server = roost.serve("--data", folder, "--sample")
    for name in ["chat.sqlite", "chat.sqlite-wal", "chat.sqlite-shm", "chat.sqlite-stamp", "files", "uploads"]:
        assert (folder / name).stat().st_mode & 0o077 == 0, name
    server.send(signal.SIGTERM)
    assert server.wait() == 0
    # And it is whole in the one file.
    assert (folder / "chat.sqlite").stat().st_size > 100_000
    assert not (folder / "chat.sqlite-wal").exists() or (folder / "chat.sqlite-wal").stat().st_size == 0


def test_a_sample_is_made_once_and_said_to_be_missing_afterwards(tmp_path):
    for says in ["A sample workspace was made.", "No sample workspace was made: there are accounts already."]:
        assert says in said_at_the_start(find_roost(), "--no-echo", "--sample", "--data", tmp_path / "chat")


def test_a_sample_is_not_made_by_a_server_that_cannot_begin(tmp_path):
    """Nobody would be told the passwords."""
    sample = ["--sample", "--data", tmp_path / "chat", "--no-echo"]
    with socket.create_server(("127.0.0.1", 0)) as holder:
        fails("serve", "--host", "127.0.0.1", "--port", holder.getsockname()[1], "--signaling-port", 0, *sample,
              says="is taken by another program")
    assert "A sample workspace was made." in said_at_the_start(find_roost(), *sample)


def test_addresses_are_printed_as_they_can_be_reached(tmp_path):
    options = ["--livekit-key", "key:a secret that is long enough for tokens", "--livekit-port", "0", "--no-echo",
               "--data", tmp_path / "chat"]
    text = said_at_the_start(find_roost(), "--host", "127.0.0.2", *options)
    assert "localhost" not in text and text.count("://127.0.0.2:") == 5, text
    page = re.search(r"http://127.0.0.2:\d+", text).group()
    assert "localhost" in said_at_the_start(find_roost(), "--host", "0.0.0.0", *options)
    assert page.startswith("http")


def test_a_folder_is_one_servers(roost, tmp_path):
    server = roost.serve("--data", tmp_path / "chat")
    serve = ["serve", "--host", "127.0.0.1", "--port", 0, "--signaling-port", 0, "--no-echo", "--data", tmp_path / "chat"]
    fails(*serve, says=f"Another `roost serve` .process {server.pid}. keeps its chat in")
    # However it ends.
    server.kill()
    server.wait()
    roost.serve("--data", tmp_path / "chat")


def test_a_database_that_is_none(tmp_path):
    (tmp_path / "chat.sqlite").write_bytes(b"a letter to grandmother" * 100)
    fails("serve", "--host", "127.0.0.1", "--port", 0, "--signaling-port", 0, "--no-echo", "--data", tmp_path,
          says="chat.sqlite is there, and is no database")
    fails("admin", "users", "list", "--data", tmp_path, says="chat.sqlite is there, and is no database")


@pytest.fixture
def open_folder():
    """One that everybody may look into, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_a_database_of_somebody_else(open_folder):
    """What root may read, others may not: the server is asked as one of those."""
    folder = open_folder / "chat"
    folder.mkdir()
    said_at_the_start(find_roost(), "--no-echo", "--data", folder)
    command = ["setpriv", "--reuid", "65534", "--clear-groups", find_roost()]
    serve = [*command, "serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", "--no-echo"]
    for folder_mode, says in [(0o755, "serve.lock cannot be written by user 65534"), (0o777, "chat.sqlite cannot be")]:
        os.chmod(folder, folder_mode)
        (folder / "serve.lock").unlink(missing_ok=True)
        done = subprocess.run([*serve, "--data", str(folder)], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and says in done.stderr, done.stderr
    os.chmod(folder, 0o700)
    done = subprocess.run(
        [*command, "admin", "users", "list", "--data", str(folder)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "cannot be looked at by user 65534: Permission denied" in done.stderr, done.stderr


def test_a_port_for_the_relay_that_is_taken():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        fails("serve", "--host", "127.0.0.1", "--port", 0, "--signaling-port", 0, "--no-echo", "--turn",
              "--turn-allow-private-peers", "--turn-port", port,
              says=f"Port {port} on 127.0.0.1 is taken by another program. --turn-port takes another one.")


@pytest.mark.parametrize(
    "options, says",
    [
        (["--host", "192.0.2.1"], "--host: 192.0.2.1 is not an address of this machine"),
        (["--host", "nowhere.invalid"], "--host: The name nowhere.invalid is not known"),
        (["--web", "/nowhere"], "no web page in /nowhere"),
        (["--tls-certificate", "/nowhere.pem", "--tls-key", "/nowhere.key"], "/nowhere"),
        (["--address", "here"], '"here" is not an IP address'),
        (["--address", "203.0.113.7"], "203.0.113.7 is not an address of this machine"),
        (
            ["--address", "203.0.113.7", "--address", "203.0.113.8"],
            "none of 203.0.113.7, 203.0.113.8 is an address of this machine",
        ),
        (["--data", "/etc/hostname"], "--data takes a folder, and /etc/hostname is a file."),
        (["--data", "/proc/nowhere"], "The folder /proc/nowhere cannot be made: No such file or directory."),
    ],
)
def test_a_server_that_cannot_start(options, says):
    fails("serve", "--port", 0, "--signaling-port", 0, *options, says=says)


@pytest.mark.parametrize(
    "beginning, piece",
    [
        (b"GET /", b"a" * 10_000),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 10_000),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-Many: " + b"a" * 10_000 + b"\r\n"),
    ],
    ids=["target", "field", "fields"],
)
def test_a_request_whose_head_does_not_end_is_refused(beginning, piece, server):
    """Bounded by SwiftNIO's parser: nothing of it is kept, and after a while the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(beginning)
        # As much as the sockets of both sides may hold, and then some.
        with pytest.raises(ConnectionError):
            for _ in range(10_000):
                connection.sendall(piece)
        assert connection.recv(100).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_although_a_client_is_frozen(number, roost):
    server = roost.serve()
    ann = roost.call(server, 1, "Ann", "caller")
    ann.wait_for("room", message="Connected")
    ann.send(signal.SIGSTOP)
    server.send(number)
    assert server.wait() == 0


# The echo peer


def test_the_echo_peer_answers_one_call_after_the_other(roost):
    server = roost.serve("--echo", "--address", "127.0.0.1")
    for number in range(5):
        done = run(*call_arguments(server.url, 1, f"Ann {number}", "caller", "--duration", "200ms"), timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
    metrics = urllib.request.urlopen(f"{server.url}/metrics", timeout=10).read().decode()
    assert "\nroost_echo_calls_total 5\n" in metrics


def test_a_frozen_caller_does_not_keep_the_echo_peer(roost):
    server = roost.serve("--echo", "--address", "127.0.0.1")
    frozen = roost.call(server, 1, "Ann", "caller")
    frozen.wait_for("state", state="connected")
    frozen.send(signal.SIGSTOP)
    done = run(*call_arguments(server.url, 1, "Cid", "caller", "--duration", "200ms"), timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
