"""The page's room: who is there, who may call, what the server says."""

from support.call import new_room
from support.page import connect, login, text, wait_text


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
