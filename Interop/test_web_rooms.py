"""Rooms for many in the browser: the page rooms.html, in rooms of `roost serve --rooms`, with itself and LiveKit's SDK."""

import itertools

import pytest
from livekit import api

from peers.livekit_room import KEY, SECRET
from peers.roost_peer import start_server
from peers.rooms_page import RoomsPage, all_in
from support.page import ACCESSIBILITY, check_readable, text, wait_text


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def allow(service, who, **permission):
    permission = {"can_subscribe": True, "can_publish": True, "can_publish_data": True, **permission}
    service("update_participant", "UpdateParticipantRequest", who, permission=permission)


def test_four_see_and_hear_each_other(join):
    tones = {"Ann": 440, "Bob": 554, "Eve": 659, "Dan": 880}
    people = [join(name, tone=tone) for name, tone in tones.items()]
    all_in(*people)
    for one, other in itertools.permutations(people, 2):
        one.check_picture(other.name)
        one.check_sound(other.name, other.tone)
    ann, bob, eve, dan = people
    assert bob.page.inner_text("#meeting-state") == "4 people are here."

    ann.click("microphone")
    ann.click("camera")
    for one in (bob, eve, dan):
        one.wait_tile("Ann", lambda tile: tile["isMuted"] and not tile["hasPicture"], "muted, and without a picture")
        one.wait_tile("Ann", lambda tile: not tile["isSpeaking"], "silent")
        one.wait_tile("Bob" if one is not bob else "Eve", lambda tile: tile["hasPicture"], "untouched")
        assert "muted, camera off" in one.tile("Ann")["words"]
    ann.click("microphone")
    ann.click("camera")
    for one in (bob, eve, dan):
        one.wait_tile("Ann", lambda tile: not tile["isMuted"] and tile["hasPicture"], "back")
        one.wait_tile("Ann", lambda tile: tile["isSpeaking"], "speaks")
        one.forget()
        one.check_picture("Ann")

    dan.click("leave")
    for one in (ann, bob, eve):
        one.wait_gone("Dan")
        one.forget()
    dan.page.click("#lobby-join")
    dan.wait_state("connected")
    dan.forget()
    for one in (ann, bob, eve):
        one.check_picture("Dan")
        one.check_sound("Dan", 880)
        dan.check_picture(one.name)
    assert [one.errors() for one in people] == [[]] * 4


def test_who_looks_at_a_small_tile_gets_a_low_layer_and_who_looks_at_a_large_one_a_high_one(join):
    ann = join("Ann", width=960)
    bob = join("Bob", tone=554, viewport={"width": 1280, "height": 800})
    eve = join("Eve", tone=659, viewport={"width": 640, "height": 400})
    all_in(ann, bob, eve)
    bob.enlarge("Ann")
    eve.enlarge("Eve (you)")
    bob.wait_size("Ann", lambda width: width == 960, "sees Ann large")
    eve.wait_size("Ann", lambda width: width == 240, "sees Ann small")
    bob.check_picture("Ann")
    assert [layer["rid"] for layer in ann.layers()] == ["q", "h", "f"]

    bob.enlarge("Bob (you)")
    bob.wait_size("Ann", lambda width: width == 480, "sees Ann in a tile at the side")
    ann.wait(lambda: [layer["active"] for layer in ann.layers()] == [True, True, False], "sends what is looked at")
    bob.enlarge("Ann")
    bob.wait_size("Ann", lambda width: width == 960, "sees Ann large again")
    bob.forget()
    bob.check_picture("Ann")

    # Nobody sees a page that lies behind others; a browser without windows has no others.
    for one in (bob, eve):
        one.page.evaluate("""
          Object.defineProperty(document, 'hidden', { value: true });
          document.dispatchEvent(new Event('visibilitychange'));
        """)
    ann.wait(lambda: not any(layer["active"] for layer in ann.layers()), "sends nothing that nobody looks at")


