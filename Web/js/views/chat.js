// Video chat: both pictures, the partner's name, the call's controls and statistics.
import { byID, initial, setText, showScreen } from './screens.js';

const KEYS = { m: 'chat-mute', v: 'chat-camera', s: 'chat-stats' };

export class ChatView {
  #remote = byID('chat-remote');
  #local = byID('chat-local');

  /** @param intents `microphoneTapped()`, `cameraTapped()`, `statisticsTapped()`, `endTapped()` */
  constructor(intents) {
    byID('chat-mute').addEventListener('click', intents.microphoneTapped);
    byID('chat-camera').addEventListener('click', intents.cameraTapped);
    byID('chat-stats').addEventListener('click', intents.statisticsTapped);
    byID('chat-end').addEventListener('click', intents.endTapped);
    byID('chat-sound').addEventListener('click', () => this.#play());
    document.addEventListener('keydown', (event) => {
      if (byID('chat').hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (KEYS[event.key.toLowerCase()]) byID(KEYS[event.key.toLowerCase()]).click();
    });
    // The picture is there once its size is known; before, the name's initial stands in its place.
    const shown = () => (byID('chat-empty').hidden = this.#remote.videoWidth > 0);
    this.#remote.addEventListener('resize', shown);
    this.#remote.addEventListener('loadeddata', shown);
  }

  show() {
    byID('chat-notices').replaceChildren();
    byID('chat-empty').hidden = false;
    showScreen('chat');
  }

  /** @param state `{peer, stateText, isMuted, isCameraOff, showsStatistics}` */
  render({ peer, stateText, isMuted, isCameraOff, showsStatistics }) {
    setText(byID('chat-peer'), peer);
    setText(byID('chat-initial'), initial(peer));
    setText(byID('chat-state'), stateText);
    // The label stays, the pressed state says which: that is how screen readers expect a toggle.
    byID('chat-mute').setAttribute('aria-pressed', String(isMuted));
    byID('chat-camera').setAttribute('aria-pressed', String(isCameraOff));
    byID('chat-stats').setAttribute('aria-expanded', String(showsStatistics));
    byID('chat-statistics').hidden = !showsStatistics;
    this.#local.classList.toggle('is-off', isCameraOff);
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

  /** Something to know that does not end the call; stays until it is closed or the call ends. */
  notify(text, key = text) {
    this.withdraw(key);
    const entry = document.createElement('div');
    entry.dataset.key = key;
    const words = document.createElement('p');
    words.textContent = text;
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = '×';
    close.setAttribute('aria-label', 'Close this message');
    close.addEventListener('click', () => {
      entry.remove();
      byID('chat-mute').focus();
    });
    entry.append(words, close);
    byID('chat-notices').append(entry);
  }

  withdraw(key) {
    for (const entry of byID('chat-notices').children) if (entry.dataset.key === key) entry.remove();
  }

  clear() {
    this.#remote.srcObject = null;
    this.#local.srcObject = null;
    byID('chat-sound').hidden = true;
  }

  /** Browsers hold sound back until somebody has touched the page; then a button asks for that touch. */
  async #play() {
    try {
      await this.#remote.play();
      byID('chat-sound').hidden = true;
    } catch (error) {
      if (error.name === 'NotAllowedError') byID('chat-sound').hidden = false;
    }
  }
}
