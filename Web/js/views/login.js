// Login: a name and a room's number.
import { parseName } from '../names.js';
import { parseRoom } from '../preferences.js';
import { byID, setNotice, setTitle, showScreen } from './screens.js';

export class LoginView {
  #name = byID('login-name');
  #room = byID('login-room');

  /** @param {{continued: (login: {name: string, room: number}) => void}} intents */
  constructor(intents) {
    byID('login-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const login = this.#read();
      if (login) intents.continued(login);
    });
    for (const input of [this.#name, this.#room]) {
      input.addEventListener('input', () => this.#fault(input, null));
    }
  }

  show({ name, room }) {
    this.#name.value = name ?? '';
    this.#room.value = room ?? '';
    setTitle('Video calls');
    showScreen('login');
    (this.#name.value === '' ? this.#name : this.#room.value === '' ? this.#room : byID('login-continue')).focus();
  }

  /** The login; null, with the faults shown and the first of them focused, when there is something wrong. */
  #read() {
    const name = parseName(this.#name.value);
    const room = parseRoom(this.#room.value);
    this.#fault(this.#name, name === null ? 'Please enter a name, at most 64 characters.' : null);
    this.#fault(this.#room, room === null ? 'Please enter a whole number, such as 1.' : null);
    if (name !== null && room !== null) return { name, room };
    (name === null ? this.#name : this.#room).focus();
    return null;
  }

  #fault(input, text) {
    input.toggleAttribute('aria-invalid', text !== null);
    if (text !== null) input.setAttribute('aria-invalid', 'true');
    setNotice(byID(`${input.id}-error`), text);
  }
}
