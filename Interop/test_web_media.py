"""What the page sends: devices, and the test picture and tone in their place."""

import numpy as np
import pytest

from peers.chromium import ARGUMENTS, Browser, ChromiumPeer
from support.call import new_room
from support.evidence import frame_counter
from support.page import ACCESSIBILITY, text, wait_text
from support.waiting import wait_until

# Of a server without rooms for many the browser notes its answer to the question whether there are any.
NO_ROOMS = "error: Failed to load resource: the server responded with a status of 404 (Not Found)"
LABELS = "Object.fromEntries(roost.call.connection.getSenders().map(({ track }) => [track.kind, track.label]))"
SENT = "Object.fromEntries(roost.call.connection.getSenders().map(({ track }) => [track.kind, track.enabled]))"


@pytest.fixture(scope="module")
def browser_that_asks(playwright, namespace):
    """With devices that are not real and permissions that are."""
    browser = Browser(playwright, namespace, [argument for argument in ARGUMENTS if "fake-ui" not in argument])
    yield browser
    browser.close()


def wait_in_the_call_screen(page, server, room):
    """As callee, so that nobody else is needed."""
    page.goto(f"{server}/?room={room}&name=Ann&role=callee")
    page.click("#login-continue")
    page.click("#room-connect")
    page.click("#room-call")


def test_the_frame_counter_is_the_one_of_the_test_media(run):
    pixels = run("""
      const { drawCounter, readCounter } = await import('/js/frame-counter.js');
      const canvas = new OffscreenCanvas(320, 180);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      return argument.map((number) => {
        drawCounter(context, number, 320, 180);
        const image = context.getImageData(0, 0, 320, 180);
        return { read: readCounter(image), luma: [...image.data].filter((_, place) => place % 4 === 1) };
      });
    """, [0, 1, 42, 299, 4095])
    for number, drawn in zip([0, 1, 42, 299, 4095], pixels):
        assert drawn["read"] == number
        assert frame_counter.read_counter(np.array(drawn["luma"], np.uint8).reshape(180, 320)) == number


def test_without_a_camera_the_test_picture_goes_out(browser_without_devices, browser, seed_server):
    room = new_room()
    page = browser_without_devices.new_page()
    page.goto(f"{seed_server}/?room={room}&name=Ann&role=caller&autostart=1")
    wait_text(page, "#room-connection", "Connected")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        partner.wait_connected()
        wait_text(page, "#chat-notices", "No camera and no microphone was found.")
        wait_text(page, "#chat-notices", "a test picture and a test tone instead")
        assert page.locator("#chat-notices > div").count() == 1
        wait_until(lambda: partner.received()[0] > 60 and partner.received()[1] > 4, "picture and sound")
        partner.collect()
        partner.evidence.check_picture()
        partner.evidence.check_sound([440])
        assert page.evaluate(ACCESSIBILITY) == []
    finally:
        partner.close()
        page.context.close()


def test_an_insecure_page_explains_why_there_is_no_camera(new_page, browser, seed_server):
    page, room = new_page(), new_room()
    server = seed_server.replace("127.0.0.1", "roost.test")
    page.goto(f"{server}/?room={room}&name=Ann&role=caller&autostart=1")
    wait_text(page, "#room-connection", "Connected")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        wait_text(page, "#chat-notices", "only on https:// pages and on localhost")
        wait_text(page, "#chat-state", "In the call")
    finally:
        partner.close()


def test_what_is_forbidden_is_replaced_and_what_is_taken_back_too(browser_that_asks, seed_server):
    """Real permissions of a real browser: first the microphone alone, then both, and both taken away in mid-call."""
    context = browser_that_asks.browser.new_context()
    page, room = context.new_page(), new_room()
    context.grant_permissions(["microphone"], origin=seed_server)
    try:
        wait_in_the_call_screen(page, seed_server, room)
        wait_text(page, "#chat-notices", "not use your camera. The other side gets a test picture instead.")
        assert page.locator("#chat-notices > div").count() == 1
        assert page.evaluate(LABELS)["audio"].startswith("Fake")
        page.click("#chat-end")
        context.grant_permissions(["camera", "microphone"], origin=seed_server)
        page.click("#room-call")
        wait_until(lambda: page.evaluate(LABELS).get("video", "").startswith("fake"), "the camera")
        assert page.is_visible("#chat-local.is-mirrored") and text(page, "#chat-notices") == ""
        page.click("#chat-mute")
        context.clear_permissions()
        wait_text(page, "#chat-notices", "Your camera is gone")
        wait_text(page, "#chat-notices", "Your microphone is gone")
        # The test picture goes out now; the tone is as mute as the microphone was.
        assert page.evaluate(SENT) == {"audio": False, "video": True}
        assert page.is_hidden("#chat-local.is-mirrored")
    finally:
        context.close()


