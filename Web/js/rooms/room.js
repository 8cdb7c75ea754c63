// A room as its participant has it: joins, stays, comes back when the connection is lost, and leaves.
import { Deadlines } from '../deadlines.js';
import { requestToken } from './access.js';
import { DisconnectReason, LeaveAction, RequestReason, Target, TrackSource } from './messages.js';
import { Messaging } from './messaging.js';
import { Interrupted, Publisher } from './publisher.js';
import { Attempts } from './reconnecting.js';
import { Roster } from './roster.js';
import { SignalConnection, refusal } from './signal-connection.js';
import { Subscriber } from './subscriber.js';

/** How long paths may take that are to be found, in milliseconds. */
const MEDIA_PATIENCE = 15_000;

const REASONS = {
  [DisconnectReason.duplicateIdentity]: 'You are in this room from elsewhere.',
  [DisconnectReason.serverShutdown]: 'The server goes down.',
  [DisconnectReason.participantRemoved]: 'You were removed from the room.',
  [DisconnectReason.roomDeleted]: 'The room was closed.',
  [DisconnectReason.roomClosed]: 'The room was closed.',
};
const NAMES = {
  [TrackSource.microphone]: 'sound', [TrackSource.camera]: 'picture', [TrackSource.screenShare]: 'screen',
  [TrackSource.screenShareAudio]: 'screen’s sound',
};
const MUTED = {
  [TrackSource.microphone]: 'You were muted by the server.',
  [TrackSource.camera]: 'Your camera was switched off by the server.',
};
const UNMUTED = { [TrackSource.microphone]: 'Your microphone was switched on by the server.' };
const TAKEN_AWAY = 'The server has ended what you sent; you may not be allowed to send it any more.';

export class Room {
  /** 'idle', 'joining', 'connected', 'reconnecting' or 'left'. */
  #state = 'idle';
  #events;
  #name;
  #room;
  #token = null;
  #signal = null;
  #publisher = null;
  #subscriber = null;
  #isSubscriberPrimary = true;
  #pings = null;
  /** Whether the server has taken us back, or in, on the present WebSocket. */
  #isAdmitted = false;
  #deadlines = new Deadlines();
  #attempts = new Attempts();
  #messaging = new Messaging(
    (message) => this.#events.message(message), (speech) => this.#events.transcribed(speech));
  /** What we send, by source: `{track, isMuted, size}`. It goes along from session to session. */
  #local = new Map();
  /** What we receive, by sid. */
  #media = new Map();
  /** How we want it, by sid: `{disabled, width, height}`. */
  #settings = new Map();
  roster = new Roster();

  /**
   * @param {{name: string, room: string}} who
   * @param events `stateChanged(state)`, `changed()`: who is there, or what they show; `cameAndLeft({came, left})`,
   *   `message({sid, text, date})`, `localChanged(source, text)`: the server has muted it, taken it away, or not taken it,
   *   with a sentence for people or null; `left(text)`: it is over, and not because we wanted it
   */
  constructor({ name, room }, events) {
    this.#name = name;
    this.#room = room;
    this.#events = events;
  }

  get state() {
    return this.#state;
  }

