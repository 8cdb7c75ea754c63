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


# The browser's question which screen is open until `choose`; what was captured is kept.
ASK = """
() => {
  const { patternTrack, toneTrack } = globalThis.pattern;
  const asked = Promise.withResolvers();
  Object.assign(globalThis, { captures: [], choose: asked.resolve });
  navigator.mediaDevices.getDisplayMedia = async () => {
    await asked.promise;
    const tracks = [patternTrack('Screen', { width: 320, rate: 10 }).track, toneTrack(900).track];
    captures.push(tracks);
    return new MediaStream(tracks);
  };
}
"""


def capture_states(one):
    return one.page.evaluate("captures.map((tracks) => tracks.map(({ readyState }) => readyState))")


@pytest.fixture
def sharing(join):
    """Ann, and Bob with a screen and its sound to share."""
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    bob.page.evaluate("async () => { globalThis.pattern = await import('/js/test-pattern.js'); }")
    bob.page.evaluate(ASK)
    return ann, bob


def test_who_asks_twice_for_a_screen_shares_one(sharing):
    ann, bob = sharing
    for _ in range(2):
        bob.click("screen")
    bob.page.evaluate("choose()")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    bob.click("screen")
    ann.wait_gone("Bob: screen")
    assert capture_states(bob) == [["ended", "ended"]]
    # And again, as often as they like.
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    assert capture_states(bob)[1:] == [["live", "live"]]
    assert bob.errors() == []


@pytest.mark.parametrize("by", ["user", "server"])
def test_the_sound_of_a_screen_goes_with_its_picture(by, sharing):
    ann, bob = sharing
    sounds = "roost.room.roster.others[0].info.tracks.filter(({ source }) => source === 4).length"
    bob.page.evaluate("choose()")
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    ann.wait(lambda: ann.page.evaluate(sounds) == 1, "the sound of the screen")
    if by == "user":
        # In the browser's own bar.
        bob.page.evaluate("captures[0][0].stop(); captures[0][0].onended()")
    else:
        bob.hear(track_unpublished={"track_sid": ann.track("Bob", "screen")["sid"]})
    ann.wait_gone("Bob: screen")
    ann.wait(lambda: ann.page.evaluate(sounds) == 0, "no sound of a screen")
    assert capture_states(bob) == [["ended", "ended"]]
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture again")
    ann.wait(lambda: ann.page.evaluate(sounds) == 1, "one sound of a screen")
    assert capture_states(bob) == [["ended", "ended"], ["live", "live"]]


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
