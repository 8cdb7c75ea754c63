// What a link to the page asks for.
import { parseName } from '../names.js';

const between = (text, least, most, usual) => Math.min(most, Math.max(least, Number(text) || usual));

/**
 * `room`, `name`; `join=1` joins that room at once; `camera=0`, `microphone=0` join without. For tests: `pattern=1`
 * sends a test picture and a tone in place of devices, of `tone` Hz, `width` pixels and `rate` frames a second. What
 * stands in the place of a room and cannot be one is `unusableRoom`.
 */
export function readParameters(search) {
  const query = new URLSearchParams(search);
  const room = parseName(query.get('room') ?? '');
  return {
    room,
    unusableRoom: room === null ? query.get('room') || null : null,
    name: parseName(query.get('name') ?? ''),
    // A remembered room is not the one that the link is about.
    isAutomatic: query.get('join') === '1' && room !== null,
    kinds: ['video', 'audio'].filter((kind) => query.get({ video: 'camera', audio: 'microphone' }[kind]) !== '0'),
    pattern: query.get('pattern') !== '1' ? null : {
      tone: between(query.get('tone'), 100, 4_000, 440),
      width: between(query.get('width'), 160, 1_920, 640),
      rate: between(query.get('rate'), 1, 30, 30),
    },
  };
}
