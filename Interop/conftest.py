"""Fixtures: a namespace, a browser and servers for each test process; they go when it ends."""

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent))
# Read when numpy comes, here and in peers: these reckon on pieces too small to be shared, and threads that wait cost a core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from peers.apns import APNs  # noqa: E402
from peers.chat import Chat  # noqa: E402
from peers.chat_nodes import Nodes  # noqa: E402
from peers.chromium import WITHOUT_DEVICES, Browser  # noqa: E402
from peers.firefox import Firefox  # noqa: E402
from peers.livekit_room import Server  # noqa: E402
from peers.livekit_service import call  # noqa: E402
from peers.postgres import Postgres  # noqa: E402
from peers.roost_peer import find_roost, start_server  # noqa: E402
from peers.rooms_page import RoomsPage  # noqa: E402
from support.combinations import choose  # noqa: E402
from support.command import RoostProcesses  # noqa: E402
from support.namespace import Namespace, Wire  # noqa: E402
from support.places import needs_place, place  # noqa: E402
from support.process import JSONProcess  # noqa: E402
from support.time_limit import from_some_file  # noqa: E402

# Whoever is started in the background by a shell ignores Ctrl-C, and so do its children: each of our peers would wait to be
# killed instead of ending.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NO_TIME = "no time left"
SEED_SERVER = Path(__file__).with_name("seed_server.py")


def start_seed_server(namespace, *options):
    process = JSONProcess("seed server", namespace.command(sys.executable, SEED_SERVER, *options))
    return process, process.wait_for("listening")["port"]


def pytest_addoption(parser):
    parser.addoption(
        "--all-combinations", action="store_true", help="run every combination of parameters of each test")
    parser.addoption(
        "--begin-no-test-after", type=float, metavar="SECONDS",
        help="skip what has not begun by this time (seconds since 1970), and begin with another file each time")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if last := config.getoption("--begin-no-test-after"):
        items[:] = from_some_file(items, int(last))
    # Whoever names a test by its id wants that one, and of those that failed each is wanted.
    named = any("::" in argument for argument in config.args)
    if named or config.getoption("--all-combinations") or config.getoption("lf", False):
        return
    items[:], left = choose(items)
    config.hook.pytest_deselected(items=left)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    last = item.config.getoption("--begin-no-test-after")
    if last and time.time() > last:
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter):
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if NO_TIME in str(report.longrepr)]
    for file, count in Counter(report.nodeid.partition("::")[0] for report in skipped).items():
        terminalreporter.line(f"No time was left for {count} of {file}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Around everything else, so that waiting for a place is not part of a test's time limit."""
    if not needs_place(item):
        return (yield)
    with place():
        return (yield)


@pytest.fixture(scope="session")
def namespace():
    """The private network in which servers, browsers and peers of this test process run."""
    network = Namespace().add_interface()
    yield network
    network.close()


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright, namespace):
    browser = Browser(playwright, namespace)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def browser_without_devices(playwright, namespace):
    browser = Browser(playwright, namespace, WITHOUT_DEVICES)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def firefox(namespace):
    firefox = Firefox(namespace)
    yield firefox
    firefox.close()


@pytest.fixture
def browser_called(request):
    """Chromium or Firefox, by its name; one that no test asks for is not started."""
    return lambda kind: request.getfixturevalue({"chromium": "browser", "firefox": "firefox"}[kind])


@pytest.fixture(scope="session")
def seed_server(namespace):
    """The address of a signaling server that we did not write."""
    process, port = start_seed_server(namespace)
    yield f"http://127.0.0.1:{port}"
    process.finish()


@pytest.fixture(scope="session")
def roost_server(namespace):
    """The address of our own server."""
    if find_roost() is None:
        pytest.fail("there is no roost binary: run `swift build --product roost`, or name one in $ROOST_BIN")
    process, port = start_server(namespace)
    yield f"http://127.0.0.1:{port}"
    process.finish()


@pytest.fixture
def roost():
    """Starts servers and peers on loopback, for one test."""
    processes = RoostProcesses()
    yield processes
    processes.close()


