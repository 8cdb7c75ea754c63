"""How the page reads what others in the room send, and whose signals a call takes."""

import pytest


def test_payloads_of_other_engines_are_understood(run):
    events = run("""
      const { readEvent } = await import('/js/signaling.js');
      return argument.map(([name, payload]) => readEvent(name, payload)).map((event) => event && [
        event.kind, event.sdp ?? event.candidate ?? event.username ?? null]);
    """, [
        ["offer", {"type": "offer", "sdp": "v=0"}], ["answer", {"sdp": {"type": "answer", "sdp": "v=0"}}],
        ["offer", "v=0"], ["offer", {}], ["offer", None],
        ["candidate", None], ["candidate", {"candidate": ""}], ["candidate", {"candidate": None}],
        ["candidate", {"candidate": "candidate:1 x", "sdpMid": 0, "sdpMLineIndex": "0"}],
        ["candidate", {"sdp": "candidate:2 x", "sdpMLineIndex": 1}], ["candidate", "a=candidate:3 x"], ["candidate", 5],
        ["room_user_left", {"username": "Bob"}], ["room_user_left", []], ["room_user_joined", {}], ["typing", {}],
        ["room_users", {"users": [{"username": "Bob"}]}], ["room_users", {"users": [1]}], ["room_users", []],
    ])

    def candidate(line, mid, index):
        return ["candidate", {"candidate": line, "sdpMid": mid, "sdpMLineIndex": index}]

    assert events == [
        ["offer", "v=0"], ["answer", "v=0"], ["offer", "v=0"], ["unreadable", None], ["unreadable", None],
        ["candidate", None], ["candidate", None], ["candidate", None],
        candidate("candidate:1 x", "0", 0), candidate("candidate:2 x", None, 1), candidate("candidate:3 x", "0", 0),
        ["unreadable", None], ["left", "Bob"], ["unreadable", None], ["unreadable", None], None,
        ["roster", None], ["unreadable", None], ["unreadable", None],
    ]


def test_a_payload_may_say_whose_it_is_and_for_whom(run):
    ids = run("""
      const { readEvent } = await import('/js/signaling.js');
      return argument.map(([name, payload]) => readEvent(name, payload)).map(({ from, to }) => [from, to]);
    """, [
        ["offer", {"sdp": "v=0", "fromCall": "a"}], ["answer", {"sdp": {"sdp": "v=0"}, "fromCall": "b", "toCall": "a"}],
        ["candidate", {"candidate": {"candidate": "candidate:1 x"}, "fromCall": "b", "toCall": "a"}],
        ["candidate", {"candidate": "", "fromCall": "b"}], ["offer", "v=0"], ["candidate", None],
        ["offer", {"sdp": "v=0", "fromCall": 5, "toCall": ""}], ["offer", {"sdp": "v=0", "fromCall": "x" * 129}],
    ])
    assert ids == [["a", None], ["b", "a"], ["b", "a"], ["b", None]] + [[None, None]] * 4


def test_a_call_takes_what_its_partner_sent_to_it_and_what_nobody_signed(run):
    result = run("""
      const { Addressing } = await import('/js/addressing.js');
      const [ann, bob, cid] = [new Addressing(), new Addressing(), new Addressing()];
      const verdicts = {};
      const offer = ann.stamp;
      verdicts['before the first offer'] = [offer, cid.stamp, {}].map((stamp) => bob.accepts(stamp));
      bob.applied(offer);
      verdicts['the answer'] = [ann, cid].map((caller) => caller.accepts(bob.stamp));
      ann.applied(bob.stamp);
      bob.applied(cid.stamp);
      verdicts['in the call'] = [ann.stamp, offer, cid.stamp, {}].map((stamp) => bob.accepts(stamp));
      const isNamed = bob.stamp.from === bob.id && bob.stamp.to === ann.id && !('to' in offer);
      return { verdicts, isNamed, lengths: [ann, bob, cid].map(({ id }) => id.length) };
    """)
    assert result == {
        "verdicts": {
            "before the first offer": [True, True, True],
            "the answer": [True, False],
            "in the call": [True, True, False, True],
        },
        "isNamed": True,
        "lengths": [32] * 3,
    }


@pytest.mark.parametrize("lines, same", [
    (["sha-256 AA:BB"], True), (["SHA-256 aa:bb"], True), (["sha-256 AA:BB", "sha-256 AA:BB"], True),
    (["sha-256 CC:DD"], False), (["sha-512 AA:BB"], False), (["sha-256 AA:BB", "sha-256 CC:DD"], False), ([], False),
])
def test_who_shows_another_certificate_is_somebody_else(lines, same, run):
    def description(fingerprints):
        lines = ["v=0", *(f"a=fingerprint:{each}" for each in fingerprints), "m=audio"]
        return "".join(f"{line}\r\n" for line in lines)

    judge = "return (await import('/js/addressing.js')).isOfSamePeer(...argument)"
    assert run(judge, [description(["sha-256 AA:BB"]), description(lines)]) is same