def test_hanging_up_while_the_server_is_asked_for_relays_lets_the_devices_go(new_page, seed_server):
    page = new_page()
    # Never answered: the page waits some seconds for it, with the camera on.
    page.route("**/ice-servers", lambda route: None)
    page.add_init_script("""
      const open = MediaDevices.prototype.getUserMedia;
      MediaDevices.prototype.getUserMedia = async function (constraints) {
        return globalThis.opened = await open.call(this, constraints);
      };
    """)
    wait_in_the_call_screen(page, seed_server, new_room())
    wait_until(lambda: page.evaluate("Boolean(globalThis.opened)"), "camera and microphone are on")
    page.click("#chat-end")
    assert page.evaluate("opened.getTracks().map((track) => track.readyState)") == ["ended", "ended"]


@pytest.mark.parametrize(
    "error, words",
    [
        ("NotReadableError", "Your camera and microphone are there but they do not answer; another program"),
        ("NotFoundError", "No camera and no microphone was found."),
        ("TypeError", "Your camera and microphone could not be opened (TypeError)."),
    ],
)
def test_devices_that_do_not_open_are_explained(error, words, new_page, seed_server):
    """No device of this machine can be busy or broken, so the browser's answer is given in its place."""
    page = new_page()
    fault = f"async () => {{ throw new DOMException('', '{error}'); }}"
    page.add_init_script(f"navigator.mediaDevices.getUserMedia = {fault}")
    wait_in_the_call_screen(page, seed_server, new_room())
    wait_text(page, "#chat-notices", words)
    wait_text(page, "#chat-state", "Waiting for the call")


def test_a_browser_without_webrtc_is_told(new_page, seed_server):
    page = new_page()
    page.add_init_script("delete globalThis.RTCPeerConnection")
    page.goto(f"{seed_server}/?room={new_room()}&name=Ann&role=callee")
    page.click("#login-continue")
    page.click("#room-connect")
    page.click("#room-call")
    wait_text(page, "#room-notice", "This browser cannot make calls: WebRTC is missing or switched off.")
    assert page.is_visible("#room-notice[role=alert]:not(.neutral)")
    assert {line for line in page.lines if line.startswith("error")} <= {NO_ROOMS}


def test_sound_that_the_browser_holds_back_waits_for_a_touch(playwright, namespace, seed_server):
    silent = Browser(playwright, namespace, [argument for argument in ARGUMENTS if "autoplay" not in argument])
    ann, bob, query = silent.new_page(), silent.new_page(), f"room={new_room()}&autostart=1&pattern=1"
    try:
        ann.goto(f"{seed_server}/?{query}&name=Ann&role=caller")
        wait_text(ann, "#room-connection", "Connected")
        bob.goto(f"{seed_server}/?{query}&name=Bob&role=callee")
        wait_text(ann, "#chat-state", "In the call")
        # Playwright's looks count as touches, after which the browser holds nothing back; the protocol's own do not.
        look = bob.context.new_cdp_session(bob)
        shown = {"expression": "!document.getElementById('chat-sound').hidden", "userGesture": False}
        wait_until(lambda: look.send("Runtime.evaluate", shown)["result"]["value"], "the button")
        wait_until(lambda: bob.evaluate("document.getElementById('chat-remote').currentTime") > 0, "the picture")
        bob.click("#chat-sound")
        wait_until(lambda: not bob.evaluate("document.getElementById('chat-remote').muted"), "the sound")
        wait_until(lambda: bob.is_hidden("#chat-sound"), "the button goes")
        assert bob.evaluate("document.activeElement.id") == "chat-mute"
    finally:
        silent.close()
