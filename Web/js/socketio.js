// A small Socket.IO 5 client: WebSocket first, long-polling where that fails, heartbeats, reconnection.
// Text events and acknowledgements in the default namespace; binary attachments are not part of the call rooms.
import { EngineSession } from './engineio.js';
import { Engine, Socket, connectPacket, eventPacket, readPacket } from './packets.js';

/** How long the server may take to accept us into the namespace, and how long an acknowledgement may take. */
const ANSWER_TIMEOUT = 10_000;

/** The wait before attempt `count` (from 1): doubles from half a second to ten seconds, half of it by chance. */
export function backoff(count, random = Math.random) {
  const full = Math.min(10_000, 500 * 2 ** Math.min(count, 10));
  return full / 2 + (full / 2) * random();
}

/** The server said no, with its own words and data. Not repeated: the answer would be the same. */
export class ConnectError extends Error {
  constructor({ message, data } = {}) {
    super(typeof message === 'string' && message !== '' ? message : 'The server gave no reason.');
    this.data = data;
  }
}

/** An attempt was given up by whoever wanted it, or its connection broke as soon as it stood: nobody has to be told. */
export class Cancelled extends Error {
  message = 'cancelled';
}

/**
 * Where the connection stands:
 * - `closed`: not wanted, refused, or the first attempt failed
 * - `connecting`: the first attempt
 * - `connected`
 * - `reconnecting`: it was there, or was patiently wanted, and is being repaired
 */
export class SocketIOClient {
  #address;
  #auth;
  #environment;
  #handlers;
  #transports;
  #state = 'closed';
  /** Grows with each connection wanted or given up, so that late results of an old one are known as such. */
  #epoch = 0;
  #session = null;
  /** Gives up the session that is just being opened. */
  #giveUp = null;
  #acks = new Map();
  #nextAck = 0;
  #wake = null;

