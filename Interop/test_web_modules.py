"""The page's modules by themselves, in Chromium: Socket.IO client, candidates, frame counter, glare, strangers."""

import numpy as np
import pytest

from conftest import start_seed_server
from support.evidence import frame_counter

CONNECT = """
const { SocketIOClient } = await import('/js/socketio.js');
const events = [];
const waiting = [];
const log = (...entry) => { events.push(entry); waiting.splice(0).forEach((resolve) => resolve()); };
const until = async (check) => { while (!check(events)) await new Promise((resolve) => waiting.push(resolve)); };
const client = (options, origin = location.origin) => new SocketIOClient(
  origin, { query: { roomId: 1, username: 'Ann Lee+', isCaller: true }, ...options },
  { onEvent: (...event) => log('event', ...event), onState: (state) => log(state) });
"""


@pytest.fixture
def module_page(browser, seed_server):
    page = browser.new_page()
    page.goto(f"{seed_server}/js/packets.js")
    yield page
    page.context.close()


@pytest.fixture
def run(module_page):
    """Runs the body of an async function on a page of the seed's server."""
    return lambda body, argument=None: module_page.evaluate(f"async (argument) => {{ {body} }}", argument)


@pytest.mark.parametrize("transport", ["websocket", "polling"])
def test_events_and_acknowledgements_over_each_transport(transport, run):
    result = run(CONNECT + """
      const ann = client({ transports: [argument] });
      await ann.connect();
      // python-engineio takes the first piece of a polled body for the whole: a long one would come to it in pieces.
      const long = 'ö'.repeat(argument === 'polling' ? 3_000 : 50_000);
      const payload = [{ a: [1, null, '\\u2028"'] }, long];
      const echoed = await ann.request('echo', ...payload);
      const many = await Promise.all(Array.from({ length: 50 }, (_, n) => ann.request('echo', n)));
      const transport = ann.transport;
      ann.disconnect();
      return { transport, same: JSON.stringify(echoed) === JSON.stringify(payload), many: many.flat(), events,
               emitted: ann.emit('echo', 1) };
    """, transport)
    assert result == {
        "transport": transport, "same": True, "many": list(range(50)), "emitted": False,
        "events": [["connecting"], ["connected"], ["closed"]],
    }


def test_names_arrive_as_they_are_written(run):
    events = run(CONNECT + """
      const ann = client({}), bob = client({ query: { roomId: 1, username: 'Bób +&=%', isCaller: false } });
      await ann.connect();
      await bob.connect();
      await until((all) => all.some(([kind]) => kind === 'event'));
      ann.disconnect();
      bob.disconnect();
      return events.filter(([kind]) => kind === 'event');
    """)
    assert events == [["event", "room_user_joined", {"username": "Bób +&=%", "roomId": 1, "isCaller": False}]]


def test_long_polling_when_no_websocket_gets_through(namespace, browser):
    server, port = start_seed_server(namespace, "--no-websocket")
    page = browser.new_page()
    try:
        page.goto(f"http://127.0.0.1:{port}/js/packets.js")
        transport = page.evaluate("async () => {" + CONNECT + """
          const ann = client({});
          await ann.connect();
          const answer = await ann.request('echo', 7);
          const transport = ann.transport;
          ann.disconnect();
          return [transport, ...answer];
        }""")
        assert transport == ["polling", 7]
    finally:
        page.context.close()
        server.finish()


def test_a_refusal_is_final_and_carries_the_servers_words(run):
    result = run(CONNECT + """
      const ann = client({ query: { roomId: 13, username: 'Ann', isCaller: true } });
      const error = await ann.connect().catch((error) => error);
      return [error.constructor.name, error.message, ann.state];
    """)
    assert result == ["ConnectError", "the room is full: 2 people are in it", "closed"]


def test_an_ending_by_the_server_is_not_repaired(run):
    states = run(CONNECT + """
      const ann = client({});
      await ann.connect();
      ann.emit('leave');
      await until((all) => all.some(([kind]) => kind === 'closed'));
      return events;
    """)
    assert states == [["connecting"], ["connected"], ["closed"]]


