"""The page's call as its people live it: three in a room, a server that goes away."""

from urllib.parse import parse_qs, urlsplit

from conftest import start_seed_server
from peers.chromium import ChromiumPeer
from support.call import new_room
from support.page import connect, hold_timers, login, text, wait_text
from support.waiting import wait_until

COUNT_NOTICES = """
() => {
  globalThis.notices = 0;
  const count = (changes) => changes.forEach(({ addedNodes }) => (notices += addedNodes.length));
  new MutationObserver(count).observe(document.getElementById('chat-notices'), { childList: true });
}
"""
# As the browser tells it when media stops and comes again.
MOVE = """
(state) => {
  Object.defineProperty(roost.call.connection, 'connectionState', { value: state, configurable: true });
  roost.call.connection.onconnectionstatechange();
}
"""
# A network that goes away: the page notices, the server does not, and no WebSocket gets through until `release`.
BREAK_OFF = """
let isBroken = false, newest = null;
globalThis.WebSocket = class extends WebSocket {
  constructor(where) {
    super(isBroken ? where.replace('socket.io', 'nowhere') : where);
    newest = this;
  }
};
globalThis.blockNew = () => (isBroken = true);
globalThis.breakOff = () => {
  blockNew();
  newest.close = () => {};
  newest.onclose();
};
globalThis.release = () => {
  isBroken = false;
  dispatchEvent(new Event('online'));
};
"""
SEND_NONSENSE = """
async (room) => {
  const { SocketIOClient } = await import('/js/socketio.js');
  const eve = new SocketIOClient(location.origin, { query: { roomId: room, username: 'Eve', isCaller: true } }, {});
  await eve.connect();
  for (let count = 0; count < 5; count += 1) eve.emit('offer', {});
  eve.emit('answer', {});
  await eve.request('echo', 1);
  eve.disconnect();
}
"""
# An offer, and behind it something that shows that it has come.
CALL_AS = """
async ([room, username]) => {
  const { SocketIOClient } = await import('/js/socketio.js');
  const caller = new SocketIOClient(location.origin, { query: { roomId: room, username, isCaller: true } }, {});
  await caller.connect();
  caller.emit('offer', { type: 'offer', sdp: 'v=0', fromUser: username, fromCall: 'another' });
  await caller.request('answer', {});
  caller.disconnect();
}
"""


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
        server.kill()
        wait_text(caller.page, "#chat-notices", "The connection to the server broke; the call goes on.")
        before = callee.received()[0]
        wait_until(lambda: callee.received()[0] > before + 60, "the picture goes on")
        page.click("#room-connect")
        wait_text(page, "#room-notice", "The server is away")
        server.finish()
        server, _ = start_seed_server(namespace, "--port", str(port))
        # The notice goes when the server is back.
        wait_text(caller.page, "#chat-notices", "")
        assert caller.page.evaluate("roost.call.state") == "connected"
        # A server that knows us by `client` can tell that we came back from that a second one came.
        names = [parse_qs(urlsplit(url).query)["client"] for url in caller.page.sockets]
        assert len(names) >= 2 and all(name == names[0] for name in names)
        # Who hangs up after that is heard too, though neither server knows of the call.
        callee.page.click("#chat-end")
        wait_text(caller.page, "#room-notice", "Bob ended the call.")
        wait_text(caller.page, "#room-connection", "Connected")
        assert caller.page.title() == f"Room {room} – Roost"
    finally:
        caller.close()
        callee.close()
        server.finish()


