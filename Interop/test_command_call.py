"""A call on the command line, and how it ends: by Ctrl-C, by the other side, without its server, with nobody who reads
what it prints and no room for what it records.
"""

import json
import resource
import signal
import subprocess
import threading

import pytest
import socketio

from peers.roost_peer import find_roost
from support.command import call_arguments, listening, media_flows, run
from support.evidence import MEDIA, REPOSITORY
from support.waiting import PATIENCE, wait_until


# Ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_before_a_call_is_no_success(number, server, rooms, roost):
    ann = roost.call(server, next(rooms), "Ann", "caller")
    ann.wait_for("room", message="Connected")
    ann.send(number)
    assert ann.wait() == 128 + number
    assert "roost: Ended before a call came about.\n" in ann.text


@pytest.mark.parametrize("command", ["call", "watch"])
def test_ctrl_c_is_heard_while_a_server_does_not_answer(command, roost):
    called = threading.Event()
    with listening(lambda connection: called.set()) as silent:
        role = ["--callee"] if command == "call" else []
        ann = roost.start(f"roost {command}", command, "--room", 1, "--as", "Ann", *role, "--server", silent, "--json")
        assert called.wait(PATIENCE)
        ann.interrupt()
        assert ann.wait() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_hangs_up_and_the_other_side_is_told(number, server, rooms, roost):
    ann, bob = roost.pair(server, next(rooms))
    bob.send(number)
    assert bob.wait() == 0
    assert ann.wait() == 0
    ann.wait_for("state", state="ended")


def test_a_second_ctrl_c_ends_at_once_whatever_hangs(roost):
    """A server that is frozen answers no goodbye."""
    server = roost.serve()
    ann, bob = roost.pair(server)
    server.send(signal.SIGSTOP)
    ann.interrupt()
    bob.interrupt()
    bob.interrupt()
    # The first one alone is enough too, within seconds.
    assert ann.wait() == 0
    assert bob.wait() in (0, 130)


def test_the_call_lasts_as_long_as_it_was_told_to(server, rooms, roost):
    room = next(rooms)
    bob = roost.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    ann = roost.call(server, room, "Ann", "caller", "--duration", "300ms")
    assert ann.wait() == 0 and bob.wait() == 0


# Who is there


@pytest.mark.parametrize("role", ["caller", "callee"])
def test_somebody_who_leaves_before_the_call_has_begun_is_waited_for(role, server, rooms, roost):
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
    ann = roost.call(server, room, "Ann", role)
    ann.wait_for("presence", message=f"Bob is here ({other})")
    if role == "caller":
        assert rings.wait(PATIENCE)
    deaf.disconnect()
    ann.wait_for("presence", message=f"No {other} is in the room")
    bob = roost.call(server, room, "Bob", other, "--duration", "300ms")
    assert bob.wait() == 0 and ann.wait() == 0
    ann.wait_for("state", state="connected")


def test_two_callees_do_not_block_each_other(server, rooms, roost):
    """Who came last is called; the other one waits on, and is called next."""
    room = next(rooms)
    waiting = roost.call(server, room, "Bob", "callee")
    waiting.wait_for("room", message="Connected")
    called = roost.call(server, room, "Cid", "callee")
    called.wait_for("room", message="Connected")
    assert run(*call_arguments(server.url, room, "Ann", "caller", "--duration", "300ms")).returncode == 0
    assert called.wait() == 0
    assert run(*call_arguments(server.url, room, "Ann", "caller", "--duration", "300ms")).returncode == 0
    assert waiting.wait() == 0


# The server goes away


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_server_in_mid_call_keeps_the_call_and_hanging_up_still_reaches_the_partner(number, roost):
    server = roost.serve()
    ann, bob = roost.pair(server)
    server.send(number)
    server.wait()
    for peer in (ann, bob):
        peer.wait_for("notice", message="The signaling connection broke; the call goes on.")
    media_flows(ann, bob)
    again = roost.serve(port=server.port)
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


def test_hanging_up_without_a_server_reaches_the_partner(roost):
    server = roost.serve()
    ann, bob = roost.pair(server)
    server.send(signal.SIGKILL)
    server.wait()
    ann.interrupt()
    assert ann.wait() == 0
    assert bob.wait() == 0
    assert "ended the call" in bob.last("state")["message"] or "left" in bob.last("state")["message"]


# Output


def test_a_reader_that_goes_away_ends_the_call_in_order(server, rooms, roost, tmp_path):
    """`roost call … | head`: the partner is told, the recording is whole, and the status is not success."""
    room = next(rooms)
    bob = roost.call(server, room, "Bob", "callee")
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


def test_closed_standard_streams_harm_nothing(server, rooms, roost):
    """No socket takes the number of a stream that was closed, where the call's words would then go."""
    room = next(rooms)
    bob = roost.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    command = " ".join(map(str, [find_roost(), *call_arguments(server.url, room, "Ann", "caller", "--duration", "1s")]))
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", "sh", "-c", f"exec {command} <&- >&- 2>&-"], timeout=PATIENCE, cwd=REPOSITORY
    )
    assert done.returncode == 0
    assert bob.wait() == 0


@pytest.mark.parametrize("options, is_told", [((), True), (("--audio", MEDIA / "webRtcTestVideo.ogg"), False)])
def test_a_films_sound_that_cannot_be_sent_is_told_unless_other_sound_takes_its_place(
        options, is_told, server, rooms, roost, tmp_path):
    film = tmp_path / "film.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", MEDIA / "webRtcTestVideo.mp4", "-f", "lavfi", "-i", "sine", "-t", "2",
         "-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", "aac", film], check=True)
    ann = roost.call(server, next(rooms), "Ann", "caller", "--video", film, *options)
    ann.wait_for("room", message="Connected")
    notices = [event["message"] for event in ann.events if event["event"] == "notice"]
    assert notices == ([f"What {film} holds in AAC is left out: it cannot be sent."] if is_told else [])


def test_a_recording_that_cannot_be_written_is_told_at_once_and_the_call_goes_on(server, rooms, roost, tmp_path):
    """A full disk, here a limit on the size of files."""
    room = next(rooms)
    limit = 100_000
    bob = roost.call(server, room, "Bob", "callee")
    bob.wait_for("room", message="Connected")
    ann = roost.call(
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