  /** Asks the server in. Ends in 'connected', or with `left`. */
  async join() {
    this.#move('joining');
    try {
      await this.#askForToken();
    } catch (error) {
      return this.#end(error.message);
    }
    if (this.#state === 'joining') this.#openSignal(null);
  }

  leave() {
    this.#signal?.send('leave', { reason: DisconnectReason.clientInitiated, action: LeaveAction.disconnect });
    this.#end(null);
  }

  /** The network is back: not to wait for the next attempt. */
  hurry() {
    if (this.#state === 'reconnecting') this.#deadlines.hurry('retry');
  }

  // What we send

  publish(source, track, { isMuted = false, size = null } = {}) {
    this.#local.set(source, { track, isMuted, size });
    if (this.#isAdmitted) this.#publish(source);
  }

  unpublish(source) {
    this.#local.delete(source);
    this.#publisher?.unpublish(source);
  }

  setMuted(source, isMuted) {
    const local = this.#local.get(source);
    if (!local) return;
    local.isMuted = isMuted;
    this.#publisher?.setMuted(source, isMuted);
  }

  /** Another track of the same kind, as a camera that was opened again; null while there is none. */
  async replaceTrack(source, track) {
    const local = this.#local.get(source);
    if (!local) return;
    local.track = track ?? local.track;
    await this.#publisher?.replace(source, track);
  }

  local(source) {
    return this.#local.get(source) ?? null;
  }

  async #publish(source) {
    const local = this.#local.get(source);
    try {
      await this.#publisher.publish(source, local);
    } catch (error) {
      // What a lost connection has broken off is published again with the next one.
      if (error instanceof Interrupted || this.#local.get(source) !== local) return;
      this.#local.delete(source);
      this.#events.localChanged(source, `Your ${NAMES[source]} does not go out: ${error.message}.`);
    }
  }

  // What we receive

  /** The track with this sid, once it has come. */
  media(sid) {
    return this.#media.get(sid) ?? null;
  }

  /** How large a picture is shown, in pixels, or that it is not: the server sends the layer that fits. */
  setTrackSettings(sid, settings) {
    const known = this.#settings.get(sid);
    if (known && ['disabled', 'width', 'height'].every((key) => known[key] === settings[key])) return;
    this.#settings.set(sid, settings);
    this.#sendSettings(sid, settings);
  }

  #sendSettings(sid, settings) {
    if (this.#isAdmitted) this.#signal.send('trackSetting', { trackSids: [sid], ...settings });
  }

  sendText(text) {
    this.#messaging.sendText(text);
  }

  /** The two connections, for statistics and for tests. */
  get connections() {
    return { publisher: this.#publisher?.connection, subscriber: this.#subscriber?.connection };
  }

  /** Cuts the WebSocket, as a network does that goes away; for tests and for the console. */
  dropSignal() {
    this.#signal?.drop();
  }

  // The way in, and back

  async #askForToken() {
    ({ token: this.#token } = await requestToken(this.#room, this.#name));
  }

  #openSignal(session) {
    this.#isAdmitted = false;
    this.#signal = new SignalConnection(
      { origin: location.origin, token: this.#token, session },
      (name, message) => this.#received(name, message), () => this.#signalClosed());
  }

  async #signalClosed() {
    this.#isAdmitted = false;
    this.#publisher?.signalLost();
    switch (this.#state) {
      case 'joining': {
        const refused = await refusal(location.origin, this.#token);
        if (this.#state !== 'joining') return;
        return this.#end(refused
          ? `The server did not let you in: ${refused.text}`
          : 'The connection to the server broke before you were in the room. Try again.');
      }
      case 'connected':
      case 'reconnecting': return this.#comeBack();
    }
  }

  #tryAgain() {
    this.#signal?.close();
    this.#isAdmitted = false;
    this.#deadlines.cancel('media');
    const next = this.#attempts.next();
    if (!next) return this.#end('The connection to the server is lost. Join again when you have a network.');
    this.#deadlines.set('retry', next.wait, () => (next.isResume ? this.#resume() : this.#rejoin()));
  }

  #resume() {
    this.#deadlines.set('media', MEDIA_PATIENCE, () => this.#mediaLate());
    this.#openSignal(this.roster.own.sid);
  }

  /** A new session, in which everything is published and subscribed again. */
  async #rejoin() {
    this.#closeMedia();
    // A server that was started anew may not know the token any more, and a machine that slept may have let it run out.
    const refused = await refusal(location.origin, this.#token);
    try {
      if (refused && this.#state === 'reconnecting') await this.#askForToken();
    } catch {
      return this.#state === 'reconnecting' ? this.#tryAgain() : undefined;
    }
    if (this.#state === 'reconnecting') this.#openSignal(null);
  }

  #mediaLate() {
    if (this.#state === 'joining') {
      return this.#end('No path for sound and pictures was found: a firewall may be in the way.');
    }
    this.#giveUpSession();
  }

  /** The server is there and says nothing to what we offer. */
  #unanswered() {
    if (this.#state === 'joining') return this.#end('The server does not answer. Try again.');
    this.#giveUpSession();
  }

  #giveUpSession() {
    this.#attempts.giveUpSession();
    this.#comeBack();
  }

  #comeBack() {
    if (this.#state === 'connected') this.#move('reconnecting');
    this.#tryAgain();
  }

  #mediaMoved() {
    const needed = this.#isSubscriberPrimary ? [this.#subscriber, this.#publisher] : [this.#publisher];
    if (needed.some((one) => one?.state === 'failed')) {
      if (this.#state === 'connected') return this.#comeBack();
      // While coming back it is to be given new paths; the deadline ends the waiting.
    }
    if (this.#isAdmitted && this.#state !== 'connected' && needed.every((one) => one?.state === 'connected')) {
      this.#deadlines.cancel('media');
      this.#attempts.succeeded();
      this.#move('connected');
    }
  }

  #move(state) {
    this.#state = state;
    this.#messaging.moved(state === 'connected');
    this.#events.stateChanged(state);
  }

  #closeMedia() {
    this.#publisher?.close();
    this.#subscriber?.close();
    this.#publisher = this.#subscriber = null;
    this.#media.clear();
    this.#messaging.closed();
  }

  #end(text) {
    if (this.#state === 'left') return;
    this.#signal?.close();
    this.#deadlines.cancelAll();
    this.#closeMedia();
    this.#isAdmitted = false;
    this.#move('left');
    if (text !== null) this.#events.left(text);
  }

  // What the server says

  #received(name, message) {
    switch (name) {
      case 'join': return this.#joined(message);
      case 'reconnect': return this.#resumed(message);
      case 'leave': return this.#told(message);
      case 'offer': return this.#subscriber?.receiveOffer(message);
      case 'answer': return this.#publisher?.answer(message);
      case 'trickle': return this.#trickled(message);
      case 'trackPublished': return this.#publisher?.trackPublished(message);
      case 'trackUnpublished': return this.#publisher?.trackUnpublished(message.trackSid);
      case 'subscribedQualityUpdate': return this.#publisher?.qualitiesWanted(message);
      case 'requestResponse':
        if (message.addTrack && ![RequestReason.ok, RequestReason.queued].includes(message.reason)) {
          this.#publisher?.trackRefused(message.addTrack.cid, message.message);
        }
        return;
      case 'mute': return this.#mutedByServer(message);
      case 'refreshToken':
        this.#token = message;
        return;
      case 'update': return this.#updated(message.participants);
      case 'speakersChanged': return this.#changed(() => this.roster.speakers(message.speakers));
      case 'connectionQuality': return this.#changed(() => this.roster.qualities(message.updates));
      case 'streamStateUpdate': return this.#changed(() => this.roster.streamStates(message.streamStates));
    }
  }

