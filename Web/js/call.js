// One call: offer, answer, candidates, and what is done when media stops. Follows W3C's "perfect negotiation"
// (WebRTC 1.0 §10.7) with the caller as the impolite side.
import { Addressing, isOfSamePeer } from './addressing.js';
import { preferCodec } from './codecs.js';
import { Deadlines } from './deadlines.js';

/** How long a call's steps may take, in milliseconds. */
export const POLICY = Object.freeze({
  /** The seed's server keeps nothing: whoever joins after our offer has missed it, so it is sent again. */
  offerRepeat: 4_000,
  answerDeadline: 60_000,
  connectDeadline: 30_000,
  /** How long a disturbed connection may heal by itself before ICE is restarted. */
  disturbanceGrace: 5_000,
  restartDeadline: 20_000,
});

/** More candidates than any real peer sends before its description. */
export const HELD_CANDIDATES = 256;

const LOST = '{peer} is no longer reachable: the connection was lost.';
export const HUNG_UP = '{peer} ended the call.';

/**
 * A call's states; it moves from one to another through one door, `#move`, with a reason.
 * `preparing` → (`calling` | `waiting` → `answering`) → `connecting` → `connected` ⇄ `interrupted`;
 * from each of them `ended`.
 */
export class Call {
  #connection;
  #send;
  #policy;
  #listener;
  #deadlines = new Deadlines();
  #addressing = new Addressing();
  #stranger = 'unheard';
  /** Steps of the exchange run one after another, in the order in which they came. */
  #steps = Promise.resolve();
  /** Candidates, with their senders, that came before the description to which they belong. */
  #heldRemote = [];
  /** False until our description is out: partners written to the seed need it before our candidates. */
  #mayTrickle = false;
  /** Our candidates of this exchange, said again with a repeated description. */
  #sentLocal = [];
  /** Whether media ever flowed. */
  #hasConnected = false;
  /** What is done about media that stopped: `none`, `healing`, `wanted` (no way to say it yet), `restarting`. */
  #repair = 'none';
  #lastOffer = null;
  /** Resolves when there is something to send. */
  #ready = Promise.withResolvers();

  /**
   * @param {object} options
   * @param {'caller'|'callee'} options.role
   * @param {RTCPeerConnection} options.connection
   * @param {{description: Function, candidate: Function, isConnected: () => boolean}} options.send takes a description
   *   or candidate and its address, `{from, to}`
   * @param {(event: {kind: 'state', state: string, reason: string, by: 'us'|'peer'|null}
   *   | {kind: 'track', stream: MediaStream} | {kind: 'stranger'}) => void} listener
   */
  constructor({ role, connection, send, policy = POLICY, codec = null }, listener) {
    this.role = role;
    this.codec = codec;
    this.state = 'preparing';
    this.remoteStream = new MediaStream();
    this.#connection = connection;
    this.#send = send;
    this.#policy = policy;
    this.#listener = listener;
    connection.onicecandidate = ({ candidate }) => this.#localCandidate(candidate);
    connection.onconnectionstatechange = () => this.#connectionMoved();
    connection.oniceconnectionstatechange = () => this.#connectionMoved();
    connection.ontrack = ({ track }) => {
      this.remoteStream.addTrack(track);
      this.#listener({ kind: 'track', stream: this.remoteStream });
    };
  }

  get connection() {
    return this.#connection;
  }

  /** What the partner calls itself; null for one that does not say it. */
  get partnerName() {
    return this.#addressing.partnerName;
  }

  /** The partner's name for its side of the call; null for one that does not give it. */
  get partnerCall() {
    return this.#addressing.partner;
  }

  /** Whether media has stopped and will not heal by itself. */
  get hasFailed() {
    return this.#repair === 'wanted' || this.#repair === 'restarting';
  }

  /** Sends something else from now on, in the place of a track that ended. */
  replaceTrack(ended, next) {
    if (this.state === 'ended') return;
    const sender = this.#connection.getSenders().find(({ track }) => track === ended);
    sender?.replaceTrack(next).catch((error) => console.warn('A track could not be replaced:', error));
  }

  /** Begins with what we send; the caller makes its offer, the callee waits for one. */
  start(stream) {
    if (this.state === 'ended') return;
    for (const track of stream.getTracks()) this.#connection.addTrack(track, stream);
    preferCodec(this.#connection, this.codec);
    if (this.role === 'caller') {
      this.#move('calling', 'the user started the call');
      this.#deadlines.set('answer', this.#policy.answerDeadline, () => this.end('{peer} did not answer.'));
      this.#step(() => this.#offer());
    } else {
      this.#move('waiting', 'the user is ready for the call');
    }
    // What came while camera and microphone were opened waits in `#steps`.
    this.#ready.resolve();
  }

  /** Takes an offer, an answer or a candidate of somebody in the room, who need not be the partner. */
  receive(event) {
    if (this.state === 'ended') return;
    this.#step(async () => {
      await this.#ready.promise;
      // Only now: the steps before may have settled who the partner is.
      if (!this.#isPartners(event)) return this.#strangerCame(event);
      switch (event.kind) {
        case 'offer': return this.#offerCame(event);
        case 'answer': return this.#answerCame(event);
        case 'candidate': return this.#candidateCame(event);
      }
    });
  }