def test_media_go_on_when_the_websocket_is_cut(join, service):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    bob.check_picture("Ann")
    # Who may do more has another token.
    allow(service, bob, can_update_metadata=True)
    verify = api.TokenVerifier(KEY, SECRET).verify
    bob.wait(lambda: (token := bob.newest_token()) and verify(token).video.can_update_own_metadata, "has a newer token")
    bob.page.evaluate("""
      globalThis.sid = roost.room.roster.own.sid;
      globalThis.states = [];
      const state = document.getElementById('meeting-state');
      new MutationObserver(() => states.push(state.textContent)).observe(state, { childList: true, characterData: true });
    """)
    first, = bob.sockets()
    bob.page.evaluate("roost.room.dropSignal()")
    bob.wait(lambda: len(bob.sockets()) == 2, "comes back")
    bob.wait_state("connected")
    assert "reconnect=1" in bob.page.sockets[1] and "reconnect=1" not in first
    assert not verify(bob.token(0)).video.can_update_own_metadata
    assert verify(bob.token(1)).video.can_update_own_metadata, "not the newest token"
    assert bob.page.evaluate("states")[0] == "The connection broke, coming back…"
    assert bob.page.evaluate("roost.room.roster.own.sid === sid")
    # What was sent all the time goes on without a step back, and what is done afterwards arrives.
    bob.check_picture("Ann", 20)
    ann.forget()
    ann.check_picture("Bob")
    bob.click("microphone")
    ann.wait_tile("Bob", lambda tile: tile["isMuted"], "muted")
    assert len(bob.sockets()) == 2 and len(ann.sockets()) == 1


