"""The checks themselves: a harness that cannot fail proves nothing."""

import itertools
import os
import select
import socket
import subprocess
import sys
import time
import uuid
import wave
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from peers.roost_peer import read_tones
from support.combinations import fewest
from support.disclosure import Secrets
from support.evidence import TONES, Evidence
from support.namespace import Namespace, Wire
from support.process import JSONProcess
from support.time_limit import from_some_file
from support.waiting import PATIENCE, wait_until


# Three seconds of the test sound.
NOTES = [440.0, 440.2, 494.1, 493.8, 554.0, 554.3]


def evidence(counters, hertz=NOTES, **options):
    return Evidence("Ann", list(counters), list(hertz), **options)


def test_a_live_picture_passes_even_with_gaps_and_round_the_end():
    evidence([*range(280, 300, 2), *range(0, 60)]).check()


@pytest.mark.parametrize(
    "counters",
    [
        [7] * 90,
        list(range(10)) + [9] * 80,
        list(range(20)) + [19] * 400,
        list(range(90)) + [89] * 20,
        [number // 4 for number in range(120)],
        list(range(45)) * 2,
        [*range(0, 60), *range(180, 240)],
        [None] * 90,
        list(range(12)),
    ],
    ids=["frozen", "freezes", "lives for a moment", "freezes late", "slow", "repeated", "nothing for four seconds", "unreadable", "too few"],
)
def test_a_dead_picture_fails(counters):
    with pytest.raises(AssertionError):
        evidence(counters).check()


def test_a_stall_is_told_from_a_step_back_only_where_stalls_are_expected():
    after_a_stall = evidence([*range(0, 122), *range(0, 60)])  # on from 121 to 300, which is 0 again: six seconds
    after_a_stall.check_picture(stalls=1)
    looped = evidence([*range(0, 90)] * 3)
    for picture, stalls in ((after_a_stall, 0), (looped, 1)):
        with pytest.raises(AssertionError, match="go back"):
            picture.check_picture(stalls=stalls)
    with pytest.raises(AssertionError, match="go back"):
        evidence([*range(0, 60), *range(30, 90)]).check_picture(stalls=1)


@pytest.mark.parametrize(
    "hertz, says",
    [
        ([], "not enough"),
        ([None] * 8, "not enough"),
        (NOTES[:3], "not enough"),
        ([50.0, *NOTES[:3], 50.0, 50.0, NOTES[3]], "something else"),
        (NOTES + [None] * 5, "too much silence"),
        ([NOTES[0], *[None] * 12, *NOTES[1:]], "too much silence"),
        ([440.0] * 8, "one tone"),
        ([*NOTES, *[554.0] * 3], "one tone"),
        ([441.0, 441.0, 441.0, 441.0], "one tone"),
    ],
    ids=[
        "nothing", "silence", "too short", "hum", "silent later", "a gap", "one stuck tone", "sticks later", "one note",
    ],
)
def test_a_wrong_sound_fails(hertz, says):
    with pytest.raises(AssertionError, match=says):
        evidence(range(60), hertz).check()


def test_silence_before_the_first_tone_and_one_wrong_piece_are_no_fault():
    evidence(range(60), [None, None, *NOTES, 520.0]).check()


def test_whoever_sends_one_tone_has_to_be_heard_with_that_one():
    evidence(range(60), [440.0] * 6, tones=[440]).check()
    with pytest.raises(AssertionError, match="wanted \\[440\\]"):
        evidence(range(60), tones=[440]).check()


def test_silence_in_a_recording_is_told(tmp_path):
    rate = 48_000
    time = np.arange(rate) / rate
    notes = [np.sin(2 * np.pi * hertz * time) * 9_000 for hertz in TONES[:2]]
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", None))
        file.writeframes(np.concatenate([*notes, np.zeros(rate)]).astype("<i2").tobytes())
    assert read_tones(tmp_path / "sound.wav") == [440.0, 440.0, 494.0, 494.0, None, None]


def test_the_wire_loses_and_delays_datagrams_and_nothing_else_passes_the_namespaces():
    wire = Wire(loss=0.05, delay=0.01, jitter=0.05)
    sender, receiver = wire.ends
    listen = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('192.0.2.2', 5000))\n"
        "print('ready', flush=True); got = [int(s.recv(99)) for _ in range(2000)]; print(got != sorted(got))"
    )
    # In small bursts, so that nothing but the wire loses any; without end, since the listener says when it has enough.
    send = (
        "import itertools, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in itertools.count(): s.sendto(b'%d' % n, ('192.0.2.2', 5000)); n % 20 or time.sleep(0.005)\n"
    )
    listener = subprocess.Popen(receiver.command(sys.executable, "-c", listen), stdout=subprocess.PIPE, text=True)
    assert listener.stdout.readline() == "ready\n"
    speaker = subprocess.Popen(sender.command(sys.executable, "-c", send))
    try:
        is_shuffled = listener.communicate(timeout=PATIENCE)[0].strip()
    finally:
        speaker.kill()
        speaker.wait()
        listener.kill()
    assert sender.run("ip", "route", "get", "198.51.100.1").returncode != 0
    carried, lost = wire.close()
    assert carried >= 2000 and 0.03 < lost / carried < 0.07
    assert is_shuffled == "True"