def test_a_hang_up_while_the_server_is_away_reaches_the_partner(namespace, browser):
    server, port = start_seed_server(namespace)
    url, room = f"http://127.0.0.1:{port}", new_room()
    caller, callee = (ChromiumPeer(browser, url, room, *who) for who in (("Ann", "caller"), ("Bob", "callee")))
    try:
        for peer in (caller, callee):
            peer.wait_connected()
        server.kill()
        wait_text(callee.page, "#chat-notices", "The connection to the server broke; the call goes on.")
        assert callee.page.title() == "In a call with Ann – Roost"
        # That the call goes on is said no longer than it does.
        callee.page.evaluate(MOVE, "disconnected")
        assert "interrupted" in text(callee.page, "#chat-state") and text(callee.page, "#chat-notices") == ""
        callee.page.evaluate(MOVE, "connected")
        assert text(callee.page, "#chat-state") == "In the call"
        caller.page.click("#chat-end")
        wait_text(callee.page, "#room-notice", "Ann ended the call.")
        wait_text(callee.page, "#room-connection", "The connection broke, reconnecting…")
    finally:
        caller.close()
        callee.close()
        server.finish()


def ring(ann, bob, server):
    """Ann calls, over a WebSocket that `BREAK_OFF` can break, and Bob has not answered."""
    room = new_room()
    ann.add_init_script(BREAK_OFF)
    login(bob, server, "Bob", room, "?pattern=1")
    connect(bob, "callee")
    login(ann, server, "Ann", room, "?pattern=1&transport=websocket")
    connect(ann, "caller")
    ann.click("#room-call")
    wait_text(bob, "#room-call", "Answer Ann")


def test_a_call_that_ends_while_the_connection_is_broken_is_told_when_it_is_back(new_page, roost_server):
    ann, bob = new_page(), new_page()
    hold_timers(bob, 60_000)
    ring(ann, bob, roost_server)
    ann.evaluate("breakOff()")
    wait_text(ann, "#chat-notices", "The connection to the server broke; reconnecting…")
    ann.click("#chat-end")
    wait_text(ann, "#room-connection", "The connection broke, reconnecting…")
    assert text(bob, "#room-call") == "Answer Ann"
    ann.evaluate("release()")
    wait_text(bob, "#room-call", "Wait for the call")
    wait_text(bob, "#room-peer", "Ann is here and can call you.")
    wait_text(ann, "#room-connection", "Connected")
    assert text(ann, "#room-notice") == "You ended the call."


def test_who_cannot_rejoin_at_once_after_a_call_goes_on_trying(new_page, roost_server):
    ann, bob = new_page(), new_page()
    ring(ann, bob, roost_server)
    ann.evaluate("blockNew()")
    ann.click("#chat-end")
    wait_text(ann, "#room-connection", "The connection broke, reconnecting…")
    wait_text(bob, "#room-call", "Wait for the call")
    ann.evaluate("release()")
    wait_text(ann, "#room-connection", "Connected")
    assert text(ann, "#room-notice") == "You ended the call."
    wait_text(bob, "#room-peer", "Ann is here and can call you.")


def test_an_offer_that_is_repeated_since_its_answer_was_lost_is_the_same_call(new_page, roost_server):
    ann, bob = new_page(), new_page()
    # None of the calls' deadlines.
    for page in (ann, bob):
        hold_timers(page, 20_000, 30_000, 60_000)
    ring(ann, bob, roost_server)
    ann.evaluate("breakOff()")
    bob.click("#room-call")
    wait_text(bob, "#chat-state", "Connecting…")
    # ICE says so after a quarter of a minute.
    bob.evaluate(MOVE, "failed")
    assert "interrupted" in text(bob, "#chat-state")
    bob.evaluate("delete roost.call.connection.connectionState")
    ann.evaluate("release()")
    for page in (ann, bob):
        wait_text(page, "#chat-state", "In the call")


