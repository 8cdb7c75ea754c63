// The coordinator: which screen shows, and what the user's wishes and the network's news lead to.
import { Call, HELD_CANDIDATES, HUNG_UP, POLICY } from './call.js';
import { Deadlines } from './deadlines.js';
import { applyIceServers, fetchIceServers } from './ice.js';
import { openMedia } from './media.js';
import { readableName } from './names.js';
import { CallPartner } from './partner.js';
import { preferences } from './preferences.js';
import { hasRooms } from './rooms/access.js';
import { Roster } from './roster.js';
import { Signaling } from './signaling.js';
import { Cancelled, ConnectError } from './socketio.js';
import { StatisticsFeed } from './statistics.js';
import { ChatView } from './views/chat.js';
import { LoginView } from './views/login.js';
import { RoomView } from './views/room.js';

/** How calls end that somebody wanted to end: told, and no fault. */
const WANTED_ENDS = { hangUp: 'You ended the call.', leave: 'You left the page.', partner: HUNG_UP };

const CALLS_ANEW = '{peer} calls anew; the call before is over.';

export class App {
  #parameters;
  #login = null;
  #role;
  #signaling = new Signaling((event) => this.#signaled(event));
  #connection = 'closed';
  #roster = new Roster();
  /** An offer that came while nobody had opened the call, and the candidates behind it. */
  #ringing = [];
  #deadlines = new Deadlines();
  /** A call ended while the connection was broken: the partner is told as soon as it is back. */
  #owesGoodbye = false;
  /** What is told in the room: `{text, isFault}`. */
  #notice = null;
  /** Whether the server has rooms for many, once somebody sees the way to them: a promise. */
  #hasRooms = null;
  /**
   * The call on the screen: `{call, media, partner, peer, hadPartner, isMuted, isCameraOff, statistics}`; null in the
   * room. `peer` is the name to show, as it was sent, null while nobody knows it; `statistics` is null while they are
   * hidden.
   */
  #chat = null;
  #loginView = new LoginView({ continued: (login) => this.#enter(login) });
  #roomView = new RoomView({
    roleChosen: (role) => this.#chooseRole(role),
    connectTapped: () => (this.#connection === 'closed' ? this.#connect() : this.#disconnect()),
    callTapped: () => this.#startCall(),
    logoutTapped: () => this.#logout(),
  });
  #chatView = new ChatView({
    microphoneTapped: () => this.#toggle('isMuted', 'audio'),
    cameraTapped: () => this.#toggle('isCameraOff', 'video'),
    statisticsTapped: () => this.#toggleStatistics(),
    endTapped: () => this.#chat?.call.end(WANTED_ENDS.hangUp),
  });

  constructor(parameters) {
    this.#parameters = parameters;
    this.#role = parameters.role ?? preferences.load().role ?? 'caller';
    addEventListener('online', () => this.#signaling.hurry());
    // A page that goes away leaves at once: the other side should not wait for a time-out.
    // Disconnected first: the browser may keep the page and show it again, and it should say then how things stand.
    addEventListener('pagehide', () => {
      this.#disconnect();
      this.#chat?.call.end(WANTED_ENDS.leave);
    });
  }

  /** The call on the screen, for the console and for tests; null in the room. */
  get call() {
    return this.#chat?.call ?? null;
  }

  start() {
    const kept = preferences.load();
    const { name, room, unusableRoom, isAutomatic, isForChat } = this.#parameters;
    const login = { name: name ?? kept.name ?? null, room: room ?? unusableRoom ?? kept.room ?? null };
    const isWhole = typeof login.name === 'string' && Number.isSafeInteger(login.room);
    const isKept = kept.name === login.name && kept.room === login.room;
    if (isWhole && !isForChat && (isAutomatic || isKept)) this.#enter(login);
    else this.#showLogin({ ...login, isRoomFaulty: unusableRoom !== null, isForChat });
  }

  async #showLogin(login) {
    this.#loginView.show(login);
    this.#hasRooms ??= hasRooms();
    this.#loginView.offerRooms(await this.#hasRooms);
  }

  // Login and room

  #enter(login) {
    this.#login = login;
    preferences.save({ ...preferences.load(), ...login });
    this.#renderRoom();
    this.#roomView.show();
    if (this.#parameters.isAutomatic) this.#connect();
  }

  #chooseRole(role) {
    if (this.#connection !== 'closed') return;
    this.#role = role;
    preferences.save({ ...preferences.load(), role });
    this.#renderRoom();
  }

  async #connect({ notice = null, isRejoin = false } = {}) {
    this.#notice = notice;
    this.#owesGoodbye = false;
    const { transport } = this.#parameters;
    try {
      await this.#signaling.connect({
        server: location.origin,
        username: this.#login.name,
        room: this.#login.room,
        role: this.#role,
        transports: transport ? [transport] : undefined,
        isRejoin,
      });
    } catch (error) {
      if (error instanceof Cancelled) return;
      this.#notice = fault(connectFault(error));
      this.#renderRoom();
    }
  }

  #disconnect() {
    this.#signaling.disconnect();
    this.#moveConnection('closed');
  }

  #logout() {
    this.#disconnect();
    this.#login = null;
    this.#notice = null;
    preferences.clear();
    this.#showLogin({});
  }

  #moveConnection(state) {
    this.#connection = state;
    this.#roster = new Roster();
    this.#ringing = [];
    this.#renderRoom();
  }

  #renderRoom() {
    if (!this.#login) return;
    const presence = this.#roster.presence(this.#role);
    this.#roomView.render({
      ...this.#login,
      role: this.#role,
      connection: this.#connection,
      presence: { ...presence, name: shown(presence.name) },
      partners: this.#roster.partners(this.#role).map(readableName),
      others: this.#roster.others(this.#role).map(readableName),
      isRinging: this.#ringing.length > 0,
      ringer: shown(this.#ringer),
      canCall: this.#connection === 'connected' && presence.kind !== 'absent',
      notice: this.#notice,
      isShown: this.#chat === null,
    });
  }

  // News of the signaling

  #signaled(event) {
    if (this.#isForSomebodyElse(event)) return;
    switch (event.kind) {
      case 'state': return this.#signalingMoved(event);
      case 'roster':
        this.#roster.listed(event.users);
        break;
      case 'joined':
        this.#roster.joined(event);
        if (this.#chat && event.isCaller !== (this.#role === 'caller')) {
          if (this.#role === 'caller' && !this.#chat.partner.isSettled) this.#chat.peer ??= event.username;
          this.#chat.call.partnerJoined();
        }
        break;
      case 'left': return this.#partnerMayHaveLeft(event.username);
      case 'offer':
        if (this.#role === 'callee') this.#roster.offered();
        if (this.#isPartnersNextCall(event)) this.#chat.call.end(CALLS_ANEW, { by: 'peer' });
        // An offer to somebody belongs to a call in which we are not.
        if (!this.#chat && this.#role === 'callee' && event.to === null) this.#ring(event);
        this.#chat?.call.receive(event);
        break;
      case 'candidate':
        if (this.#isOfRingingCall(event)) this.#ringing.push(event);
        this.#chat?.call.receive(event);
        break;
      case 'answer':
        this.#chat?.call.receive(event);
        break;
      case 'unreadable':
        if (this.#chat) this.#chatView.notify(event.detail, event.kind);
        else this.#notice = fault(event.detail);
        break;
    }
    this.#renderRoom();
    this.#renderChat();
    const isSomebodyHere = this.#roster.presence(this.#role).kind === 'present';
    if (this.#parameters.isAutomatic && !this.#chat && isSomebodyHere) this.#startCall();
  }

  /** A caller who sees several callees calls one of them; the others leave that alone. */
  #isForSomebodyElse({ toUser = null }) {
    return toUser !== null && toUser !== this.#login?.name;
  }

  /**
   * Our clients repeat an offer every few seconds: one that comes no more was given up. Of others only one that was
   * repeated is known to come again.
   */
  #ring(offer) {
    const isRepeated = this.#ringing[0]?.sdp === offer.sdp;
    this.#ringing = [offer];
    this.#deadlines.cancel('ringing');
    if (offer.from === null && !isRepeated) return;
    this.#deadlines.set('ringing', POLICY.answerDeadline, () => {
      this.#ringing = [];
      this.#renderRoom();
    });
  }

  /**
   * Whether the partner, whose media has failed, calls anew: from elsewhere, or from a page that was loaded again and
   * knows nothing of this call. The same offer again is not that: our answer was lost.
   */
  #isPartnersNextCall({ from, to, fromUser }) {
    if (this.#role !== 'callee' || !this.#chat?.call.hasFailed) return false;
    const { call, partner } = this.#chat;
    const isOfAnotherCall = to === null && from !== null && from !== call.partnerCall;
    return isOfAnotherCall && fromUser !== null && fromUser === partner.name;
  }

  get #ringer() {
    return this.#roster.nameOf(this.#ringing[0]?.fromUser ?? null, this.#role);
  }

  #isOfRingingCall({ from }) {
    const [offer] = this.#ringing;
    return offer !== undefined && offer.from === from && this.#ringing.length <= HELD_CANDIDATES;
  }

  #signalingMoved({ state, reason }) {
    const before = this.#connection;
    this.#moveConnection(state);
    if (!this.#chat) {
      if (state === 'connected' && this.#owesGoodbye) return this.#rejoin();
      const wasOpen = before !== 'connecting';
      if (state === 'closed' && wasOpen) this.#notice = fault(`The connection to the server ended: ${reason}.`);
      return this.#renderRoom();
    }
    const { call } = this.#chat;
    const flows = call.state === 'connected';
    switch (state) {
      case 'reconnecting':
        this.#chatView.notify(
          `The connection to the server broke; ${flows ? 'the call goes on.' : 'reconnecting…'}`, 'signaling');
        break;
      case 'connected':
        this.#chatView.withdraw('signaling');
        call.signalingRestored();
        break;
      case 'closed':
        if (flows) this.#chatView.notify('The connection to the server is gone; the call goes on.', 'signaling');
        call.signalingClosed(reason);
        break;
    }
  }

  #partnerMayHaveLeft(username) {
    const wasPartner = this.#roster.partners(this.#role).includes(username);
    const entry = this.#roster.left(username, this.#role);
    // Somebody whose connection broke joins again before the server notices the break: they are still here.
    const isBack = this.#roster.partners(this.#role).includes(username);
    // Whose offer it was may be unknown; who still calls repeats theirs every few seconds.
    if (wasPartner && !isBack && [null, username].includes(this.#ringing[0]?.fromUser ?? null)) this.#ringing = [];
    if (this.#roster.presence(this.#role).kind !== 'present') this.#ringing = [];
    const isOfOtherRole = wasPartner || entry === null;
    if (this.#chat?.hadPartner && isOfOtherRole && !isBack) this.#possiblePartnerLeft(username, entry !== null);
    this.#renderRoom();
  }

  #possiblePartnerLeft(username, wasAnnounced) {
    const { call, partner } = this.#chat;
    const isOver = partner.left(username, wasAnnounced, this.#roster.partners(this.#role));
    if (isOver || partner.isSettled) this.#chat.peer = isOver ? username : partner.name;
    if (isOver) call.partnerLeft();
    else this.#renderChat();
  }

  // The call

  async #startCall() {
    if (this.#chat || this.#connection !== 'connected') return;
    this.#notice = null;
    if (!globalThis.RTCPeerConnection) {
      this.#notice = fault('This browser cannot make calls: WebRTC is missing or switched off. '
        + 'Allow it in the browser’s settings or extensions, or open this page in another browser.');
      return this.#renderRoom();
    }
    const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
    const isCaller = this.#role === 'caller';
    const isRinging = this.#ringing.length > 0;
    const peer = isCaller ? (this.#roster.presence(this.#role).name ?? null) : this.#ringer;
    const users = { fromUser: this.#login.name, toUser: isCaller ? peer : null };
    const send = {
      description: (description, address) => this.#signaling.sendDescription(description, { ...users, ...address }),
      candidate: (candidate, address) => this.#signaling.sendCandidate(candidate, { ...users, ...address }),
      isConnected: () => this.#signaling.isConnected,
    };
    const call = new Call({ role: this.#role, connection, send, codec: this.#parameters.codec }, (event) =>
      this.#callMoved(chat, event));
    const chat = {
      call, media: null, partner: new CallPartner(isCaller || isRinging ? peer : null), peer,
      hadPartner: isCaller || isRinging, isMuted: false, isCameraOff: false, statistics: null,
    };
    this.#chat = chat;
    this.#renderChat();
    this.#chatView.show();
    for (const event of this.#ringing.splice(0)) call.receive(event);

    const { usePattern, tone } = this.#parameters;
    // Asked for anew with each call: credentials for a relay run out.
    const servers = fetchIceServers();
    const media = await openMedia({ name: this.#login.name, usePattern, tone }, (change) =>
      this.#deviceLost(chat, change));
    // The call may have ended while the browser asked for the camera.
    if (this.#chat !== chat) return media.stop();
    // From here on the end of the call ends it, also while the servers are waited for.
    chat.media = media;
    applyIceServers(connection, await servers);
    if (this.#chat !== chat) return;
    for (const notice of media.notices) this.#chatView.notify(notice);
    this.#applyToggles();
    this.#chatView.showLocal(media.stream, media.hasCamera);
    call.start(media.stream);
  }

  /** A camera was pulled out, or its permission taken back: the other side gets something else to see. */
  #deviceLost(chat, { ended, next, notice }) {
    if (this.#chat !== chat || !chat.media) return;
    chat.call.replaceTrack(ended, next);
    this.#applyToggles();
    this.#chatView.showLocal(chat.media.stream, chat.media.hasCamera);
    this.#chatView.notify(notice);
  }

  #callMoved(chat, event) {
    if (this.#chat !== chat) return;
    switch (event.kind) {
      case 'track': return this.#chatView.showRemote(event.stream);
      case 'stranger':
        return this.#chatView.notify('Somebody else in the room tried to call; this call goes on.', 'stranger');
      case 'state':
        if (event.state === 'answering') chat.hadPartner = true;
        if (event.state === 'connecting') this.#partnerSettled(chat);
        if (event.state === 'ended') return this.#callEnded(chat, event);
        // What was said of the server's connection may be that the call goes on.
        if (event.state === 'interrupted') this.#chatView.withdraw('signaling');
        return this.#renderChat();
    }
  }

  /** Somebody called or answered: the call is theirs, whoever else comes and goes. */
  #partnerSettled(chat) {
    const name = this.#roster.nameOf(chat.call.partnerName, this.#role);
    chat.partner.settle(name, this.#roster.partners(this.#role));
    chat.peer = chat.partner.name;
  }

  #callEnded(chat, { reason, by }) {
    chat.statistics?.stop();
    chat.media?.stop();
    this.#chatView.clear();
    this.#chat = null;
    // One automatic call: otherwise the two sides would call each other for ever.
    this.#parameters = { ...this.#parameters, isAutomatic: false };
    this.#notice = {
      text: reason.replace('{peer}', () => this.#partnerText(chat)),
      isFault: !Object.values(WANTED_ENDS).includes(reason),
    };
    const mustBeTold = chat.hadPartner && by === 'us';
    this.#renderRoom();
    this.#roomView.show();
    if (mustBeTold) this.#sayGoodbye();
  }

  #sayGoodbye() {
    if (this.#connection === 'connected') this.#rejoin();
    else this.#owesGoodbye = this.#connection === 'reconnecting';
  }

  /** The protocol has no message for the end of a call, only `room_user_left`: so we leave and come back. */
  #rejoin() {
    return this.#connect({ notice: this.#notice, isRejoin: true });
  }

  #toggle(flag, kind) {
    this.#chat[flag] = !this.#chat[flag];
    this.#applyToggles(kind);
    this.#renderChat();
  }

  #applyToggles() {
    for (const track of this.#chat.media?.stream.getTracks() ?? []) {
      track.enabled = !(track.kind === 'audio' ? this.#chat.isMuted : this.#chat.isCameraOff);
    }
  }

  /** They cost nothing while hidden, and their rates begin when they appear. */
  #toggleStatistics() {
    const chat = this.#chat;
    chat.statistics?.stop();
    chat.statistics = chat.statistics
      ? null
      : new StatisticsFeed(chat.call.connection, (rows) => this.#chatView.renderStatistics(rows));
    this.#renderChat();
  }

  #partnerText({ peer }) {
    return shown(peer) ?? (this.#role === 'caller' ? 'The callee' : 'The caller');
  }

  #renderChat() {
    if (!this.#chat) return;
    const { call, isMuted, isCameraOff, statistics } = this.#chat;
    this.#chatView.render({
      peer: this.#partnerText(this.#chat),
      state: call.state,
      isMuted, isCameraOff, showsStatistics: statistics !== null,
    });
  }
}

/** A name as a view may show it; null when there is none. */
function shown(name) {
  return name === null || name === undefined ? null : readableName(name);
}

const fault = (text) => ({ text, isFault: true });

/** What to tell when the room could not be joined. */
function connectFault(error) {
  if (error instanceof ConnectError) return `The server did not let you in: ${error.message}`;
  if (globalThis.navigator.onLine === false) return 'You are offline. Connect to a network and try again.';
  return 'The server is away: it does not answer. '
    + 'Check that “roost serve” is running at this address, then try again.';
}
