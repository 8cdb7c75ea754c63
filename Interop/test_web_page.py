"""The page's three screens as people use them: by keyboard, on a phone, without a camera, with the server away."""

import pytest

from conftest import start_seed_server
from peers.chromium import ChromiumPeer, wait_until
from support.call import new_room

# What a screen reader and a reader with weak eyes need, of each visible element; returns the faults.
ACCESSIBILITY = """
() => {
  const faults = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const name = (element) => {
    const by = element.getAttribute('aria-labelledby')?.split(' ')
      .map((id) => document.getElementById(id)?.textContent ?? '');
    const labels = [...(element.labels ?? [])].map((label) => label.textContent);
    return (element.getAttribute('aria-label') ?? by?.join(' ') ?? (labels.join(' ') || element.textContent)).trim();
  };
  const named = 'button, input, video, section.screen, [role=group], [tabindex="0"]';
  for (const element of document.querySelectorAll(named)) {
    if (visible(element) && !name(element)) faults.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const image of document.querySelectorAll('img:not([alt])')) faults.push(`no alt: ${image.src}`);
  for (const attribute of ['aria-describedby', 'aria-labelledby', 'aria-controls']) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(' ')) {
        if (!document.getElementById(id)) faults.push(`${attribute} to nothing: ${id}`);
      }
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  if ([...document.querySelectorAll('h1')].filter(visible).length !== 1) faults.push('not one h1');

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 220) return color;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme === 'dark' ? 'black' : 'white');
  };
  for (const element of document.querySelectorAll('main *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !visible(element) || element.closest(':disabled')) continue;
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), luminance(background(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    // WCAG 2.2, 1.4.3.
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(1)}: ${element.textContent.trim().slice(0, 40)}`);
  }
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`scrolls sideways: ${width}`);
  return faults;
}
"""


def text(page, selector):
    return page.inner_text(selector).strip()


def wait_text(page, selector, wanted, timeout=15):
    try:
        wait_until(lambda: wanted in text(page, selector), timeout, f"“{wanted}” in {selector}")
    except AssertionError as error:
        error.add_note(f"There is “{text(page, selector)}”.")
        raise


def login(page, server, name, room, query=""):
    page.goto(f"{server}/{query}")
    page.fill("#login-name", name)
    page.fill("#login-room", str(room))
    page.click("#login-continue")


def connect(page, role):
    page.check(f"#room-role input[value={role}]", force=True)
    page.click("#room-connect")
    wait_text(page, "#room-connection", "Connected")


@pytest.fixture
def new_page(browser):
    pages = []

    def make(**options):
        pages.append(browser.new_page(**options))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()


def test_the_whole_story_by_keyboard(new_page, browser, seed_server):
    page, room = new_page(), new_room()
    press, focused = page.keyboard.press, lambda: page.evaluate("document.activeElement.id")
    page.goto(f"{seed_server}/?pattern=1")
    assert focused() == "login-name"
    press("Enter")
    assert focused() == "login-name" and "enter a name" in text(page, "#login-name-error")
    page.keyboard.type("Ann")
    press("Tab")
    page.keyboard.type("one")
    press("Enter")
    assert focused() == "login-room" and "whole number" in text(page, "#login-room-error")
    press("Control+a")
    page.keyboard.type(str(room))
    press("Enter")
    assert focused() == "room-title"

    press("Tab")  # Log out
    press("Tab")  # the role; the arrows choose
    press("ArrowRight")
    assert page.is_checked("input[value=callee]")
    press("ArrowLeft")
    assert page.is_checked("input[value=caller]")
    press("Tab")
    assert focused() == "room-connect"
    press("Enter")
    wait_text(page, "#room-connection", "Connected")
    assert text(page, "#room-fixed-role") == "You are the caller"
    assert page.is_hidden("#room-role")

    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        wait_text(page, "#room-peer", "Bob is here and can be called.")
        press("Tab")
        assert focused() == "room-call"
        press("Enter")
        assert focused() == "chat-peer"
        wait_text(page, "#chat-state", "In the call")
        assert text(page, "#chat-peer") == "Bob"
        press("m")
        assert page.get_attribute("#chat-mute", "aria-pressed") == "true"
        press("Tab")
        press("Tab")
        assert focused() == "chat-camera"
        press("Space")
        assert page.get_attribute("#chat-camera", "aria-pressed") == "true"
        enabled = "roost.call.connection.getSenders().map(({ track }) => track.enabled)"
        assert page.evaluate(enabled) == [False, False]
        press("s")
        wait_text(page, "#chat-statistics", "Round trip")
        page.focus("#chat-end")
        press("Enter")
        assert focused() == "room-title"
        assert text(page, "#room-notice") == "You ended the call."
        # The protocol's only word for the end of a call is `room_user_left`.
        wait_text(partner.page, "#room-notice", "Ann left the room, so the call is over.")
    finally:
        partner.close()
    page.click("#room-logout")
    assert focused() == "login-name"
    assert page.input_value("#login-name") == page.input_value("#login-room") == ""
    assert page.evaluate("localStorage.length") == 0
    assert page.lines == []


