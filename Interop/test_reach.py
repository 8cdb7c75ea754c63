"""Ways to a peer besides addresses over UDP: browsers' mDNS names, ICE-lite, and TCP. The peer is the echo example."""

import json
import os
import queue
import subprocess
import threading
from pathlib import Path

import pytest
from peers.chromium import ARGUMENTS, Browser
from peers.firefox import HIDING_ADDRESSES, Firefox
from support.evidence import REPOSITORY
from support.namespace import Namespace
from support.waiting import PATIENCE, wait_until

# Without permission for a camera, Chromium shows names in `.local` instead of addresses, and answers for them itself.
WITHOUT_PERMISSION = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]

ADDRESS = "10.77.0.1"

# Offers a moving picture, with all candidates in the offer.
OFFER = """
async () => {
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  setInterval(() => {
    context.fillStyle = `hsl(${Math.random() * 360} 80% 50%)`;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }, 40);
  const connection = globalThis.connection = new RTCPeerConnection();
  connection.addTrack(canvas.captureStream(25).getVideoTracks()[0]);
  const gathered = new Promise((resolve) => {
    connection.onicecandidate = ({ candidate }) => candidate ?? resolve();
  });
  await connection.setLocalDescription();
  await gathered;
  return connection.localDescription.sdp;
}
"""

STATE = """
async () => {
  const all = [...(await connection.getStats()).values()];
  const transport = all.find(({ type }) => type === 'transport') ?? {};
  const pair = all.find(({ id }) => id === transport.selectedCandidatePairId) ?? {};
  const local = all.find(({ id }) => id === pair.localCandidateId) ?? {};
  const inbound = all.find(({ type }) => type === 'inbound-rtp') ?? {};
  return { state: connection.connectionState, protocol: local.protocol, tcpType: local.tcpType,
           role: transport.iceRole, decoded: inbound.framesDecoded ?? 0 };
}
"""


def without(sdp, *words):
    """A description without the candidates that hold all of these words, which Firefox writes in capitals."""
    lines = sdp.split("\r\n")
    return "\r\n".join(
        line for line in lines if not (line.startswith("a=candidate") and all(word in line.lower() for word in words))
    )


class Echo:
    """The echo example inside a namespace."""

    def __init__(self, namespace, *options):
        folder = Path(os.environ.get("ROOST_EXAMPLES", REPOSITORY / ".build" / "debug"))
        self.notes = []
        self.process = subprocess.Popen(
            namespace.command("setpriv", "--pdeathsig", "KILL", folder / "echo", *options),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.answers = queue.Queue()
        threading.Thread(target=lambda: [self.answers.put(line) for line in self.process.stdout], daemon=True).start()
        threading.Thread(target=lambda: self.notes.extend(self.process.stderr), daemon=True).start()

    def answer(self, sdp):
        self.process.stdin.write(json.dumps({"type": "offer", "sdp": sdp}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.answers.get(timeout=PATIENCE))["sdp"]

    def finish(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def network():
    """An interface that carries multicast; from an address of 127/8 the kernel sends none."""
    network = Namespace(ADDRESS).add_interface()
    network.ip("link", "set", "media0", "multicast", "on")
    # Without permission Chromium looks at no interfaces: its candidates are of the address that the way out has.
    network.ip("route", "add", "default", "dev", "media0")
    yield network
    network.close()


@pytest.fixture(scope="module")
def shy_browser(playwright, network):
    browser = Browser(playwright, network, WITHOUT_PERMISSION)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def trusted_browser(playwright, network):
    browser = Browser(playwright, network, ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def shy_firefox(network):
    firefox = Firefox(network, HIDING_ADDRESSES)
    yield firefox
    firefox.close()


@pytest.fixture(params=["shy_browser", "shy_firefox"], ids=["chromium", "firefox"])
def page(request):
    """Of a browser that hides its addresses."""
    page = request.getfixturevalue(request.param).new_page()
    yield page
    page.context.close()


@pytest.fixture
def start(network):
    started = []

    def begin(*options):
        started.append(Echo(network, *options))
        return started[-1]

    yield begin
    for echo in started:
        echo.finish()
        print("".join(echo.notes))


def connect(page, answer):
    page.evaluate("(sdp) => connection.setRemoteDescription({ type: 'answer', sdp })", answer)
    wait_until(lambda: page.evaluate(STATE)["decoded"] > 20, "pictures come back")
    return page.evaluate(STATE)


def test_a_browser_that_shows_a_name_is_found(page, start):
    offer = page.evaluate(OFFER)
    assert ".local " in offer and ADDRESS not in offer
    # Our candidates stay unknown: only our checks, to the address behind the name, can find the way.
    state = connect(page, without(start().answer(offer), "candidate"))
    assert state["protocol"] == "udp"


def test_a_browser_controls_a_lite_peer(page, start):
    answer = start("--lite").answer(page.evaluate(OFFER))
    assert "a=ice-lite" in answer
    assert connect(page, answer)["role"] == "controlling"


def test_chromium_connects_over_tcp_to_a_peer_that_listens(trusted_browser, start):
    page = trusted_browser.new_page()
    # Candidates of TCP come with the permission that a page needs for a camera, and only a secure page may ask for it.
    page.route("**/*", lambda route: route.fulfill(status=200, content_type="text/html", body="<html></html>"))
    page.goto("https://reach.test/")
    page.evaluate("navigator.mediaDevices.getUserMedia({ audio: true }).then(() => true)")
    connect_over_tcp(page, start("--tcp"))


def test_firefox_connects_over_tcp_to_a_peer_that_listens(shy_firefox, start):
    """It shows candidates of TCP to every page."""
    page = shy_firefox.new_page()
    connect_over_tcp(page, start("--tcp"))
    page.close()


def connect_over_tcp(page, echo):
    offer = page.evaluate(OFFER)
    assert "tcptype active" in offer
    answer = echo.answer(without(offer, " udp "))
    assert "tcptype passive" in answer
    state = connect(page, without(answer, " udp "))
    assert (state["protocol"], state["tcpType"]) == ("tcp", "active")