def test_a_broken_connection_comes_back_with_backoff(run):
    result = run(CONNECT + """
      const { backoff } = await import('/js/socketio.js');
      let socket, broken = 0;
      class Fragile extends WebSocket {
        constructor(...all) {
          // The second and third attempt fail.
          super(...(broken > 0 && broken < 3 ? [all[0].replace('socket.io', 'nowhere')] : all));
          socket = this;
          if (broken > 0) broken += 1;
        }
      }
      const waits = [];
      const environment = { WebSocket: Fragile, wait: async (time) => { waits.push(time); } };
      const ann = client({ transports: ['websocket'], environment });
      await ann.connect();
      broken = 1;
      socket.close();
      await until((all) => all.filter(([kind]) => kind === 'connected').length === 2);
      const [answer] = await ann.request('echo', 'again');
      ann.disconnect();
      return { events, answer, waits, bounds: [1, 2, 3, 30].map((n) => [backoff(n, () => 0), backoff(n, () => 1)]) };
    """)
    assert result["events"] == [["connecting"], ["connected"], ["reconnecting"], ["connected"], ["closed"]]
    assert result["answer"] == "again" and len(result["waits"]) == 3
    assert result["bounds"] == [[500, 1000], [1000, 2000], [2000, 4000], [5000, 10000]]


def test_a_silent_server_is_noticed_by_its_missing_ping(run):
    reason = run("""
      const { EngineSession } = await import('/js/engineio.js');
      class Silent {
        readyState = 1;
        constructor() {
          const open = '0{"sid":"x","upgrades":[],"pingInterval":60,"pingTimeout":40,"maxPayload":100}';
          setTimeout(() => this.onmessage({ data: open }));
        }
        send() {}
        close() {}
      }
      return new Promise((resolve) => new EngineSession(
        new URL(location.origin), 'websocket', { onMessage() {}, onClose: resolve }, { WebSocket: Silent }));
    """)
    assert reason == "ping timeout"


def test_disconnecting_while_connecting_leaves_nothing_behind(run):
    result = run(CONNECT + """
      const ann = client({});
      const first = ann.connect().catch((error) => error.message);
      ann.disconnect();
      await ann.connect();
      const answer = await ann.request('echo', 1);
      ann.disconnect();
      return [await first, ...answer, events.map(([kind]) => kind)];
    """)
    assert result == ["cancelled", 1, ["connecting", "closed", "connecting", "connected", "closed"]]


def test_malformed_packets_are_no_packets(run):
    texts = ["", "9", "2", "2{}", "2[]", "2[1]", '2["a"', "2/other", "x"]
    texts += ['2/n,["a"]', '25["a",1]', "0", '4{"message":"no"}']
    packets = run("""
      const { readPacket } = await import('/js/packets.js');
      return argument.map(readPacket).map((packet) => packet && [packet.type, packet.namespace, packet.id]);
    """, texts)
    assert packets == [None] * 9 + [["2", "/n", None], ["2", "/", 5], ["0", "/", None], ["4", "/", None]]


def test_batches_keep_within_the_servers_limit(run):
    bodies = run("""
      const { batches } = await import('/js/packets.js');
      return batches(['4öö', '4aaaa', '4b', '4' + 'c'.repeat(30), '4d'], 14);
    """)
    assert bodies == ["4öö\x1e4aaaa", "4b", "4" + "c" * 30, "4d"]


def test_batches_keep_to_sixteen_packets(run):
    sizes = run("""
      const { batches, SEPARATOR } = await import('/js/packets.js');
      return batches(Array.from({ length: 40 }, () => '4x'), 1000).map((body) => body.split(SEPARATOR).length);
    """)
    assert sizes == [16, 16, 8]


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