  /** The other side has just come: what was said before, it has missed. */
  partnerJoined() {
    this.#step(async () => {
      if (this.#connection.signalingState !== 'have-local-offer') return;
      this.#describe(this.#connection.localDescription);
      this.#repeatOffer();
    });
  }

  /** The signaling connection is back: says again what the other side may have missed. */
  signalingRestored() {
    if (this.state === 'ended') return;
    this.#step(async () => {
      const { signalingState, localDescription } = this.#connection;
      if (signalingState === 'have-local-offer') this.#describe(localDescription);
      else if (this.state !== 'connected' && localDescription?.type === 'answer') this.#describe(localDescription);
      if (this.#repair === 'wanted') this.#restart();
    });
  }

  /** The signaling connection is gone for good. A call whose media flows goes on without it. */
  signalingClosed(reason) {
    if (['preparing', 'waiting', 'calling', 'answering'].includes(this.state)) {
      this.end(`The connection to the server is gone: ${reason}.`);
    } else if (this.#repair === 'wanted') {
      this.end(LOST);
    }
  }

  /** The room says that the partner went. */
  partnerLeft() {
    this.end(this.state === 'connected' ? HUNG_UP : '{peer} left the room, so the call is over.', { by: 'peer' });
  }

  /**
   * Ends the call. `reason` is a sentence for people, `{peer}` in it stands for the partner's name; `by` says whether
   * the partner knows already.
   */
  end(reason, { by = 'us' } = {}) {
    if (this.state === 'ended') return;
    this.#deadlines.cancelAll();
    this.#connection.onicecandidate = null;
    this.#connection.onconnectionstatechange = null;
    this.#connection.oniceconnectionstatechange = null;
    this.#connection.ontrack = null;
    for (const transport of this.#transports) transport.onstatechange = null;
    this.#connection.close();
    this.#move('ended', reason, by);
  }

  /** Makes an offer that restarts ICE (RFC 8445 §9), from either side. */
  restartICE() {
    this.#step(() => this.#offer({ iceRestart: true }));
  }

  // The exchange

  async #offer(options = {}) {
    if (this.#connection.signalingState !== 'stable' && !options.iceRestart) return;
    this.#mayTrickle = false;
    this.#sentLocal = [];
    const offer = await this.#connection.createOffer(options);
    await this.#connection.setLocalDescription(offer);
    this.#describe(this.#connection.localDescription);
    this.#repeatOffer();
  }

  #repeatOffer() {
    this.#deadlines.set('offer', this.#policy.offerRepeat, () => {
      if (this.#connection.signalingState !== 'have-local-offer') return;
      this.#describe(this.#connection.localDescription);
      this.#repeatOffer();
    });
  }

  #isPartners(event) {
    if (!this.#addressing.accepts(event)) return false;
    const { remoteDescription } = this.#connection;
    return event.kind === 'candidate' || remoteDescription === null || isOfSamePeer(remoteDescription.sdp, event.sdp);
  }

  /** Told once a call: the stranger's offer is repeated every few seconds. */
  #strangerCame({ kind, to }) {
    if (this.role !== 'callee' || kind !== 'offer' || to || this.#stranger === 'told') return;
    this.#stranger = 'told';
    this.#listener({ kind: 'stranger' });
  }

  async #offerCame(event) {
    const { sdp } = event;
    const { signalingState, localDescription, remoteDescription } = this.#connection;
    // The caller begins; an offer before its own is agreed on is another caller's.
    if (this.role === 'caller' && remoteDescription === null) return;
    if (signalingState === 'stable' && sdp === this.#lastOffer && localDescription?.type === 'answer') {
      // Our answer was lost on its way, or the other side joined late: it asks again.
      return this.#describe(localDescription);
    }
    // Glare (RFC 8829 §3.4): the caller's own offer stands, the callee rolls its own back.
    if (signalingState === 'have-local-offer' && this.role === 'caller') return;
    if (this.state === 'waiting') this.#move('answering', 'the offer came');
    this.#mayTrickle = false;
    this.#sentLocal = [];
    await this.#connection.setRemoteDescription({ type: 'offer', sdp });
    this.#addressing.applied(event);
    preferCodec(this.#connection, this.codec);
    await this.#connection.setLocalDescription();
    this.#lastOffer = sdp;
    this.#describe(this.#connection.localDescription);
    await this.#agreed();
  }

  async #answerCame(event) {
    // An answer to a repeated offer, and a second callee's, come late.
    if (this.#connection.signalingState !== 'have-local-offer') return;
    await this.#connection.setRemoteDescription({ type: 'answer', sdp: event.sdp });
    this.#addressing.applied(event);
    this.#deadlines.cancel('offer', 'answer');
    await this.#agreed();
    if (this.#repair === 'wanted') this.#restart();
  }

  async #agreed() {
    for (const transport of this.#transports) transport.onstatechange = () => this.#transportMoved();
    if (['calling', 'answering'].includes(this.state)) {
      this.#move('connecting', 'offer and answer are agreed');
      this.#deadlines.set('connect', this.#policy.connectDeadline, () =>
        this.end('{peer} could not be reached: no path was found.'));
      this.#connectionMoved();
    }
    for (const event of this.#heldRemote.splice(0)) {
      if (this.#addressing.accepts(event)) await this.#addCandidate(event.candidate);
    }
  }

  async #candidateCame(event) {
    // Before the description that it belongs to, the browser refuses a candidate.
    if (this.#connection.remoteDescription === null) {
      if (this.#heldRemote.length < HELD_CANDIDATES) this.#heldRemote.push(event);
    } else {
      await this.#addCandidate(event.candidate);
    }
  }

  async #addCandidate(candidate) {
    try {
      await this.#connection.addIceCandidate(candidate ?? undefined);
    } catch (error) {
      // One candidate of an unknown kind, or of an exchange that is over, must not end the call.
      console.info('A candidate was left out:', error.message);
    }
  }

  #localCandidate(candidate) {
    // Gathering's end stays here: W3C's empty candidate is not known to the seed's partners.
    if (!candidate?.candidate) return;
    this.#sentLocal.push(candidate);
    if (this.#mayTrickle) this.#send.candidate(candidate, this.#addressing.stamp);
  }

  #describe(description) {
    this.#send.description(description, this.#addressing.stamp);
    this.#mayTrickle = true;
    for (const candidate of this.#sentLocal) this.#send.candidate(candidate, this.#addressing.stamp);
  }

  #step(run) {
    this.#steps = this.#steps.then(async () => {
      if (this.state === 'ended') return;
      try {
        await run();
      } catch (error) {
        if (this.state === 'ended') return;
        console.warn('A step of the call failed:', error);
        // With media flowing the old agreement stays in force.
        if (!this.#hasConnected) this.end(`The two sides could not agree on a call (${error.message}).`);
      }
    });
  }

  // Media that connects, stops and comes back

  #connectionMoved() {
    const { connectionState, iceConnectionState } = this.#connection;
    if (iceConnectionState === 'failed' || connectionState === 'failed') return this.#mediaFailed();
    switch (connectionState) {
      case 'connected':
        this.#hasConnected = true;
        this.#repair = 'none';
        this.#deadlines.cancel('connect', 'heal', 'restart');
        if (this.state !== 'ended') this.#move('connected', 'media flows');
        break;
      case 'disconnected':
        if (this.state !== 'connected') break;
        this.#repair = 'healing';
        this.#move('interrupted', 'media is disturbed');
        this.#deadlines.set('heal', this.#policy.disturbanceGrace, () => this.#mediaFailed());
        break;
      case 'closed':
        this.end(HUNG_UP, { by: 'peer' });
        break;
    }
  }

  /** Our senders' DTLS: one transport, since everything is bundled, once there is a description of both sides. */
  get #transports() {
    const all = this.#connection.getSenders().map(({ transport }) => transport);
    return [...new Set(all)].filter((transport) => transport);
  }

  /**
   * Who hangs up says goodbye by DTLS (close_notify, RFC 5246 §7.2.1), server or no server. The connection's own state
   * does not tell: without this ICE would notice half a minute later.
   */
  #transportMoved() {
    const states = this.#transports.map(({ state }) => state);
    if (states.includes('failed')) this.end('The connection to {peer} could not be secured, so there is no call.');
    else if (states.every((state) => state === 'closed')) this.end(HUNG_UP, { by: 'peer' });
  }

  #mediaFailed() {
    if (this.#repair === 'wanted' || this.#repair === 'restarting') return;
    this.#deadlines.cancel('connect', 'heal');
    this.#move('interrupted', 'media failed');
    this.#deadlines.set('restart', this.#policy.restartDeadline, () =>
      this.end(this.#hasConnected ? LOST : '{peer} could not be reached.'));
    this.#repair = 'wanted';
    this.#restart();
  }

  /** The caller restarts ICE once an outage, as soon as an offer can be sent; the callee waits for it. */
  #restart() {
    if (this.role !== 'caller' || !this.#send.isConnected()) return;
    this.#repair = 'restarting';
    this.restartICE();
  }

  #move(state, reason, by = null) {
    if (state === this.state) return;
    this.state = state;
    this.#listener({ kind: 'state', state, reason, by });
  }
}