def test_nobody_says_how_good_connections_are_while_there_is_none(join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    bob.wait_tile("Ann", lambda tile: tile["words"] == ", good connection", "well connected")
    bob.cut_off()
    bob.wait_state("reconnecting")
    assert bob.tile("Ann")["words"] == bob.tile("Bob (you)")["words"] == ""
    assert bob.page.locator(".tile-quality").evaluate_all("(all) => all.every((one) => !one.checkVisibility())")
    bob.release()
    bob.wait_tile("Ann", lambda tile: tile["words"] == ", good connection", "well connected again")


def test_who_cannot_go_on_with_a_session_has_a_new_one(join):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    bob.check_picture("Ann")
    bob.click("microphone")
    # There is nobody with this number, so the server refuses.
    bob.page.evaluate("roost.room.roster.own.sid = 'PA_nobody'; roost.room.dropSignal()")
    bob.wait(lambda: len(bob.sockets()) == 3, "asks for a new session")
    bob.wait_state("connected")
    assert bob.page.evaluate("roost.room.roster.own.sid").startswith("PA_") and "reconnect=1" not in bob.page.sockets[2]
    for one, other in ((ann, "Bob"), (bob, "Ann")):
        one.wait_tile(other, lambda tile: tile["hasPicture"], "has a picture")
        one.forget()
        one.check_picture(other)
    # Muted people stay so, and nobody is there twice.
    assert ann.tile("Bob")["isMuted"]
    assert ann.page.locator(".tile").count() == bob.page.locator(".tile").count() == 2


def test_an_offer_that_nobody_answers_leads_to_a_new_session(join):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    ann.check_picture("Bob")
    bob.hold("offer")
    bob.click("screen")
    bob.wait_held(1)
    bob.wait(lambda: len(bob.sockets()) == 2, "asks for a new session")
    bob.release(isLost=True)
    bob.wait_state("connected")
    assert "reconnect=1" not in bob.sockets()[-1]
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    ann.wait_tile("Bob", lambda tile: tile["hasPicture"] and not tile["isMuted"], "is back")
    ann.forget()
    ann.check_picture("Bob")
    ann.check_sound("Bob", 554)
    assert ann.page.locator(".tile").count() == 3 and bob.page.locator(".tile").count() == 2


def test_whose_session_is_a_new_one_is_there_once(run):
    told = run("""
      const { Roster } = await import('/js/rooms/roster.js');
      const { ParticipantState } = await import('/js/rooms/messages.js');
      const person = (sid, identity, state = ParticipantState.active) => ({ sid, identity, state, version: 1, tracks: [] });
      const roster = new Roster();
      roster.joined({ participant: person('PA_1', 'ann'), otherParticipants: [person('PA_2', 'bob')] });
      const sids = (people) => people.map(({ sid }) => sid);
      return [
        [person('PA_3', 'bob')], [person('PA_2', 'bob', ParticipantState.disconnected)],
        [person('PA_3', 'bob', ParticipantState.disconnected)],
      ].map((infos) => {
        const { came, left } = roster.update(infos);
        return [sids(came), sids(left), sids(roster.others)];
      });
    """)
    assert told == [[["PA_3"], ["PA_2"], ["PA_3"]], [[], [], ["PA_3"]], [[], ["PA_3"], []]]


def test_a_server_that_is_started_anew_has_everybody_back(namespace, browser):
    """Without an API key, as `make run` has it: the new server knows no token of the old one's."""
    process, port = start_server(namespace, "0.0.0.0", "--rooms", "--media-port", 0, "--media-tcp-port", 0)
    people = [RoomsPage(browser, f"http://127.0.0.1:{port}", "standup", name) for name in ("Ann", "Bob")]
    ann, bob = people
    try:
        all_in(ann, bob)
        bob.check_picture("Ann")
        process.kill()
        process.wait()
        process.finish()
        bob.wait_state("reconnecting")
        process = start_server(
            namespace, "0.0.0.0", "--rooms", "--media-port", 0, "--media-tcp-port", 0, "--port", port)[0]
        all_in(ann, bob)
        bob.wait_tile("Ann", lambda tile: tile["hasPicture"], "is back")
        bob.forget()
        bob.check_picture("Ann")
    finally:
        for one in people:
            one.close()
        assert process.finish() == 0


def test_a_participant_by_livekits_sdk_sees_and_is_seen(sfu, room, join):
    # The SDK publishes before there is anything to receive. One that publishes meanwhile may never hand over a picture:
    # its libwebrtc builds the receiver of a track anew for an offer that asks for a start bitrate, and a packet that
    # comes in between takes the new one's sink away ("not connected to a VideoSink" in its log, livekit 1.2.1).
    sdk = sfu.join(room, "sdk")
    sdk.publish(hertz=659)
    page = join("Ann", rate=30)
    page.wait_state("connected")
    page.check_picture("sdk")
    page.check_sound("sdk", 659)
    sdk.wait_for("subscribed", name="camera", codec="video/VP8")
    sdk.check_picture()
    sdk.check_sound(440)
    sdk.do("mute", name="camera")
    page.wait_tile("sdk", lambda tile: not tile["hasPicture"], "without a picture")
    page.click("camera")
    sdk.wait_for("muted", name="camera")

    page.page.click("#meeting-messages")
    page.page.fill("#messages-text", "Grüße an alle")
    page.page.keyboard.press("Enter")
    assert sdk.wait_for("text", topic="lk.chat")["text"] == "Grüße an alle"
    sdk.do("write", text="x" * 20_000 + " <b>äöü</b>", topic="lk.chat")
    wait_text(page.page, "#messages-list li:last-child", "<b>äöü</b>")
    assert "x" * 20_000 in page.page.inner_text("#messages-list")
    sdk.do("leave")
    page.wait_gone("sdk")


def test_sound_comes_with_that_of_earlier_packets(sfu, room, join):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    player = sfu.join(room, "sdk")
    ann.check_sound("Bob", 554)
    bob.check_sound("Ann", 440)
    for one in (ann, bob):
        assert one.sound_formats() == {"sent": "red", "received": "red"}
    for _ in range(2):
        player.wait_for("subscribed", name="microphone", codec="audio/red")


def test_without_devices_one_is_in_the_room_all_the_same(sfu, room, join, browser_without_devices):
    eve = join("Eve")
    ann = RoomsPage(browser_without_devices, f"http://127.0.0.1:{sfu.page}", room, "Ann", query={"pattern": 0})
    try:
        all_in(ann, eve)
        wait_text(ann.page, "#meeting-notices", "No camera and no microphone was found. Nobody sees or hears you.")
        ann.check_picture("Eve")
        eve.wait_tile("Ann", lambda tile: tile["isMuted"] and not tile["hasPicture"], "muted, and without a picture")
        ann.click("microphone")
        wait_text(ann.page, "#meeting-notices", "No microphone was found. Nobody hears you. Plug one in and switch it on again")
        assert ann.page.evaluate(ACCESSIBILITY) == []
    finally:
        ann.close()


def test_devices_open_when_they_are_wanted_and_close_when_they_are_not(sfu, room, join):
    eve = join("Eve")
    ann = join("Ann", query={"pattern": 0, "camera": 0})
    all_in(ann, eve)
    eve.wait_tile("Ann", lambda tile: not tile["isMuted"] and not tile["hasPicture"], "a voice without a picture")
    assert ann.page.get_attribute("#meeting-camera", "aria-pressed") == "true"
    ann.click("camera")
    eve.wait_tile("Ann", lambda tile: tile["hasPicture"], "a picture")
    ann.page.evaluate("globalThis.camera = document.querySelector('[data-key=own] video').srcObject.getTracks()[0]")
    ann.click("camera")
    eve.wait_tile("Ann", lambda tile: not tile["hasPicture"], "no picture")
    assert ann.page.evaluate("camera.readyState") == "ended"
    ann.click("camera")
    eve.wait_tile("Ann", lambda tile: tile["hasPicture"], "a picture again")
    ann.page.evaluate("document.querySelector('[data-key=own] video').srcObject.getTracks()[0].onended()")
    wait_text(ann.page, "#meeting-notices", "Your camera is gone")
    eve.wait_tile("Ann", lambda tile: not tile["hasPicture"], "no picture")


def test_who_is_muted_while_a_track_is_published_is_seen_so(join):
    ann, bob = join("Ann"), join("Bob", tone=554, query={"camera": 0, "microphone": 0})
    all_in(ann, bob)
    bob.hold("add_track")
    for what in ("microphone", "camera"):
        bob.click(what)
    bob.wait_held(2)
    for what in ("microphone", "camera"):
        bob.click(what)
    bob.release()
    for what in ("microphone", "camera"):
        ann.wait(lambda: ann.track("Bob", what), f"knows of Bob's {what}")
        ann.wait(lambda: ann.track("Bob", what)["muted"], f"sees that Bob's {what} is off")
        assert bob.is_off(what)
        bob.click(what)
    ann.wait_tile("Bob", lambda tile: tile["hasPicture"] and not tile["isMuted"], "on again")
    ann.forget()
    ann.check_picture("Bob")
    ann.check_sound("Bob", 554)


def test_a_camera_that_is_replaced_while_it_is_published_is_the_one_that_is_seen(join):
    ann, bob = join("Ann"), join("Bob", query={"camera": 0})
    all_in(ann, bob)
    bob.hold("add_track")
    # On, off and on again: the first camera is closed by then.
    for is_off in (False, True, False):
        bob.click("camera")
        bob.wait(lambda: bob.is_off("camera") == is_off, f"camera off: {is_off}")
    bob.wait_held(1)
    bob.release()
    ann.wait_tile("Bob", lambda tile: tile["hasPicture"], "has a picture")
    ann.forget()
    ann.check_picture("Bob")


def test_a_screen_that_is_taken_back_while_it_is_published_does_not_come(join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    bob.hold("add_track")
    bob.click("screen")
    bob.wait_held(1)
    bob.click("screen")
    bob.release()
    # Of what comes afterwards the room knows alone.
    bob.click("screen")
    ann.wait_tile("Bob: screen", lambda tile: tile["hasPicture"], "has a picture")
    assert ann.page.locator(".tile").count() == 3
    bob.click("screen")
    ann.wait_gone("Bob: screen")
    assert bob.page.inner_text("#meeting-notices") == "" and bob.errors() == []


def test_what_the_server_has_not_named_is_published_after_a_lost_websocket(join):
    ann, bob = join("Ann"), join("Bob", query={"camera": 0})
    all_in(ann, bob)
    bob.hold("add_track")
    bob.click("camera")
    bob.wait_held(1)
    bob.release(isLost=True)
    bob.page.evaluate("roost.room.dropSignal()")
    ann.wait_tile("Bob", lambda tile: tile["hasPicture"], "has a picture")
    ann.forget()
    ann.check_picture("Bob")
    assert "reconnect=1" in bob.sockets()[1] and len(bob.sockets()) == 2


def test_a_service_mutes_somebody_and_takes_permissions_back_and_gives_them_again(join, service):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    ann.check_picture("Bob")
    said = {"microphone": "You were muted by the server.", "camera": "Your camera was switched off by the server."}
    for what, text in said.items():
        service("mute_published_track", "MuteRoomTrackRequest", bob, track_sid=ann.track("Bob", what)["sid"], muted=True)
        wait_text(bob.page, "#meeting-notices", text)
        assert bob.is_off(what)
    ann.wait_tile("Bob", lambda tile: tile["isMuted"] and not tile["hasPicture"], "neither seen nor heard")
    # The camera is closed, and its light goes out.
    assert bob.page.evaluate("document.querySelector('[data-key=own] video').srcObject") is None
    for what in said:
        bob.click(what)
    ann.wait_tile("Bob", lambda tile: not tile["isMuted"] and tile["hasPicture"], "back")

    allow(service, bob, can_publish=False)
    wait_text(bob.page, "#meeting-notices", "The server has ended what you sent")
    ann.wait_tile("Bob", lambda tile: tile["isMuted"] and not tile["hasPicture"], "sends nothing")
    for what, name in (("camera", "picture"), ("microphone", "sound")):
        assert ann.track("Bob", what) is None
        assert bob.is_off(what)
        bob.click(what)
        wait_text(bob.page, "#meeting-notices", f"Your {name} does not go out: not allowed to publish this source.")
        bob.wait(lambda: bob.is_off(what), f"{what} is off again")
    bob.forget()
    bob.check_picture("Ann")

    allow(service, bob)
    bob.wait(lambda: api.TokenVerifier(KEY, SECRET).verify(bob.newest_token()).video.can_publish, "may publish again")
    for what in said:
        bob.click(what)
    ann.wait_tile("Bob", lambda tile: not tile["isMuted"] and tile["hasPicture"], "back")
    ann.forget()
    ann.check_picture("Bob")
    ann.check_sound("Bob", 554)
    assert len(bob.sockets()) == 1


def test_who_is_muted_by_a_service_while_away_is_muted_when_back(join, service):
    ann, bob = join("Ann"), join("Bob", tone=554)
    all_in(ann, bob)
    ann.check_sound("Bob", 554)
    bob.cut_off()
    service(
        "mute_published_track", "MuteRoomTrackRequest", bob, track_sid=ann.track("Bob", "microphone")["sid"], muted=True)
    ann.wait_tile("Bob", lambda tile: tile["isMuted"], "muted")
    bob.release()
    bob.wait_state("connected")
    wait_text(bob.page, "#meeting-notices", "You were muted by the server.")
    assert bob.is_off("microphone") and "reconnect=1" in bob.sockets()[-1]
    assert ann.tile("Bob")["isMuted"]
    bob.click("microphone")
    ann.wait_tile("Bob", lambda tile: not tile["isMuted"], "speaks again")


def test_who_is_removed_by_a_service_is_out_and_told_so(join, service):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    ann.check_picture("Bob")
    service("remove_participant", "RoomParticipantIdentity", bob)
    wait_text(bob.page, "#lobby-notice", "You were removed from the room.")
    ann.wait_gone("Bob")
    assert bob.page.is_visible("#lobby-join") and len(bob.sockets()) == 1


def test_a_shared_screen_is_what_the_others_look_at(join):
    ann, bob = join("Ann"), join("Bob", viewport={"width": 1280, "height": 800})
    all_in(ann, bob)
    for _ in range(2):
        ann.click("screen")
        bob.wait_tile("Ann: screen", lambda tile: tile["hasPicture"] and tile["width"] > 700, "large, with a picture")
        assert ann.page.get_attribute("#meeting-screen", "aria-pressed") == "true"
        ann.click("screen")
        bob.wait_gone("Ann: screen")
        bob.wait_tile("Ann", lambda tile: tile["width"] > 500, "as large as before")
    bob.forget()
    bob.check_picture("Ann")


def test_names_and_messages_of_others_are_text_and_nothing_else(join):
    name = "<img src=x onerror=alert(1)>"
    ann, bob = join(name), join("Bob")
    all_in(ann, bob)
    bob.wait_tile(name, lambda tile: tile["hasPicture"], "has a picture")
    ann.page.click("#meeting-messages")
    ann.page.fill("#messages-text", f"</ol>{name}")
    ann.page.keyboard.press("Enter")
    wait_text(bob.page, "#meeting-messages-text", "Messages (1)")
    bob.page.keyboard.press("Alt+c")
    wait_text(bob.page, "#messages-list", f"</ol>{name}")
    assert bob.page.evaluate("document.activeElement.id") == "messages-text"
    bob.page.keyboard.press("Escape")
    assert bob.page.evaluate("document.activeElement.id") == "meeting-messages"
    assert bob.page.evaluate("document.querySelectorAll('main img[src=x]').length") == 0
    assert ann.errors() == bob.errors() == []


# Of tiles without a picture, the names of those whose label lies over the initial, or is wider than the tile, or whose initial
# is larger than the circle around it.
COVERED = """
() => [...document.querySelectorAll('.tile:not(.has-picture)')].filter((tile) => {
  const [initial, label] = ['.tile-initial span', '.tile-label'].map((part) => tile.querySelector(part).getBoundingClientRect());
  const letter = document.createRange();
  letter.selectNodeContents(tile.querySelector('.tile-initial span'));
  return label.top < initial.bottom || label.right > tile.getBoundingClientRect().right
    || letter.getBoundingClientRect().height > initial.height;
}).map((tile) => tile.querySelector('.tile-name').textContent)
"""

# How large the letter of a tile without a picture is, to its circle.
LETTER = """
() => {
  const initial = document.querySelector('.tile:not(.has-picture) .tile-initial span');
  return parseFloat(getComputedStyle(initial).fontSize) / initial.clientHeight;
}
"""


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844), (320, 568)])
def test_the_room_is_readable_and_fits(width, height, new_page, sfu, join):
    page = new_page(viewport={"width": width, "height": height})
    page.goto(f"http://127.0.0.1:{sfu.page}/")
    page.click("text=Meet in a room for many.")
    page.click("#lobby-join")
    assert text(page, "#lobby-name-error") == "Please enter a name, at most 64 characters."
    check_readable(page)
    page.close()
    ann = join("Wolfeschlegelsteinhausenbergerdorff the Elder of a Long Name", viewport={"width": width, "height": height})
    eve = join("Eve")
    all_in(ann, eve)
    ann.wait_tile("Eve", lambda tile: tile["hasPicture"], "has a picture")
    for step in (lambda: ann.enlarge("Eve"), lambda: ann.click("messages")):
        check_readable(ann.page)
        for button in ann.page.locator(".meeting-controls button:not([hidden])").all():
            box = button.bounding_box()
            assert 0 <= box["x"] and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
            assert min(box["width"], box["height"]) >= 44
        step()
    check_readable(ann.page)
    if width < 640:
        # The messages cover the tiles.
        ann.click("messages")
    ann.click("camera")
    ann.wait_tile(f"{ann.name} (you)", lambda tile: not tile["hasPicture"], "without a picture")
    ann.wait(lambda: ann.page.evaluate(COVERED) == [], "initials that no label covers")
    ann.wait(lambda: 0.4 < ann.page.evaluate(LETTER) < 0.6, "an initial that fills its circle")


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
def test_names_are_readable_beside_an_enlarged_tile_of_very_many(join, width, height):
    ann = join("Ann", viewport={"width": width, "height": height})
    ann.wait_state("connected")
    others = [{"sid": f"PA_{place}", "identity": f"{place}", "name": f"Person {place}", "state": 2} for place in range(40)]
    ann.hear(update={"participants": others})
    wait_text(ann.page, "#meeting-state", "41 people are here.")
    ann.enlarge("Ann (you)")
    ann.wait(lambda: ann.page.locator(".tile").first.bounding_box()["width"] < 100, "others in small tiles")
    ann.wait(lambda: ann.page.evaluate(COVERED) == [], "initials that are whole, or not there")
    assert ann.page.evaluate(ACCESSIBILITY) == []


