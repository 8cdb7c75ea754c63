// The WebSocket on `/rtc`: messages in both directions, and pings.
//
// Frames are binary: a server may answer JSON with JSON, but its first message, which has the whole room in it, comes before
// it has heard anything from us, and is binary in any case.
import { SignalRequest, SignalResponse } from './messages.js';
import { decode, encode } from './protobuf.js';

/** How long the server may take for its first message, in milliseconds. */
const PATIENCE = 7_000;
/** What a newer protocol adds is for others: of this one we know what we ask for. */
const PROTOCOL = 16;

const withScheme = (origin, path) => new URL(path, origin.replace(/^http/, 'ws'));

export class SignalConnection {
  #socket;
  #received;
  #closed;
  #ping = null;
  #silence;

  /**
   * @param {{origin: string, token: string, session: ?string}} where `session`: our participant's sid, to go on with it
   * @param {(name: string, message: object) => void} received
   * @param {() => void} closed once, unless it was we who closed it
   */
  constructor({ origin, token, session = null }, received, closed) {
    this.#received = received;
    this.#closed = closed;
    const url = withScheme(origin, '/rtc');
    const query = { access_token: token, protocol: PROTOCOL, auto_subscribe: 1, adaptive_stream: 1 };
    if (session) Object.assign(query, { reconnect: 1, sid: session });
    url.search = new URLSearchParams(query);
    this.#socket = new WebSocket(url);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.onmessage = ({ data }) => this.#take(data);
    this.#socket.onclose = () => this.#end();
    this.#expectSomething(PATIENCE);
  }

  /** False when it cannot be sent; the caller will hear that the connection is closed. */
  send(name, message) {
    if (this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(encode(SignalRequest, { [name]: message }));
    return true;
  }

  /** As the server asks for it in its join response, in seconds. */
  startPings({ interval, timeout }) {
    clearInterval(this.#ping);
    const ping = () => this.send('pingReq', { timestamp: Date.now() });
    this.#ping = setInterval(ping, 1_000 * Math.max(1, interval));
    this.#limit = 1_000 * Math.max(1, timeout);
    this.#expectSomething(this.#limit);
  }

  /** Ends it as a network does that goes away: `closed` is called. */
  drop() {
    this.#end();
  }

  /** Ends it without a word to `closed`. */
  close() {
    this.#closed = () => {};
    this.#end();
  }

  #limit = PATIENCE;

  #take(data) {
    this.#expectSomething(this.#limit);
    // Text is none of ours; nor is what cannot be read, of a server that says more than we know.
    if (!(data instanceof ArrayBuffer)) return;
    let response;
    try {
      response = decode(SignalResponse, new Uint8Array(data));
    } catch (error) {
      return console.warn('A message of the server cannot be read:', error);
    }
    for (const [name, message] of Object.entries(response)) {
      if (message !== undefined && message !== '') return this.#received(name, message);
    }
  }

  /** Anything that comes is a sign of life. */
  #expectSomething(milliseconds) {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end(), milliseconds);
  }

  #end() {
    clearTimeout(this.#silence);
    clearInterval(this.#ping);
    this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    const closed = this.#closed;
    this.#closed = () => {};
    closed();
  }
}

/**
 * What the server has against a token, which it cannot say to a browser's WebSocket.
 *
 * @returns {Promise<?{status: number, text: string}>} null when there is nothing, or nobody to say it
 */
export async function refusal(origin, token) {
  try {
    const url = new URL('/rtc/validate', origin);
    url.search = new URLSearchParams({ access_token: token });
    const response = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) });
    return response.ok ? null : { status: response.status, text: await response.text() };
  } catch {
    return null;
  }
}