def test_a_partner_who_calls_anew_from_elsewhere_ends_the_call_that_is_dying(new_page, roost_server):
    """Of a page that was closed by the system nobody hears for a while, and its media has stopped."""
    bob, room = new_page(), new_room()
    # It does not fail, and is not given up, by itself.
    hold_timers(bob, 5_000, 20_000)
    login(bob, roost_server, "Bob", room, "?pattern=1")
    connect(bob, "callee")

    def enter(name):
        page = new_page()
        login(page, roost_server, name, room, "?pattern=1")
        connect(page, "caller")
        return page

    first = enter("Ann")
    first.click("#room-call")
    wait_text(bob, "#room-call", "Answer Ann")
    bob.click("#room-call")
    wait_text(bob, "#chat-state", "In the call")
    # Who calls while it goes on is a stranger, and so is somebody else when it does not.
    again = enter("Ann")
    again.click("#room-call")
    wait_text(bob, "#chat-notices", "Somebody else in the room tried to call; this call goes on.")
    again.click("#chat-end")
    wait_text(again, "#room-connection", "Connected")
    wait_text(again, "#room-call", "Start call")
    # Nor is it over for anybody who says that name while it may heal by itself.
    for name, state in (("Ann", "disconnected"), ("Cid", "failed")):
        bob.evaluate(MOVE, state)
        first.evaluate(CALL_AS, [room, name])
        wait_text(bob, "#chat-notices", "“answer” that makes no sense.")
        assert "interrupted" in text(bob, "#chat-state")
        bob.click("#chat-notices [data-key=unreadable] button")
    again.click("#room-call")
    wait_text(bob, "#room-notice", "Ann calls anew; the call before is over.")
    wait_text(bob, "#room-call", "Answer Ann")
    bob.click("#room-call")
    for page in (again, bob):
        wait_text(page, "#chat-state", "In the call")


def test_a_page_that_is_left_hangs_up_and_says_so_when_it_is_shown_again(browser, seed_server):
    """Browsers may keep a page that was left, and show it again as it was."""
    room = new_room()
    caller = ChromiumPeer(browser, seed_server, room, "Ann", "caller")
    caller.wait_joined()
    callee = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        for peer in (caller, callee):
            peer.wait_connected()
        caller.page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        wait_text(callee.page, "#room-notice", "Ann ended the call.")
        assert text(caller.page, "#room-notice") == "You left the page."
        assert text(caller.page, "#room-connection") == "Not connected"
        connect(caller.page, "caller")
        wait_text(callee.page, "#room-people", "Ann")
    finally:
        caller.close()
        callee.close()


def test_what_makes_no_sense_is_told_once(browser, seed_server):
    """A screen reader reads each message that appears."""
    room = new_room()
    caller = ChromiumPeer(browser, seed_server, room, "Ann", "caller")
    caller.wait_joined()
    callee = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        callee.wait_connected()
        callee.page.evaluate(COUNT_NOTICES)
        caller.page.evaluate(SEND_NONSENSE, room)
        wait_text(callee.page, "#chat-notices", "“answer” that makes no sense.")
        assert callee.page.evaluate("notices") == 2
        assert callee.page.locator("#chat-notices > div").count() == 1
    finally:
        caller.close()
        callee.close()


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
        # Not long: Cid gives up after a minute.
        for peer, (frames, tones) in zip((ann, bob), before):
            wait_until(lambda: peer.received()[0] > frames + 45 and peer.received()[1] > tones + 4, "the two go on")
            peer.collect()
        ann.evidence.check_picture()
        ann.evidence.check_sound([700])
        bob.evidence.check_picture()
        bob.evidence.check_sound([440])
        assert text(cid.page, "#chat-state") == "Calling…"
        assert ann.page.evaluate("roost.call.state") == bob.page.evaluate("roost.call.state") == "connected"

        ann.page.click("#chat-end")
        wait_text(bob.page, "#room-notice", "Ann ended the call.")
        assert cid.page.evaluate("roost.call.state") == "calling"
        wait_text(bob.page, "#room-call", "Answer Cid")
        bob.page.click("#room-call")
        bob.wait_connected()
        cid.wait_connected()
        wait_until(lambda: bob.received()[0] > 60 and bob.received()[1] > 4, "Cid's picture and sound")
        bob.collect()
        bob.evidence.check_picture()
        bob.evidence.check_sound([900])
    except AssertionError as error:
        error.add_note("\n".join(peer.transcript() for peer in peers))
        raise
    finally:
        for peer in peers:
            peer.close()
