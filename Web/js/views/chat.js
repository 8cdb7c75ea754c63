// Video chat: both pictures, the partner's name, the call's controls and statistics.
import { initial } from '../names.js';
import { Notices } from './notices.js';
import { byID, setIcon, setText, setTitle, showScreen } from './screens.js';

const STATE_TEXT = {
  preparing: 'Opening camera and microphone…',
  waiting: 'Waiting for the call…',
  calling: 'Calling…',
  answering: 'Answering…',
  connecting: 'Connecting…',
  connected: 'In the call',
  interrupted: 'The connection is interrupted, trying to restore it…',
};

/** With Alt, since letters alone are words to people who speak to their computer (WCAG 2.2, 2.1.4). */
const KEYS = { KeyM: 'chat-mute', KeyV: 'chat-camera', KeyS: 'chat-stats' };

export class ChatView {
  #remote = byID('chat-remote');
  #local = byID('chat-local');
  #notices = new Notices(byID('chat-notices'), byID('chat-mute'));

  /** @param intents `microphoneTapped()`, `cameraTapped()`, `statisticsTapped()`, `endTapped()` */
  constructor(intents) {
    byID('chat-mute').addEventListener('click', intents.microphoneTapped);
    byID('chat-camera').addEventListener('click', intents.cameraTapped);
    byID('chat-stats').addEventListener('click', intents.statisticsTapped);
    byID('chat-end').addEventListener('click', intents.endTapped);
    byID('chat-sound').addEventListener('click', () => this.#soundTapped());
    document.addEventListener('keydown', (event) => {
      if (byID('chat').hidden || !event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
      if (!KEYS[event.code]) return;
      event.preventDefault();
      byID(KEYS[event.code]).click();
    });
    // The picture is there once its size is known; before, the name's initial stands in its place.
    const shown = () => (byID('chat-empty').hidden = this.#remote.videoWidth > 0);
    this.#remote.addEventListener('resize', shown);
    this.#remote.addEventListener('loadeddata', shown);
  }

  show() {
    this.#notices.clear();
    byID('chat-empty').hidden = false;
    showScreen('chat');
  }

  /** @param view `{peer, state, isMuted, isCameraOff, showsStatistics}` */
  render({ peer, state, isMuted, isCameraOff, showsStatistics }) {
    setText(byID('chat-peer'), peer);
    setTitle(state === 'connected' ? `In a call with ${peer}` : STATE_TEXT[state]);
    setText(byID('chat-initial'), initial(peer));
    setText(byID('chat-state'), STATE_TEXT[state]);
    byID('chat').dataset.state = state;
    // The label stays, the pressed state says which: that is how screen readers expect a toggle.
    byID('chat-mute').setAttribute('aria-pressed', String(isMuted));
    setIcon(byID('chat-mute'), isMuted ? 'icon-microphone-off' : 'icon-microphone');
    byID('chat-camera').setAttribute('aria-pressed', String(isCameraOff));
    setIcon(byID('chat-camera'), isCameraOff ? 'icon-camera-off' : 'icon-camera');
    byID('chat-stats').setAttribute('aria-expanded', String(showsStatistics));
    byID('chat-statistics').hidden = !showsStatistics;
    byID('chat-self').classList.toggle('is-off', isCameraOff);
  }

  renderStatistics(rows) {
    const list = byID('chat-statistics');
    if (list.children.length !== 2 * rows.length) {
      list.replaceChildren(...rows.flatMap(() => [document.createElement('dt'), document.createElement('dd')]));
    }
    rows.flat().forEach((text, place) => setText(list.children[place], text));
  }

  showLocal(stream, isMirrored) {
    this.#local.srcObject = stream;
    this.#local.classList.toggle('is-mirrored', isMirrored);
  }

  showRemote(stream) {
    if (this.#remote.srcObject !== stream) this.#remote.srcObject = stream;
    this.#play();
  }

  /** Something to know that does not end the call; stays until it is closed or the call ends. Said once. */
  notify(text, key = text) {
    this.#notices.show(text, key);
  }

  withdraw(key) {
    this.#notices.withdraw(key);
  }

  clear() {
    this.#remote.srcObject = null;
    this.#remote.muted = false;
    this.#local.srcObject = null;
    byID('chat-sound').hidden = true;
    byID('chat-statistics').replaceChildren();
  }

  /** Browsers hold sound back until somebody has touched the page: till then the picture comes alone, with a button. */
  async #play() {
    try {
      await this.#remote.play();
      if (!this.#remote.muted) byID('chat-sound').hidden = true;
    } catch (error) {
      if (error.name !== 'NotAllowedError' || this.#remote.muted) return;
      this.#remote.muted = true;
      byID('chat-sound').hidden = false;
      this.#play();
    }
  }

  async #soundTapped() {
    this.#remote.muted = false;
    byID('chat-mute').focus();
    await this.#play();
  }
}
