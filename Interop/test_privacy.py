"""Nothing that is printed or logged names an address, an ICE credential, a certificate, a key or a token: all that the
programs say, when calls go well and when they do not, is held against the descriptions and candidates that somebody in
the same room heard.
"""

import contextlib
import re
import signal
from urllib.parse import urlencode

import pytest
import socketio

from peers.data_peer import AiortcPeer as AiortcDataPeer
from peers.data_peer import PylibdatachannelPeer
from peers.data_peer import RoostPeer as RoostDataPeer
from peers.examples import find_example
from peers.room_listener import RoomListener
from peers.roost_peer import find_roost
from peers.turn_server import PASSWORD, PROGRAM, USER, TURNServer
from support.command import RoostProcesses, media_flows, run
from support.disclosure import Secrets
from support.evidence import REPOSITORY
from support.process import JSONProcess
from support.waiting import wait_until

LEVELS = ["debug", "info", "notice", "warning", "error"]
STYLES = {"json": ["--json"], "text": []}


class Listener:
    """Somebody in the room who hears all signals, and may send some."""

    def __init__(self, server, room):
        self.secrets = Secrets()
        self.heard = {"offer": [], "answer": [], "candidate": []}
        self.client = socketio.Client(reconnection=False)
        for kind in self.heard:
            self.client.on(kind, lambda signal, kind=kind: self._heard(kind, signal))
        self.client.connect(
            f"{server.url}?roomId={room}&username=Eve&isCaller=true", transports=["websocket"], wait_timeout=20
        )

    def _heard(self, kind, signal):
        if isinstance(signal, dict):
            self.secrets.add_signal(signal)
            self.heard[kind].append(signal)

    def wait_heard(self, *kinds):
        wait_until(lambda: all(self.heard[kind] for kind in kinds), f"Eve hears {kinds}")

    def names(self, kind):
        """The ICE user names of the offers or answers."""
        return {name for signal in self.heard[kind] for name in re.findall(r"a=ice-ufrag:(\S+)", signal["sdp"])}


@pytest.fixture
def listen():
    """Makes listeners; they leave with the test."""
    listeners = []

    def make(server, room):
        listeners.append(Listener(server, room))
        return listeners[-1]

    yield make
    for listener in listeners:
        listener.client.disconnect()


def typed(server):
    """The server's own address, which whoever started a client gave it."""
    return [server.url, server.url.removeprefix("http://")]


def hang_up(server, *peers):
    for peer in peers:
        peer.interrupt()
    for peer in peers:
        peer.wait()
    server.interrupt()
    assert server.wait() == 0


# Calls that go well


