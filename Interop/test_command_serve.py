"""`roost serve` on the command line: what keeps it from starting, its end, and the echo peer that it brings."""

import signal
import socket
import urllib.request

import pytest

from support.command import call_arguments, fails, run
from support.waiting import PATIENCE


@pytest.mark.parametrize("which", ["--port", "--signaling-port"])
def test_a_port_that_is_taken(which):
    other = {"--port": "--signaling-port", "--signaling-port": "--port"}[which]
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        fails("serve", "--host", "127.0.0.1", which, port, other, 0, "--no-echo", says=f"{port}")


@pytest.mark.parametrize(
    "options, says",
    [
        (["--host", "192.0.2.1"], "192.0.2.1"),
        (["--host", "nowhere.invalid"], "nowhere.invalid"),
        (["--web", "/nowhere"], "no web page in /nowhere"),
        (["--tls-certificate", "/nowhere.pem", "--tls-key", "/nowhere.key"], "/nowhere"),
        (["--address", "here"], '"here" is not an IP address'),
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
    """Bounded by SwiftNIO's parser: nothing of it is kept, and the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(beginning)
        # As much as the sockets of both sides may hold, and then some.
        with pytest.raises(ConnectionError):
            for _ in range(10_000):
                connection.sendall(piece)
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


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
