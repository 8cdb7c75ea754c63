// The call-room protocol over Socket.IO: joins a room, passes on what its members send.
import { randomID } from './addressing.js';
import { Cancelled, SocketIOClient } from './socketio.js';

/** Longer ones are nobody's id. */
const LONGEST_ID = 128;
/** How long whoever leaves to come back waits for the server to know, in milliseconds. */
const LEAVING = 1_000;

/**
 * Events, all to one listener, in order:
 * - `{kind: 'state', state, reason}`: see `SocketIOClient`
 * - `{kind: 'joined', username, isCaller}`, `{kind: 'left', username}`: names are as they were sent, to be compared and
 *   sent back; `readableName` makes them fit to show
 * - `{kind: 'roster', users}`: everybody else who is there, from servers that tell a newcomer
 * - `{kind: 'offer' | 'answer', sdp, from, to, fromUser, toUser}`, `{kind: 'candidate', candidate, …}`: the last four
 *   are null when the sender does not say them, see `Addressing`
 * - `{kind: 'unreadable', detail}`
 */
export class Signaling {
  #client = null;
  #listener;

  constructor(listener) {
    this.#listener = listener;
  }

  /** Joins; rejects when the server says no or, unless it is a rejoin, is away. */
  async connect({ server, username, room, role, transports, isRejoin = false }) {
    const left = this.disconnect();
    // `client` stays through all reconnections: our server puts the new connection in the place of the lost one.
    const query = { roomId: room, username, isCaller: role === 'caller', client: randomID() };
    const client = new SocketIOClient(
      server,
      { query, transports },
      {
        onEvent: (name, payload) => client === this.#client && this.#event(name, payload),
        onState: (state, reason) => client === this.#client && this.#listener({ kind: 'state', state, reason }),
      },
    );
    this.#client = client;
    if (isRejoin) {
      this.#listener({ kind: 'state', state: 'connecting', reason: '' });
      // Who came before having left would be taken for somebody whose connection had broken, and is here still.
      await Promise.race([left, new Promise((resolve) => setTimeout(resolve, LEAVING))]);
      if (client !== this.#client) throw new Cancelled();
    }
    await client.connect({ isPatient: isRejoin });
  }

  /** Leaves; the listener hears nothing of it. What it returns resolves when the server knows. */
  disconnect() {
    const client = this.#client;
    this.#client = null;
    return client?.disconnect();
  }

  get isConnected() {
    return this.#client?.state === 'connected';
  }

  /**
   * Sends `{type, sdp}` as `offer` or `answer`, with its address, `{from, to, fromUser, toUser}`; false when there is
   * no connection at this moment.
   */
  sendDescription({ type, sdp }, address) {
    return this.#client?.emit(type, { type, sdp, ...writeAddress(address) }) ?? false;
  }

  sendCandidate(candidate, address) {
    const { candidate: line, sdpMid, sdpMLineIndex, usernameFragment } = candidate;
    const payload = { candidate: line, sdpMid, sdpMLineIndex, usernameFragment, ...writeAddress(address) };
    return this.#client?.emit('candidate', payload) ?? false;
  }

  /** The network is back: do not wait for the next attempt. */
  hurry() {
    this.#client?.hurry();
  }

  #event(name, payload) {
    const event = readEvent(name, payload);
    if (event) this.#listener(event);
  }
}

/** One Socket.IO event of the protocol as a value; null for an event that is not the protocol's. */
export function readEvent(name, payload) {
  const detail = `The server or the other side sent an “${name}” that makes no sense.`;
  const unreadable = { kind: 'unreadable', detail };
  switch (name) {
    case 'room_user_joined': {
      const user = readUser(payload);
      return user ? { kind: 'joined', ...user } : unreadable;
    }
    case 'room_users': {
      const users = Array.isArray(payload?.users) ? payload.users.map(readUser) : [null];
      return users.includes(null) ? unreadable : { kind: 'roster', users };
    }
    case 'room_user_left': {
      const username = payload?.username;
      return typeof username === 'string' ? { kind: 'left', username } : unreadable;
    }
    case 'offer':
    case 'answer': {
      // Untyped by the protocol: some engines send the bare SDP, some wrap it.
      const sdp = typeof payload === 'string' ? payload : payload?.sdp?.sdp ?? payload?.sdp;
      return typeof sdp === 'string' ? { kind: name, sdp, ...readAddress(payload) } : unreadable;
    }
    case 'candidate': {
      const event = readCandidate(payload);
      return event ? { ...event, ...readAddress(payload) } : unreadable;
    }
    default:
      return null;
  }
}

/** `{username, isCaller}`; null without a name. */
function readUser(payload) {
  const { username, isCaller } = payload ?? {};
  if (typeof username !== 'string') return null;
  return { username, isCaller: isCaller === true || isCaller === 'true' || isCaller === 1 };
}

/** Who sent a signal and who is meant; null what is not said. It stands outside of what an engine may wrap. */
function readAddress(payload) {
  const id = (value) => (typeof value === 'string' && value !== '' && value.length <= LONGEST_ID ? value : null);
  const name = (value) => (typeof value === 'string' ? value : null);
  return {
    from: id(payload?.fromCall), to: id(payload?.toCall),
    fromUser: name(payload?.fromUser), toUser: name(payload?.toUser),
  };
}

/** The keys of our clients; JSON leaves out what is undefined: a receiver who is not known yet. */
function writeAddress({ from, to, fromUser, toUser }) {
  return { fromCall: from, toCall: to, fromUser, toUser: toUser ?? undefined };
}

/** W3C's shape, the same one level deeper, `sdp` for `candidate` (iOS engines), or nothing (no more candidates). */
function readCandidate(payload) {
  const inner = payload?.candidate !== null && typeof payload?.candidate === 'object' ? payload.candidate : payload;
  if (inner === null || inner === undefined) return { kind: 'candidate', candidate: null };
  if (typeof inner === 'string') return readCandidate({ candidate: inner, sdpMid: '0', sdpMLineIndex: 0 });
  if (typeof inner !== 'object') return null;
  const line = inner.candidate ?? inner.sdp ?? '';
  if (typeof line !== 'string') return null;
  if (line === '') return { kind: 'candidate', candidate: null };
  const sdpMid = inner.sdpMid === undefined || inner.sdpMid === null ? null : String(inner.sdpMid);
  const index = Number.parseInt(inner.sdpMLineIndex, 10);
  // One of the two has to be there (WebRTC 1.0 §4.8.1); with everything bundled the first section is the right one.
  const sdpMLineIndex = Number.isInteger(index) ? index : sdpMid === null ? 0 : null;
  return { kind: 'candidate', candidate: { candidate: line.replace(/^a=/, ''), sdpMid, sdpMLineIndex } };
}
