// Room: role, connection, who is here, and the start of a call.
import { initial } from '../names.js';
import { byID, setNotice, setText, setTitle, showScreen } from './screens.js';

const CONNECTION_TEXT = {
  closed: 'Not connected',
  connecting: 'Connecting…',
  connected: 'Connected',
  reconnecting: 'The connection broke, reconnecting…',
};
/** Rooms are for a few; a list of hundreds would push the button to call out of sight. */
const SHOWN_PEOPLE = 20;
const CONNECT_BUTTON = { closed: 'Connect', connecting: 'Cancel', connected: 'Disconnect', reconnecting: 'Disconnect' };
const opposite = (role) => (role === 'caller' ? 'callee' : 'caller');

export class RoomView {
  #shownPeople = '';
  #roles = [...document.querySelectorAll('#room-role input')];

  /** @param intents `roleChosen(role)`, `connectTapped()`, `callTapped()`, `logoutTapped()` */
  constructor(intents) {
    for (const input of this.#roles) input.addEventListener('change', () => intents.roleChosen(input.value));
    byID('room-connect').addEventListener('click', intents.connectTapped);
    byID('room-call').addEventListener('click', intents.callTapped);
    byID('room-logout').addEventListener('click', intents.logoutTapped);
  }

  show() {
    showScreen('room');
  }

  /**
   * @param state `{name, room, role, connection, presence, partners, others, isRinging, ringer, canCall, notice,
   *   isShown}`
   */
  render(state) {
    const { role, connection, presence } = state;
    const isConnected = connection === 'connected' || connection === 'reconnecting';
    setText(byID('room-number'), String(state.room));
    setText(byID('room-name'), state.name);
    this.#notice(state.notice);

    const isFixed = connection !== 'closed';
    const hadFocus = byID('room-role').contains(document.activeElement);
    byID('room-role').hidden = isFixed;
    if (hadFocus && isFixed) byID('room-connect').focus();
    for (const input of this.#roles) input.checked = input.value === role;
    setNotice(byID('room-fixed-role'), isFixed ? `You are the ${role}` : null);

    byID('room-connection').dataset.state = connection;
    setText(byID('room-connection'), CONNECTION_TEXT[connection]);
    setText(byID('room-connect'), CONNECT_BUTTON[connection]);

    byID('room-presence').hidden = !isConnected;
    this.#people(state);
    setText(byID('room-peer'), isConnected ? peerText(state) : '');

    if (state.isShown) setTitle(state.isRinging ? peerText(state).replace(/\.$/, '') : `Room ${state.room}`);
    const button = byID('room-call');
    button.classList.toggle('is-ringing', state.isRinging);
    button.disabled = !state.canCall;
    setText(byID('room-call-text'), callText(state));
    setText(byID('room-call-hint'), callHint(state));
  }

  /** A fault is said at once; what somebody wanted waits its turn, and looks like it. */
  #notice(notice) {
    const element = byID('room-notice');
    element.setAttribute('role', notice?.isFault ? 'alert' : 'status');
    element.classList.toggle('neutral', notice !== null && !notice.isFault);
    setNotice(element, notice?.text);
  }

  #people({ role, partners, others }) {
    const rows = [
      ...partners.map((name) => [name, opposite(role)]),
      ...others.map((name) => [name, role]),
    ];
    const more = rows.splice(SHOWN_PEOPLE).length;
    if (more > 0) rows.push([`and ${more} more`, '']);
    // Untouched while nobody comes or goes: somebody may just be reading it.
    const text = JSON.stringify(rows);
    if (text === this.#shownPeople) return;
    this.#shownPeople = text;
    byID('room-people').replaceChildren(...rows.map(([name, kind]) => {
      const row = document.createElement('li');
      const part = (className, text, isDecoration = false) => {
        const element = document.createElement('span');
        element.className = className;
        element.textContent = text;
        if (isDecoration) element.setAttribute('aria-hidden', 'true');
        return element;
      };
      row.append(part('avatar', initial(name), true), part('name', name), part('role-name', kind));
      return row;
    }));
  }
}

function peerText({ role, presence, others, isRinging, ringer }) {
  const kind = opposite(role);
  if (isRinging) return `${ringer ?? 'Somebody'} is calling you.`;
  const name = presence.name ?? `The ${kind}`;
  if (presence.kind === 'present') return `${name} is here and can ${role === 'caller' ? 'be called' : 'call you'}.`;
  if (others.length > 0) {
    return `${others[0]} is a ${role} too. A call needs one of each: disconnect and choose the other role.`;
  }
  if (presence.kind === 'absent') return `No ${kind} is in the room.`;
  return `Nobody has come since you connected. Not every server says who was here before.`;
}

function callHint({ role, connection, presence }) {
  if (connection === 'closed') return 'Connect first, then start the call.';
  return presence.kind === 'absent' ? `The call can start when a ${opposite(role)} is here.` : '';
}

function callText({ role, partners, isRinging, ringer }) {
  if (isRinging) return ringer ? `Answer ${ringer}` : 'Answer the call';
  if (role === 'caller' && partners.length > 1) return `Call ${partners.at(-1)}`;
  return role === 'caller' ? 'Start call' : 'Wait for the call';
}
