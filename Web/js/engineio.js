// Engine.IO 4: one session over a WebSocket or, where none gets through, over long-polling.
import { Engine, SEPARATOR, batches, readHandshake } from './packets.js';

/** How long a transport may take to open. A proxy that swallows WebSockets answers nothing at all. */
const OPEN_TIMEOUT = 6_000;

/** Why a session could not be opened or ended; `message` is for people. */
export class EngineError extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

/** Sets a parameter of the address; spaces become %20, since not every server reads + as one. */
function setParameter(address, name, value) {
  address.searchParams.set(name, value);
  address.search = address.search.replaceAll('+', '%20');
}

/** Packets over a WebSocket. */
class WebSocketTransport {
  static kind = 'websocket';

  constructor(address, handlers, { WebSocket }) {
    this.socket = new WebSocket(address.href.replace(/^http/, 'ws'));
    this.socket.onmessage = ({ data }) => {
      if (typeof data === 'string') handlers.packet(data);
    };
    this.socket.onclose = () => handlers.closed('transport close');
  }

  handshaken() {}

  send(packet) {
    if (this.socket.readyState === 1) this.socket.send(packet);
  }

  /** Resolves when the server has answered it: all that was sent before has come then. */
  close() {
    const closed = Promise.withResolvers();
    this.socket.onmessage = null;
    this.socket.onclose = closed.resolve;
    if (this.socket.readyState === 3) closed.resolve();
    this.socket.close();
    return closed.promise;
  }
}

/** Packets over long-polling: one GET always open, POSTs one after another. */
class PollingTransport {
  static kind = 'polling';
  #address;
  #handlers;
  #fetch;
  #abort = new AbortController();
  #waiting = [];
  #isPosting = false;
  #limit = 1_000_000;

  constructor(address, handlers, { fetch }) {
    this.#address = address;
    this.#handlers = handlers;
    this.#fetch = fetch;
    this.#poll();
  }

  handshaken({ sid, maxPayload }) {
    setParameter(this.#address, 'sid', sid);
    this.#limit = maxPayload;
  }

  send(packet) {
    this.#waiting.push(packet);
    if (!this.#isPosting) this.#post();
  }

  /** As that of a WebSocket. */
  async close() {
    // `keepalive` lets the goodbye out while the page goes away.
    const isOpen = this.#address.searchParams.has('sid') && !this.#abort.signal.aborted;
    this.#abort.abort();
    if (!isOpen) return;
    const body = [...this.#waiting, Engine.close].join(SEPARATOR);
    await this.#fetch(this.#address, { method: 'POST', body, keepalive: true }).catch(() => {});
  }

  async #poll() {
    while (!this.#abort.signal.aborted) {
      const body = await this.#request({ cache: 'no-store' });
      if (body === null) return;
      for (const packet of body.split(SEPARATOR)) this.#handlers.packet(packet);
    }
  }

  async #post() {
    this.#isPosting = true;
    while (this.#waiting.length > 0) {
      const [body, ...rest] = batches(this.#waiting.splice(0), this.#limit);
      this.#waiting.unshift(...rest.flatMap((later) => later.split(SEPARATOR)));
      if ((await this.#request({ method: 'POST', body })) === null) return;
    }
    this.#isPosting = false;
  }

  /** The answer's text; null when the transport is over. */
  async #request(options) {
    try {
      const response = await this.#fetch(this.#address, { ...options, signal: this.#abort.signal });
      if (response.ok) return await response.text();
      this.#fail(`the server answered ${response.status}`);
    } catch {
      this.#fail('transport error');
    }
    return null;
  }

  #fail(reason) {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#handlers.closed(reason);
  }
}

export const TRANSPORTS = Object.freeze({ websocket: WebSocketTransport, polling: PollingTransport });

/** One Engine.IO session. Dead after its first `onClose`. */
export class EngineSession {
  #transport;
  #timer = null;
  #state = 'opening';
  #heartbeat = 0;
  #opened = Promise.withResolvers();

  /**
   * @param {URL} address the server's `/socket.io/` with the query of the connection
   * @param {'websocket'|'polling'} kind
   * @param {{onMessage: (text: string) => void, onClose: (reason: string) => void}} handlers
   */
  constructor(address, kind, handlers, environment) {
    const url = new URL(address);
    setParameter(url, 'EIO', '4');
    setParameter(url, 'transport', kind);
    this.kind = kind;
    this.handlers = handlers;
    this.#timer = setTimeout(() => this.#end('timeout'), OPEN_TIMEOUT);
    this.#transport = new TRANSPORTS[kind](
      url,
      { packet: (packet) => this.#receive(packet), closed: (reason) => this.#end(reason) },
      environment,
    );
  }

  /** Resolves when the server's open packet has come; rejects with `EngineError`. */
  get opened() {
    return this.#opened.promise;
  }

  send(packet) {
    if (this.#state === 'open') this.#transport.send(packet);
  }

  /** Ends the session without a call of `onClose`. Resolves when the server knows. */
  async close() {
    if (this.#state === 'closed') return;
    this.handlers = { onMessage() {}, onClose() {} };
    await this.#end('client close');
  }

  #receive(packet) {
    if (this.#state === 'closed') return;
    if (this.#state === 'opening') return this.#handshake(packet);
    switch (packet[0]) {
      case Engine.ping:
        this.#transport.send(Engine.pong + packet.slice(1));
        this.#expectPing();
        break;
      case Engine.message:
        this.handlers.onMessage(packet.slice(1));
        break;
      case Engine.close:
        this.#end('transport close');
        break;
    }
  }

  #handshake(packet) {
    const handshake = readHandshake(packet);
    if (!handshake) return this.#end('not a Socket.IO server');
    this.#state = 'open';
    this.#heartbeat = handshake.pingInterval + handshake.pingTimeout;
    this.#transport.handshaken(handshake);
    this.#expectPing();
    this.#opened.resolve(this);
  }

  /** The server pings; silence for longer than both its intervals means that the path is dead. */
  #expectPing() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end('ping timeout'), this.#heartbeat);
  }

  #end(reason) {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    clearTimeout(this.#timer);
    const closed = this.#transport?.close();
    if (wasOpen) this.handlers.onClose(reason);
    else this.#opened.reject(new EngineError(reason, `The server cannot be reached (${reason}).`));
    return closed;
  }
}
