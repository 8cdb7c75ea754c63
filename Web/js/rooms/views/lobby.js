// Before the room: a name, the room's name, and with what to join.
import { parseName } from '../../names.js';
import { byID, setNotice, setText, setTitle, showScreen } from '../../views/screens.js';

const ROOM_FAULT = 'Please enter the room’s name, at most 64 characters.';

export class LobbyView {
  #name = byID('lobby-name');
  #room = byID('lobby-room');

  /** @param {{joined: (login: {name: string, room: string, kinds: string[]}) => void}} intents */
  constructor(intents) {
    byID('lobby-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const login = this.#read();
      if (login) intents.joined(login);
    });
    for (const input of [this.#name, this.#room]) input.addEventListener('input', () => this.#fault(input, null));
  }

  show({ name, room, kinds, notice = null, isRoomFaulty = false }) {
    this.#name.value = name ?? '';
    this.#room.value = room ?? '';
    this.#fault(this.#room, isRoomFaulty ? ROOM_FAULT : null);
    byID('lobby-camera').checked = kinds.includes('video');
    byID('lobby-microphone').checked = kinds.includes('audio');
    this.busy(false);
    this.notice(notice);
    setTitle('Rooms');
    showScreen('lobby');
    const isRoomWanted = isRoomFaulty || this.#room.value === '';
    (this.#name.value === '' ? this.#name : isRoomWanted ? this.#room : byID('lobby-join')).focus();
  }

  notice(text) {
    setNotice(byID('lobby-notice'), text);
  }

  /** While devices open, so that the button does not ask twice. */
  busy(isBusy) {
    byID('lobby-join').disabled = isBusy;
    setText(byID('lobby-join'), isBusy ? 'Opening camera and microphone…' : 'Join');
  }

  #read() {
    const name = parseName(this.#name.value);
    const room = parseName(this.#room.value);
    this.#fault(this.#name, name === null ? 'Please enter a name, at most 64 characters.' : null);
    this.#fault(this.#room, room === null ? ROOM_FAULT : null);
    if (name === null || room === null) {
      (name === null ? this.#name : this.#room).focus();
      return null;
    }
    const kinds = [];
    if (byID('lobby-camera').checked) kinds.push('video');
    if (byID('lobby-microphone').checked) kinds.push('audio');
    return { name, room, kinds };
  }

  #fault(input, text) {
    if (text === null) input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
    setNotice(byID(`${input.id}-error`), text);
  }
}
