"""The page's room: who is there, who may call, what the server says."""

import pytest

from support.call import new_room
from support.page import ACCESSIBILITY, connect, hold_timers, login, text, wait_text

REMEMBER = "localStorage.setItem('roost.login', JSON.stringify({ name: 'Ann', room: 5 }))"


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
    wait_text(bob, "#room-call", "Answer Ann")
    assert bob.evaluate("roost.call") is None
    bob.click("#room-call")
    wait_text(bob, "#chat-state", "In the call")
    wait_text(ann, "#chat-state", "In the call")


def test_a_refused_room_is_told_in_the_servers_words(new_page, seed_server):
    page = new_page()
    login(page, seed_server, "Ann", 13)
    page.click("#room-connect")
    wait_text(page, "#room-notice", "The server did not let you in: the room is full: 2 people are in it")
    assert text(page, "#room-connect") == "Connect"


@pytest.mark.parametrize("how", ["click", "pagehide"])
def test_who_gives_up_connecting_is_told_of_no_fault(how, new_page, seed_server):
    page = new_page()
    # A server that does not answer, for longer than a page waits.
    hold_timers(page, 6_000)
    page.add_init_script("globalThis.WebSocket = class { close() {} }")
    login(page, seed_server, "Ann", new_room())
    page.click("#room-connect")
    wait_text(page, "#room-connection", "Connecting…")
    if how == "click":
        page.click("text=Cancel")
    else:
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    wait_text(page, "#room-connection", "Not connected")
    assert text(page, "#room-notice") == ""


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


def test_the_page_of_our_own_server_breaks_none_of_its_rules(new_page, roost_server):
    page = new_page()
    response = page.goto(roost_server)
    assert "default-src 'self'" in response.headers["content-security-policy"]
    login(page, roost_server, "Änne +% 漢字", new_room())
    connect(page, "caller")
    assert text(page, "#room-name") == "Änne +% 漢字"
    assert page.lines == []


@pytest.fixture
def page_that_remembers(new_page):
    page = new_page()
    page.add_init_script(REMEMBER)
    return page


@pytest.mark.parametrize(
    "room, fault",
    [
        ("abc", "Please enter a whole number, such as 1."),
        ("1234567890123456", "Please enter a number of at most 15 digits."),
    ],
)
@pytest.mark.parametrize("more", ["", "&autostart=1"])
def test_a_link_to_no_room_leads_into_no_other_one(room, fault, more, page_that_remembers, seed_server):
    page = page_that_remembers
    page.goto(f"{seed_server}/?room={room}{more}")
    assert page.is_visible("#login") and text(page, "#login-room-error") == fault
    assert page.input_value("#login-name") == "Ann" and page.input_value("#login-room") == room
    assert page.evaluate("document.activeElement.id") == "login-room"
    page.fill("#login-room", "7")
    assert page.is_hidden("#login-room-error")
    page.click("#login-continue")
    assert text(page, "#room-number") == "7" and text(page, "#room-connection") == "Not connected"


def test_a_link_without_a_room_calls_nobody_in_the_remembered_one(page_that_remembers, seed_server):
    page = page_that_remembers
    for query in ("autostart=1", "autostart=1&room="):
        page.goto(f"{seed_server}/?{query}")
        assert text(page, "#room-number") == "5" and text(page, "#room-connection") == "Not connected"
    # With a room in the link, the name may be the remembered one.
    page.goto(f"{seed_server}/?autostart=1&room={new_room()}")
    wait_text(page, "#room-connection", "Connected")
    assert text(page, "#room-name") == "Ann"


@pytest.mark.parametrize("kind", ["invitation", "reset-password", "verify-email"])
def test_a_link_of_a_mail_is_for_a_chat_client(kind, page_that_remembers, seed_server):
    page = page_that_remembers
    page.goto(f"{seed_server}/#/{kind}/CODE")
    said = "This link is for a chat client of Roost: open it there. This page makes calls only."
    assert text(page, "#login-notice[role=status]") == said
    assert page.input_value("#login-room") == "5" and page.evaluate(ACCESSIBILITY) == []
    page.click("#login-continue")
    assert text(page, "#room-number") == "5"
