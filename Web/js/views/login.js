// Login: a name and a room's number.
import { parseName } from '../names.js';
import { parseRoom } from '../preferences.js';
import { byID, setNotice, setTitle, showScreen } from './screens.js';

const FOR_CHAT = 'This link is for a chat client of Roost: open it there. This page makes calls only.';

const roomFault = (text) => (/^\s*-?\d+\s*$/.test(text)
  ? 'Please enter a number of at most 15 digits.'
  : 'Please enter a whole number, such as 1.');

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

  show({ name, room, isRoomFaulty = false, isForChat = false }) {
    this.#name.value = name ?? '';
    this.#room.value = room ?? '';
    this.#fault(this.#room, isRoomFaulty ? roomFault(this.#room.value) : null);
    setNotice(byID('login-notice'), isForChat ? FOR_CHAT : null);
    setTitle('Video calls');
    showScreen('login');
    const isRoomWanted = isRoomFaulty || this.#room.value === '';
    (this.#name.value === '' ? this.#name : isRoomWanted ? this.#room : byID('login-continue')).focus();
  }

  /** The way to rooms for many, where there are any. */
  offerRooms(hasRooms) {
    byID('login-elsewhere').hidden = !hasRooms;
  }

  /** The login; null, with the faults shown and the first of them focused, when there is something wrong. */
  #read() {
    const name = parseName(this.#name.value);
    const room = parseRoom(this.#room.value);
    this.#fault(this.#name, name === null ? 'Please enter a name, at most 64 characters.' : null);
    this.#fault(this.#room, room === null ? roomFault(this.#room.value) : null);
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
