// The connection on which we send: our tracks with their layers, and the channel of our messages.
import { TrackSource, TrackType, VideoQuality } from './messages.js';

/** Names of layers, the smallest first; the server knows them by these (LiveKit's convention). */
const RIDS = ['q', 'h', 'f'];
/** What a picture of so many pixels may cost, in bit/s. */
const BITRATES = [
  [320 * 180, 160_000], [640 * 360, 450_000], [960 * 540, 800_000], [1280 * 720, 1_700_000], [Infinity, 3_000_000],
];
const FRAME_RATES = [15, 24, 30];
/** How long the server may take for an answer, in milliseconds. */
const PATIENCE = 10_000;
/** What was told so shortly before a WebSocket was lost may have been lost with it, in milliseconds. */
const UNSURE = 20_000;

const bitrateOf = (pixels) => BITRATES.find(([most]) => pixels <= most)[1];

/**
 * The layers of a picture: each has half the width of the next. How many is by libwebrtc's own rule, which leaves out the
 * upper ones of small pictures.
 */
export function layersOf(width, height) {
  const longer = Math.max(width, height);
  const count = longer >= 960 ? 3 : longer >= 480 ? 2 : 1;
  return RIDS.slice(0, count).map((rid, place) => {
    const scale = 2 ** (count - 1 - place);
    const layer = { width: Math.floor(width / scale), height: Math.floor(height / scale) };
    const maxBitrate = bitrateOf(layer.width * layer.height);
    return {
      encoding: {
        ...(count > 1 && { rid }), active: true, scaleResolutionDownBy: scale, maxBitrate,
        maxFramerate: FRAME_RATES[place + 3 - count],
      },
      description: { ...layer, quality: count === 1 ? VideoQuality.high : place, bitrate: maxBitrate, rid },
    };
  });
}

/** Which encodings to send when these qualities are wanted; the highest stands for all above it. */
export function activeEncodings(count, wanted) {
  const isWanted = (quality) => wanted.some((one) => one.enabled && one.quality === quality);
  return Array.from({ length: count }, (_, place) => {
    if (place < count - 1) return isWanted(place);
    return [VideoQuality.low, VideoQuality.medium, VideoQuality.high].some((one) => one >= place && isWanted(one));
  });
}

/** Publishing was broken off: by a connection that is lost, or because the track is no longer wanted. */
export class Interrupted extends Error {}

export class Publisher {
  #connection;
  #signal;
  #events;
  /**
   * By cid: `{source, track, sender, sid, info, isMuted, told}`. `track` and `isMuted` are as they are wanted; `told` is
   * what the server was told of muting, and when; -Infinity is for what it knows for certain.
   */
  #publications = new Map();
  /** Who waits for the server to know of a track, by cid. */
  #announced = new Map();
  /** What is done to the connection is done in its order. */
  #work = Promise.resolve();
  #offers = 0;
  #answered = null;
  #early = [];
  #isClosed = false;