  #joined(message) {
    this.#closeMedia();
    this.roster.joined(message);
    this.#messaging.joined(message.participant);
    this.#isSubscriberPrimary = message.subscriberPrimary;
    this.#isAdmitted = true;
    this.#deadlines.set('media', MEDIA_PATIENCE, () => this.#mediaLate());
    this.#pings = { interval: message.pingInterval, timeout: message.pingTimeout };
    this.#signal.startPings(this.#pings);
    const iceServers = message.iceServers.map(described);
    const signal = { send: (name, content) => this.#signal.send(name, content) };
    const moved = () => this.#mediaMoved();
    this.#subscriber = new Subscriber(iceServers, signal, {
      moved,
      trackArrived: (sid, track) => this.#changed(() => this.#media.set(sid, track)),
      message: (bytes) => this.#messaging.receive(bytes),
    });
    this.#publisher = new Publisher(iceServers, signal, {
      moved,
      channelOpened: (channel) => this.#messaging.opened(channel),
      withdrawn: (source) => {
        this.#local.delete(source);
        this.#events.localChanged(source, TAKEN_AWAY);
      },
      unanswered: () => this.#unanswered(),
    });
    for (const [sid, settings] of this.#settings) this.#sendSettings(sid, settings);
    for (const source of this.#local.keys()) this.#publish(source);
    this.#events.changed();
  }

  #resumed({ iceServers, lastMessageSeq }) {
    this.#isAdmitted = true;
    this.#signal.startPings(this.#pings);
    for (const one of [this.#publisher, this.#subscriber]) one.setICEServers(iceServers.map(described));
    const { channel } = this.#publisher;
    this.#signal.send('syncState', {
      answer: plain(this.#subscriber.description),
      offer: plain(this.#publisher.description),
      subscription: { trackSids: [], subscribe: false },
      publishTracks: this.#publisher.published,
      dataChannels: channel.id === null ? [] : [{ label: channel.label, id: channel.id, target: Target.publisher }],
      trackSidsDisabled: [...this.#settings].filter(([, { disabled }]) => disabled).map(([sid]) => sid),
      datachannelReceiveStates: this.#messaging.receiveStates,
    });
    this.#publisher.negotiate({ iceRestart: true });
    this.#messaging.resendAfter(lastMessageSeq);
    // What was changed meanwhile was told to nobody.
    for (const [source, { isMuted }] of this.#local) {
      if (this.#publisher.isPublished(source)) this.#publisher.setMuted(source, isMuted);
      else this.#publish(source);
    }
    for (const [sid, settings] of this.#settings) this.#sendSettings(sid, settings);
    this.#mediaMoved();
  }

  #told({ reason, action }) {
    if (action === LeaveAction.disconnect || this.#state === 'joining') {
      return this.#end(REASONS[reason] ?? 'The server ended the connection.');
    }
    if (action === LeaveAction.reconnect) this.#giveUpSession();
    else this.#comeBack();
  }

  #trickled({ candidateInit, target }) {
    let candidate;
    try {
      candidate = JSON.parse(candidateInit);
    } catch {
      return;
    }
    (target === Target.publisher ? this.#publisher : this.#subscriber)?.addCandidate(candidate);
  }

  #mutedByServer({ sid, muted }) {
    const source = this.#publisher?.mutedByServer(sid, muted) ?? null;
    const local = this.#local.get(source);
    if (!local || local.isMuted === muted) return;
    local.isMuted = muted;
    this.#events.localChanged(source, muted ? MUTED[source] ?? TAKEN_AWAY : UNMUTED[source] ?? null);
  }

  #updated(participants) {
    const { came, left } = this.roster.update(participants);
    const sids = new Set(this.roster.others.flatMap(({ info }) => info.tracks.map(({ sid }) => sid)));
    for (const map of [this.#media, this.#settings]) {
      for (const sid of map.keys()) if (!sids.has(sid)) map.delete(sid);
    }
    for (const { sid } of left) this.#messaging.left(sid);
    if (came.length + left.length > 0) this.#events.cameAndLeft({ came, left });
    this.#events.changed();
  }

  #changed(change) {
    change();
    this.#events.changed();
  }
}

const described = ({ urls, username, credential }) => ({ urls, ...(username && { username, credential }) });
const plain = (description) => description ? { type: description.type, sdp: description.sdp } : undefined;