def test_the_frame_counter_is_the_one_of_the_test_media(run):
    pixels = run("""
      const { drawCounter, readCounter } = await import('/js/frame-counter.js');
      const canvas = new OffscreenCanvas(320, 180);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      return argument.map((number) => {
        drawCounter(context, number, 320, 180);
        const image = context.getImageData(0, 0, 320, 180);
        return { read: readCounter(image), luma: [...image.data].filter((_, place) => place % 4 === 1) };
      });
    """, [0, 1, 42, 299, 4095])
    for number, drawn in zip([0, 1, 42, 299, 4095], pixels):
        assert drawn["read"] == number
        assert frame_counter.read_counter(np.array(drawn["luma"], np.uint8).reshape(180, 320)) == number


def test_candidates_before_the_description_wait_and_a_repeated_offer_gets_the_same_answer(run):
    result = run("""
      const { Call } = await import('/js/call.js');
      const { patternTrack } = await import('/js/test-pattern.js');
      const stream = new MediaStream([patternTrack('Ann').track]);
      const calls = {}, sent = { caller: [], callee: [] }, delayed = [];
      const make = (role, other) => calls[role] = new Call({
        role, connection: new RTCPeerConnection(),
        send: {
          // The callee's descriptions come last, behind its candidates.
          description: ({ type, sdp }) => {
            sent[role].push(type);
            delayed.push(() => calls[other].receive({ kind: type, sdp }));
          },
          candidate: (candidate) => {
            sent[role].push('candidate');
            calls[other].receive({ kind: 'candidate', candidate: candidate.toJSON() });
          },
          isConnected: () => true,
        },
      }, () => {});
      const caller = make('caller', 'callee'), callee = make('callee', 'caller');
      callee.start(stream);
      caller.start(stream);
      const has = async (check) => { while (!check()) await new Promise((resolve) => setTimeout(resolve, 20)); };
      await has(() => sent.caller.includes('candidate'));
      const offer = delayed.shift();
      offer();
      offer();
      await has(() => sent.callee.filter((kind) => kind === 'answer').length === 2);
      await has(() => sent.callee.includes('candidate'));
      delayed.splice(0).forEach((deliver) => deliver());
      await has(() => caller.state === 'connected' && callee.state === 'connected');
      const states = [caller.state, callee.state];
      caller.end('over');
      callee.end('over');
      return { states, first: [sent.caller[0], sent.callee[0]] };
    """)
    assert result == {"states": ["connected", "connected"], "first": ["offer", "answer"]}


THREE_IN_A_ROOM = """
const { Call } = await import('/js/call.js');
const { patternTrack } = await import('/js/test-pattern.js');
const everybody = new Map(), log = [];
const has = async (check) => {
  const start = performance.now();
  while (!check()) {
    if (performance.now() - start > 15_000) throw new Error(`not in 15 s: ${check}; ${JSON.stringify(log)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const pass = (from, event) => { for (const [name, call] of everybody) if (name !== from) call.receive(event); };
// Says everything to everybody, as the room does; `isSigned` as our clients do, or as the seed's.
const join = (name, role, isSigned = true) => {
  const stamp = (address) => (isSigned ? address : {});
  const call = new Call({
    role, connection: new RTCPeerConnection(), policy: { ...argument.policy },
    send: {
      description: ({ type, sdp }, address) => {
        log.push([name, type]);
        pass(name, { kind: type, sdp, ...stamp(address) });
      },
      candidate: (candidate, address) => pass(name, { kind: 'candidate', candidate, ...stamp(address) }),
      isConnected: () => true,
    },
  }, ({ kind }) => kind === 'stranger' && log.push([name, kind]));
  everybody.set(name, call);
  call.start(new MediaStream([patternTrack(name).track]));
  return call;
};
const says = (name, kind) => log.filter((entry) => entry[0] === name && entry[1] === kind).length;
"""
POLICY = {
    "offerRepeat": 200, "answerDeadline": 60_000, "connectDeadline": 30_000, "disturbanceGrace": 5_000,
    "restartDeadline": 20_000,
}


