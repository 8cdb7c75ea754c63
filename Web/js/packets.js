// The text forms of Engine.IO 4 and Socket.IO 5 packets. Values in, values out; no network.
// https://socket.io/docs/v4/engine-io-protocol/ and https://socket.io/docs/v4/socket-io-protocol/

/** Engine.IO packet types: the first character of each packet. */
export const Engine = Object.freeze({
  open: '0', close: '1', ping: '2', pong: '3', message: '4', upgrade: '5', noop: '6',
});

/** Socket.IO packet types: the first character of an Engine.IO message. */
export const Socket = Object.freeze({
  connect: '0', disconnect: '1', event: '2', ack: '3', connectError: '4', binaryEvent: '5', binaryAck: '6',
});

/** Long-polling puts several packets into one body with this between them. */
export const SEPARATOR = '\x1e';

/** Engine.IO's open packet as values with sound defaults; null when it is not one. */
export function readHandshake(packet) {
  if (packet[0] !== Engine.open) return null;
  const fields = parseJSON(packet.slice(1));
  if (typeof fields?.sid !== 'string') return null;
  const positive = (value, otherwise) => (Number.isFinite(value) && value > 0 ? value : otherwise);
  return {
    sid: fields.sid,
    pingInterval: positive(fields.pingInterval, 25_000),
    pingTimeout: positive(fields.pingTimeout, 20_000),
    maxPayload: positive(fields.maxPayload, 1_000_000),
  };
}

/** A Socket.IO event packet in the default namespace. */
export function eventPacket(name, args, ackID = null) {
  return Engine.message + Socket.event + (ackID ?? '') + JSON.stringify([name, ...args]);
}

/** A Socket.IO connect packet; `auth` becomes its payload when there is one. */
export function connectPacket(auth = null) {
  return Engine.message + Socket.connect + (auth ? JSON.stringify(auth) : '');
}

/**
 * Reads a Socket.IO packet (an Engine.IO message without its first character).
 * Returns `{type, namespace, id, data}`; null for what is not a packet.
 */
export function readPacket(text) {
  const match = /^([0-6])(?:\d+-)?(?:(\/[^,]*),)?(\d*)([\s\S]*)$/.exec(text);
  if (!match) return null;
  const [, type, namespace = '/', id, json] = match;
  const data = json === '' ? undefined : parseJSON(json);
  if (json !== '' && data === undefined) return null;
  const isEvent = type === Socket.event || type === Socket.binaryEvent;
  if (isEvent && !(Array.isArray(data) && typeof data[0] === 'string')) return null;
  return { type, namespace, id: id === '' ? null : Number(id), data };
}

function parseJSON(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Servers refuse bodies of many packets; python-engineio's limit is the lowest that we know. */
const PACKETS_PER_BODY = 16;

/** Cuts packets into bodies of at most `limit` UTF-8 bytes; a packet that is longer alone goes alone. */
export function batches(packets, limit) {
  const encoder = new TextEncoder();
  const bodies = [];
  let room = 0;
  let count = 0;
  for (const packet of packets) {
    const size = encoder.encode(packet).length + 1;
    if (bodies.length > 0 && size <= room && count < PACKETS_PER_BODY) {
      bodies[bodies.length - 1] += SEPARATOR + packet;
      room -= size;
      count += 1;
    } else {
      bodies.push(packet);
      room = limit - size;
      count = 1;
    }
  }
  return bodies;
}
