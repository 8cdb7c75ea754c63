"""What agents write down of what is said, as captions in the rooms of the browser's page."""

import pytest

from peers.rooms_page import all_in
from support.page import ACCESSIBILITY, wait_text
from support.waiting import wait_until


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def captions(page):
    return page.evaluate("[...document.querySelectorAll('#captions p')].map(({ textContent }) => textContent)")


def check_that_it_fits(page):
    """On a small phone: above the controls, all of which are there, and can be read."""
    page.set_viewport_size({"width": 320, "height": 568})
    boxes = [page.locator(f"#{name}").bounding_box() for name in ("captions", "meeting-microphone", "meeting-leave")]
    captions, first, last = boxes
    assert page.evaluate(ACCESSIBILITY) == []
    for button in page.locator(".meeting-controls button").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
    assert 0 <= captions["x"] and captions["x"] + captions["width"] <= 320
    assert captions["y"] + captions["height"] <= first["y"]
    assert 0 <= first["x"] and last["x"] + last["width"] <= 320
    page.set_viewport_size({"width": 1280, "height": 720})


def test_what_an_agent_writes_down_is_shown_under_the_speakers_name_as_they_speak(sfu, room, join):
    ann, bob = join("Ann"), join("Bob")
    all_in(ann, bob)
    assert ann.page.is_hidden("#captions") and ann.page.is_hidden("#meeting-captions")
    clerk = sfu.join(room, "clerk", agent=True)
    identity = ann.page.evaluate("roost.room.roster.own.info.identity")
    clerk.do("transcribe", pieces=["Shall we ", "begin, ", "Zoë? 🎈"], of=identity, segment="S1", is_over=False)
    wait_text(bob.page, "#captions", "Shall we begin, Zoë? 🎈")
    assert captions(bob.page) == ["Ann Shall we begin, Zoë? 🎈"] and captions(ann.page) == ["You Shall we begin, Zoë? 🎈"]
    # What was not understood at first is written anew; what the agent says itself stands beside it.
    clerk.do("transcribe", pieces=["Shall we begin so early?"], of=identity, segment="S1")
    clerk.do("transcribe", pieces=["I am all ears."], of="clerk", segment="S2")
    wait_text(bob.page, "#captions", "I am all ears.")
    assert captions(bob.page) == ["Ann Shall we begin so early?", "clerk I am all ears."]
    check_that_it_fits(bob.page)
    bob.click("captions")
    assert bob.page.is_hidden("#captions") and bob.page.get_attribute("#meeting-captions", "aria-pressed") == "false"
    clerk.do("transcribe", pieces=["And now?"], of="clerk", segment="S3")
    wait_text(ann.page, "#captions", "And now?")
    assert bob.page.is_hidden("#captions")
    bob.click("captions")
    assert captions(bob.page)[-1] == "clerk And now?"
    wait_until(lambda: ann.page.is_hidden("#captions"), "what was said long ago is taken away")
    assert ann.page.is_visible("#meeting-captions")
    assert bob.errors() == [] and ann.errors() == []
    for one in (ann, bob):
        one.click("leave")
        assert one.page.is_hidden("#meeting-captions")


def test_captions_are_few_and_short_and_each_segment_is_one(run):
    shown = run("""
      const { Captions } = await import('/js/rooms/captions.js');
      const shown = [];
      const captions = new Captions((segments) => shown.push(segments.map(({ identity, text }) => `${identity}: ${text}`)));
      const say = (identity, segment, text) => captions.take({ identity, segment, text });
      for (const number of [1, 2, 3, 4]) say('ann', `S${number}`, `text ${number}`);
      say('ann', 'S3', 'text 3, longer');
      say('bob', 'S3', ' of another ');
      say('eve', 'S9', `begin ${'word '.repeat(100)}end`);
      captions.clear();
      return shown;
    """)
    assert shown[3] == ["ann: text 2", "ann: text 3", "ann: text 4"]
    assert shown[4] == ["ann: text 2", "ann: text 3, longer", "ann: text 4"]
    assert shown[5] == ["ann: text 3, longer", "ann: text 4", "bob: of another"]
    long = shown[6][-1]
    assert long.startswith("eve: …word word") and long.endswith("word end") and len(long) < 250
    assert shown[7] == []


def test_speech_is_told_as_it_comes_and_is_no_message(run):
    heard = run("""
      const { Messaging } = await import('/js/rooms/messaging.js');
      const { DataPacket } = await import('/js/rooms/messages.js');
      const { encode } = await import('/js/rooms/protobuf.js');
      const [heard, written] = [[], []];
      const messaging = new Messaging(
        ({ text }) => written.push(text), ({ identity, segment, text, isOver }) => heard.push([identity, segment, text, isOver]));
      const say = (packet) => messaging.receive(encode(DataPacket, { participantSid: 'PA', participantIdentity: 'ann', ...packet }));
      const header = (streamId, more) => say({ streamHeader: { streamId, topic: 'lk.transcription', textHeader: {}, ...more } });
      const bytes = new TextEncoder().encode('né');
      header('one', { attributes: [{ key: 'other', value: 'x' }, { key: 'lk.segment_id', value: 'SG_1' }] });
      // The end of a packet may fall into a letter.
      say({ streamChunk: { streamId: 'one', content: bytes.subarray(0, 2) } });
      say({ streamChunk: { streamId: 'one', content: bytes.subarray(2) } });
      say({ streamTrailer: { streamId: 'one' } });
      header('two', { inlineContent: new TextEncoder().encode('at once') });
      header('three', { topic: 'of another kind', inlineContent: new TextEncoder().encode('nothing') });
      header('four', { inlineContent: new TextEncoder().encode(' ') });
      return [heard, written];
    """)
    assert heard == [
        [["ann", "SG_1", "n", False], ["ann", "SG_1", "né", False], ["ann", "SG_1", "né", True], ["ann", "two", "at once", True]],
        [],
    ]