def test_start_call_waits_for_the_opposite_role(new_page, seed_server):
    ann, bob, room = new_page(), new_page(), new_room()
    login(ann, seed_server, "Ann", room)
    assert ann.is_disabled("#room-call")
    connect(ann, "caller")
    login(bob, seed_server, "Bob", room)
    connect(bob, "caller")
    wait_text(ann, "#room-peer", "Bob is a caller too. A call needs one of each")
    bob.click("#room-connect")
    wait_text(ann, "#room-peer", "Nobody has come")
    connect(bob, "callee")
    wait_text(ann, "#room-peer", "Bob is here and can be called.")
    assert ann.is_enabled("#room-call")
    bob.click("#room-connect")
    wait_text(ann, "#room-peer", "No callee is in the room.")
    assert ann.is_disabled("#room-call")


def test_a_callee_is_asked_before_the_camera_is_shown(new_page, seed_server):
    ann, bob, room = new_page(), new_page(), new_room()
    login(ann, seed_server, "Ann", room, "?pattern=1")
    connect(ann, "caller")
    login(bob, seed_server, "Bob", room, "?pattern=1")
    connect(bob, "callee")
    wait_text(ann, "#room-peer", "Bob is here")
    ann.click("#room-call")
    wait_text(bob, "#room-call", "Answer the call")
    assert bob.evaluate("roost.call") is None
    bob.click("#room-call")
    wait_text(bob, "#chat-state", "In the call")
    wait_text(ann, "#chat-state", "In the call")


def test_without_a_camera_the_test_picture_goes_out(browser_without_devices, browser, seed_server):
    room = new_room()
    page = browser_without_devices.new_page()
    page.goto(f"{seed_server}/?room={room}&name=Ann&role=caller&autostart=1")
    wait_text(page, "#room-connection", "Connected")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        partner.wait_connected()
        wait_text(page, "#chat-notices", "test picture instead")
        wait_text(page, "#chat-notices", "test tone instead")
        wait_until(lambda: partner.received()[0] > 60 and partner.received()[1] > 3, 20, "picture and sound")
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


def test_a_refused_room_is_told_in_the_servers_words(new_page, seed_server):
    page = new_page()
    login(page, seed_server, "Ann", 13)
    page.click("#room-connect")
    wait_text(page, "#room-notice", "The server did not let you in: the room is full: 2 people are in it")
    assert text(page, "#room-connect") == "Connect"


def test_a_server_that_goes_away(namespace, browser, new_page):
    server, port = start_seed_server(namespace)
    url, room = f"http://127.0.0.1:{port}", new_room()
    caller = ChromiumPeer(browser, url, room, "Ann", "caller")
    caller.wait_joined()
    callee = ChromiumPeer(browser, url, room, "Bob", "callee")
    page = new_page()
    try:
        login(page, url, "Eve", room)
        caller.wait_connected()
        callee.wait_connected()
        server._process.kill()
        wait_text(caller.page, "#chat-notices", "The connection to the server broke; the call goes on.")
        before = callee.received()[0]
        wait_until(lambda: callee.received()[0] > before + 60, 20, "the picture goes on")
        page.click("#room-connect")
        wait_text(page, "#room-notice", "The server is away", 20)
        server.finish()
        server, _ = start_seed_server(namespace, "--port", str(port))
        wait_until(lambda: text(caller.page, "#chat-notices") == "", 30, "the notice goes when the server is back")
        assert caller.page.evaluate("roost.call.state") == "connected"
    finally:
        caller.close()
        callee.close()
        server.finish()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844), (320, 568)])
