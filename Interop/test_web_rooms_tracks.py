"""Tracks of rooms in the browser, where things go otherwise than usual."""

from urllib.parse import urlencode

import pytest

from peers.rooms_page import all_in
from support.page import wait_text


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def test_an_offer_that_cannot_be_sent_costs_no_session(join):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    # The next WebSocket comes in 0.3 seconds: until then nobody hears that the screen is no longer shared.
    bob.cut_off()
    bob.page.evaluate("release(); document.getElementById('meeting-screen').click()")
    ann.wait_gone("Bob: screen")
    bob.wait_state("connected")
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture again")
    for one in (ann, bob):
        one.forget()
    ann.check_picture("Bob")
    ann.check_sound("Bob", 554)
    assert "reconnect=1" in bob.sockets()[-1] and len(bob.sockets()) == 2
    assert bob.errors() == []


def test_nobody_but_the_user_opens_a_device(join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    ann.check_picture("Bob")
    bob.click("camera")
    ann.wait_tile("Bob", lambda tile: not tile["hasPicture"], "without a picture")
    sid = ann.track("Bob", "camera")["sid"]
    bob.hold("mute")
    bob.hear(mute={"sid": sid, "muted": False})
    bob.wait_held(1)
    assert [(request.mute.sid, request.mute.muted) for request in bob.held()] == [(sid, True)]
    assert bob.is_off("camera") and bob.page.inner_text("#meeting-notices") == ""
    bob.release()

    # The microphone is open, and muted: whoever can be heard again is told so.
    bob.click("microphone")
    ann.wait_tile("Bob", lambda tile: tile["isMuted"], "muted")
    bob.hear(mute={"sid": ann.track("Bob", "microphone")["sid"], "muted": False})
    wait_text(bob.page, "#meeting-notices", "Your microphone was switched on by the server.")
    assert not bob.is_off("microphone")


def test_browsers_of_some_years_ago_are_in_the_room(sfu, room, browser_without_devices):
    """Firefox has `Map.groupBy` from 119 and `Intl.Segmenter` from 125 on, Safari the former from 17.4 on."""
    page = browser_without_devices.new_page()
    try:
        page.add_init_script("delete Map.groupBy; delete Intl.Segmenter")
        page.goto(f"http://127.0.0.1:{sfu.page}/rooms.html?{urlencode({'room': room, 'name': 'ann', 'join': 1})}")
        wait_text(page, "#meeting-notices", "No camera and no microphone was found. Nobody sees or hears you.")
        wait_text(page, "#meeting-state", "Nobody else is here yet.")
        wait_text(page, ".tile-initial", "A")
        assert [line for line in page.lines if line.startswith("error")] == []
    finally:
        page.context.close()


def test_a_screen_that_comes_is_large_though_the_last_one_was_made_small(join):
    ann, bob = join("Ann"), join("Bob", viewport={"width": 1280, "height": 800})
    all_in(ann, bob)
    ann.click("screen")
    bob.wait_tile("Ann: screen", lambda tile: tile["width"] > 700, "large")
    bob.enlarge("Ann: screen")
    bob.wait_tile("Ann: screen", lambda tile: tile["width"] < 700, "small")
    # What else happens in the room does not change what was chosen.
    ann.click("microphone")
    bob.wait_tile("Ann", lambda tile: tile["isMuted"], "muted")
    assert bob.tile("Ann: screen")["width"] < 700
    ann.click("screen")
    bob.wait_gone("Ann: screen")
    ann.click("screen")
    bob.wait_tile("Ann: screen", lambda tile: tile["hasPicture"] and tile["width"] > 700, "large again")
