"""The checks themselves: a harness that cannot fail proves nothing."""

import pytest

from support.evidence import Evidence
from support.namespace import Wire


def evidence(counters, hertz=(440.0, 494.0)):
    return Evidence("Ann", list(counters), list(hertz))


def test_a_live_picture_passes_even_with_gaps_and_round_the_end():
    evidence([*range(280, 300, 2), *range(0, 60)]).check()


@pytest.mark.parametrize(
    "counters",
    [[7] * 90, list(range(10)) + [9] * 80, list(range(45)) * 2, [None] * 90, list(range(12))],
    ids=["frozen", "freezes", "repeated", "unreadable", "too few"],
)
def test_a_dead_picture_fails(counters):
    with pytest.raises(AssertionError):
        evidence(counters).check()


@pytest.mark.parametrize("hertz", [[], [50.0, 50.0, 440.0]], ids=["silence", "hum"])
def test_a_wrong_sound_fails(hertz):
    with pytest.raises(AssertionError):
        evidence(range(60), hertz).check()


def test_the_wire_loses_and_delays_datagrams_and_nothing_else_passes_the_namespaces():
    wire = Wire(loss=0.05, delay=0.01, jitter=0.05)
    sender, receiver = wire.ends
    listen = (
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('192.0.2.2', 5000))\n"
        "print(flush=True); s.settimeout(1); got = []\n"
        "try:\n  while True: got.append(int(s.recv(99)))\n"
        "except TimeoutError: print(len(got), got != sorted(got))"
    )
    send = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in range(2000): s.sendto(b'%d' % n, ('192.0.2.2', 5000))\n"
    )
    import subprocess
    import sys

    listener = subprocess.Popen(receiver.command(sys.executable, "-c", listen), stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    sender.run(sys.executable, "-c", send)
    came, is_shuffled = listener.communicate(timeout=20)[0].split()
    assert sender.run("ip", "route", "get", "198.51.100.1").returncode != 0
    carried, lost = wire.close()
    assert carried >= int(came) and 0.03 < lost / carried < 0.07
    assert is_shuffled == "True"