@pytest.mark.parametrize(
    "stage, count, shown",
    [
        # Columns, rows, and the size of a tile.
        ((378, 684), 2, (1, 2, 378, 338)), ((378, 684), 6, (2, 3, 185, 185)), ((378, 684), 9, (2, 5, 185, 130)),
        ((308, 408), 6, (2, 3, 150, 131)), ((308, 408), 3, (1, 3, 232, 131)), ((308, 408), 20, (2, 10, 150, 84)),
        ((1260, 634), 2, (2, 1, 626, 626)), ((1260, 634), 3, (2, 2, 556, 313)), ((1260, 634), 6, (3, 2, 415, 313)),
    ],
)
def test_tiles_are_as_large_as_they_can_be(stage, count, shown, run):
    places = run("""
      const { arrange } = await import('/js/rooms/layout.js');
      const [[width, height], count] = argument;
      return arrange(count, { width, height });
    """, [stage, count])
    rows = [place["top"] for place in places]
    size = round(places[0]["width"]), round(places[0]["height"])
    assert (rows.count(rows[0]), len(set(rows)), *size) == shown
    assert all(place["left"] >= 0 and place["left"] + place["width"] <= stage[0] + 0.01 for place in places)


def test_the_whole_story_by_keyboard(new_page, sfu, room):
    page = new_page()
    press, focused = page.keyboard.press, lambda: page.evaluate("document.activeElement.id")
    page.goto(f"http://127.0.0.1:{sfu.page}/rooms.html?pattern=1")
    assert focused() == "lobby-name"
    page.keyboard.type("Ann")
    press("Tab")
    page.keyboard.type(room)
    press("Enter")
    wait_text(page, "#meeting-state", "Nobody else is here yet.")
    assert focused() == "meeting-title" and page.title() == f"Room {room} – Roost"
    press("Alt+m")
    assert page.get_attribute("#meeting-microphone", "aria-pressed") == "true"
    press("Alt+v")
    assert page.get_attribute("#meeting-camera", "aria-pressed") == "true"
    press("Alt+c")
    assert focused() == "messages-text"
    press("Escape")
    page.focus("#meeting-leave")
    press("Enter")
    assert focused() == "lobby-join" and page.is_hidden("#lobby-notice")
    assert page.input_value("#lobby-room") == room


