// The messages of the room, beside the stage.
import { byID, setText } from '../../views/screens.js';
import { withLinks } from './links.js';

/** Older ones go: the page is not where they are kept. */
const SHOWN = 500;
/** Whoever has scrolled further back than this, in pixels, reads older ones and stays there. */
const NEAR = 60;

export class MessagesView {
  #list = byID('messages-list');
  #text = byID('messages-text');
  #toggle = byID('meeting-messages');
  #unread = 0;

  /** @param {{sent: (text: string) => void}} intents */
  constructor(intents) {
    byID('messages-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.#text.value.trim();
      if (text === '') return;
      this.#text.value = '';
      intents.sent(text);
    });
    byID('messages').addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.open(false);
    });
    this.#list.addEventListener('scroll', () => {
      if (this.#isAtEnd) this.#count(0);
    });
    this.#toggle.addEventListener('click', () => this.open(!this.isOpen));
  }

  get isOpen() {
    return !byID('messages').hidden;
  }

  open(isOpen) {
    byID('messages').hidden = !isOpen;
    this.#toggle.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) {
      this.#count(0);
      this.#list.scrollTop = this.#list.scrollHeight;
      this.#text.focus();
    } else {
      this.#toggle.focus();
    }
  }

  get #isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#list;
    return scrollTop + clientHeight > scrollHeight - NEAR;
  }

  add({ name, text, date, isOwn = false }) {
    const isSeen = this.isOpen && (isOwn || this.#isAtEnd);
    const who = document.createElement('b');
    who.textContent = `${name}, ${date.toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })}`;
    const words = document.createElement('span');
    words.dir = 'auto';
    words.append(...withLinks(text));
    const entry = document.createElement('li');
    entry.append(who, words);
    this.#list.append(entry);
    if (this.#list.children.length > SHOWN) this.#list.firstElementChild.remove();
    if (isSeen) this.#list.scrollTop = this.#list.scrollHeight;
    else this.#count(this.#unread + 1);
  }

  clear() {
    this.#list.replaceChildren();
    this.#text.value = '';
    this.#count(0);
    byID('messages').hidden = true;
    this.#toggle.setAttribute('aria-expanded', 'false');
  }

  #count(unread) {
    this.#unread = unread;
    setText(byID('meeting-messages-text'), unread > 0 ? `Messages (${unread})` : 'Messages');
  }
}
