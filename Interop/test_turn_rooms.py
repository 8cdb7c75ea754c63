"""Rooms of `roost serve` for people who get through to a TURN server and nowhere else: the server's own, and coturn
that it names."""

import base64
import hashlib
import hmac
import re
import time

import pytest

from peers.livekit_room import Server, token
from peers.rooms_page import RoomsPage, all_in
from peers.turn_server import Coturn
from peers.whip_client import offer_to
from support.command import run
from test_whip import OFFER

SECRET = "north and south"
# Of a network that leads nowhere (RFC 5737): what a NAT that maps one to one would have outside.
PUBLIC = "203.0.113.7"

# A page whose connections show relayed candidates only, of servers that are asked over one transport.
RELAYED = """
globalThis.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(configuration = {}) {
    const iceServers = (configuration.iceServers ?? []).map((server) => ({
      ...server, urls: [server.urls].flat().filter((url) => url.endsWith('?transport=tcp') === OVER_TCP),
    }));
    super({ ...configuration, iceServers, iceTransportPolicy: 'relay' });
  }
};
"""

# Which way the two connections of a page go.
PATHS = """
async () => {
  const { publisher, subscriber } = roost.room.connections;
  return Promise.all([publisher, subscriber].map(async (connection) => {
    const report = await connection.getStats();
    const transport = [...report.values()].find(({ type }) => type === 'transport');
    const pair = report.get(transport?.selectedCandidatePairId);
    const { candidateType, relayProtocol } = report.get(pair?.localCandidateId) ?? {};
    return { type: candidateType, over: relayProtocol, port: report.get(pair?.remoteCandidateId)?.port };
  }));
}
"""


class RelayedBrowser:
    """Its pages have connections as `RELAYED` says."""

    def __init__(self, browser, transport):
        self.browser, self.is_over_tcp = browser, transport == "tcp"

    def new_page(self, **options):
        page = self.browser.new_page(**options)
        page.add_init_script(RELAYED.replace("OVER_TCP", str(self.is_over_tcp).lower()))
        return page


@pytest.fixture
def serve(namespace):
    """Starts servers with rooms, on all addresses, as a machine that others reach."""
    servers = []

    def start(*options):
        servers.append(Server(namespace, "--rooms", *options, host="0.0.0.0"))
        return servers[-1]

    yield start
    for server in servers:
        assert server.close() == 0


@pytest.fixture
def serve_relay(serve, namespace):
    """With a relay of their own."""
    return lambda *options: serve("--turn", "--turn-port", 0, "--turn-host", namespace.address, *options)


@pytest.fixture
def join_page(browser):
    """Makes participants of one room in pages, `relayed` over UDP or TCP."""
    pages = []

    def join(server, name, tone, relayed=None):
        through = RelayedBrowser(browser, relayed) if relayed else browser
        pages.append(RoomsPage(through, f"http://127.0.0.1:{server.page}", "relayed", name, tone=tone))
        return pages[-1]

    yield join
    for page in pages:
        page.close()


def relay_metrics(server):
    text = server.namespace.fetch(f"{server.http}/metrics").decode()
    return {name: int(value) for name, value in re.findall(r"^roost_turn_(\S+) (\d+)$", text, re.MULTILINE)}


def check_both(ann, bob):
    all_in(ann, bob)
    for one, other in ((ann, bob), (bob, ann)):
        one.check_picture(other.name)
        one.check_sound(other.name, other.tone)


def check_paths(page, over, port):
    """Both connections go from a relayed address to the room's port."""
    assert page.page.evaluate(PATHS) == 2 * [{"type": "relay", "over": over, "port": port}], page.transcript()


# The server's own relay


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_page_is_in_a_room_by_the_relay_alone(transport, serve_relay, join_page):
    """And the other one, who can do without, is with it."""
    server = serve_relay()
    ann, bob = join_page(server, "Ann", 440, relayed=transport), join_page(server, "Bob", 554)
    check_both(ann, bob)
    check_paths(ann, transport, server.process.wait_for("listening")["media_port"])
    metrics = relay_metrics(server)
    assert metrics["allocations"] >= 2
    assert metrics['relayed_packets_total{to="peers"}'] > 100 < metrics['relayed_packets_total{to="clients"}']
    assert metrics.get('dropped_total{reason="forbidden"}', 0) == 0


def test_behind_a_nat_nothing_has_to_lead_back_in(serve_relay, join_page):
    """Rooms and relayed addresses are announced where the NAT is, and that is not reached from here."""
    server = serve_relay("--turn-public-address", PUBLIC, "--media-public-address", PUBLIC)
    ann, bob = join_page(server, "Ann", 440, relayed="udp"), join_page(server, "Bob", 554, relayed="udp")
    check_both(ann, bob)
    port = server.process.wait_for("listening")["media_port"]
    for page in (ann, bob):
        assert [path["port"] for path in page.page.evaluate(PATHS)] == [port, port], page.transcript()


def test_livekits_sdk_is_in_a_room_by_the_relay_alone(serve_relay):
    server = serve_relay()
    room = server.new_room()
    ann, bob = server.join(room, "ann", "--relay-only"), server.join(room, "bob")
    ann.publish(hertz=880)
    bob.check_picture()
    bob.check_sound(880)
    bob.publish(hertz=554)
    ann.check_picture()
    ann.check_sound(554)
    metrics = relay_metrics(server)
    assert metrics["allocations"] >= 1
    assert metrics['relayed_packets_total{to="peers"}'] > 100 < metrics['relayed_packets_total{to="clients"}']
    for one in (ann, bob):
        one.leave()


