// The room: its name and state, controls, notices. Tiles, sounds and messages have views of their own.
import { Notices } from '../../views/notices.js';
import { byID, setIcon, setText, setTitle, showScreen } from '../../views/screens.js';

/** With Alt, since letters alone are words to people who speak to their computer (WCAG 2.2, 2.1.4). */
const KEYS = { KeyM: 'meeting-microphone', KeyV: 'meeting-camera', KeyC: 'meeting-messages' };
/** How long a button says what it has done, in milliseconds. */
const CALM = 3_000;
/** Of a text more is not said aloud: the whole is in the messages. */
const SPOKEN = 300;

/** On a Mac, Option with a letter is a sign, such as ç or µ; elsewhere Alt with a letter writes nothing. */
const isWriting = ({ target, key, code }) =>
  target.matches('input, textarea') && key.toLowerCase() !== code.at(-1).toLowerCase();

export class MeetingView {
  #invited = null;
  #news = byID('meeting-news');
  notices = new Notices(byID('meeting-notices'), byID('meeting-microphone'));

  /** @param intents `microphoneTapped()`, `cameraTapped()`, `screenTapped()`, `inviteTapped()`, `leaveTapped()` */
  constructor(intents) {
    byID('meeting-microphone').addEventListener('click', intents.microphoneTapped);
    byID('meeting-camera').addEventListener('click', intents.cameraTapped);
    byID('meeting-screen').addEventListener('click', intents.screenTapped);
    byID('meeting-invite').addEventListener('click', intents.inviteTapped);
    byID('meeting-leave').addEventListener('click', intents.leaveTapped);
    document.addEventListener('keydown', (event) => {
      if (byID('meeting').hidden || !event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
      if (!KEYS[event.code] || isWriting(event)) return;
      event.preventDefault();
      byID(KEYS[event.code]).click();
    });
  }

  show(room) {
    this.notices.clear();
    this.#news.replaceChildren();
    setText(byID('meeting-title'), `Room ${room}`);
    setTitle(`Room ${room}`);
    showScreen('meeting');
  }

  /** @param view `{state, people, isMuted, isCameraOff, isSharing, canShare}` */
  render({ state, people, isMuted, isCameraOff, isSharing, canShare }) {
    byID('meeting').dataset.state = state;
    setText(byID('meeting-state'), stateText(state, people));
    this.#toggle('meeting-microphone', isMuted, isMuted ? 'icon-microphone-off' : 'icon-microphone');
    this.#toggle('meeting-camera', isCameraOff, isCameraOff ? 'icon-camera-off' : 'icon-camera');
    this.#toggle('meeting-screen', isSharing, 'icon-screen');
    byID('meeting-screen').hidden = !canShare;
  }

  /** The link is in the clipboard. */
  invited() {
    clearTimeout(this.#invited);
    setText(byID('meeting-invite'), 'Link copied');
    this.#invited = setTimeout(() => setText(byID('meeting-invite'), 'Copy link'), CALM);
    this.announce('The link to this room is copied.');
  }

  /** For screen readers; others see the tiles come and go. */
  announce(text) {
    const entry = document.createElement('p');
    const signs = [...text];
    entry.textContent = signs.length <= SPOKEN ? text : `${signs.slice(0, SPOKEN).join('')}…`;
    this.#news.append(entry);
    if (this.#news.children.length > 20) this.#news.firstElementChild.remove();
  }

  /** The label stays, the pressed state says which: that is how screen readers expect a toggle. */
  #toggle(id, isPressed, icon) {
    byID(id).setAttribute('aria-pressed', String(isPressed));
    setIcon(byID(id), icon);
  }
}

function stateText(state, people) {
  switch (state) {
    case 'joining': return 'Joining…';
    case 'reconnecting': return 'The connection broke, coming back…';
    case 'connected': return people === 1 ? 'Nobody else is here yet.' : `${people} people are here.`;
    default: return '';
  }
}