  /**
   * @param signal `send(name, message)`
   * @param events `moved()` when the connection's state has changed, `channelOpened(channel)`,
   *   `withdrawn(source)` when the server has taken a track away, `unanswered()` when it does not answer an offer
   */
  constructor(iceServers, signal, events) {
    this.#signal = signal;
    this.#events = events;
    this.#connection = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    this.#connection.onconnectionstatechange = () => this.#events.moved();
    this.#connection.onicecandidate = ({ candidate }) => {
      if (candidate) this.#signal.send('trickle', { candidateInit: JSON.stringify(candidate), target: 0 });
    };
    this.channel = this.#connection.createDataChannel('_reliable', { ordered: true });
    this.channel.onopen = () => this.#events.channelOpened(this.channel);
    this.negotiate();
  }

  get state() {
    return this.#connection.connectionState;
  }

  /** What we last offered, for a server with which we go on. */
  get description() {
    return this.#connection.localDescription;
  }

  /** `[{cid, info}]` of what the server knows of. */
  get published() {
    return [...this.#publications].filter(([, { info }]) => info).map(([cid, { info }]) => ({ cid, track: info }));
  }

  get connection() {
    return this.#connection;
  }

  /** From the next restart of ICE on. */
  setICEServers(iceServers) {
    this.#connection.setConfiguration({ ...this.#connection.getConfiguration(), iceServers });
  }

  // Tracks

  /**
   * Sends a track. Settles when the server knows of it. What happens to it meanwhile is done then.
   *
   * @throws {Interrupted}
   * @throws {Error} when the server does not want it, or does not answer
   */
  async publish(source, { track, isMuted, size }) {
    const cid = track.id;
    const isVideo = track.kind === 'video';
    const layers = isVideo ? layersOf(size.width, size.height) : [];
    const publication = { source, track, sender: null, sid: null, info: null, isMuted, told: { isMuted, at: -Infinity } };
    this.#publications.set(cid, publication);
    const known = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.trackRefused(cid, 'the server does not answer'), PATIENCE);
      this.#announced.set(cid, { resolve, reject, timer });
    });
    // First named, then offered: a section that nobody has announced would not be found to be a track.
    this.#signal.send('addTrack', {
      cid, source, name: NAMES[source], type: isVideo ? TrackType.video : TrackType.audio, muted: isMuted,
      ...(isVideo && { ...size, layers: layers.map(({ description }) => description) }),
    });
    try {
      publication.info = await known;
    } catch (error) {
      if (this.#publications.get(cid) === publication) this.#publications.delete(cid);
      throw error;
    }
    if (this.#isClosed || this.#publications.get(cid) !== publication) throw new Interrupted();
    publication.sid = publication.info.sid;
    this.#tellMuted(publication);
    // With the track that was announced, whatever has taken its place: the server looks for its id.
    const transceiver = this.#connection.addTransceiver(track, {
      direction: 'sendonly',
      streams: [new MediaStream([track])],
      ...(isVideo && { sendEncodings: layers.map(({ encoding }) => encoding) }),
    });
    publication.sender = transceiver.sender;
    if (isVideo) preferVP8(transceiver);
    this.negotiate();
    if (publication.track !== track) this.#enqueue(() => publication.sender.replaceTrack(publication.track));
  }

  /** The server is told of it by the next offer, in which the section no longer sends. */
  unpublish(source) {
    const [cid, publication] = this.#of(source) ?? [];
    if (!cid) return;
    this.#publications.delete(cid);
    this.#settle(cid, ({ reject }) => reject(new Interrupted()));
    if (!publication.sender || this.#isClosed) return;
    this.#connection.removeTrack(publication.sender);
    this.negotiate();
  }

  isPublished(source) {
    return this.#of(source) !== undefined;
  }

  setMuted(source, isMuted) {
    const [, publication] = this.#of(source) ?? [];
    if (!publication) return;
    publication.isMuted = isMuted;
    this.#tellMuted(publication);
  }

  #tellMuted(publication) {
    const { sid, isMuted, told } = publication;
    if (!sid || told?.isMuted === isMuted || !this.#signal.send('mute', { sid, muted: isMuted })) return;
    publication.told = { isMuted, at: performance.now() };
  }

  /** Another track in a publication's place, as a camera that was opened again; null sends nothing. */
  async replace(source, track) {
    const [, publication] = this.#of(source) ?? [];
    if (!publication) return;
    publication.track = track;
    await publication.sender?.replaceTrack(track);
  }

  sourceOf(sid) {
    return [...this.#publications.values()].find((one) => one.sid === sid)?.source ?? null;
  }

  #of(source) {
    return [...this.#publications].find(([, one]) => one.source === source);
  }

  // What the server says

  trackPublished({ cid, track }) {
    this.#settle(cid, ({ resolve }) => resolve(track));
  }

  trackRefused(cid, reason) {
    this.#settle(cid, ({ reject }) => reject(new Error(reason || 'the server does not take it')));
  }

  #settle(cid, how) {
    const waiting = this.#announced.get(cid);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    this.#announced.delete(cid);
    how(waiting);
  }

  /** @returns what it is of; null when it is nothing of ours */
  mutedByServer(sid, isMuted) {
    const publication = [...this.#publications.values()].find((one) => one.sid === sid);
    if (!publication) return null;
    publication.isMuted = isMuted;
    publication.told = { isMuted, at: -Infinity };
    return publication.source;
  }

  trackUnpublished(sid) {
    const source = this.sourceOf(sid);
    if (source === null) return;
    this.unpublish(source);
    this.#events.withdrawn(source);
  }

  /** Dynacast: layers that nobody looks at are not encoded. */
  qualitiesWanted({ trackSid, subscribedCodecs, subscribedQualities }) {
    const publication = [...this.#publications.values()].find(({ sid }) => sid === trackSid);
    const wanted = subscribedCodecs.find(({ codec }) => codec.toLowerCase().endsWith('vp8'))?.qualities
      ?? subscribedQualities;
    if (!publication || wanted.length === 0) return;
    this.#enqueue(async () => {
      const parameters = publication.sender?.getParameters();
      if (!parameters?.encodings?.length) return;
      const active = activeEncodings(parameters.encodings.length, wanted);
      if (parameters.encodings.every((encoding, place) => encoding.active === active[place])) return;
      parameters.encodings.forEach((encoding, place) => (encoding.active = active[place]));
      await publication.sender.setParameters(parameters);
    });
  }

  // Negotiation

  /** Offers what there is now; offers that follow each other at once are one. */
  negotiate({ iceRestart = false } = {}) {
    this.#restartsICE ||= iceRestart;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#enqueue(async () => {
      this.#isWaiting = false;
      const restart = this.#restartsICE;
      this.#restartsICE = false;
      await this.#connection.setLocalDescription(await this.#connection.createOffer({ iceRestart: restart }));
      const id = ++this.#offers;
      const answer = new Promise((resolve) => (this.#answered = { id, resolve }));
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.#answered.resolve(null);
      }, PATIENCE);
      const isSent = this.#signal.send('offer', { type: 'offer', sdp: this.#connection.localDescription.sdp, id });
      if (!isSent) this.#answered.resolve(null);
      const sdp = await answer;
      clearTimeout(timer);
      this.#answered = null;
      if (this.#isClosed) return;
      if (isLate) return this.#events.unanswered();
      // The offer or its answer was lost with a WebSocket: who comes back offers again, on top of the same state.
      if (sdp === null) return this.#connection.setLocalDescription({ type: 'rollback' });
      await this.#connection.setRemoteDescription({ type: 'answer', sdp });
      for (const candidate of this.#early.splice(0)) await this.#add(candidate);
    });
  }

  #isWaiting = false;
  #restartsICE = false;

  /** Nobody will answer what was said over a WebSocket that is gone. What the server has not named is to be published anew. */
  signalLost() {
    this.#answered?.resolve(null);
    for (const cid of [...this.#announced.keys()]) this.#settle(cid, ({ reject }) => reject(new Interrupted()));
    for (const publication of this.#publications.values()) {
      if (publication.told && performance.now() - publication.told.at < UNSURE) publication.told = null;
    }
  }

  answer({ id, sdp }) {
    if (this.#answered && (id === 0 || id === this.#answered.id)) this.#answered.resolve(sdp);
  }

  addCandidate(candidate) {
    if (!this.#connection.remoteDescription) this.#early.push(candidate);
    else this.#add(candidate);
  }

  async #add(candidate) {
    await this.#connection.addIceCandidate(candidate).catch((error) => console.warn('A candidate is no good:', error));
  }

  #enqueue(step) {
    this.#work = this.#work.then(async () => {
      if (this.#isClosed) return;
      try {
        await step();
      } catch (error) {
        if (!this.#isClosed) console.error('Sending could not be changed:', error);
      }
    });
  }

  close() {
    this.#isClosed = true;
    this.signalLost();
    this.#connection.onconnectionstatechange = this.#connection.onicecandidate = null;
    this.channel.onopen = null;
    this.#connection.close();
  }
}

const NAMES = {
  [TrackSource.camera]: 'camera', [TrackSource.microphone]: 'microphone', [TrackSource.screenShare]: 'screen',
  [TrackSource.screenShareAudio]: 'screen sound',
};

/** All browsers encode it in layers, and all decode it. */
function preferVP8(transceiver) {
  const { codecs } = RTCRtpSender.getCapabilities('video');
  const wanted = codecs.filter(({ mimeType }) => /^video\/(vp8|rtx)$/i.test(mimeType));
  if (wanted.length > 0) transceiver.setCodecPreferences?.(wanted);
}
