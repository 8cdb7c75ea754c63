// Camera, microphone and screen as tracks. What does not open is explained, and one is in the room without it.
import { explainFault, faultsByReason, getUserMedia } from '../device-faults.js';
import { patternTrack, toneTrack } from '../test-pattern.js';

const CONSTRAINTS = {
  video: { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } },
  audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true },
};
const CONSEQUENCES = { video: 'Nobody sees you.', audio: 'Nobody hears you.' };

/**
 * Opens what is wanted, with one question to the user where that is possible.
 *
 * @param {string[]} kinds 'video', 'audio'
 * @param {?{name: string, tone: number, width: number, rate: number}} pattern a test picture and a tone in their place
 * @returns {Promise<{devices: Device[], notices: string[]}>} never fails
 */
export async function openDevices(kinds, pattern) {
  if (kinds.length === 0) return { devices: [], notices: [] };
  if (pattern) return { devices: kinds.map((kind) => patternDevice(kind, pattern)), notices: [] };
  try {
    const stream = await getUserMedia(Object.fromEntries(kinds.map((kind) => [kind, CONSTRAINTS[kind]])));
    return { devices: stream.getTracks().map((track) => new Device(track)), notices: [] };
  } catch (error) {
    if (kinds.length === 1) return { devices: [], notices: [explain(error, kinds)] };
  }
  const devices = [];
  const faults = [];
  for (const kind of kinds) {
    try {
      const stream = await getUserMedia({ [kind]: CONSTRAINTS[kind] });
      devices.push(...stream.getTracks().map((track) => new Device(track)));
    } catch (error) {
      faults.push({ kind, error });
    }
  }
  const notices = faultsByReason(faults).map(({ error, kinds: missing }) => explain(error, missing));
  return { devices, notices };
}

/**
 * The screen, and its sound where the browser has it.
 *
 * @returns {Promise<?Device[]>} null when the user chose none
 */
export async function openScreen() {
  const stream = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 15 } }, audio: true });
  return stream.getTracks().map((track) => new Device(track));
}

export const canShareScreen = () => Boolean(globalThis.navigator.mediaDevices?.getDisplayMedia);

function explain(error, kinds) {
  return explainFault(error, kinds, {
    consequence: kinds.length > 1 ? 'Nobody sees or hears you.' : CONSEQUENCES[kinds[0]],
    again: (them) => `switch ${them} on again`,
  });
}

/** One track and what ends it. */
export class Device {
  track;
  #stop;

  constructor(track, stop = () => track.stop()) {
    this.track = track;
    this.#stop = stop;
  }

  /** Its picture's size in pixels; what a browser does not say is taken for the usual. */
  get size() {
    const { width = 1280, height = 720 } = this.track.getSettings();
    return { width, height };
  }

  /** `ended` when it goes by itself: unplugged, forbidden, or stopped in the browser's own bar. */
  watch(ended) {
    this.track.onended = ended;
  }

  stop() {
    this.track.onended = null;
    this.#stop();
  }
}

function patternDevice(kind, { name, tone, width, rate }) {
  const { track, stop } = kind === 'video' ? patternTrack(name, { width, rate }) : toneTrack(tone);
  const device = new Device(track, stop);
  // A canvas says its size only once it has been drawn.
  if (kind === 'video') Object.defineProperty(device, 'size', { value: { width, height: (width * 9) / 16 } });
  return device;
}
