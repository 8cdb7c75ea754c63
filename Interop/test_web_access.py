"""The page by keyboard, for screen readers, on a phone's width, in both colour schemes."""

import pytest

from peers.chromium import ChromiumPeer
from support.call import new_room
from support.page import check_readable, connect, login, text, wait_text

# Of a server without rooms for many the browser notes its answer to the question whether there are any.
NO_ROOMS = "error: Failed to load resource: the server responded with a status of 404 (Not Found)"


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
    page.keyboard.type("1234567890123456")
    press("Enter")
    assert text(page, "#login-room-error") == "Please enter a number of at most 15 digits."
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
        press("Alt+m")
        assert page.get_attribute("#chat-mute", "aria-pressed") == "true"
        press("Tab")
        press("Tab")
        assert focused() == "chat-camera"
        press("Space")
        assert page.get_attribute("#chat-camera", "aria-pressed") == "true"
        enabled = "roost.call.connection.getSenders().map(({ track }) => track.enabled)"
        assert page.evaluate(enabled) == [False, False]
        press("Alt+s")
        wait_text(page, "#chat-statistics", "Round trip")
        page.focus("#chat-end")
        press("Enter")
        assert focused() == "room-title"
        assert text(page, "#room-notice") == "You ended the call."
        wait_text(partner.page, "#room-notice", "Ann ended the call.")
        # That somebody hung up is no fault.
        for one in (page, partner.page):
            assert one.is_visible("#room-notice.neutral[role=status]")
    finally:
        partner.close()
    page.click("#room-logout")
    assert focused() == "login-name"
    assert page.input_value("#login-name") == page.input_value("#login-room") == ""
    assert page.evaluate("localStorage.length") == 0
    assert set(page.lines) <= {NO_ROOMS}


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844), (320, 568)])
def test_each_screen_is_readable_and_fits(width, height, new_page, browser, seed_server):
    page, room = new_page(viewport={"width": width, "height": height}), new_room()
    page.goto(f"{seed_server}/?pattern=1")
    page.click("#login-continue")
    check_readable(page)
    login(page, seed_server, "Wolfeschlegelsteinhausenbergerdorff the Elder of a Long Name", room, "?pattern=1")
    check_readable(page)
    # What is said above the choice begins where all else does.
    legend = page.locator("#room-role legend")
    assert legend.evaluate("(legend) => getComputedStyle(legend).padding") == "0px"
    connect(page, "caller")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        wait_text(page, "#room-peer", "Bob is here")
        check_readable(page)
        page.click("#room-call")
        wait_text(page, "#chat-state", "In the call")
        page.click("#chat-stats")
        wait_text(page, "#chat-statistics", "Round trip")
        check_readable(page)
        for button in page.locator(".controls button").all():
            box = button.bounding_box()
            assert 0 <= box["x"] and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
            assert min(box["width"], box["height"]) >= 44
        page.click("#chat-end")
        assert text(page, "#room-notice") == "You ended the call."
        # The button is there again, and has its colours.
        page.locator("#room-call:enabled").wait_for()
        check_readable(page)
    finally:
        partner.close()
    assert set(page.lines) <= {NO_ROOMS}