@pytest.mark.parametrize("are_signed", [(True, True), (True, False), (False, True), (False, False)])
def test_a_second_caller_does_not_take_a_call_over(are_signed, run):
    """By their ids or, where one of the callers has none, by the fingerprints."""
    result = run(THREE_IN_A_ROOM + """
      const [isAnnSigned, isCidSigned] = argument.are;
      const bob = join('Bob', 'callee'), ann = join('Ann', 'caller', isAnnSigned);
      await has(() => ann.state === 'connected' && bob.state === 'connected');
      const remote = () => bob.connection.remoteDescription.sdp.match(/^a=(ice-ufrag|fingerprint):.*/gm).join();
      const before = remote();
      const cid = join('Cid', 'caller', isCidSigned);
      await has(() => says('Cid', 'offer') >= 4);
      const states = [ann.state, bob.state, cid.state];
      const isUnmoved = remote() === before;
      // The partner's own change gets through all the same.
      ann.restartICE();
      await has(() => says('Ann', 'offer') >= 2 && remote() !== before);
      await has(() => ann.connection.signalingState === 'stable' && ann.state === 'connected');
      const counts = [says('Bob', 'stranger'), says('Ann', 'stranger'), says('Ann', 'answer')];
      for (const call of everybody.values()) call.end('over');
      return { states, isUnmoved, counts };
    """, {"are": are_signed, "policy": POLICY})
    assert result == {"states": ["connected", "connected", "calling"], "isUnmoved": True, "counts": [1, 0, 0]}


def test_one_callee_answers_one_of_two_callers(run):
    result = run(THREE_IN_A_ROOM + """
      const ann = join('Ann', 'caller'), cid = join('Cid', 'caller');
      await has(() => says('Ann', 'offer') >= 1 && says('Cid', 'offer') >= 1);
      const bob = join('Bob', 'callee');
      await has(() => bob.state === 'connected' && [ann, cid].some(({ state }) => state === 'connected'));
      const offers = [says('Ann', 'offer'), says('Cid', 'offer')];
      await has(() => ['Ann', 'Cid'].some((name, place) => says(name, 'offer') >= offers[place] + 2));
      const [first, second] = ann.state === 'connected' ? [ann, cid] : [cid, ann];
      const states = [first.state, second.state, bob.state];
      first.end('over');
      bob.end('over');
      everybody.delete('Bob');
      // Who answers next is somebody else: the caller who waited gets through.
      const eve = join('Eve', 'callee');
      await has(() => second.state === 'connected' && eve.state === 'connected');
      for (const call of everybody.values()) call.end('over');
      return { states, answers: says('Ann', 'answer') + says('Cid', 'answer') };
    """, {"policy": POLICY})
    assert result == {"states": ["connected", "calling", "connected"], "answers": 0}


def test_candidates_of_others_that_waited_for_the_offer_are_left_out(run):
    added = run(THREE_IN_A_ROOM + """
      const candidate = (port) => ({
        candidate: `candidate:1 1 udp 2130706431 192.0.2.1 ${port} typ host`, sdpMid: '0', sdpMLineIndex: 0,
      });
      const added = [];
      const bob = join('Bob', 'callee');
      const add = bob.connection.addIceCandidate.bind(bob.connection);
      bob.connection.addIceCandidate = (one) => (added.push(one.candidate.split(' ')[5]), add(one));
      bob.receive({ kind: 'candidate', candidate: candidate(1), from: 'ann', to: null });
      bob.receive({ kind: 'candidate', candidate: candidate(2), from: 'cid', to: null });
      bob.receive({ kind: 'candidate', candidate: candidate(3), from: 'ann', to: 'eve' });
      bob.receive({ kind: 'candidate', candidate: candidate(4) });
      const ann = new RTCPeerConnection();
      ann.addTrack(patternTrack('Ann').track);
      await ann.setLocalDescription();
      bob.receive({ kind: 'offer', sdp: ann.localDescription.sdp, from: 'ann', to: null });
      await has(() => says('Bob', 'answer') === 1);
      bob.receive({ kind: 'candidate', candidate: candidate(5), from: 'cid', to: null });
      bob.receive({ kind: 'candidate', candidate: candidate(6), from: 'ann', to: null });
      await has(() => added.includes('6'));
      ann.close();
      bob.end('over');
      return added;
    """, {"policy": POLICY})
    assert added == ["1", "4", "6"]
