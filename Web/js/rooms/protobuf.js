// Protocol Buffers' wire format, by tables of fields: https://protobuf.dev/programming-guides/encoding/
//
// A table is `{name: [number, kind, 'many'?]}`, where `kind` is 'text', 'bytes', 'bool', 'number' (a varint: integers and
// enums, none of ours negative), 'float' or another table. What a table does not name is passed over.

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
/** Messages within messages; a server that nests without end costs no stack. */
const DEEPEST = 32;
const WIRE = { bool: VARINT, number: VARINT, float: FIXED32 };
const EMPTY = { text: '', bool: false, number: 0, float: 0 };

const wireOf = (kind) => WIRE[kind] ?? LENGTH;

class Reader {
  #bytes;
  #view;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isDone() {
    return this.#at >= this.#bytes.length;
  }

  /** Exact up to 2^53; what is larger is none of our fields. */
  varint() {
    let value = 0;
    for (let place = 0; place < 10; place += 1) {
      const byte = this.#view.getUint8(this.#at++);
      value += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number of more than ten bytes');
  }

  float() {
    this.#at += 4;
    return this.#view.getFloat32(this.#at - 4, true);
  }

  bytes() {
    const length = this.varint();
    if (length > this.#bytes.length - this.#at) throw new RangeError('a field longer than its message');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skip(wire) {
    switch (wire) {
      case VARINT: return this.varint();
      case FIXED64: return void (this.#at += 8);
      case LENGTH: return this.bytes();
      case FIXED32: return void (this.#at += 4);
      default: throw new RangeError(`a field of wire type ${wire}`);
    }
  }
}

const readText = (bytes) => new TextDecoder().decode(bytes);

function readValue(reader, kind, depth) {
  switch (kind) {
    case 'bool': return reader.varint() !== 0;
    case 'number': return reader.varint();
    case 'float': return reader.float();
    case 'text': return readText(reader.bytes());
    // A copy: the rest of the message need not be kept for it.
    case 'bytes': return reader.bytes().slice();
    default: return decode(kind, reader.bytes(), depth + 1);
  }
}

/**
 * A message. Fields that are not there are empty: '', 0, false, []; messages and bytes are undefined.
 *
 * @throws {RangeError} for what is no message
 */
export function decode(table, bytes, depth = 0) {
  if (depth > DEEPEST) throw new RangeError('messages nested too deeply');
  const message = {};
  const fields = new Map();
  for (const [name, [number, kind, many]] of Object.entries(table)) {
    fields.set(number, { name, kind, many });
    message[name] = many ? [] : EMPTY[kind];
  }
  const reader = new Reader(bytes);
  while (!reader.isDone) {
    const key = reader.varint();
    const field = fields.get(Math.floor(key / 8));
    const wire = key % 8;
    if (!field || wireOf(field.kind) !== wire) {
      reader.skip(wire);
      continue;
    }
    const value = readValue(reader, field.kind, depth);
    if (field.many) message[field.name].push(value);
    else message[field.name] = value;
  }
  return message;
}

function writeVarint(out, value) {
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return out.push(rest);
    out.push((rest % 128) + 128);
  }
}

function writeBytes(out, bytes) {
  writeVarint(out, bytes.length);
  for (const byte of bytes) out.push(byte);
}

function writeValue(out, kind, value) {
  switch (kind) {
    case 'bool': return out.push(value ? 1 : 0);
    case 'number': return writeVarint(out, value);
    case 'float': return out.push(...new Uint8Array(new Float32Array([value]).buffer));
    case 'text': return writeBytes(out, new TextEncoder().encode(value));
    case 'bytes': return writeBytes(out, value);
    default: return writeBytes(out, encode(kind, value));
  }
}

/** The bytes of a message; fields that are undefined are left out. */
export function encode(table, message) {
  const out = [];
  for (const [name, [number, kind, many]] of Object.entries(table)) {
    const value = message[name];
    if (value === undefined) continue;
    for (const one of many ? value : [value]) {
      writeVarint(out, number * 8 + wireOf(kind));
      writeValue(out, kind, one);
    }
  }
  return Uint8Array.from(out);
}
