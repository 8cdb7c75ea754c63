"""The TURN server of `roost serve`: coturn's client programs, aioice, Chromium and `roost call` relay through it."""

import base64
import hashlib
import hmac
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from peers.chromium import ChromiumPeer
from peers.roost_peer import RoostPeer, start_server
from support.call import hold_call, new_room
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

SECRET = "north and south"
AIOICE = Path(__file__).with_name("peers") / "aioice_relay.py"

# A page whose connections show relayed candidates only.
RELAY_ONLY = """
globalThis.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(configuration = {}) { super({ ...configuration, iceTransportPolicy: 'relay' }); }
};
"""


class Relay:
    """`roost serve --turn` inside a namespace."""

    def __init__(self, namespace, *options):
        self.namespace = namespace
        self.process, self.page = start_server(
            namespace, "0.0.0.0", "--turn", "--turn-port", 0, "--turn-tls-port", 0, "--turn-secret", SECRET,
            "--turn-user", "user:password", "--turn-host", namespace.address, *options,
        )
        listening = self.process.wait_for("listening")
        self.port, self.tls_port = listening["turn_port"], listening.get("turn_tls_port")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.page}"

    def metrics(self):
        text = self.namespace.fetch(f"{self.url}/metrics").decode()
        return {name: int(value) for name, value in re.findall(r"^(roost_turn\S*) (\d+)$", text, re.MULTILINE)}

    def wait_empty(self):
        wait_until(lambda: self.metrics()["roost_turn_allocations"] == 0, "all allocations are given back")


def credential(name="ann", seconds=600):
    """As coturn's documentation has it, by another hand than the server's."""
    username = f"{int(time.time()) + seconds}:{name}"
    code = hmac.new(SECRET.encode(), username.encode(), hashlib.sha1).digest()
    return username, base64.b64encode(code).decode()


@pytest.fixture
def start(namespace):
    started = []

    def begin(*options):
        started.append(Relay(namespace, *options))
        return started[-1]

    yield begin
    for relay in started:
        assert relay.process.finish() == 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turn")
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=roost test", "-addext", "subjectAltName=IP:192.0.2.3", "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )
    return files


def uclient(relay, *options, port=None):
    """Runs coturn's client; returns how many messages it sent and received, and all it said."""
    command = relay.namespace.command(
        "timeout", PATIENCE, "turnutils_uclient", "-p", port or relay.port, *options, relay.namespace.address)
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    counts = re.findall(r"tot_send_msgs=(\d+), tot_recv_msgs=(\d+)", said)
    assert done.returncode == 0 and counts, said
    return *map(int, counts[-1]), said


@pytest.mark.combinations
@pytest.mark.parametrize("mode", [(), ("-s",), ("-c",), ("-G",), ("-D", "-c")], ids=lambda mode: " ".join(mode) or "-")
@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_coturns_client_talks_to_itself(transport, mode, start, certificate):
    """Client to client: channels or indications, with pairs of ports for RTP and RTCP or without."""
    options = () if transport != "tls" else ("--tls-certificate", certificate[0], "--tls-key", certificate[1])
    relay = start(*options)
    flags = {"udp": (), "tcp": ("-t",), "tls": ("-t", "-S")}[transport]
    port = relay.tls_port if transport == "tls" else relay.port
    login = ("-u", "user", "-w", "password")
    sent, received, said = uclient(relay, "-y", "-m", 4, "-n", 50, "-l", 200, *mode, *flags, *login, port=port)
    assert sent > 0 and sent == received, said


@pytest.mark.parametrize("flags", [(), ("-t",)], ids=["udp", "tcp"])
def test_coturns_client_reaches_coturns_peer(flags, start, namespace):
    """By sockets, with coturn's own time-limited credential."""
    relay = start("--turn-insecurely-allow-peer", f"{namespace.address}/32")
    peer = subprocess.Popen(namespace.command(
        "setpriv", "--pdeathsig", "KILL", "turnutils_peer", "-L", namespace.address, "-p", 3480))
    try:
        wait_until(lambda: ":3480 " in namespace.run("ss", "-Hlun").stdout, "coturn's peer listens")
        sent, received, said = uclient(
            relay, "-c", "-e", namespace.address, "-r", 3480, "-n", 100, "-u", "ann", "-W", SECRET, *flags)
    finally:
        peer.kill()
        peer.wait()
    assert sent == received == 100, said
    assert relay.metrics()["roost_turn_relayed_packets_total{to=\"clients\"}"] >= 100