def test_the_wire_carries_no_more_than_it_is_told_to():
    wire = Wire(loss=0, delay=0, jitter=0)
    sender, receiver = wire.ends
    # What came from the first datagram on, in two seconds.
    listen = (
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('192.0.2.2', 5000))\n"
        "print('ready', flush=True); s.recv(2000); end, got = time.monotonic() + 2, 0\n"
        "while time.monotonic() < end: got += len(s.recv(2000)) + 28\n"
        "print(got * 8 / 2)"
    )
    send = (
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "while True: s.sendto(bytes(972), ('192.0.2.2', 5000)); time.sleep(0.002)\n"
    )
    try:
        for limit, is_right in [(200_000, lambda rate: 140_000 < rate < 220_000), (0, lambda rate: rate > 500_000)]:
            wire.limit(limit)
            listening = receiver.command(sys.executable, "-c", listen)
            listener = subprocess.Popen(listening, stdout=subprocess.PIPE, text=True)
            assert listener.stdout.readline() == "ready\n"
            speaker = subprocess.Popen(sender.command(sys.executable, "-c", send))
            try:
                rate = float(listener.communicate(timeout=PATIENCE)[0])
            finally:
                speaker.kill()
                speaker.wait()
                listener.kill()
            assert is_right(rate), f"{rate} bits a second where {limit} were allowed"
    finally:
        carried, lost = wire.close()
    assert lost > 0.2 * carried


@pytest.fixture
def network():
    network = Namespace()
    yield network
    network.close()


def test_connections_are_made_inside_a_namespace_and_fail_as_outside(network):
    # At one port of the same address both inside and outside, so that only who is inside gets there.
    with network.socket() as inside, socket.create_server(("127.0.0.1", 0)) as outside:
        address = outside.getsockname()
        with pytest.raises(ConnectionRefusedError):
            network.connect(*address)
        inside.bind(address)
        inside.listen()
        outside.setblocking(False)
        with network.connect(*address) as connection:
            with inside.accept()[0] as accepted:
                assert accepted.getpeername() == connection.getsockname()
                assert connection.gettimeout() is None
        with pytest.raises(BlockingIOError):
            outside.accept()
    # There is no way out.
    with pytest.raises(OSError, match="Network is unreachable"):
        network.connect("198.51.100.1", 80)


def test_threads_get_connections_of_their_own(network):
    with network.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        with ThreadPoolExecutor(20) as threads:
            connections = list(threads.map(lambda _: network.connect(*listener.getsockname()), range(100)))
        accepted = [listener.accept()[0] for _ in connections]
        assert len({one.getpeername() for one in accepted} & {one.getsockname() for one in connections}) == 100
        for one in connections + accepted:
            one.close()


@pytest.mark.parametrize("status, says", [("200 OK", None), ("404 Not Found", "404 b'hello'")])
def test_an_answer_that_is_not_as_asked_is_told(network, status, says):
    def answer():
        with listener.accept()[0] as connection:
            request = connection.recv(1000)
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nhello".encode())
            return request

    with network.socket() as listener, ThreadPoolExecutor(1) as thread:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        request = thread.submit(answer)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        if says:
            with pytest.raises(AssertionError, match=says):
                network.fetch(url)
        else:
            assert network.fetch(url) == b"hello"
        assert request.result(PATIENCE).startswith(b"GET /metrics HTTP/1.1\r\n")