def test_a_link_brings_others_into_the_room(join, new_page, room):
    ann = join("Ann", permissions=["clipboard-read", "clipboard-write"])
    ann.wait_state("connected")
    ann.page.click("text=Copy link")
    wait_text(ann.page, "#meeting-invite", "Link copied")
    link = ann.page.evaluate("navigator.clipboard.readText()")
    bob = new_page()
    bob.goto(link)
    assert bob.input_value("#lobby-room") == room and bob.input_value("#lobby-name") == ""
    assert bob.is_hidden("#lobby-notice") and bob.is_hidden("#lobby-room-error")
    # As on a page without https.
    ann.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    ann.page.click("#meeting-invite")
    wait_text(ann.page, "#meeting-notices", f"The link to this room, to send to others: {link}")


@pytest.mark.parametrize("query, shown", [("", "standup"), ("room=&", "standup"), (f"room={70 * 'x'}&", 70 * "x")])
def test_a_link_to_no_room_leads_into_no_other_one(query, shown, new_page, sfu):
    page = new_page()
    page.add_init_script("localStorage.setItem('roost.login', JSON.stringify({ name: 'Ann', manyRoom: 'standup' }))")
    page.goto(f"http://127.0.0.1:{sfu.page}/rooms.html?{query}join=1&pattern=1")
    assert page.is_visible("#lobby") and page.evaluate("roost.room") is None
    assert page.input_value("#lobby-name") == "Ann" and page.input_value("#lobby-room") == shown
    is_unusable = shown != "standup"
    if is_unusable:
        assert text(page, "#lobby-room-error") == "Please enter the room’s name, at most 64 characters."
        assert page.evaluate("document.activeElement.id") == "lobby-room"
        page.fill("#lobby-room", "retro")
    assert page.is_hidden("#lobby-room-error")
    page.click("#lobby-join")
    wait_text(page, "#meeting-title", "Room retro" if is_unusable else "Room standup")
