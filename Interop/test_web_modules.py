"""The page's modules by themselves, in Chromium: Socket.IO client, candidates, frame counter, glare."""

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
      const long = 'ö'.repeat(50_000);
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
