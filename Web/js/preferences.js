// Name and room kept between visits, and what the page's address asks for.
import { parseName } from './names.js';

const KEY = 'roost.login';

/** Storage can be forbidden; then nothing is kept. */
export const preferences = {
  load() {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  },
  save(login) {
    try {
      localStorage.setItem(KEY, JSON.stringify(login));
    } catch {
      // A private window: the login lasts as long as the page.
    }
  },
  clear() {
    try {
      localStorage.removeItem(KEY);
    } catch {
      // As above.
    }
  },
};

/**
 * Parameters of links and tests: `room`, `name`, `role` (caller, callee), `autostart=1` (connect, and call or answer
 * as soon as somebody is there, in the room of the link), `pattern=1` (test picture and tone instead of devices),
 * `tone` (its Hz), `codec` (VP8, H264), `transport` (websocket, polling). What stands in the place of a room and cannot
 * be one is `unusableRoom`.
 */
export function readParameters({ search, hash }) {
  const query = new URLSearchParams(search);
  const room = parseRoom(query.get('room') ?? '');
  const oneOf = (name, ...allowed) => {
    const given = query.get(name)?.toLowerCase();
    return allowed.find((value) => value.toLowerCase() === given) ?? null;
  };
  return {
    room,
    unusableRoom: room === null ? query.get('room') || null : null,
    name: parseName(query.get('name') ?? ''),
    role: oneOf('role', 'caller', 'callee'),
    // A remembered room is not the one that the link is about.
    isAutomatic: query.get('autostart') === '1' && room !== null,
    // As the links in the mails of the chat begin, `Sources/ChatServer/Accounts/Mail`.
    isForChat: /^#\/(invitation|reset-password|verify-email)\//.test(hash),
    usePattern: query.get('pattern') === '1',
    tone: Math.min(4000, Math.max(100, Number(query.get('tone')) || 440)),
    codec: oneOf('codec', 'VP8', 'H264'),
    transport: oneOf('transport', 'websocket', 'polling'),
  };
}

/** A room is a whole number that JSON carries exactly; null for anything else. */
export function parseRoom(text) {
  const trimmed = text.trim();
  if (!/^-?\d{1,15}$/.test(trimmed)) return null;
  return Number(trimmed);
}
