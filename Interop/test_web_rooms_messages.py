"""Messages of rooms in the browser: what is sent when, what is taken of others, what is said aloud, and keys in a field."""

import pytest

from peers.rooms_page import all_in
from support.page import wait_text


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def test_who_begins_texts_without_end_silences_nobody(sfu, room, join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    sdk = sfu.join(room, "sdk")
    sdk.do("begin", count=70, topic="lk.chat")
    sdk.wait_for("begun")
    sdk.do("write", text="I have more to say", topic="lk.chat")
    for one in (ann, bob):
        one.click("messages")
        wait_text(one.page, "#messages-list", "I have more to say")
    bob.say("So have I")
    wait_text(ann.page, "#messages-list", "So have I")


def test_of_each_sender_the_newest_texts_under_way_are_kept(run):
    heard = run("""
      const { Messaging } = await import('/js/rooms/messaging.js');
      const { DataPacket } = await import('/js/rooms/messages.js');
      const { encode } = await import('/js/rooms/protobuf.js');
      const heard = [];
      const messaging = new Messaging(({ sid, text }) => heard.push([sid, text]));
      const say = (participantSid, packet) => messaging.receive(encode(DataPacket, { participantSid, ...packet }));
      const begin = (sid, streamId, more) =>
        say(sid, { streamHeader: { streamId, topic: 'lk.chat', textHeader: {}, ...more } });
      const bytes = (text) => new TextEncoder().encode(text);
      const end = (sid, streamId) => {
        say(sid, { streamChunk: { streamId, content: bytes(streamId) } });
        say(sid, { streamTrailer: { streamId } });
      };
      for (let number = 1; number <= 9; number += 1) begin('Eve', `text ${number}`);
      begin('Bob', 'text 1');
      end('Bob', 'text 1');
      begin('Eve', 'short', { inlineContent: bytes('at once') });
      begin('Eve', 'packed', { inlineContent: bytes('not to be read'), compression: 1 });
      for (const number of [9, 2, 1]) end('Eve', `text ${number}`);
      begin('Eve', 'last');
      messaging.left('Eve');
      end('Eve', 'last');
      return heard;
    """)
    assert heard == [["Bob", "text 1"], ["Eve", "at once"], ["Eve", "text 9"], ["Eve", "text 2"]]


def test_what_is_said_while_joining_is_sent_when_one_is_in(join):
    ann, bob = join("Ann"), join("Bob", query={"join": 0})
    ann.wait_state("connected")
    asked = []
    bob.page.route("**/rooms/token", lambda route: asked.append(route))
    bob.page.click("#lobby-join")
    bob.wait_state("joining")
    bob.click("messages")
    bob.say("Am I late?")
    bob.say("I am.")
    wait_text(bob.page, "#messages-list", "I am.")
    asked[0].continue_()
    all_in(bob)
    ann.click("messages")
    wait_text(ann.page, "#messages-list li:nth-child(1)", "Am I late?")
    wait_text(ann.page, "#messages-list li:nth-child(2)", "I am.")
    assert bob.errors() == []


# What the channel takes is lost with the connection, until `mend`.
LOSE = """
() => {
  const { send } = RTCDataChannel.prototype;
  RTCDataChannel.prototype.send = () => {};
  globalThis.mend = () => { RTCDataChannel.prototype.send = send; };
}
"""


@pytest.mark.parametrize("session", ["same", "new"])
def test_what_is_said_while_the_connection_is_broken_is_sent_when_it_is_back(session, join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    for one in (ann, bob):
        one.click("messages")
    if session == "new":
        # There is nobody with this number, so the server refuses.
        bob.page.evaluate("roost.room.roster.own.sid = 'PA_nobody'")
    bob.page.evaluate(LOSE)
    bob.cut_off()
    bob.wait_state("reconnecting")
    bob.say("One")
    bob.say("Two")
    bob.page.evaluate("mend()")
    bob.release()
    for number, words in enumerate(("One", "Two"), 1):
        wait_text(ann.page, f"#messages-list li:nth-child({number})", words)
    assert "Bob" in ann.page.inner_text("#messages-list li:last-child")
    assert ("reconnect=1" in bob.sockets()[-1]) == (session == "same")


def test_what_a_server_has_missed_goes_out_before_what_was_said_meanwhile(run):
    sent = run("""
      const { Messaging } = await import('/js/rooms/messaging.js');
      const { DataPacket } = await import('/js/rooms/messages.js');
      const { decode } = await import('/js/rooms/protobuf.js');
      const sent = [];
      const messaging = new Messaging(() => {});
      messaging.joined({ sid: 'PA_ann', identity: 'ann' });
      messaging.opened({ readyState: 'open', send: (bytes) => sent.push(decode(DataPacket, bytes).sequence) });
      const step = (run) => (run(), sent.splice(0));
      return [
        step(() => messaging.sendText('one')), step(() => messaging.moved(true)),
        step(() => messaging.moved(false)), step(() => messaging.sendText('two')),
        step(() => messaging.resendAfter(2)), step(() => messaging.moved(true)),
        step(() => messaging.sendText('three')),
      ];
    """)
    assert sent == [[], [1, 2, 3], [], [], [], [3, 4, 5, 6], [7, 8, 9]]


def test_messages_are_said_aloud_while_nobody_sees_them(join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    spoken = ann.page.locator("#meeting-news p")
    bob.click("messages")
    bob.say("Do you hear me?")
    ann.wait(lambda: "Bob: Do you hear me?" in spoken.all_text_contents(), "hears the message")
    bob.say("x" * 1_000)
    ann.wait(lambda: f"Bob: {'x' * 295}…" in spoken.all_text_contents(), "hears the beginning of a long one")
    # The list speaks for itself.
    ann.click("messages")
    count = spoken.count()
    bob.say("Now you see me.")
    wait_text(ann.page, "#messages-list", "Now you see me.")
    assert spoken.count() == count


def test_addresses_in_messages_are_links_and_say_nothing_of_the_room(join):
    ann, bob = join("Ann", locale="en-US"), join("Bob")
    all_in(ann, bob)
    for one in (ann, bob):
        one.click("messages")
    bob.say("Look at https://example.com/<b>?a=1&b=2, please")
    link = ann.page.locator("#messages-list a")
    ann.wait(lambda: link.count() == 1, "a link")
    assert link.get_attribute("href") == link.inner_text() == "https://example.com/"
    assert link.get_attribute("target") == "_blank" and link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert ann.page.inner_text("#messages-list span") == "Look at https://example.com/<b>?a=1&b=2, please"
    ann.page.evaluate("void (globalThis.Date = class extends Date { constructor() { super(2026, 0, 5, 17, 49); } })")
    ann.say("I see")
    assert ann.page.inner_text("#messages-list li:last-child b").split() == ["Ann,", "5:49", "PM"]


@pytest.mark.parametrize(
    "text, addresses",
    [
        ("http://a.example and HTTPS://b.example:8443/c?d#e", ["http://a.example", "HTTPS://b.example:8443/c?d#e"]),
        ("(see https://a.example/b_(c)), or https://a.example/!?", ["https://a.example/b_(c)", "https://a.example/"]),
        ("“https://a.example/ä/?q='x'”, https://a.example…", ["https://a.example/ä/?q='x", "https://a.example"]),
        ("https://a.example/\u202egnp.exe", ["https://a.example/"]),
        ("javascript:alert(1) ftp://a.example xhttps://a.example www.a.example", []),
        ("https:// http://[ https://. data:text/html,https:x", []),
        ("https://a.example/" + 20_000 * ")." + "x", ["https://a.example/" + 20_000 * ")." + "x"]),
    ],
)
def test_what_is_an_address_and_what_is_not(text, addresses, run):
    pieces = run("""
      const { withLinks } = await import('/js/rooms/views/links.js');
      return withLinks(argument).map((piece) => (piece.href ? [piece.textContent, piece.href] : [piece]));
    """, text)
    assert "".join(words for words, *_ in pieces) == text
    assert [words for words, *href in pieces if href] == addresses


def test_option_with_a_letter_writes_in_a_field_and_is_a_key_elsewhere(join):
    ann = join("Ann")
    ann.wait_state("connected")
    ann.click("messages")
    keyboard = ann.page.context.new_cdp_session(ann.page)
    for sign, code in (("ç", "KeyC"), ("µ", "KeyM"), ("√", "KeyV")):
        # As a Mac has it; 1 is Alt.
        keyboard.send("Input.dispatchKeyEvent", {"type": "keyDown", "modifiers": 1, "key": sign, "code": code, "text": sign})
        keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", "modifiers": 1, "key": sign, "code": code})
    assert ann.page.input_value("#messages-text") == "çµ√"
    assert ann.page.is_visible("#messages") and not ann.is_off("microphone") and not ann.is_off("camera")
    # Where Alt with a letter writes nothing, it is a key in a field, too.
    ann.page.keyboard.press("Alt+m")
    assert ann.is_off("microphone")
    ann.page.focus("#meeting-leave")
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyDown", "modifiers": 1, "key": "ç", "code": "KeyC"})
    assert ann.page.is_hidden("#messages")


def test_whoever_reads_older_messages_is_left_there(join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    for one in (ann, bob):
        one.click("messages")
    shown = ann.page.locator("#messages-list")
    assert ann.page.is_visible(".messages-empty")
    for number in range(40):
        bob.say(f"Message {number}")
    ann.wait(lambda: "Message 39" in shown.inner_text(), "has all messages")
    assert ann.page.is_hidden(".messages-empty")
    at = "[list.scrollTop, list.scrollHeight - list.clientHeight - list.scrollTop < 2]"
    where = lambda: shown.evaluate(f"(list) => {at}")  # noqa: E731
    assert where()[1] and ann.page.inner_text("#meeting-messages-text") == "Messages"
    shown.evaluate("(list) => { list.scrollTop = 100; }")
    bob.say("And one more")
    wait_text(ann.page, "#meeting-messages-text", "Messages (1)")
    assert where() == [100, False]
    shown.evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
    ann.wait(lambda: ann.page.inner_text("#meeting-messages-text") == "Messages", "has read them all")
    shown.evaluate("(list) => { list.scrollTop = 100; }")
    ann.say("Yes?")
    assert where()[1]
