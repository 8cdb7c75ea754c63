"""`roost` as somebody meets it who types it, pipes it, interrupts it, or pulls the server from under it."""

import contextlib
import http.server
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import socketio

from peers.roost_peer import find_roost
from support.evidence import MEDIA, REPOSITORY
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

VIDEO, SOUND = MEDIA / "webRtcTestVideo.mp4", MEDIA / "webRtcTestVideo.ogg"


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


class Peers:
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
        process = self.start("roost serve", "serve", *ports, *echo, *options)
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


@pytest.fixture
def peers():
    peers = Peers()
    yield peers
    peers.close()


@pytest.fixture(scope="module")
def server():
    """One server for all tests that leave it as it is."""
    peers = Peers()
    yield peers.serve()
    peers.close()


@pytest.fixture(scope="module")
def rooms():
    """Rooms of this module's server that nobody else uses."""
    return iter(range(1_000, 2_000))


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


@pytest.fixture(scope="module")
def closed_port():
    """A port on which nobody listens, for as long as the tests run: bound and not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


# Help and the command line


def help_of(*subcommand):
    """The same by both ways to ask for it."""
    long, by_help = run(*subcommand, "--help"), run("help", *subcommand)
    assert long.returncode == by_help.returncode == 0
    assert long.stdout == by_help.stdout and long.stderr == ""
    assert "OVERVIEW: " in long.stdout and "USAGE: roost" in long.stdout
    return long.stdout


def test_help_of_every_subcommand():
    listed = re.findall(r"^  (\w+) {2,}[A-Z]", help_of().split("SUBCOMMANDS:")[1], re.M)
    # As many as have a folder in the sources.
    folders = {folder.name.lower() for folder in (REPOSITORY / "Sources" / "roost").iterdir() if folder.is_dir()}
    assert len(listed) == len(set(listed)) and set(listed) == folders
    for subcommand in listed:
        # Each option is explained.
        blocks = re.split(r"\n  (?=-)", help_of(subcommand).split("OPTIONS:")[1])
        assert len(blocks) > 1
        for block in blocks[1:]:
            explained = re.sub(r"^(-\S+|--\S+|/|<\S+>|,|\s)+", "", block)
            assert re.match(r"[A-Z]", explained), (subcommand, block)


def test_version_is_a_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["call"], "--room"),
        (["call", "--room", "1", "--caller"], "--as"),
        (["call", "--room", "1", "--as", "A"], "--caller"),
        (["call", "--room", "1", "--as", "A", "--caller", "--callee"], "--callee"),
        (["call", "--room", "one", "--as", "A", "--caller"], "'one'"),
        (["call", "--room", "1.5", "--as", "A", "--caller"], "'1.5'"),
        (["call", "--room", "99999999999999999999", "--as", "A", "--caller"], "'9999"),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "0"], "--duration takes"),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "soon"], "'soon'"),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "-5s"], "--duration"),
        (["call", "--room", "1", "--as", "A", "--caller", "--wait", "0ms"], "--wait takes"),
        (["call", "--room", "1", "--as", "A", "--caller", "--codec", "av1"], "'av1'"),
        (["call", "--room", "1", "--as", "A", "--caller", "--srtp", "none"], "'none'"),
        (["serve", "--port", "65536"], "--port takes"),
        (["serve", "--signaling-port=-1"], "--signaling-port takes"),
        (["serve", "--tls-key", "key.pem"], "belong together"),
        (["serve", "--echo-room", "9007199254740992"], "--echo-room takes"),
        (["serve", "--allow-origin", "chat.example"], "--allow-origin takes"),
        (["serve", "--log-level", "loud"], "'loud'"),
        (["dance"], "dance"),
    ],
)
def test_a_wrong_command_line_is_status_64_and_says_what_is_wrong(arguments, says):
    done = run(*arguments)
    assert done.returncode == 64, done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("Error: ") and says in first, done.stderr
    assert done.stdout == ""


# Sentences


@pytest.mark.parametrize(
    "server, says",
    [
        ("localhost:3000", "localhost:3000 is not the address of a signaling server; one looks like http://"),
        ("", "is not the address of a signaling server"),
        ("ftp://localhost", "is not the address of a signaling server"),
        ("http://", "is not the address of a signaling server"),
        ("http://localhost:99999", "is not the address of a signaling server"),
        ("http://[::1", "is not the address of a signaling server"),
        ("http://nowhere.invalid:3000", "cannot be reached: .*nowhere.invalid is not known"),
    ],
)
def test_an_address_that_is_none(server, says):
    fails(*call_arguments(server), says=says)


def test_nobody_listens(closed_port):
    fails(*call_arguments(f"http://127.0.0.1:{closed_port}"), says=f"connection refused by 127.0.0.1:{closed_port}")
    fails(*call_arguments(f"https://127.0.0.1:{closed_port}/"), says=f"connection refused by 127.0.0.1:{closed_port}")


def test_a_server_without_tls_is_called_by_https(server):
    fails(*call_arguments(server.url.replace("http:", "https:")), says="does not seem to speak TLS")


def test_a_path_is_a_namespace_that_the_server_does_not_have(server):
    fails(*call_arguments(server.url + "/chat"), says="the path of the URL, /chat, is taken as the namespace")


def test_a_web_server_that_knows_no_signaling():
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        fails(*call_arguments(f"http://127.0.0.1:{web.server_port}"), says="HTTP 404")
        web.shutdown()


def test_a_web_server_that_answers_everything_with_a_page():
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><p>hello")

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        fails(*call_arguments(f"http://127.0.0.1:{web.server_port}"), says="Socket.IO|Engine.IO")
        web.shutdown()


def test_a_server_of_another_protocol():
    with listening(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as url:
        fails(*call_arguments(url), says="not HTTP")
    with listening(lambda connection: connection.close()) as url:
        fails(*call_arguments(url), says="closed the connection")


def test_a_server_that_never_answers():
    with listening(lambda connection: None) as url:
        fails(*call_arguments(url, 1, "Ann", "caller", "--wait", "500ms"), says="did not let us in within 0.5 s")


@pytest.mark.parametrize(
    "name, says",
    [
        ("", "Please enter your name"),
        ("  ", "Please enter your name"),
        ("x" * 65, "at most 64 characters"),
        ("👨‍👩‍👧" * 20, "at most 64 characters"),
        ("An\nn", "one line"),
        ("\u202enna", "one line"),
    ],
)
def test_a_name_that_no_room_takes(server, name, says):
    fails(*call_arguments(server.url, 1, name), says=says)


def test_a_room_that_does_not_exist(server):
    fails(*call_arguments(server.url, 2**53), says="too large for a room")


def test_a_full_room_says_so(server, rooms, peers):
    room = next(rooms)
    crowd = []
    try:
        for number in range(50):
            client = socketio.Client(reconnection=False)
            client.connect(
                f"{server.url}?roomId={room}&username=guest{number}&isCaller=true", transports=["websocket"],
                wait_timeout=20,
            )
            crowd.append(client)
        fails(*call_arguments(server.url, room), says="refused the connection: the room is full: 50 people are in it")
    finally:
        for client in crowd:
            client.disconnect()


@pytest.mark.parametrize(
    "option, says",
    [
        (["--video", "/nowhere.mp4"], "/nowhere.mp4 cannot be read"),
        (["--video", "Makefile"], "Makefile is not an MP4, IVF, Ogg or WAV file"),
        (["--video", SOUND], "holds no video that can be sent"),
        (["--video", "Media"], "Media cannot be read"),
        (["--video", VIDEO, "--codec", "vp8"], "not coded in VP8"),
        (["--video", MEDIA / "webRtcTestVideo-vp9.ivf"], "vp9.ivf is coded in VP9; a call sends H.264 or VP8"),
        (["--video", MEDIA / "webRtcTestVideo-av1.ivf", "--codec", "h264"], "av1.ivf is coded in AV1; a call sends"),
        (["--audio", VIDEO], "holds no Opus sound"),
        (["--audio", MEDIA / "webRtcTestVideo-pcmu.wav"], "pcmu.wav holds PCMU sound; a call sends Opus"),
        (["--audio", "/nowhere.ogg"], "/nowhere.ogg cannot be read"),
        (["--record", ""], "--record wants the name of a folder"),
        (["--record", "Makefile"], "recordings"),
        (["--record", "Makefile/below"], "recordings cannot be made"),
        (["--record", "/proc/nowhere"], "recordings cannot be made"),
        (["--address", "here"], '"here" is not an IP address'),
        (["--stun", "nonsense"], "nonsense"),
    ],
)
def test_what_cannot_be_sent_or_recorded(server, rooms, option, says):
    fails(*call_arguments(server.url, next(rooms), "Ann", "caller", *option), says=says)


@pytest.mark.parametrize("role, other", [("caller", "callee"), ("callee", "caller")])
def test_nobody_comes(server, rooms, role, other):
    room = next(rooms)
    fails(
        *call_arguments(server.url, room, "Ann", role, "--wait", "700ms"),
        says=f"Nobody came into room {room} as {other} within 0.7 s",
    )


def test_two_callers_are_told_that_one_has_to_be_the_callee(server, rooms, peers):
    room = next(rooms)
    other = peers.call(server, room, "Cid", "caller")
    other.wait_for("room", message="Connected")
    fails(
        *call_arguments(server.url, room, "Ann", "caller", "--wait", "700ms"),
        says="Cid is a caller too: one of you has to be the callee",
    )
    other.wait_for("presence", message="No callee is in the room; Ann is a caller too")


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


# Addresses that work


def test_ipv6_and_a_slash_at_the_end(peers):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    server = peers.serve(host="::1")
    fails(*call_arguments(server.url + "/", 1, "Ann", "caller", "--wait", "700ms"), says="Nobody came into room 1")


def test_a_negative_room(server):
    fails(*call_arguments(server.url, -3, "Ann", "caller", "--wait", "700ms"), says="Nobody came into room -3")


# Ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_before_a_call_is_no_success(number, server, rooms, peers):
    ann = peers.call(server, next(rooms), "Ann", "caller")
    ann.wait_for("room", message="Connected")
    ann.send(number)
    assert ann.wait() == 128 + number
    assert "roost: Ended before a call came about.\n" in ann.text


@pytest.mark.parametrize("command", ["call", "watch"])
def test_ctrl_c_is_heard_while_a_server_does_not_answer(command, peers):
    called = threading.Event()
    with listening(lambda connection: called.set()) as silent:
        role = ["--callee"] if command == "call" else []
        ann = peers.start(f"roost {command}", command, "--room", 1, "--as", "Ann", *role, "--server", silent, "--json")
        assert called.wait(PATIENCE)
        ann.interrupt()
        assert ann.wait() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_hangs_up_and_the_other_side_is_told(number, server, rooms, peers):
    ann, bob = peers.pair(server, next(rooms))
    bob.send(number)
    assert bob.wait() == 0
    assert ann.wait() == 0
    ann.wait_for("state", state="ended")


def test_a_second_ctrl_c_ends_at_once_whatever_hangs(peers):
    """A server that is frozen answers no goodbye."""
    server = peers.serve()
    ann, bob = peers.pair(server)
    server.send(signal.SIGSTOP)
    ann.interrupt()
    bob.interrupt()
    bob.interrupt()
    # The first one alone is enough too, within seconds.
    assert ann.wait() == 0
    assert bob.wait() in (0, 130)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_although_a_client_is_frozen(number, peers):
    server = peers.serve()
    ann = peers.call(server, 1, "Ann", "caller")
    ann.wait_for("room", message="Connected")
    ann.send(signal.SIGSTOP)
    server.send(number)
    assert server.wait() == 0


def test_the_call_lasts_as_long_as_it_was_told_to(server, rooms, peers):
    room = next(rooms)
    bob = peers.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    ann = peers.call(server, room, "Ann", "caller", "--duration", "300ms")
    assert ann.wait() == 0 and bob.wait() == 0


@pytest.mark.parametrize("role", ["caller", "callee"])
def test_somebody_who_leaves_before_the_call_has_begun_is_waited_for(role, server, rooms, peers):
    """The other side is there, leaves, and comes again: by a quick restart, or by another program."""
    room = next(rooms)
    other = {"caller": "callee", "callee": "caller"}[role]
    deaf = socketio.Client(reconnection=False)
    rings = threading.Event()
    deaf.on("offer", lambda *payload: rings.set())
    deaf.connect(
        f"{server.url}?roomId={room}&username=Bob&isCaller={str(other == 'caller').lower()}",
        transports=["websocket"], wait_timeout=20,
    )
    ann = peers.call(server, room, "Ann", role)
    ann.wait_for("presence", message=f"Bob is here ({other})")
    if role == "caller":
        assert rings.wait(PATIENCE)
    deaf.disconnect()
    ann.wait_for("presence", message=f"No {other} is in the room")
    bob = peers.call(server, room, "Bob", other, "--duration", "300ms")
    assert bob.wait() == 0 and ann.wait() == 0
    ann.wait_for("state", state="connected")


def test_two_callees_do_not_block_each_other(server, rooms, peers):
    """Who came last is called; the other one waits on, and is called next."""
    room = next(rooms)
    waiting = peers.call(server, room, "Bob", "callee")
    waiting.wait_for("room", message="Connected")
    called = peers.call(server, room, "Cid", "callee")
    called.wait_for("room", message="Connected")
    assert run(*call_arguments(server.url, room, "Ann", "caller", "--duration", "300ms")).returncode == 0
    assert called.wait() == 0
    assert run(*call_arguments(server.url, room, "Ann", "caller", "--duration", "300ms")).returncode == 0
    assert waiting.wait() == 0


# The server goes away


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_server_in_mid_call_keeps_the_call_and_hanging_up_still_reaches_the_partner(number, peers):
    server = peers.serve()
    ann, bob = peers.pair(server)
    server.send(number)
    server.wait()
    for peer in (ann, bob):
        peer.wait_for("notice", message="The signaling connection broke; the call goes on.")
    media_flows(ann, bob)
    again = peers.serve(port=server.port)
    for peer in (ann, bob):
        wait_until(lambda: peer.last("room")["message"] == "Connected", f"{peer.name} is back in the room")
    media_flows(ann, bob)
    assert {event["state"] for peer in (ann, bob) for event in peer.events if event["event"] == "state"}.isdisjoint(
        {"ended", "reconnectingMedia"}
    )
    # The room is what it was: both are there, and the server's word that one leaves ends the call.
    bob.interrupt()
    assert bob.wait() == 0
    assert ann.wait() == 0
    assert again.pid


def test_hanging_up_without_a_server_reaches_the_partner(peers):
    server = peers.serve()
    ann, bob = peers.pair(server)
    server.send(signal.SIGKILL)
    server.wait()
    ann.interrupt()
    assert ann.wait() == 0
    assert bob.wait() == 0
    assert "ended the call" in bob.last("state")["message"] or "left" in bob.last("state")["message"]


# Output


def test_a_reader_that_goes_away_ends_the_call_in_order(server, rooms, peers, tmp_path):
    """`roost call … | head`: the partner is told, the recording is whole, and the status is not success."""
    room = next(rooms)
    bob = peers.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    command = [find_roost(), *call_arguments(server.url, room, "Ann", "caller", "--record", tmp_path)]
    ann = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    )
    try:
        for line in ann.stdout:
            if json.loads(line)["event"] == "statistics":
                break
        ann.stdout.close()
        assert ann.wait(PATIENCE) == 1
        assert ann.stderr.read() == "roost: Nobody takes what is printed any more, so the call is over.\n"
        assert bob.wait() == 0
    finally:
        ann.kill()
        ann.wait()
        ann.stderr.close()
    (recording,) = tmp_path.iterdir()
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", str(recording)],
        capture_output=True, text=True,
    )
    assert sorted(probe.stdout.split()) == ["audio", "video"] and probe.stderr == ""


def test_closed_standard_streams_harm_nothing(server, rooms, peers):
    """No socket takes the number of a stream that was closed, where the call's words would then go."""
    room = next(rooms)
    bob = peers.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    command = " ".join(map(str, [find_roost(), *call_arguments(server.url, room, "Ann", "caller", "--duration", "1s")]))
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", "sh", "-c", f"exec {command} <&- >&- 2>&-"], timeout=PATIENCE, cwd=REPOSITORY
    )
    assert done.returncode == 0
    assert bob.wait() == 0


