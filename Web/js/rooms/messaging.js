// Messages between people: LiveKit's text streams on the topic `lk.chat`, in packets of the reliable data channel.
import { DataPacket } from './messages.js';
import { decode, encode } from './protobuf.js';

const TOPIC = 'lk.chat';
/** As LiveKit's SDKs cut streams, in bytes. */
const CHUNK = 15_000;
/** A text of somebody else's, in bytes, and how many may be under way. */
const LONGEST = 64_000;
const STREAMS = 64;
/** What is kept for a server that has missed it, in packets. */
const KEPT = 200;

export class Messaging {
  #received;
  #channel = null;
  #own = null;
  #sequence = 0;
  /** `{sequence, bytes, isSent}`: for those whose channel opens later, and for a server that has missed some. */
  #packets = [];
  #lastHeard = new Map();
  /** By sender and id: `{sid, timestamp, chunks, length}`. */
  #streams = new Map();

  /** @param {(message: {sid: string, text: string, date: Date}) => void} received */
  constructor(received) {
    this.#received = received;
  }

  joined({ sid, identity }) {
    this.#own = { sid, identity };
    this.#lastHeard.clear();
    this.#streams.clear();
  }

  opened(channel) {
    this.#channel = channel;
    for (const packet of this.#packets) if (!packet.isSent) this.#put(packet);
  }

  /** Of what goes to a new session nothing is kept but what the old one never took. */
  closed() {
    this.#channel = null;
    this.#packets = this.#packets.filter(({ isSent }) => !isSent);
  }

  sendText(text) {
    const content = new TextEncoder().encode(text);
    const streamId = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    this.#send({
      streamHeader: {
        streamId, timestamp: Date.now(), topic: TOPIC, mimeType: 'text/plain', totalLength: content.length, textHeader: {},
      },
    });
    for (let from = 0, chunkIndex = 0; from < content.length; from += CHUNK, chunkIndex += 1) {
      this.#send({ streamChunk: { streamId, chunkIndex, content: content.subarray(from, from + CHUNK) } });
    }
    this.#send({ streamTrailer: { streamId } });
  }

  /** The server has heard up to this number; 0 from one that does not say. */
  resendAfter(sequence) {
    if (sequence === 0) return;
    this.#packets = this.#packets.filter((packet) => packet.sequence > sequence);
    for (const packet of this.#packets) if (packet.isSent) this.#put(packet);
  }

  /** For a server with which we go on: up to where we have heard each. */
  get receiveStates() {
    return [...this.#lastHeard].map(([publisherSid, lastSeq]) => ({ publisherSid, lastSeq }));
  }

  receive(bytes) {
    let packet;
    try {
      packet = decode(DataPacket, bytes);
    } catch (error) {
      return console.warn('A message cannot be read:', error);
    }
    const { participantSid: sid, sequence } = packet;
    if (sequence > 0) {
      if (sequence <= (this.#lastHeard.get(sid) ?? 0)) return;
      this.#lastHeard.set(sid, sequence);
    }
    const { streamHeader, streamChunk, streamTrailer } = packet;
    if (streamHeader) this.#begin(sid, streamHeader);
    else if (streamChunk) this.#goOn(sid, streamChunk);
    else if (streamTrailer) this.#finish(sid, streamTrailer);
  }

  left(sid) {
    this.#lastHeard.delete(sid);
    for (const [key, stream] of this.#streams) if (stream.sid === sid) this.#streams.delete(key);
  }

  #send(content) {
    this.#sequence += 1;
    const { sid, identity } = this.#own;
    const bytes = encode(DataPacket, {
      ...content, participantIdentity: identity, participantSid: sid, sequence: this.#sequence,
    });
    const packet = { sequence: this.#sequence, bytes, isSent: false };
    this.#packets.push(packet);
    if (this.#packets.length > KEPT) this.#packets.shift();
    this.#put(packet);
  }

  #put(packet) {
    if (this.#channel?.readyState !== 'open') return;
    this.#channel.send(packet.bytes);
    packet.isSent = true;
  }

  // What others say

  #begin(sid, { streamId, topic, timestamp, textHeader, inlineContent, compression }) {
    if (topic !== TOPIC || !textHeader || this.#streams.size >= STREAMS) return;
    const stream = { sid, timestamp, chunks: [], length: 0 };
    if (inlineContent && compression === 0) {
      stream.chunks.push(inlineContent);
      return this.#tell(stream);
    }
    this.#streams.set(`${sid} ${streamId}`, stream);
  }

  #goOn(sid, { streamId, content }) {
    const key = `${sid} ${streamId}`;
    const stream = this.#streams.get(key);
    if (!stream || !content) return;
    stream.chunks.push(content);
    stream.length += content.length;
    if (stream.length > LONGEST) this.#streams.delete(key);
  }

  #finish(sid, { streamId }) {
    const key = `${sid} ${streamId}`;
    const stream = this.#streams.get(key);
    this.#streams.delete(key);
    if (stream) this.#tell(stream);
  }

  #tell({ sid, timestamp, chunks }) {
    const decoder = new TextDecoder();
    const text = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
    if (text.trim() !== '') this.#received({ sid, text, date: new Date(timestamp || Date.now()) });
  }
}
