// What is being said, in writing: the last segments that agents have written down, each until some time after its last word.

/** So many segments are shown, of people who speak after each other or at once. */
const SHOWN = 3;
/** How long one stays after its last word: time to read it, in milliseconds. */
const STAY = 8_000;
/** Of a long one the end is shown, in signs. */
const LONGEST = 240;

export class Captions {
  #changed;
  /** `{identity, segment, text, timer}`, the oldest first. */
  #segments = [];

  /** @param {(segments: {identity: string, text: string}[]) => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  take({ identity, segment, text }) {
    let known = this.#segments.find((one) => one.identity === identity && one.segment === segment);
    if (!known) {
      known = { identity, segment };
      this.#segments.push(known);
      if (this.#segments.length > SHOWN) clearTimeout(this.#segments.shift().timer);
    }
    known.text = shortened(text.trim());
    clearTimeout(known.timer);
    known.timer = setTimeout(() => this.#forget(known), STAY);
    this.#changed(this.#segments);
  }

  clear() {
    for (const { timer } of this.#segments.splice(0)) clearTimeout(timer);
    this.#changed(this.#segments);
  }

  #forget(segment) {
    this.#segments = this.#segments.filter((one) => one !== segment);
    this.#changed(this.#segments);
  }
}

/** Its end, from a word on. */
function shortened(text) {
  const signs = [...text];
  if (signs.length <= LONGEST) return text;
  const end = signs.slice(-LONGEST).join('');
  return `…${end.slice(end.indexOf(' ') + 1)}`;
}