def test_a_recording_that_cannot_be_written_is_told_at_once_and_the_call_goes_on(server, rooms, peers, tmp_path):
    """A full disk, here a limit on the size of files."""
    room = next(rooms)
    limit = 100_000
    bob = peers.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    ann = peers.call(
        server, room, "Ann", "caller", "--record", tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    told = ann.wait_for("notice")
    assert told["message"].startswith("The recording failed, the call goes on without it: ")
    assert "cannot be written" in told["message"]
    media_flows(ann, bob)
    ann.interrupt()
    assert ann.wait() == 1
    assert "The recording failed" in ann.text[-1]
    assert bob.wait() == 0


# The echo peer


def test_the_echo_peer_answers_one_call_after_the_other(peers):
    server = peers.serve("--echo", "--address", "127.0.0.1")
    for number in range(5):
        done = run(*call_arguments(server.url, 1, f"Ann {number}", "caller", "--duration", "200ms"), timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
    metrics = urllib.request.urlopen(f"{server.url}/metrics", timeout=10).read().decode()
    assert "\nroost_echo_calls_total 5\n" in metrics


def test_a_frozen_caller_does_not_keep_the_echo_peer(peers):
    server = peers.serve("--echo", "--address", "127.0.0.1")
    frozen = peers.call(server, 1, "Ann", "caller")
    frozen.wait_for("state", state="connected")
    frozen.send(signal.SIGSTOP)
    done = run(*call_arguments(server.url, 1, "Cid", "caller", "--duration", "200ms"), timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


# The tests themselves


def test_no_process_survives_the_tests_that_started_it():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from support.process import JSONProcess\n"
        "child = JSONProcess('child', ['sleep', '1000'])\n"
        "print(child.pid, flush=True); import time; time.sleep(1000)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    # What asks the kernel to end it with its parent runs before the command itself.
    wait_until(lambda: Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"sleep"), "the child runs")
    parent.kill()
    parent.wait()
    parent.stdout.close()

    def is_gone():
        try:
            state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"

    wait_until(is_gone, "the child ended")


def test_nothing_is_waited_for_without_an_end():
    started = time.monotonic()
    with pytest.raises(AssertionError, match="never said"):
        JSONProcess("nobody", ["true"]).wait_for("listening", timeout=20)
    assert time.monotonic() - started < 10 and os.getpid()
