// What people write, and what of their speech agents write down: LiveKit's text streams on the topics `lk.chat` and
// `lk.transcription`, in packets of the reliable data channel.
import { DataPacket } from './messages.js';
import { decode, encode } from './protobuf.js';

const CHAT = 'lk.chat';
const SPEECH = 'lk.transcription';
/** As LiveKit's SDKs cut streams, in bytes. */
const CHUNK = 15_000;
/** A text of somebody else's, in bytes, and how many of one person's may be under way. */
const LONGEST = 64_000;
const STREAMS = 8;
/** What is kept for a server that has missed it, in packets. */
const KEPT = 200;

export class Messaging {
  #received;
  #transcribed;
  #channel = null;
  #isConnected = false;
  #own = null;
  /** What was said before we were in the room. */
  #early = [];
  #sequence = 0;
  /** `{sequence, bytes, isSent}`: for those whose channel opens later, and for a server that has missed some. */
  #packets = [];
  #lastHeard = new Map();
  /** Texts of others that are under way: by sender, and by id, the oldest first: `{timestamp, text, decoder, length}`. */
  #streams = new Map();

  /**
   * @param {(message: {sid: string, text: string, date: Date}) => void} received
   * @param {(speech: {identity: string, segment: string, text: string, isOver: boolean}) => void} transcribed told as
   *   it comes: of a segment each time all that there is of it
   */
  constructor(received, transcribed = () => {}) {
    this.#received = received;
    this.#transcribed = transcribed;
  }

  joined({ sid, identity }) {
    this.#own = { sid, identity };
    this.#lastHeard.clear();
    this.#streams.clear();
    for (const text of this.#early.splice(0)) this.sendText(text);
  }

  opened(channel) {
    this.#channel = channel;
    this.#flush();
  }

  /** What the channel takes while the room is not connected may be lost with it: it waits. */
  moved(isConnected) {
    this.#isConnected = isConnected;
    this.#flush();
  }

  /** Of what goes to a new session nothing is kept but what the old one never took. */
  closed() {
    this.#channel = null;
    this.#packets = this.#packets.filter(({ isSent }) => !isSent);
  }

  sendText(text) {
    if (!this.#own) return void this.#early.push(text);
    const content = new TextEncoder().encode(text);
    const streamId = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    this.#send({
      streamHeader: {
        streamId, timestamp: Date.now(), topic: CHAT, mimeType: 'text/plain', totalLength: content.length, textHeader: {},
      },
    });
    for (let from = 0, chunkIndex = 0; from < content.length; from += CHUNK, chunkIndex += 1) {
      this.#send({ streamChunk: { streamId, chunkIndex, content: content.subarray(from, from + CHUNK) } });
    }
    this.#send({ streamTrailer: { streamId } });
  }

  /** The server has heard up to this number; 0 from one that does not say. The rest goes out once we are connected. */
  resendAfter(sequence) {
    if (sequence === 0) return;
    this.#packets = this.#packets.filter((packet) => packet.sequence > sequence);
    for (const packet of this.#packets) packet.isSent = false;
    this.#flush();
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
    const { participantSid: sid, participantIdentity: identity, sequence } = packet;
    if (sequence > 0) {
      if (sequence <= (this.#lastHeard.get(sid) ?? 0)) return;
      this.#lastHeard.set(sid, sequence);
    }
    const { streamHeader, streamChunk, streamTrailer } = packet;
    if (streamHeader) this.#begin(sid, identity, streamHeader);
    else if (streamChunk) this.#goOn(sid, streamChunk);
    else if (streamTrailer) this.#finish(sid, streamTrailer);
  }

  left(sid) {
    this.#lastHeard.delete(sid);
    this.#streams.delete(sid);
  }

  #send(content) {
    this.#sequence += 1;
    const { sid, identity } = this.#own;
    const bytes = encode(DataPacket, {
      ...content, participantIdentity: identity, participantSid: sid, sequence: this.#sequence,
    });
    this.#packets.push({ sequence: this.#sequence, bytes, isSent: false });
    if (this.#packets.length > KEPT) this.#packets.shift();
    this.#flush();
  }

  #flush() {
    if (!this.#isConnected || this.#channel?.readyState !== 'open') return;
    for (const packet of this.#packets.filter(({ isSent }) => !isSent)) {
      this.#channel.send(packet.bytes);
      packet.isSent = true;
    }
  }

  // What others say

  #begin(sid, identity, { streamId, topic, timestamp, textHeader, attributes, inlineContent, compression }) {
    // Compressed ones are for those who say that they read them.
    if (![CHAT, SPEECH].includes(topic) || !textHeader || compression !== 0) return;
    const segment = attributes.find(({ key }) => key === 'lk.segment_id')?.value || streamId;
    const stream = { topic, identity, segment, timestamp, text: '', decoder: new TextDecoder(), length: 0 };
    if (inlineContent) {
      stream.text = stream.decoder.decode(inlineContent);
      return this.#tell(sid, stream);
    }
    const streams = this.#streams.get(sid) ?? new Map();
    this.#streams.set(sid, streams);
    streams.delete(streamId);
    streams.set(streamId, stream);
    // Who begins without end costs others nothing, and themselves what they began first.
    if (streams.size > STREAMS) streams.delete(streams.keys().next().value);
  }

  #goOn(sid, { streamId, content }) {
    const stream = this.#streams.get(sid)?.get(streamId);
    if (!stream || !content?.length) return;
    stream.text += stream.decoder.decode(content, { stream: true });
    stream.length += content.length;
    if (stream.length > LONGEST) this.#streams.get(sid).delete(streamId);
    else if (stream.topic === SPEECH) this.#tellSpeech(stream, false);
  }

  #finish(sid, { streamId }) {
    const stream = this.#streams.get(sid)?.get(streamId);
    if (!stream) return;
    this.#streams.get(sid).delete(streamId);
    stream.text += stream.decoder.decode();
    this.#tell(sid, stream);
  }

  #tell(sid, stream) {
    if (stream.topic === SPEECH) return this.#tellSpeech(stream, true);
    const { text, timestamp } = stream;
    if (text.trim() !== '') this.#received({ sid, text, date: new Date(timestamp || Date.now()) });
  }

  #tellSpeech({ identity, segment, text }, isOver) {
    if (text.trim() !== '') this.#transcribed({ identity, segment, text, isOver });
  }
}
