"""`roost` as a person runs it: typed, with an address of this machine, beside a server that is its own."""

import contextlib
import re
import socket
import subprocess
import threading

from peers.roost_peer import cheap_passwords, find_roost
from support.evidence import REPOSITORY
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until


def run(*arguments, timeout=PATIENCE, **options):
    """A command that ends by itself."""
    command = ["setpriv", "--pdeathsig", "KILL", find_roost(), *arguments]
    return subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
        cwd=REPOSITORY, **options,
    )


def fails(*arguments, says, status=1):
    """The command fails with this status and one sentence on standard error, in which `says` (a pattern) is found."""
    done = run(*arguments)
    lines = done.stderr.splitlines()
    assert done.returncode == status, (done.returncode, done.stderr)
    assert len(lines) == 1 and lines[0].startswith("roost: ") and lines[0][-1] in ".?!", done.stderr
    assert re.search(says, lines[0]), lines[0]
    for internal in ("Optional(", "NIO", "Error Domain", "errno", "Swift."):
        assert internal not in done.stderr
    return done


def call_arguments(server, room=1, name="Ann", role="caller", *more):
    always = ["--address", "127.0.0.1", "--json"]
    return ["call", "--room", room, "--as", name, f"--{role}", "--server", server, *always, *more]


class RoostProcesses:
    """Servers and peers of one test; all end with it."""

    def __init__(self):
        self.processes = []

    def start(self, name, *arguments, **options):
        process = JSONProcess(name, [find_roost(), *arguments], cwd=REPOSITORY, **options)
        self.processes.append(process)
        return process

    def serve(self, *options, host="127.0.0.1", port=0):
        ports = ["--host", host, "--port", port, "--signaling-port", port, "--json"]
        echo = [] if "--echo" in options else ["--no-echo"]
        process = self.start("roost serve", "serve", *ports, *echo, *cheap_passwords(options), *options)
        process.port = process.wait_for("listening")["port"]
        process.url = f"http://{'[::1]' if host == '::1' else host}:{process.port}"
        return process

    def call(self, server, room, name, role, *more, **options):
        return self.start(f"roost {name}", *call_arguments(server.url, room, name, role, *more), **options)

    def pair(self, server, room=7, *more):
        """Ann and Bob in a call."""
        bob = self.call(server, room, "Bob", "callee", *more)
        bob.wait_for("room", message="Connected")
        ann = self.call(server, room, "Ann", "caller", *more)
        for peer in (ann, bob):
            peer.wait_for("state", state="connected")
        return ann, bob

    def close(self):
        for process in reversed(self.processes):
            process.finish()


def frames(peer):
    return (peer.last("statistics") or {}).get("video_received", {}).get("frames", 0)


def media_flows(*peers):
    """From now on pictures come to each of them."""
    before = [frames(peer) for peer in peers]
    wait_until(
        lambda: all(frames(peer) > earlier + 20 for peer, earlier in zip(peers, before)), "pictures go on"
    )


@contextlib.contextmanager
def listening(handler):
    """A TCP server that is no signaling server; `handler` takes each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    held.append(connection)
                    handler(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()