@pytest.mark.parametrize("peer", ["127.0.0.1", "198.51.100.7"])
def test_coturns_client_does_not_reach_what_is_denied(peer, start, namespace):
    """Loopback always is; what the option names, too."""
    relay = start("--turn-deny-peer", "198.51.100.0/24")
    command = namespace.command(
        "timeout", 30, "turnutils_uclient", "-p", relay.port, "-c", "-e", peer, "-n", 1, "-u", "user", "-w",
        "password", namespace.address)
    done = subprocess.run(command, capture_output=True, text=True)
    assert "403" in done.stdout + done.stderr
    assert relay.metrics()['roost_turn_refused_total{code="403"}'] >= 1


@pytest.mark.parametrize(
    "options", [(), ("--rooms", "--media-port", 0, "--media-tcp-port", 0)], ids=["alone", "with rooms"])
def test_the_host_itself_is_nobodys_peer(options, start, namespace):
    """Whoever listens on an address of the server's, behind its firewall, hears nothing of the relay: not where the
    port of rooms beside it is reached, either."""
    relay = start(*options)
    peer = subprocess.Popen(namespace.command(
        "setpriv", "--pdeathsig", "KILL", "turnutils_peer", "-L", namespace.address, "-p", 3481))
    try:
        wait_until(lambda: ":3481 " in namespace.run("ss", "-Hlun").stdout, "coturn's peer listens")
        sent, received, said = uclient(
            relay, "-c", "-e", namespace.address, "-r", 3481, "-n", 5, "-u", "user", "-w", "password")
    finally:
        peer.kill()
        peer.wait()
    assert sent > 0 and received == 0, said
    assert relay.metrics()["roost_turn_dropped_total{reason=\"forbidden\"}"] >= sent


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_aioice_relays(transport, start, namespace):
    relay = start()
    username, password = credential()
    process = JSONProcess("aioice", namespace.command(
        sys.executable, AIOICE, "--host", namespace.address, "--port", relay.port, "--username", username,
        "--password", password, "--transport", transport))
    assert process.wait_for("gathered")["types"] == [["relay"], ["relay"]]
    process.wait_for("talked", messages=400)
    assert process.wait() == 0
    relay.wait_empty()


class RelayOnly:
    """A browser whose pages show relayed candidates only."""

    def __init__(self, browser):
        self.browser = browser

    def new_page(self, **options):
        page = self.browser.new_page(**options)
        page.add_init_script(RELAY_ONLY)
        return page


def test_the_page_has_what_it_needs_from_the_server(start, new_page):
    relay = start()
    page = new_page()
    page.goto(relay.url)
    [server] = page.evaluate("fetch('/ice-servers').then((response) => response.json())")["iceServers"]
    host = relay.namespace.address
    assert server["urls"] == [f"turn:{host}:{relay.port}", f"turn:{host}:{relay.port}?transport=tcp"]
    code = hmac.new(SECRET.encode(), server["username"].encode(), hashlib.sha1).digest()
    assert server["credential"] == base64.b64encode(code).decode()
    left = int(server["username"].split(":")[0]) - time.time()
    assert 11 * 3600 < left <= 12 * 3600


def test_a_server_without_turn_names_none(roost_server, new_page):
    page = new_page()
    page.goto(roost_server)
    assert page.evaluate("fetch('/ice-servers').then((response) => response.json())") == {"iceServers": []}


def test_two_pages_call_through_the_relay(start, browser):
    relay = start()
    room, pages = new_room(), RelayOnly(browser)

    def relayed(*peers):
        for peer in peers:
            statistics = peer.statistics()
            assert (statistics["local"], statistics["remote"]) == ("relay", "relay")
        assert relay.metrics()["roost_turn_allocations"] >= 2

    result = hold_call(
        lambda: ChromiumPeer(pages, relay.url, room, "Ann", "caller"),
        lambda: ChromiumPeer(pages, relay.url, room, "Bob", "callee"), during=relayed)
    for evidence in (result.caller, result.callee):
        evidence.check()


def test_a_page_calls_roost_call_through_the_relay(start, browser, namespace, tmp_path):
    """`roost call` knows nothing of the relay: it is reached by a socket of the server's."""
    relay = start("--turn-insecurely-allow-peer", f"{namespace.address}/32")
    room, pages = new_room(), RelayOnly(browser)

    def relayed(caller, _):
        assert caller.statistics()["local"] == "relay"

    result = hold_call(
        lambda: ChromiumPeer(pages, relay.url, room, "Ann", "caller"),
        lambda: RoostPeer(namespace, relay.url, room, "Bob", "callee", tmp_path), during=relayed)
    for evidence in (result.caller, result.callee):
        evidence.check()
