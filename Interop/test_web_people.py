"""More than two people in a room, and names as anybody may choose them."""

import pytest

from support.call import new_room
from support.page import connect, hold_timers, login, text, wait_text
from support.waiting import wait_until

# Of a server without rooms for many the browser notes its answer to the question whether there are any.
NO_ROOMS = "error: Failed to load resource: the server responded with a status of 404 (Not Found)"


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
        assert set(page.lines) <= {NO_ROOMS}


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
    own = None if shown.startswith("Somebody") or len(name) > 64 else shown
    names = "const { readableName, parseName } = await import('/js/names.js');"
    assert run(names + "return [readableName(argument), parseName(argument)];", name) == [shown, own]


# Somebody in the room with a name that no login of ours would make, and what they hear of a caller.
JOIN = """
const { Signaling } = await import('/js/signaling.js');
const heard = globalThis.heard ??= {};
heard[argument.name] = [];
const signaling = new Signaling((event) => heard[argument.name].push(event));
(globalThis.joined ??= {})[argument.name] = signaling;
await signaling.connect({ server: location.origin, username: argument.name, room: argument.room, role: argument.role });
"""
HEARD = "return heard[argument].filter(({ kind }) => kind === 'offer').map(({ toUser }) => toUser);"
LEAVE = "joined[argument].disconnect();"
# As a room takes them, and as no page shows them.
UNREADABLE = ["Ann  Lee", "Ann\u00a0Lee", "Ann\u200eLee", " Ann Lee", "e\u0301" * 40]


@pytest.mark.parametrize("name", UNREADABLE, ids=["two spaces", "fixed space", "mark", "space before", "long"])
def test_whoever_is_called_is_named_as_they_named_themselves(name, enter, run):
    """And shown as one can read it."""
    room = new_room()
    bob = enter("Bob", "caller", room)
    run(JOIN, {"name": name, "room": room, "role": "callee"})
    wait_text(bob, "#room-people", "Ann Lee" if "Ann" in name else name[:63] + "…")
    bob.click("#room-call")
    wait_until(lambda: run(HEARD, name), "the offer")
    assert set(run(HEARD, name)) == {name}
    run(LEAVE, name)
    shown = "Ann Lee" if "Ann" in name else name[:63] + "…"
    wait_text(bob, "#room-notice", f"{shown} left the room, so the call is over.")


def test_two_whose_names_look_alike_are_two(enter, run):
    room = new_room()
    bob = enter("Bob", "caller", room)
    for name in ("Ann Lee", "Ann  Lee"):
        run(JOIN, {"name": name, "room": room, "role": "callee"})
    wait_until(lambda: bob.locator("#room-people li").count() == 2, "both are shown")
    assert text(bob, "#room-call") == "Call Ann Lee"
    bob.click("#room-call")
    wait_until(lambda: run(HEARD, "Ann  Lee"), "the offer to who came last")
    # The other one's leaving does not end the call; the first offer is repeated, so the call goes on.
    run(LEAVE, "Ann Lee")
    wait_until(lambda: len(run(HEARD, "Ann  Lee")) >= 2, "the offer again")
    assert set(run(HEARD, "Ann  Lee")) == {"Ann  Lee"}
    assert text(bob, "#chat-state") == "Calling…"
    run(LEAVE, "Ann  Lee")
    wait_text(bob, "#room-notice", "Ann Lee left the room, so the call is over.")


# As clients do that are not ours.
WITHOUT_NAMES = """
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (data) {
  send.call(this, data.replace(/,"fromUser":"[^"]*"/, ''));
};
"""


@pytest.mark.parametrize("role, partner", [("caller", "callee"), ("callee", "caller")])
def test_who_comes_later_is_not_who_was_never_announced(role, partner, enter, new_page, seed_server, run):
    room, bob = new_room(), new_page()
    bob.add_init_script(WITHOUT_NAMES)
    login(bob, seed_server, "Bob", room, "?pattern=1")
    connect(bob, partner)
    bob.click("#room-call")
    ann = enter("Ann", role, room)
    ann.click("#room-call")
    for page in (ann, bob):
        wait_text(page, "#chat-state", "In the call")
    people, unknown = ann.locator("#room-people li"), f"The {partner}"
    assert text(ann, "#chat-peer") == unknown and people.count() == 0
    run(JOIN, {"name": "Cid", "room": room, "role": partner})
    wait_until(lambda: people.count() == 1, "Cid is there")
    # Whatever happens to the call, it is not Cid's.
    ann.evaluate("""() => {
      Object.defineProperty(roost.call.connection, 'connectionState', { get: () => state, configurable: true });
      let state;
      for (state of ['disconnected', 'connected']) roost.call.connection.onconnectionstatechange();
    }""")
    assert text(ann, "#chat-peer") == unknown
    run(LEAVE, "Cid")
    wait_until(lambda: people.count() == 0, "Cid is gone")
    assert text(ann, "#chat-state") == "In the call"
    bob.click("#chat-end")
    wait_text(ann, "#room-notice", f"{unknown} ended the call.")


