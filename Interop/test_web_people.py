"""More than two people in a room, and names as anybody may choose them."""

import pytest

from support.call import new_room
from support.page import connect, login, text, wait_text


@pytest.fixture
def enter(new_page, seed_server):
    """Lets somebody into a room, with the test picture."""

    def enter(name, role, room):
        page = new_page()
        login(page, seed_server, name, room, "?pattern=1")
        connect(page, role)
        return page

    return enter


def test_a_caller_reaches_the_one_who_is_named_when_two_wait(enter):
    room = new_room()
    ann = enter("Ann", "caller", room)
    cid, bob = enter("Cid", "callee", room), enter("Bob", "callee", room)
    for page in (bob, cid):
        page.click("#room-call")
        wait_text(page, "#chat-state", "Waiting for the call")
    # Who came last is called.
    wait_text(ann, "#room-people", "Bob")
    assert text(ann, "#room-call") == "Call Bob"
    ann.click("#room-call")
    for page in (ann, bob):
        wait_text(page, "#chat-state", "In the call")
    assert [text(page, "#chat-peer") for page in (ann, bob)] == ["Bob", "Ann"]
    assert text(cid, "#chat-state") == "Waiting for the call…"
    # Whose end it is not stays, and is called next.
    ann.click("#chat-end")
    wait_text(bob, "#room-notice", "Ann ended the call.")
    assert text(cid, "#chat-state") == "Waiting for the call…"
    bob.click("#room-connect")
    wait_text(ann, "#room-connection", "Connected")


def test_the_one_who_calls_is_named_when_two_could(enter):
    room = new_room()
    bob = enter("Bob", "callee", room)
    enter("Ann", "caller", room)
    cid = enter("Cid", "caller", room)
    wait_text(bob, "#room-people", "Cid")
    cid.click("#room-call")
    wait_text(bob, "#room-call", "Answer Cid")
    wait_text(bob, "#room-peer", "Cid is calling you.")
    assert bob.title() == "Cid is calling you – Roost"
    bob.click("#room-call")
    wait_text(bob, "#chat-state", "In the call")
    assert text(bob, "#chat-peer") == "Cid" and bob.title() == "In a call with Cid – Roost"


def test_the_same_two_call_again_and_again_and_nothing_is_left(enter):
    room = new_room()
    bob = enter("Bob", "callee", room)
    ann = enter("Ann", "caller", room)
    # The seed's server tells only those present: Bob comes again.
    bob.click("#room-connect")
    connect(bob, "callee")
    for turn in range(6):
        wait_text(ann, "#room-peer", "Bob is here")
        ann.click("#room-call")
        wait_text(bob, "#room-call", "Answer Ann")
        bob.click("#room-call")
        for page in (ann, bob):
            wait_text(page, "#chat-state", "In the call")
        ann.click("#chat-stats")
        wait_text(ann, "#chat-statistics", "Round trip")
        (ann, bob)[turn % 2].click("#chat-end")
        for page in (ann, bob):
            wait_text(page, "#room-connection", "Connected")
        wait_text(bob, "#room-notice", "ended the call.")
        # Who ended it left and came again, which the other hears from the seed's server, and not the other way round.
        if turn % 2 == 0:
            bob.click("#room-connect")
            connect(bob, "callee")
    for page in (ann, bob):
        assert alive(page) == {"RTCPeerConnection": 0, "AudioContext": 0, "MediaStreamTrack": 0}
        assert page.lines == []


def alive(page):
    """How many objects of each kind the garbage collector cannot take, or has not been closed."""
    session = page.context.new_cdp_session(page)
    counts = {}
    for kind, is_open in (
        ("RTCPeerConnection", "connectionState !== 'closed'"),
        ("AudioContext", "state !== 'closed'"),
        ("MediaStreamTrack", "readyState !== 'ended'"),
    ):
        session.send("HeapProfiler.collectGarbage")
        prototype = session.send("Runtime.evaluate", {"expression": f"{kind}.prototype"})["result"]["objectId"]
        objects = session.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
        # Prototypes of subclasses are among them, and are no tracks.
        is_counted = f"(one) => !Object.hasOwn(one, 'constructor') && one.{is_open}"
        count = f"function() {{ return this.filter({is_counted}).length; }}"
        call = {"functionDeclaration": count, "objectId": objects, "returnByValue": True}
        counts[kind] = session.send("Runtime.callFunctionOn", call)["result"]["value"]
    return counts


@pytest.mark.parametrize(
    "name, shown",
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("\u202eevil\u2066", "evil"),
        ("two\nlines\t!", "two lines !"),
        ("\u200f \u0007", "Somebody without a name"),
        ("דוד (2)", "דוד (2)"),
        ("👩‍👩‍👧 Ünï", "👩‍👩‍👧 Ünï"),
        ("x" * 500, "x" * 63 + "…"),
    ],
    ids=["html", "turns the text", "lines", "empty", "Hebrew", "joined letters", "long"],
)
def test_anybodys_name_is_text_and_no_more(name, shown, run):
    """Names come from the server as others chose them; not every client has a login like ours."""
    result = run(
        """
      const { readEvent } = await import('/js/signaling.js');
      const { parseName } = await import('/js/names.js');
      const named = { username: argument };
      const names = ['room_user_joined', 'room_user_left'].map((kind) => readEvent(kind, named).username);
      return [...names, readEvent('room_users', { users: [named] }).users[0].username,
              readEvent('offer', { sdp: 'v=0', fromUser: argument }).fromUser, parseName(argument)];
        """,
        name,
    )
    own = None if shown.startswith("Somebody") or len(name) > 64 else shown
    assert result == [shown] * 4 + [own]
