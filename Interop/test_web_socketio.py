"""The page's Socket.IO client by itself, in Chromium, against python-socketio."""

import pytest

from conftest import start_seed_server

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