  /**
   * @param {string|URL} server for example `location.origin`
   * @param {object} options `query`, `auth`, `path`, `transports` (in the order to try), `environment` (for tests)
   * @param {object} handlers `onEvent(name, ...args)`, `onState(state, reason)`
   */
  constructor(server, options, handlers) {
    this.#address = new URL(options.path ?? '/socket.io/', server);
    for (const [name, value] of Object.entries(options.query ?? {})) this.#address.searchParams.set(name, value);
    this.#auth = options.auth ?? null;
    this.#transports = [...(options.transports ?? ['websocket', 'polling'])];
    this.#environment = {
      WebSocket: globalThis.WebSocket,
      fetch: globalThis.fetch?.bind(globalThis),
      wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
      ...options.environment,
    };
    this.#handlers = handlers;
  }

  get state() {
    return this.#state;
  }

  /** The transport of the open session: `websocket` or `polling`. */
  get transport() {
    return this.#session?.kind ?? null;
  }

  /**
   * Connects; rejects when the first attempt fails, unless the caller is patient. A connection that breaks later is
   * repaired until `disconnect`.
   */
  async connect({ isPatient = false } = {}) {
    if (this.#state !== 'closed') return;
    const epoch = ++this.#epoch;
    this.#move('connecting', '');
    try {
      await this.#attempt(epoch);
    } catch (error) {
      if (epoch !== this.#epoch) throw error;
      if (isPatient && !(error instanceof ConnectError)) return this.#repair(error.message);
      this.#move('closed', error.message);
      throw error;
    }
  }

  /** Leaves; also gives up an attempt or a repair. At once; what it returns resolves when the server knows. */
  disconnect() {
    this.#epoch += 1;
    this.#session?.send(Engine.message + Socket.disconnect);
    const left = this.#dropSession('disconnected');
    this.#giveUp?.();
    this.#wake?.();
    this.#move('closed', 'client disconnect');
    return left;
  }

  /** Sends an event; false when there is no connection at this moment. Nothing is kept for later. */
  emit(name, ...args) {
    if (this.#state !== 'connected') return false;
    this.#session.send(eventPacket(name, args));
    return true;
  }

  /** Sends an event and resolves with what the server acknowledges it with. */
  request(name, ...args) {
    if (this.#state !== 'connected') return Promise.reject(new Error('not connected'));
    const id = this.#nextAck++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, () => reject(new Error('no answer in time'))), ANSWER_TIMEOUT);
      this.#acks.set(id, { resolve, reject, timer });
      this.#session.send(eventPacket(name, args, id));
    });
  }

  /** Tries again at once instead of at the end of the wait: the network is known to be back. */
  hurry() {
    this.#wake?.();
  }

  async #attempt(epoch) {
    let failure = null;
    for (const kind of [...this.#transports]) {
      try {
        await this.#open(kind, epoch);
        // What got through goes first next time.
        this.#transports.sort((a, b) => Number(b === kind) - Number(a === kind));
        return;
      } catch (error) {
        if (error instanceof ConnectError || epoch !== this.#epoch) throw error;
        failure = error;
      }
    }
    throw failure ?? new Error('no transport');
  }

  async #open(kind, epoch) {
    const accepted = Promise.withResolvers();
    // A rejection after the time-out below finds nobody waiting; that is no error of the page.
    accepted.promise.catch(() => {});
    const session = new EngineSession(
      this.#address,
      kind,
      {
        onMessage: (text) => this.#receive(session, text, accepted),
        onClose: (reason) => {
          accepted.reject(new Error(reason));
          this.#lost(session, reason);
        },
      },
      this.#environment,
    );
    const timer = setTimeout(() => accepted.reject(new Error('The server did not answer.')), 2 * ANSWER_TIMEOUT);
    this.#giveUp = () => {
      accepted.reject(new Cancelled());
      session.close();
    };
    try {
      await session.opened;
      if (epoch !== this.#epoch) throw new Cancelled();
      session.send(connectPacket(this.#auth));
      await accepted.promise;
      if (epoch !== this.#epoch) throw new Cancelled();
    } catch (error) {
      session.close();
      throw epoch === this.#epoch ? error : new Cancelled();
    } finally {
      this.#giveUp = null;
      clearTimeout(timer);
    }
  }

  #receive(session, text, accepted) {
    const packet = readPacket(text);
    if (!packet || packet.namespace !== '/') return;
    switch (packet.type) {
      case Socket.connect:
        // Here and not after the promise: events may follow in the same body.
        if (this.#state === 'connecting' || this.#state === 'reconnecting') {
          this.#session = session;
          this.#move('connected', '');
        }
        accepted.resolve();
        break;
      case Socket.connectError:
        accepted.reject(new ConnectError(Object(packet.data) === packet.data ? packet.data : { message: packet.data }));
        break;
      case Socket.event:
        if (session === this.#session) this.#handlers.onEvent?.(...packet.data);
        break;
      case Socket.ack:
        this.#settle(packet.id, ({ resolve }) => resolve(packet.data));
        break;
      case Socket.disconnect:
        if (session !== this.#session) break;
        // The server wants us gone: coming back by ourselves would be rude, and useless.
        this.#epoch += 1;
        this.#dropSession('server disconnect');
        this.#move('closed', 'the server ended the connection');
        break;
    }
  }

  #settle(id, how) {
    const entry = this.#acks.get(id);
    if (!entry) return;
    this.#acks.delete(id);
    clearTimeout(entry.timer);
    how(entry);
  }

  #dropSession(reason) {
    const closed = this.#session?.close();
    this.#session = null;
    for (const id of [...this.#acks.keys()]) this.#settle(id, ({ reject }) => reject(new Error(reason)));
    return closed;
  }

  #lost(session, reason) {
    if (session !== this.#session) return;
    this.#dropSession(reason);
    this.#repair(reason);
  }

  async #repair(reason) {
    const epoch = ++this.#epoch;
    this.#move('reconnecting', reason);
    for (let count = 1; epoch === this.#epoch; count += 1) {
      const pause = this.#environment.wait(backoff(count));
      await Promise.race([pause, new Promise((resolve) => (this.#wake = resolve))]);
      this.#wake = null;
      if (epoch !== this.#epoch) return;
      try {
        await this.#attempt(epoch);
        return;
      } catch (error) {
        if (error instanceof ConnectError && epoch === this.#epoch) return this.#move('closed', error.message);
      }
    }
  }

  #move(state, reason) {
    if (state === this.#state) return;
    this.#state = state;
    this.#handlers.onState?.(state, reason);
  }
}