@pytest.fixture
def join_call():
    """Starts `roost join` with the ticket to a call of the chat."""
    processes = RoostProcesses()

    def join(ticket, name):
        process = processes.start(
            f"roost join of {name}", "join", "--json", "--url", ticket["url"], "--token", ticket["token"])
        process.wait_for("joined")
        return process

    yield join
    processes.close()


@pytest.fixture(scope="module")
def server():
    """One server on loopback, for all tests of a file that leave it as it is."""
    processes = RoostProcesses()
    yield processes.serve()
    processes.close()


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """One server with chat, for all tests of a file; each has people and workspaces of its own."""
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("chat")
    yield Chat(processes.serve("--data", folder), folder)
    processes.close()


@pytest.fixture
def team(chat):
    """Ann's workspace with Bob in it, who came by a link: both, and its identifier."""
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    return ann, bob, workspace


@pytest.fixture(scope="module")
def apns(tmp_path_factory):
    """A stand-in for Apple's push service, which has to have nothing to say against what came."""
    service = APNs(tmp_path_factory.mktemp("apns"))
    yield service
    service.close()


@pytest.fixture(scope="session")
def postgres():
    """A database server of this test process, started with the first test that needs it."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="module")
def nodes(postgres, tmp_path_factory):
    """Two servers that are one, for all tests of a file that leave them as they are."""
    nodes = Nodes(postgres, tmp_path_factory.mktemp("nodes"))
    yield nodes
    nodes.close()


@pytest.fixture
def start_nodes(postgres, tmp_path_factory):
    """Starts servers that are one, for one test."""
    started = []

    def start(*options, **how):
        started.append(Nodes(postgres, tmp_path_factory.mktemp("nodes"), *options, **how))
        return started[-1]

    yield start
    for nodes in started:
        nodes.close()


@pytest.fixture(scope="module")
def rooms():
    """Rooms of `server` that nobody else uses."""
    return iter(range(1_000, 2_000))


@pytest.fixture(scope="module")
def sfu(namespace):
    """One server of LiveKit's protocol for all tests of a file; each has a room of its own."""
    server = Server(namespace)
    yield server
    assert server.close() == 0


@pytest.fixture
def room(sfu):
    """A room of `sfu`; whoever is left in it afterwards is ended."""
    yield sfu.new_room()
    sfu.leave_all()


@pytest.fixture(scope="module")
def rooms_server(namespace):
    """A server with rooms for the page, to be the `sfu` of a file. On all addresses: on loopback the page may ask for
    devices, and media is on the one that browsers take for it."""
    server = Server(namespace, "--rooms", host="0.0.0.0")
    yield server
    assert server.close() == 0


@pytest.fixture
def join(sfu, room, browser):
    """Makes participants of one room, each in a page with storage of its own."""
    pages = []

    def make(name, **options):
        pages.append(RoomsPage(browser, f"http://127.0.0.1:{sfu.page}", room, name, **options))
        return pages[-1]

    yield make
    for page in pages:
        page.close()


@pytest.fixture
def service(sfu, room):
    """What a team's own program asks of the server about somebody in the room."""
    def ask(method, message, who, **fields):
        answer = call(sfu, "room", method, message, room=room, identity=who.identity(), **fields)
        assert "answer" in answer, answer

    return ask


@pytest.fixture
def wire():
    """Two namespaces with a wire between them that loses 5 % of the datagrams and delays each by up to 50 ms."""
    wire = Wire(loss=0.05, delay=0.01, jitter=0.05)
    yield wire
    if wire.process.poll() is None:
        wire.close()


@pytest.fixture
def new_page(browser):
    """Makes pages, each with storage of its own."""
    pages = []

    def make(**options):
        pages.append(browser.new_page(**options))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()


@pytest.fixture
def run_in(browser_called, seed_server):
    """Makes, for a browser, what runs the body of an async function on a page of the seed's server."""
    pages = []

    def make(kind):
        page = browser_called(kind).new_page()
        pages.append(page)
        page.goto(f"{seed_server}/js/packets.js")
        return lambda body, argument=None: page.evaluate(f"async (argument) => {{ {body} }}", argument)

    yield make
    for page in pages:
        page.context.close()


@pytest.fixture
def run(run_in):
    """In Chromium."""
    return run_in("chromium")
