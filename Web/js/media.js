// What we send: camera and microphone, or a drawn picture and a tone in their place, and why.
import { patternTrack, toneTrack } from './test-pattern.js';

const VIDEO = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const AUDIO = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };

/** One sentence for what happened and one for what to do. */
function explain(error, device) {
  const substitute = device === 'camera' ? 'a test picture' : 'a test tone';
  const sent = `The other side gets ${substitute} instead.`;
  if (!globalThis.isSecureContext) {
    return `Browsers allow the ${device} only on https:// pages and on localhost, and this page is neither. ${sent} `
      + 'Open Roost by its https address, or on the server’s own machine as http://localhost.';
  }
  switch (error?.name) {
    case 'NotAllowedError':
      return `This page may not use your ${device}. ${sent} To allow it, use the icon beside the address bar, `
        + 'then start the call again.';
    case 'NotFoundError':
    case 'OverconstrainedError':
      return `No ${device} was found. ${sent} Plug one in and start the call again to use it.`;
    case 'NotReadableError':
    case 'AbortError':
      return `Your ${device} is there but does not answer; another program may be using it. ${sent} `
        + 'Close that program and start the call again.';
    default:
      return `Your ${device} could not be opened (${error?.name ?? 'not supported'}). ${sent}`;
  }
}

/**
 * Opens what there is. Never fails: what is missing is replaced.
 *
 * @param {{name: string, usePattern: boolean, tone?: number}} options `usePattern`: ask for no device at all
 * @returns {Promise<{stream: MediaStream, hasCamera: boolean, notices: string[], stop: () => void}>}
 */
export async function openMedia({ name, usePattern, tone }) {
  const parts = usePattern
    ? [patternTrack(name), toneTrack(tone)]
    : await openDevices(name, tone);
  return {
    stream: new MediaStream(parts.map((part) => part.track)),
    hasCamera: parts.every((part) => part.track.kind !== 'video' || part.isDevice === true),
    notices: parts.map((part) => part.notice).filter(Boolean),
    stop: () => parts.forEach((part) => part.stop()),
  };
}

async function openDevices(name, tone) {
  // Both at once first: one question to the user instead of two.
  try {
    const stream = await getUserMedia({ video: VIDEO, audio: AUDIO });
    return stream.getTracks().map((track) => ({ track, isDevice: true, stop: () => track.stop() }));
  } catch {
    return [
      await openDevice({ video: VIDEO }, 'camera', () => patternTrack(name)),
      await openDevice({ audio: AUDIO }, 'microphone', () => toneTrack(tone)),
    ];
  }
}

async function openDevice(constraints, device, substitute) {
  try {
    const [track] = (await getUserMedia(constraints)).getTracks();
    return { track, isDevice: true, stop: () => track.stop() };
  } catch (error) {
    return { ...substitute(), notice: explain(error, device) };
  }
}

async function getUserMedia(constraints) {
  // Outside secure contexts the whole object is missing.
  if (!navigator.mediaDevices) throw new DOMException('not a secure context', 'SecurityError');
  return navigator.mediaDevices.getUserMedia(constraints);
}