def test_what_makes_sockets_ends_with_its_namespace():
    network = Namespace()
    network.socket().close()
    network.close()
    assert network.holder.returncode == 0
    with pytest.raises(OSError):
        network.socket()


# What is left when the tests are killed: the process that they say, once its command line has a word.
STARTED = {
    "a child": ("from support.process import JSONProcess; held = JSONProcess('child', ['sleep', '1000'])", "held.pid",
                b"sleep"),
    "a namespace": ("from support.namespace import Namespace; held = Namespace()", "held.holder.pid", b"sh"),
    "a namespace that makes sockets": (
        "from support.namespace import Namespace; held = Namespace(); held.socket()", "held.holder.pid",
        sys.executable.encode()),
}


@pytest.mark.parametrize("start, pid, runs", STARTED.values(), ids=STARTED)
def test_no_process_survives_the_tests_that_started_it(start, pid, runs):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        f"{start}\n"
        f"print({pid}, flush=True); import time; time.sleep(1000)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    # What asks the kernel to end it with its parent runs before the command itself.
    wait_until(lambda: Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0] == runs, "the child runs")
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
    assert time.monotonic() - started < 10


# What a call's descriptions told, for the lines below.
HEARD = {
    "sdp": "v=0\r\na=ice-ufrag:bT8r\r\na=ice-pwd:zmaelpyhmco/3GcsNh8PDYLZ\r\na=fingerprint:sha-256 B7:69:18:42\r\n"
    "a=candidate:1 1 udp 2116026367 aaaa-bbbb.local 36972 typ host\r\n"
}


@pytest.mark.parametrize(
    "line, what",
    [
        ("no answer from 203.0.113.7", "an IPv4 address"),
        ('{"peer":"203.0.113.7:5000"}', "an IPv4 address"),
        ("sent to [2001:db8::7]:5000", "an IPv6 address"),
        ("from fe80:0:0:0:1:2:3:4", "an IPv6 address"),
        ("bound ::1", "an IPv6 address"),
        ("looking for 6f1c7a0e-52d1-4cf8-9a55-0d1c2b3a4f5e.local", "a multicast DNS name"),
        ("check of bT8r:Qz4x failed", "ice-ufrag"),
        ("no check for username=bT8r", "ice-ufrag"),
        ("key zmaelpyhmco/3GcsNh8PDYLZ", "ice-pwd"),
        ("certificate B7:69:18:42 is not", "fingerprint"),
        ("aaaa-bbbb.local 36972 does not answer", "candidate"),
        ("password=hunter22", "an ICE credential"),
        ("a=ice-pwd:abcdefghijklmnopqrstuv", "an ICE credential"),
        ("candidate:1 1 udp 1 somewhere 9 typ host", "a candidate"),
        ("sha-256 AB:CD:EF:01:23:45:67:89:AB:CD", "a fingerprint"),
        ("-----BEGIN PRIVATE KEY-----", "a key in PEM"),
        ("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj", "a key for SDES"),
        ("master key 0123456789abcdef0123456789ABCDEF", "a key's bytes"),
        ("salt [12, 255, 3, 4, 5, 6, 7, 80, 9]", "a key's bytes"),
        ("joins with eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln", "a token"),
        ("Authorization: Bearer abc", "a token"),
        ("TURN said no to open-sesame", "TURN password"),
    ],
)
def test_a_line_that_tells_something_is_found(line, what):
    secrets = Secrets()
    secrets.add_signal(HEARD)
    secrets.add("TURN password", "open-sesame")
    assert what in secrets.told_by(line)
    # And in what a process has printed, as an event or as text.
    for process in (Said(events=[{"event": "notice", "message": line}]), Said(text=["all is well\n", line + "\n"])):
        with pytest.raises(AssertionError, match="Ann tells"):
            secrets.check(process)


class Said:
    name = "Ann"

    def __init__(self, events=(), text=()):
        self.events, self.text = list(events), list(text)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22T18:33:51+0000 debug roost: detail=The client closed the connection. reason=transport_closed",
        "   0.98  in: video 376 kbit/s, 31 frames, 0.0 % lost  round trip 0.4 ms",
        "line 12 of the session description: the attribute ice-pwd is malformed.",
        "The TURN server does not accept this user name and password.",
        "The signaling server at http://127.0.0.1:3000 is gone.",
        "bT8rd is a word in which four letters of a credential stand; 1.2.3 is a version, 12:30:45 a time.",
    ],
)
def test_a_line_that_tells_nothing_is_no_fault(line):
    secrets = Secrets()
    secrets.add_signal(HEARD)
    assert secrets.told_by(line, known=["http://127.0.0.1:3000"]) == []