def test_these_are_all_levels():
    assert re.search(r"\(values: ([a-z,\s]+);", run("serve", "--help").stdout)[1].replace("\n", "").split() == [
        *(f"{level}," for level in LEVELS[:-1]), LEVELS[-1]
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_a_call(level, roost, listen):
    server = roost.serve("--log-level", level)
    eve = listen(server, 7)
    ann, bob = roost.pair(server)
    media_flows(ann, bob)
    eve.wait_heard("offer", "answer")
    hang_up(server, ann, bob)
    # What was heard is worth looking for.
    assert eve.secrets.kinds() == {"ice-ufrag", "ice-pwd", "fingerprint", "candidate"}
    eve.secrets.check(server, ann, bob, known=typed(server))
    # Who is in a room is told on the screens of those in it, and by no log.
    for name in ("Ann", "Bob", "Eve"):
        eve.secrets.add("name", name)
    eve.secrets.check(server)


def test_a_call_logged_as_json(roost, listen):
    server = roost.serve("--log-level", "debug", "--log-format", "json")
    eve = listen(server, 7)
    ann, bob = roost.pair(server)
    media_flows(ann, bob)
    eve.wait_heard("offer", "answer")
    hang_up(server, ann, bob)
    assert any("level" in event for event in server.events) and not server.text
    eve.secrets.check(server, known=typed(server))
    for name in ("Ann", "Bob", "Eve"):
        eve.secrets.add("name", name)
    eve.secrets.check(server)


def test_a_call_told_in_sentences(roost, listen):
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    always = ["call", "--room", 7, "--server", server.url, "--address", "127.0.0.1"]
    bob = roost.start("Bob", *always, "--as", "Bob", "--callee")
    ann = roost.start("Ann", *always, "--as", "Ann", "--caller")
    for peer in (ann, bob):
        wait_until(lambda: any("in:  video" in line for line in peer.text), f"{peer.name} tells its statistics")
    eve.wait_heard("offer", "answer")
    hang_up(server, ann, bob)
    eve.secrets.check(server, ann, bob, known=typed(server))


def test_an_ice_restart_in_mid_call(roost, listen):
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    ann, bob = roost.pair(server, 7, "--restart-ice", "500ms")
    wait_until(lambda: all(len(eve.names(kind)) > 1 for kind in ("offer", "answer")), "new credentials")
    media_flows(ann, bob)
    hang_up(server, ann, bob)
    eve.secrets.check(server, ann, bob, known=typed(server))


def test_the_echo_peer_inside_the_server(roost, listen):
    server = roost.serve("--log-level", "debug", "--echo", "--address", "127.0.0.1")
    eve = listen(server, 1)
    ann = roost.call(server, 1, "Ann", "caller")
    media_flows(ann)
    eve.wait_heard("offer", "answer")
    hang_up(server, ann)
    eve.secrets.check(server, ann, known=typed(server))


@pytest.mark.parametrize("style", STYLES)
def test_watching_a_room(style, roost, listen):
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    command = ["watch", "--room", 7, "--as", "Wim", "--server", server.url, "--address", "127.0.0.1", *STYLES[style]]
    watcher = roost.start("roost watch", *command)
    ann = roost.call(server, 7, "Ann", "caller")
    ann.wait_for("state", state="connected")

    def tells_of_pictures():
        lines = [*watcher.text, *(event["message"] for event in watcher.events)]
        return any(re.search(r"Ann.*[1-9]\d* (pictures|frames)", line) for line in lines)

    wait_until(tells_of_pictures, f"the watcher counts pictures\n{watcher.transcript()}")
    eve.wait_heard("offer", "answer")
    hang_up(server, ann, watcher)
    eve.secrets.check(server, ann, watcher, known=typed(server))


@pytest.mark.parametrize("kind", [AiortcDataPeer, PylibdatachannelPeer])
def test_a_call_with_data_channels(kind):
    """The descriptions are what the example prints for its peer; everything else that it says is looked at."""
    roost, peer = RoostDataPeer(find_example("data-channel-chat")), kind()
    secrets = Secrets()
    try:
        ours = roost.create("chat")
        offer = roost.offer()
        answer = peer.answer(offer)
        for _, sdp in (offer, answer):
            secrets.add_signal({"sdp": sdp})
        roost.accept(answer)
        ours.wait_open().send("hello")
        assert peer.channel("chat").receive() == "hello"
        ours.close()
        ours.wait_closed()
        roost.say(action="nonsense")
        roost.say(type="offer", sdp=offer[1].replace("a=ice-pwd:", "a=ice-pwd:. "))
    finally:
        peer.close()
        roost.close()
    secrets.check_lines("data-channel-chat", [line for line in roost.lines if '"sdp"' not in line])


# Calls that are refused

# A description with each of its secrets in a line that cannot be read, and what is said to that; None where the line is
# passed over.
UNREADABLE = "cannot be read: line "
DAMAGES = {
    "user name": (r"a=ice-ufrag:(\S+)", r"a=ice-ufrag:\1 \1", UNREADABLE),
    "password": (r"a=ice-pwd:(\S+)", r"a=ice-pwd:\1 \1", UNREADABLE),
    "fingerprint": (r"a=fingerprint:(\S+ \S+)", r"a=fingerprint:\1:xx", UNREADABLE),
    "origin": (r"o=(\S+) \S+", r"o=\1 203.0.113.7", UNREADABLE),
    "section": (r"m=video \d+", "m=video 2001:db8::7", UNREADABLE),
    "line": (r"s=-", "203.0.113.7=2001:db8::7", UNREADABLE),
    "beginning": (r"v=0", "v=203.0.113.7", "no session description"),
    "address": (r"c=IN IP4 \S+", "c=IN IP4 203.0.113.7 203.0.113.7 203.0.113.7", None),
    "candidate": (r"a=candidate:(.*) udp", r"a=candidate:\1 pigeon", None),
}


@pytest.fixture(scope="module")
def real_offer():
    """The offer of a call that was made, for others to be damaged."""
    processes = RoostProcesses()
    try:
        server = processes.serve()
        eve = Listener(server, 7)
        ann, bob = processes.pair(server)
        eve.wait_heard("offer")
        eve.client.disconnect()
        return eve.heard["offer"][0]["sdp"]
    finally:
        processes.close()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_offer_that_cannot_be_read(damage, style, roost, listen, real_offer):
    pattern, replacement, words = DAMAGES[damage]
    damaged = re.sub(pattern, replacement, real_offer)
    assert damaged != real_offer
    server = roost.serve("--log-level", "debug")
    always = ["--room", 7, "--server", server.url, "--address", "127.0.0.1", *STYLES[style]]
    bob = roost.start("Bob", "call", "--as", "Bob", "--callee", *always)
    watcher = roost.start("Wim", "watch", "--as", "Wim", *always)
    for peer in (bob, watcher):
        wait_until(lambda: says(peer, "Connected"), f"{peer.name} is in the room")
    eve = listen(server, 7)
    wait_until(lambda: says(bob, "Eve is here"), "Bob knows of Eve")
    eve.client.emit("offer", {"type": "offer", "sdp": damaged, "from": "Eve"})
    for peer, goes_on in ((bob, "Answering"), (watcher, "Eve calls.")):
        wait_until(lambda: says(peer, words or goes_on), f"{peer.name} has looked at the offer\n{peer.transcript()}")
    eve.client.emit("candidate", {"candidate": "candidate:1 1 udp 1 203.0.113.7 70000 typ host", "from": "Eve"})
    eve.client.emit("candidate", {"candidate": "2001:db8::7", "from": "Eve"})
    unreadable = "A candidate of the other side cannot be read."
    wait_until(lambda: says(watcher, unreadable), f"the watcher has looked at the candidates\n{watcher.transcript()}")
    hang_up(server, bob, watcher)
    eve.secrets.add_signal({"sdp": real_offer})
    eve.secrets.check(server, bob, watcher, known=typed(server))


def says(peer, words):
    return any(words in line for line in [*peer.text, *(event.get("message", "") for event in peer.events)])


def test_people_whom_a_room_refuses(roost):
    server = roost.serve("--log-level", "debug")
    for name in ("198.51.100.7" * 6, "2001:db8::7\nx"):
        client = socketio.Client(reconnection=False)
        query = urlencode({"roomId": 1, "username": name, "isCaller": "true"})
        with pytest.raises(socketio.exceptions.ConnectionError):
            client.connect(f"{server.url}?{query}", transports=["websocket"], wait_timeout=20)
    wait_until(lambda: says(server, "refused"), f"the server says that it refused\n{server.transcript()}")
    hang_up(server)
    Secrets().check(server)


def test_a_certificate_that_was_not_promised(roost):
    """Somebody between the two puts a certificate of their own into the descriptions; neither side talks to it."""
    server = roost.serve("--log-level", "debug")
    secrets, seen = Secrets(), set()
    in_anns_room, in_bobs_room = socketio.Client(reconnection=False), socketio.Client(reconnection=False)

    def pass_on(kind, source, target):
        def passed(signal):
            secrets.add_signal(signal)
            seen.add(kind)
            if "sdp" in signal:
                forged = "a=fingerprint:sha-256 " + ":".join(["AB"] * 32)
                signal = {**signal, "sdp": re.sub(r"a=fingerprint:.*?(?=\r?\n)", forged, signal["sdp"])}
            # At the end one of the two rooms is left before the other.
            with contextlib.suppress(socketio.exceptions.BadNamespaceError):
                target.emit(kind, signal)

        source.on(kind, passed)

    def join(client, room, name, is_caller):
        query = urlencode({"roomId": room, "username": name, "isCaller": is_caller})
        client.connect(f"{server.url}?{query}", transports=["websocket"], wait_timeout=20)

    for kind in ("offer", "answer", "candidate"):
        pass_on(kind, in_anns_room, in_bobs_room)
        pass_on(kind, in_bobs_room, in_anns_room)
    try:
        bob = roost.call(server, 8, "Bob", "callee")
        bob.wait_for("room", message="Connected")
        join(in_bobs_room, 8, "Ann", "true")
        join(in_anns_room, 7, "Bob", "false")
        ann = roost.call(server, 7, "Ann", "caller")
        for peer in (ann, bob):
            peer.wait_for("state", because="media failed")
    finally:
        in_anns_room.disconnect()
        in_bobs_room.disconnect()
    hang_up(server, ann, bob)
    assert {"offer", "answer"} <= seen
    assert not any(event.get("state") == "connected" for peer in (ann, bob) for event in peer.events)
    secrets.check(server, ann, bob, known=typed(server))


# Relays that fail

needs_coturn = pytest.mark.skipif(not PROGRAM.exists(), reason="coturn is not installed")


@pytest.fixture
def relay():
    """Starts TURN servers, for one test."""
    servers = []

    def start(*options, **named):
        servers.append(TURNServer(*options, **named))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def relay_secrets(eve, *passwords):
    for password in passwords:
        eve.secrets.add("TURN password", password)
    eve.secrets.add("TURN user name", USER)
    return eve.secrets


@needs_coturn
def test_a_relay_that_does_not_take_the_password(roost, listen, relay):
    coturn = relay()
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    bob = roost.call(server, 7, "Bob", "callee", *coturn.options("a-wrong-password"))
    bob.wait_for("room", message="Connected")
    ann = roost.call(server, 7, "Ann", "caller", *coturn.options("a-wrong-password"))
    eve.wait_heard("offer", "answer")
    coturn.wait_says("check_stun_auth")
    hang_up(server, ann, bob)
    relay_secrets(eve, "a-wrong-password").check(server, ann, bob, known=typed(server))


@needs_coturn
def test_a_relay_whose_quota_is_used_up(roost, listen, relay):
    coturn = relay("--user-quota=1")
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    bob = roost.call(server, 7, "Bob", "callee", *coturn.options())
    bob.wait_for("room", message="Connected")
    ann = roost.call(server, 7, "Ann", "caller", *coturn.options())
    eve.wait_heard("offer", "answer")
    coturn.wait_says("error 486")
    hang_up(server, ann, bob)
    relay_secrets(eve, PASSWORD).check(server, ann, bob, known=typed(server))


@needs_coturn
def test_a_relay_that_has_forgotten_the_allocation(roost, listen, relay):
    """It is killed and started again on its port: it answers the next refresh with 437."""
    first = relay("--max-allocate-lifetime=8")
    server = roost.serve("--log-level", "debug")
    eve = listen(server, 7)
    ann, bob = roost.pair(server, 7, *first.options())
    media_flows(ann, bob)
    first.close()
    second = relay("--max-allocate-lifetime=8", port=first.port)
    second.wait_says("error 437")
    hang_up(server, ann, bob)
    relay_secrets(eve, PASSWORD).check(server, ann, bob, known=typed(server))


# A network that goes away


def test_a_call_whose_network_goes_away(wire):
    """Each side tells by itself that it is alone."""
    near, far = wire.ends
    processes = []

    def start(name, end, *command):
        processes.append(JSONProcess(name, end.command(find_roost(), *command, "--json"), cwd=REPOSITORY))
        return processes[-1]

    try:
        ports = ["--host", near.address, "--port", 0, "--signaling-port", 0]
        server = start("roost serve", near, "serve", *ports, "--no-echo", "--log-level", "debug")
        server.url = f"http://{near.address}:{server.wait_for('listening')['port']}"
        eve = RoomListener(near, server.url, 7)
        processes.append(eve.process)

        def call(name, role, end):
            always = ["call", "--room", 7, "--server", server.url, "--address", end.address]
            return start(name, end, *always, "--as", name, f"--{role}")

        bob = call("Bob", "callee", far)
        bob.wait_for("room", message="Connected")
        ann = call("Ann", "caller", near)
        for peer in (ann, bob):
            peer.wait_for("state", state="connected")
        media_flows(ann, bob)
        wire.process.send_signal(signal.SIGSTOP)
        for peer in (ann, bob):
            peer.wait_for("state", state="reconnectingMedia")
            assert peer.wait() == 1, peer.transcript()
    finally:
        wire.process.send_signal(signal.SIGCONT)
        for process in reversed(processes):
            process.finish()
    secrets = Secrets()
    for kind in ("offer", "answer", "candidate"):
        for signal_heard in eve.heard(kind):
            secrets.add_signal(signal_heard)
    assert {"ice-ufrag", "ice-pwd", "fingerprint"} <= secrets.kinds()
    secrets.check(server, ann, bob, known=typed(server))