def test_who_answers_is_the_partner_whoever_came_meanwhile(enter, run):
    room = new_room()
    bob, ann = enter("Bob", "callee", room), enter("Ann", "caller", room)
    ann.click("#room-call")
    wait_text(bob, "#room-call", "Answer Ann")
    run(JOIN, {"name": "Cid", "room": room, "role": "callee"})
    wait_text(ann, "#chat-peer", "Cid")
    bob.click("#room-call")
    wait_text(ann, "#chat-state", "In the call")
    assert text(ann, "#chat-peer") == "Bob"
    run(LEAVE, "Cid")
    wait_until(lambda: ann.locator("#room-people li").count() == 0, "Cid is gone")
    assert text(ann, "#chat-state") == "In the call"


@pytest.mark.parametrize(
    "expected, settled, leaves, over",
    [
        # Each who leaves: whether they were announced, who is still there, and whether that ends the call.
        ("Bob", None, [("Cid", True, ["Bob"]), ("Bob", True, [])], [False, True]),
        (None, None, [("Bob", True, ["Cid"]), ("Cid", True, [])], [False, True]),
        ("Cid", ["Bob", ["Cid"]], [("Cid", True, []), ("Bob", False, [])], [False, True]),
        (None, [None, ["Bob", "Cid"]], [("Dan", True, ["Bob", "Cid"]), ("Bob", True, ["Cid"]), ("Cid", True, ["Dan"])],
         [False, False, True]),
        (None, [None, []], [("Cid", True, []), ("Bob", False, ["Dan"])], [False, True]),
    ],
    ids=["called by name", "whoever", "said who they are", "several", "never announced"],
)
def test_whose_leaving_ends_a_call(expected, settled, leaves, over, run):
    judged = run("""
      const { CallPartner } = await import('/js/partner.js');
      const partner = new CallPartner(argument.expected);
      if (argument.settled) partner.settle(...argument.settled);
      return argument.leaves.map((leave) => partner.left(...leave));
    """, {"expected": expected, "settled": settled, "leaves": leaves})
    assert judged == over


def test_what_is_offered_no_more_stops_ringing(new_page, seed_server, run):
    """Of a caller whose connection broke the server may not tell for long, and of one who stays in the room never."""
    room, bob = new_room(), new_page()
    hold_timers(bob, 60_000)
    login(bob, seed_server, "Bob", room)
    connect(bob, "callee")
    run(JOIN, {"name": "Ann", "room": room, "role": "caller"})
    for _ in range(2):
        run("joined.Ann.sendDescription({ type: 'offer', sdp: 'v=0' }, { from: 'a', fromUser: 'Ann' });")
        wait_text(bob, "#room-call", "Answer Ann")
        bob.evaluate("passTime(60_000)")
        assert text(bob, "#room-call") == "Wait for the call"
    assert text(bob, "#room-peer") == "Ann is here and can call you."
    # Clients that are not ours may offer once, and wait.
    run("joined.Ann.sendDescription({ type: 'offer', sdp: 'v=0' }, {});")
    wait_text(bob, "#room-call", "Answer Ann")
    bob.evaluate("passTime(60_000)")
    assert text(bob, "#room-call") == "Answer Ann"
    # What comes behind the offer shows that it came again.
    run("""
      joined.Ann.sendDescription({ type: 'offer', sdp: 'v=0' }, {});
      joined.Ann.sendDescription({ type: 'answer' }, {});
    """)
    wait_text(bob, "#room-notice", "an “answer” that makes no sense")
    assert text(bob, "#room-call") == "Answer Ann"
    bob.evaluate("passTime(60_000)")
    assert text(bob, "#room-call") == "Wait for the call"
    run(LEAVE, "Ann")


def test_a_message_to_a_name_that_only_looks_like_ours_is_not_for_us(enter, run):
    room = new_room()
    ann = enter("Ann Lee", "callee", room)
    run(JOIN, {"name": "Bob", "room": room, "role": "caller"})
    wait_text(ann, "#room-people", "Bob")
    # What comes behind the offer shows that it was passed over.
    offer = """
      joined.Bob.sendDescription({ type: 'offer', sdp: 'v=0' }, { toUser: argument });
      joined.Bob.sendDescription({ type: 'answer' }, {});
    """
    run(offer, "Ann  Lee")
    wait_text(ann, "#room-notice", "an “answer” that makes no sense")
    assert text(ann, "#room-call") == "Wait for the call"
    run(offer, "Ann Lee")
    wait_text(ann, "#room-call", "Answer Bob")
