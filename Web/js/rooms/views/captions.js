// Captions over the lower edge of the stage, and the button that takes them away. Both are there once somebody writes down
// what is said. They are not read aloud: whoever has a screen reader hears the voices.
import { byID } from '../../views/screens.js';

export class CaptionsView {
  #list = byID('captions');
  #toggle = byID('meeting-captions');
  #isWanted = true;
  #segments = [];

  constructor() {
    this.#toggle.addEventListener('click', () => {
      this.#isWanted = !this.#isWanted;
      this.#draw();
    });
  }

  /** @param {{name: string, text: string}[]} segments the oldest first */
  render(segments) {
    this.#segments = segments;
    if (segments.length > 0) this.#toggle.hidden = false;
    this.#draw();
  }

  /** Of another room nobody knows yet whether there are any. */
  clear() {
    this.#toggle.hidden = true;
    this.render([]);
  }

  #draw() {
    this.#toggle.setAttribute('aria-pressed', String(this.#isWanted));
    this.#list.hidden = !this.#isWanted || this.#segments.length === 0;
    this.#list.replaceChildren(...this.#segments.map(({ name, text }) => {
      const who = document.createElement('b');
      who.textContent = name;
      const words = document.createElement('span');
      words.dir = 'auto';
      words.textContent = text;
      const entry = document.createElement('p');
      entry.append(who, ' ', words);
      return entry;
    }));
  }
}