def test_each_screen_is_readable_and_fits(width, height, scheme, new_page, browser, seed_server):
    page, room = new_page(viewport={"width": width, "height": height}, color_scheme=scheme), new_room()
    page.goto(f"{seed_server}/?pattern=1")
    page.click("#login-continue")
    assert page.evaluate(ACCESSIBILITY) == []
    login(page, seed_server, "Wolfeschlegelsteinhausenbergerdorff the Elder of a Long Name", room, "?pattern=1")
    assert page.evaluate(ACCESSIBILITY) == []
    connect(page, "caller")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        wait_text(page, "#room-peer", "Bob is here")
        assert page.evaluate(ACCESSIBILITY) == []
        page.click("#room-call")
        wait_text(page, "#chat-state", "In the call")
        page.click("#chat-stats")
        wait_text(page, "#chat-statistics", "Round trip")
        assert page.evaluate(ACCESSIBILITY) == []
        for button in page.locator(".controls button").all():
            box = button.bounding_box()
            assert 0 <= box["x"] and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
            assert min(box["width"], box["height"]) >= 44
    finally:
        partner.close()
    assert page.lines == []


def test_our_own_server_says_who_was_here_before(new_page, roost_server):
    ann, bob, room = new_page(), new_page(), new_room()
    login(ann, roost_server, "Ann", room)
    connect(ann, "caller")
    wait_text(ann, "#room-peer", "No callee is in the room.")
    assert ann.is_disabled("#room-call")
    login(bob, roost_server, "Bob", room)
    connect(bob, "callee")
    wait_text(bob, "#room-peer", "Ann is here and can call you.")
    wait_text(ann, "#room-peer", "Bob is here and can be called.")
    assert ann.locator("#room-people li").count() == bob.locator("#room-people li").count() == 1


def test_a_third_person_who_calls_waits_for_the_end_of_the_call(new_page, browser, roost_server):
    room, peers = new_room(), []

    def join(name, role, tone):
        peers.append(ChromiumPeer(browser, roost_server, room, name, role, tone=tone))
        peers[-1].wait_joined()
        return peers[-1]

    try:
        bob, ann = join("Bob", "callee", 700), join("Ann", "caller", 440)
        ann.wait_connected()
        bob.wait_connected()
        cid = join("Cid", "caller", 900)
        cid.wait_state("calling")
        # Cid's offer is repeated every four seconds.
        wait_text(bob.page, "#chat-notices", "Somebody else in the room tried to call; this call goes on.")
        before = [peer.received() for peer in (ann, bob)]
        for peer, (frames, tones) in zip((ann, bob), before):
            wait_until(lambda: peer.received()[0] > frames + 120 and peer.received()[1] > tones + 12, 40, "two go on")
            peer.collect()
        ann.evidence.check_picture()
        ann.evidence.check_sound([700])
        bob.evidence.check_picture()
        bob.evidence.check_sound([440])
        assert text(cid.page, "#chat-state") == "Calling…"
        assert ann.page.evaluate("roost.call.state") == bob.page.evaluate("roost.call.state") == "connected"

        ann.page.click("#chat-end")
        wait_text(bob.page, "#room-notice", "Ann left the room, so the call is over.")
        assert cid.page.evaluate("roost.call.state") == "calling"
        wait_text(bob.page, "#room-call", "Answer Cid")
        bob.page.click("#room-call")
        bob.wait_connected()
        cid.wait_connected()
        wait_until(lambda: bob.received()[0] > 60 and bob.received()[1] > 4, 30, "Cid's picture and sound")
        bob.collect()
        bob.evidence.check_picture()
        bob.evidence.check_sound([900])
    except AssertionError as error:
        error.add_note("\n".join(peer.transcript() for peer in peers))
        raise
    finally:
        for peer in peers:
            peer.close()


def test_the_page_of_our_own_server_breaks_none_of_its_rules(new_page, roost_server):
    page = new_page()
    response = page.goto(roost_server)
    assert "default-src 'self'" in response.headers["content-security-policy"]
    login(page, roost_server, "Änne +% 漢字", new_room())
    connect(page, "caller")
    assert text(page, "#room-name") == "Änne +% 漢字"
    assert page.lines == []