def test_who_says_nothing_proves_nothing():
    with pytest.raises(AssertionError, match="said nothing"):
        Secrets().check(Said())


@pytest.mark.parametrize("sizes, most", [((12, 2), 12), ((3, 5), 5), ((2, 3, 2), 3), ((1,), 1), ((4,), 4)], ids=str)
def test_the_fewest_combinations_bring_each_value_and_none_beside_the_same_one_always(sizes, most):
    every = list(itertools.product(*[[(name, value) for value in range(size)] for name, size in enumerate(sizes)]))
    chosen = [every[index] for index in fewest(every)]
    assert len(chosen) == most
    assert {value for one in chosen for value in one} == {value for one in every for value in one}
    uses = Counter(value for one in chosen for value in one)
    for name, size in enumerate(sizes):
        counts = [uses[name, value] for value in range(size)]
        assert max(counts) - min(counts) <= 1


def pytest_of(*arguments):
    """What another run of pytest says."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def collected(test, *arguments):
    return [line for line in pytest_of("--collect-only", *arguments).splitlines() if f"::{test}[" in line]


def test_what_has_not_begun_in_time_is_skipped_and_each_run_begins_elsewhere():
    late = time.time() - 60
    told = pytest_of("-n", "2", "-k", "test_a_dead_picture_fails", "--begin-no-test-after", str(late), __file__)
    assert "skipped" in told and "passed" not in told and "failed" not in told, told
    assert "No time was left for 9 of test_harness.py" in told, told
    told = pytest_of("-k", "test_a_dead_picture_fails", "--begin-no-test-after", str(time.time() + 600), __file__)
    assert "passed" in told and "skipped" not in told, told

    class Test:
        def __init__(self, path):
            self.path = path

    tests = [Test("a"), Test("a"), Test("b"), Test("c"), Test("c")]
    assert [tests.index(from_some_file(tests, number)[0]) for number in range(4)] == [0, 2, 3, 0]
    assert from_some_file(tests, 1) == [*tests[2:], *tests[:2]]
    assert from_some_file([], 7) == []


def test_all_combinations_run_where_they_are_asked_for():
    test, file = "test_coturns_client_talks_to_itself", "test_turn_server.py"
    few, every = collected(test, file), collected(test, "--all-combinations", file)
    assert len(few) == 5 and len(every) == 15 and set(few) < set(every)
    # One that is asked for by its name is not left out, and of those that a word chooses as few as bring each value run.
    left = min(set(every) - set(few))
    assert collected(test, left) == [left]
    assert len(collected(test, file, "-k", f"{test} and tls")) == 5


def test_values_that_belong_together_are_one():
    test, file = "test_a_subscriber_chooses_among_the_layers", "test_livekit_sdk.py"
    few, every = collected(test, file), collected(test, "--all-combinations", file)
    kinds = {line.split("[")[1].rsplit("-", 1)[0] for line in every}
    assert {line.split("[")[1].rsplit("-", 1)[0] for line in few} == kinds and len(few) == len(kinds) < len(every)


HOLDER = """
import sys
from support.places import place

print("waits", flush=True)
with place():
    print("is in", flush=True)
    sys.stdin.read()
"""


def test_no_more_tests_with_browsers_run_at_once_than_there_are_cores():
    environment = {**os.environ, "PYTEST_XDIST_TESTRUNUID": uuid.uuid4().hex}
    processes = []

    def start():
        processes.append(subprocess.Popen(
            [sys.executable, "-c", HOLDER], cwd=Path(__file__).parent, env=environment, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert processes[-1].stdout.readline() == b"waits\n"
        return processes[-1]

    try:
        holders = [start() for _ in range(os.cpu_count())]
        assert [holder.stdout.readline() for holder in holders] == [b"is in\n"] * len(holders)
        late = start()
        assert select.select([late.stdout], [], [], 0.5)[0] == []
        # One that is killed gives its place back.
        holders[0].kill()
        assert late.stdout.readline() == b"is in\n"
    finally:
        for process in processes:
            process.kill()
            process.communicate()