# Another's


@pytest.fixture
def start_coturn(namespace, tmp_path):
    started = []

    def start(**login):
        started.append(Coturn(namespace, folder=tmp_path, **login))
        started[-1].wait_listening()
        return started[-1]

    yield start
    for coturn in started:
        coturn.process.finish()
        print(coturn.process.transcript())


@pytest.mark.parametrize("place", ["option", "file"])
def test_a_page_is_in_a_room_by_coturn_with_a_credential_of_its_own(place, serve, start_coturn, join_page, tmp_path):
    coturn = start_coturn(secret=SECRET)
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    secret = {"option": ("--turn-secret", SECRET), "file": ("--turn-secret-file", file)}[place]
    server = serve("--turn-url", f"turn:{coturn.address}", *secret)
    ann, bob = join_page(server, "Ann", 440, relayed="udp"), join_page(server, "Bob", 554)
    check_both(ann, bob)
    check_paths(ann, "udp", server.process.wait_for("listening")["media_port"])
    assert coturn.says(r": new, realm=<roost>, username=<\d+:\w+>")

    told = [ann.page.evaluate("fetch('/ice-servers').then((response) => response.json())") for _ in range(2)]
    [first], [second] = (answer["iceServers"] for answer in told)
    assert first["urls"] == [f"turn:{coturn.address}"] and first["username"] != second["username"]
    code = hmac.new(SECRET.encode(), first["username"].encode(), hashlib.sha1).digest()
    assert first["credential"] == base64.b64encode(code).decode()
    left = int(first["username"].split(":")[0]) - time.time()
    assert 11 * 3600 < left <= 12 * 3600
    # It has none of its own.
    assert "turn_port" not in server.process.wait_for("listening") and relay_metrics(server) == {}


def test_livekits_sdk_is_in_a_room_by_coturn_with_everybodys_name(serve, start_coturn):
    coturn = start_coturn()
    server = serve("--turn-url", f"turn:{coturn.address}", "--turn-username", "user", "--turn-password", "secret")
    room = server.new_room()
    ann, bob = server.join(room, "ann", "--relay-only"), server.join(room, "bob")
    ann.publish(hertz=880)
    bob.check_picture()
    bob.check_sound(880)
    assert coturn.says(r": new, realm=<roost>, username=<user>")
    for one in (ann, bob):
        one.leave()


def test_whip_names_the_others_servers(serve):
    """RFC 9725 §4.6, with signs in the password that are quoted in headers (RFC 9110 §5.6.4)."""
    urls = ["turn:turn.example.org", "turns:turn.example.org:443?transport=tcp"]
    server = serve(
        "--turn-url", urls[0], "--turn-url", urls[1], "--turn-username", "roost", "--turn-password", 'a"b\\c')
    links = offer_to(server, "/whip", OFFER, token("room", "obs")).headers.get_all("Link")
    assert links == [
        f'<{url}>; rel="ice-server"; username="roost"; credential="a\\"b\\\\c"; credential-type="password"'
        for url in urls]


# Command lines


URL = ("--turn-url", "turn:turn.example.org")


@pytest.mark.parametrize("options, says", [
    (("--turn", *URL, "--turn-secret", "x"), "only one of them"),
    (URL, "--turn-url needs what its server takes"),
    ((*URL, "--turn-secret", "x", "--turn-secret-file", "y"), "only one of them"),
    ((*URL, "--turn-secret", "x", "--turn-username", "a", "--turn-password", "b"), "only one of them"),
    ((*URL, "--turn-username", "a"), "belong together"),
    ((*URL, "--turn-password", "a"), "belong together"),
    ((*URL, "--turn-username", "a", "--turn-password", "b\r\nSet-Cookie: c"), "--turn-password takes"),
    ((*URL, "--turn-secret", "x", "--turn-port", "3479"), "--turn-port needs --turn."),
    (("--turn-secret", "x"), "--turn-secret needs --turn or --turn-url."),
    (("--turn-secret-file", "x"), "--turn-secret-file needs --turn or --turn-url."),
    (("--turn-username", "a", "--turn-password", "b"), "--turn-username needs --turn-url."),
    (("--turn-url", "turn.example.org", "--turn-secret", "x"), "--turn-url takes"),
    (("--turn-url", "stun:turn.example.org", "--turn-secret", "x"), "--turn-url takes"),
    (("--turn-url", "turn:", "--turn-secret", "x"), "--turn-url takes"),
    (("--turn-url", "turn:turn.example.org:0", "--turn-secret", "x"), "--turn-url takes"),
    (("--turn-url", "turn:turn.example.org>", "--turn-secret", "x"), "--turn-url takes"),
    (("--turn-url", "turns:turn.example.org?transport=udp", "--turn-secret", "x"), "--turn-url takes"),
])
def test_a_relay_that_is_named_wrongly_is_refused(options, says):
    done = run("serve", *options)
    assert done.returncode == 64, done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("Error: ") and says in first, done.stderr


def test_a_secret_that_is_not_there_is_told(tmp_path):
    (tmp_path / "empty").write_text("\n")
    for name, says in (("missing", "cannot be read"), ("empty", "The secret of TURN is empty.")):
        ports = ("--port", 0, "--signaling-port", 0, "--no-echo")
        done = run("serve", *ports, *URL, "--turn-secret-file", tmp_path / name)
        assert done.returncode == 1 and says in done.stderr, done.stderr
