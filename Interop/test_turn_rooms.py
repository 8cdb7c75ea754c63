"""Rooms of `roost serve` for people who get through to a TURN server and nowhere else."""

import re
import sys

import pytest

from peers.livekit_room import FETCH, Server
from peers.rooms_page import RoomsPage, all_in

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
    text = server.namespace.run(sys.executable, "-c", FETCH, f"{server.http}/metrics").stdout
    return {name: int(value) for name, value in re.findall(r"^roost_turn_(\S+) (\d+)$", text, re.MULTILINE)}


def check_both(ann, bob):
    all_in(ann, bob)
    for one, other in ((ann, bob), (bob, ann)):
        one.check_picture(other.name)
        one.check_sound(other.name, other.tone)


def check_paths(page, over, port):
    """Both connections go from a relayed address to the room's port."""
    assert page.page.evaluate(PATHS) == 2 * [{"type": "relay", "over": over, "port": port}], page.transcript()


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
