// What we send: camera and microphone, or a drawn picture and a tone in their place, and why.
import { explainFault, faultsByReason, getUserMedia } from './device-faults.js';
import { patternTrack, toneTrack } from './test-pattern.js';

const VIDEO = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const AUDIO = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
const WORDS = {
  video: { device: 'camera', substitute: 'a test picture' },
  audio: { device: 'microphone', substitute: 'a test tone' },
};

const words = (kinds, key) => kinds.map((kind) => WORDS[kind][key]).join(' and ');
const sentInstead = (kinds) => `The other side gets ${words(kinds, 'substitute')} instead.`;

/**
 * Opens what there is. Never fails: what is missing, or goes in mid-call, is replaced.
 *
 * @param {{name: string, usePattern: boolean, tone?: number}} options `usePattern`: ask for no device at all
 * @param {(change: {ended: MediaStreamTrack, next: MediaStreamTrack, notice: string}) => void} lost
 */
export async function openMedia(options, lost) {
  const media = new OutgoingMedia(options, lost);
  await media.open();
  return media;
}

class OutgoingMedia {
  stream = new MediaStream();
  hasCamera = false;
  /** What people should know about what they send. */
  notices = [];
  /** What ends each of the tracks. */
  #stops = new Map();
  #options;
  #lost;

  constructor(options, lost) {
    this.#options = options;
    this.#lost = lost;
  }

  async open() {
    if (this.#options.usePattern) return ['video', 'audio'].forEach((kind) => this.#substitute(kind));
    try {
      // Both at once first: one question to the user instead of two.
      const both = await getUserMedia({ video: VIDEO, audio: AUDIO });
      both.getTracks().forEach((track) => this.#device(track));
    } catch {
      const faults = [await this.#openOne('video', { video: VIDEO }), await this.#openOne('audio', { audio: AUDIO })];
      this.#explainAll(faults.filter((fault) => fault !== null));
    }
  }

  stop() {
    for (const track of [...this.#stops.keys()]) this.#remove(track);
  }

  /** Null, or what stood against it. */
  async #openOne(kind, constraints) {
    try {
      (await getUserMedia(constraints)).getTracks().forEach((track) => this.#device(track));
      return null;
    } catch (error) {
      this.#substitute(kind);
      return { kind, error };
    }
  }

  #explainAll(faults) {
    for (const { error, kinds } of faultsByReason(faults)) {
      this.notices.push(explainFault(error, kinds, {
        consequence: sentInstead(kinds), again: () => 'start the call again',
      }));
    }
  }

  #device(track) {
    // Not fired by our own `stop`: the device is gone, or may not be used any more.
    track.onended = () => this.#deviceEnded(track);
    this.#add(track, () => {
      track.onended = null;
      track.stop();
    });
  }

  #deviceEnded(track) {
    this.#remove(track);
    const next = this.#substitute(track.kind);
    const notice = `Your ${WORDS[track.kind].device} is gone: it was unplugged, or this page may not use it any more. `
      + `${sentInstead([track.kind])} Start the call again when it is back.`;
    this.#lost({ ended: track, next, notice });
  }

  #substitute(kind) {
    const { name, tone } = this.#options;
    const { track, stop } = kind === 'video' ? patternTrack(name) : toneTrack(tone);
    this.#add(track, stop);
    if (kind === 'video') this.hasCamera = false;
    return track;
  }

  #add(track, stop) {
    this.#stops.set(track, stop);
    this.stream.addTrack(track);
    if (track.kind === 'video') this.hasCamera = true;
  }

  #remove(track) {
    this.stream.removeTrack(track);
    this.#stops.get(track)?.();
    this.#stops.delete(track);
  }
}
