"""`roost watch`, the user of the package WebRTCCore, with real senders: Chromium and aiortc, three at once."""

import pytest

from peers.chromium import ChromiumPeer
from peers.watcher import AiortcSender, Watcher
from support.call import new_room
from support.waiting import wait_until


@pytest.fixture
def watch(namespace, roost_server, tmp_path):
    """Starts `roost watch` and senders; ends them, and tells what they said when the test failed."""
    room, started = new_room(), []

    def start(kind, *arguments, **options):
        peer = kind(namespace, roost_server, room, *arguments, **options)
        started.append(peer)
        return peer

    start.room, start.folder = room, tmp_path / "recordings"
    yield start
    for peer in reversed(started):
        peer.process.finish()
        print(peer.process.transcript())


def test_three_senders_at_once_one_adds_sound_one_sends_garbage_one_leaves(watch, browser, roost_server):
    watcher = watch(Watcher, watch.folder)
    watcher.wait_for("room", message="Connected")
    # The page does not give its name; it is the caller who is there when its offer comes.
    page = ChromiumPeer(browser, roost_server, watch.room, "Ann", "caller")
    watcher.wait_for("peer", peer="Ann", state="connected")
    bob = watch(AiortcSender, "Bob")
    cyd = watch(AiortcSender, "Cyd", codec="H264")
    for name in ("Bob", "Cyd"):
        watcher.wait_for("peer", peer=name, state="connected")
    watcher.wait_pictures(45, "Ann", "Bob", "Cyd")

    assert watcher.received("Bob")[1] == 0
    bob.add_sound()
    wait_until(lambda: watcher.received("Bob")[1] > 150, "three seconds of Bob's sound")

    cyd.send_garbage()
    problem = watcher.wait_for("problem", peer="Cyd")
    assert problem["message"].startswith("The call from Cyd cannot be answered.")
    watcher.wait_pictures(30, "Ann", "Bob", "Cyd")

    cyd.leave()
    watcher.wait_for("peer", peer="Cyd", state="closed")
    watcher.wait_pictures(30, "Ann", "Bob")

    assert watcher.finish() == 0, watcher.process.transcript()
    page.close()
    for name in ("Ann", "Bob", "Cyd"):
        watcher.evidence(name).check_picture()
    watcher.evidence("Bob").check_sound()


def test_a_name_of_many_bytes_is_cut_to_what_a_file_may_be_called(watch):
    name = "\U00020000" * 64
    watcher = watch(Watcher, watch.folder)
    watcher.wait_for("room", message="Connected")
    watch(AiortcSender, name)
    watcher.wait_for("peer", peer=name, state="connected")
    watcher.wait_pictures(45, name)
    assert watcher.finish() == 0, watcher.process.transcript()
    watcher.evidence(name).check_picture()
    (recording,) = watch.folder.iterdir()
    assert recording.stem == "\U00020000" * 30 + "-received"


def test_watching_an_empty_room_fails_with_a_sentence(watch):
    watcher = watch(Watcher, watch.folder, "--duration", "1s")
    watcher.wait_for("error", message=f"Nothing was received in room {watch.room}.")
    assert watcher.finish() == 1
