"""The page's call by itself: glare, candidates that come early, three people in a room."""

import pytest

THREE_IN_A_ROOM = """
const { Call } = await import('/js/call.js');
const { patternTrack } = await import('/js/test-pattern.js');
const everybody = new Map(), log = [], ends = [];
let spoil = (name, sdp) => sdp;
const has = async (check) => {
  const start = performance.now();
  while (!check()) {
    if (performance.now() - start > 60_000) throw new Error(`not in 60 s: ${check}; ${JSON.stringify(log)}`);
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
        pass(name, { kind: type, sdp: spoil(name, sdp), ...stamp(address) });
      },
      candidate: (candidate, address) => pass(name, { kind: 'candidate', candidate, ...stamp(address) }),
      isConnected: () => true,
    },
  }, ({ kind, state, reason, by }) => {
    if (kind === 'stranger') log.push([name, kind]);
    if (state === 'ended') ends.push([reason, by]);
  });
  everybody.set(name, call);
  call.start(new MediaStream([patternTrack(name).track]));
  return call;
};
const says = (name, kind) => log.filter((entry) => entry[0] === name && entry[1] === kind).length;
"""
POLICY = {
    "offerRepeat": 200, "answerDeadline": 60_000, "connectDeadline": 30_000, "disturbanceGrace": 60_000,
    "restartDeadline": 60_000,
}


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


@pytest.mark.parametrize("who", ["caller", "callee"])
def test_a_hang_up_is_noticed_at_once_without_a_word_of_the_server(who, run):
    """By DTLS's close_notify; ICE alone would notice after half a minute."""
    result = run(THREE_IN_A_ROOM + """
      const bob = join('Bob', 'callee'), ann = join('Ann', 'caller');
      await has(() => ann.state === 'connected' && bob.state === 'connected');
      const [leaves, stays] = argument.who === 'caller' ? [ann, bob] : [bob, ann];
      const start = performance.now();
      leaves.end('over');
      await has(() => stays.state === 'ended');
      return { reason: ends.at(-1), isEarly: performance.now() - start < 4_000 };
    """, {"who": who, "policy": POLICY})
    assert result == {"reason": ["{peer} ended the call.", "peer"], "isEarly": True}


def test_a_certificate_that_was_not_promised_is_no_call(run):
    reason = run(THREE_IN_A_ROOM + """
      const lie = (sdp) => sdp.replace(/^(a=fingerprint:sha-256 )(..)/m, (_, name, byte) =>
        name + (byte === '00' ? '01' : '00'));
      spoil = (name, sdp) => (name === 'Bob' ? lie(sdp) : sdp);
      join('Bob', 'callee');
      join('Ann', 'caller');
      await has(() => ends.length > 0);
      const [reason] = ends;
      for (const call of everybody.values()) call.end('over');
      return reason[0];
    """, {"policy": POLICY})
    assert reason == "The connection to {peer} could not be secured, so there is no call."
