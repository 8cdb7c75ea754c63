// The coordinator of rooms for many: which screen shows, and what the user's wishes and the room's news lead to.
import { parseName, readableName } from '../names.js';
import { preferences } from '../preferences.js';
import { byID } from '../views/screens.js';
import { hasRooms, NO_ROOMS } from './access.js';
import { Attention } from './attention.js';
import { Captions } from './captions.js';
import { canShareScreen, openDevices, openScreen } from './devices.js';
import { ConnectionQuality, TrackSource, TrackType } from './messages.js';
import { Room } from './room.js';
import { CaptionsView } from './views/captions.js';
import { LobbyView } from './views/lobby.js';
import { MeetingView } from './views/meeting.js';
import { MessagesView } from './views/messages.js';
import { Sounds } from './views/sounds.js';
import { TilesView } from './views/tiles.js';

const SOURCES = { video: TrackSource.camera, audio: TrackSource.microphone };
const KINDS = { [TrackSource.camera]: 'video', [TrackSource.microphone]: 'audio' };
const QUALITIES = Object.fromEntries(Object.entries(ConnectionQuality).map(([name, number]) => [number, name]));
const SCREEN = [TrackSource.screenShare, TrackSource.screenShareAudio];
const SOUNDS = [TrackSource.microphone, TrackSource.screenShareAudio];

export class RoomsApp {
  #parameters;
  /** What was entered: `{name, room, kinds}`. */
  #login = { kinds: ['video', 'audio'] };
  /** `{room, devices}`: what is open, by source; null in the lobby. */
  #meeting = null;
  /** The tile that the user has enlarged: its key; null when the page chooses, '' for none. */
  #enlarged = null;
  /** The shared screens that have been seen: their keys. */
  #screens = new Set();
  #attention = new Attention((video, view) => this.#looked(video, view));
  /** What each watched picture shows: its sid. */
  #watched = new Map();
  #lobbyView = new LobbyView({ joined: (login) => this.#join(login) });
  #meetingView = new MeetingView({
    microphoneTapped: () => this.#toggle(TrackSource.microphone),
    cameraTapped: () => this.#toggle(TrackSource.camera),
    screenTapped: () => this.#toggleScreen(),
    inviteTapped: () => this.#invite(),
    leaveTapped: () => this.#leave(),
  });
  #messagesView = new MessagesView({ sent: (text) => this.#say(text) });
  #captionsView = new CaptionsView();
  #captions = new Captions((segments) => this.#captionsView.render(
    segments.map(({ identity, text }) => ({ name: this.#nameOf(identity), text }))));
  #sounds = new Sounds(byID('meeting-sound'));
  #tilesView = new TilesView({
    enlargeTapped: (key) => this.#enlarge(key),
    shown: (key, video) => this.#watch(key, video),
    hidden: (video) => this.#unwatch(video),
  });

  constructor(parameters) {
    this.#parameters = parameters;
    addEventListener('online', () => this.#meeting?.room.hurry());
    // A page that goes away leaves at once: the others should not wait for a time-out.
    addEventListener('pagehide', () => this.#leave());
  }

  /** The room on the screen, for the console and for tests; null in the lobby. */
  get room() {
    return this.#meeting?.room ?? null;
  }

  start() {
    const kept = preferences.load();
    const { unusableRoom, isAutomatic, kinds } = this.#parameters;
    const name = this.#parameters.name ?? parseName(kept.name ?? '');
    const room = this.#parameters.room ?? unusableRoom ?? parseName(kept.manyRoom ?? '');
    this.#login = { name, room, kinds };
    if (isAutomatic && name) return this.#join(this.#login);
    this.#lobbyView.show({ ...this.#login, isRoomFaulty: unusableRoom !== null });
    this.#checkForRooms();
  }

  /** Whoever cannot meet here is told before they fill in the form. */
  async #checkForRooms() {
    if (!await hasRooms()) this.#lobbyView.notice(NO_ROOMS);
  }

  // In and out

  async #join(login) {
    if (!globalThis.RTCPeerConnection) {
      return this.#lobbyView.show({
        ...login,
        notice: 'This browser cannot make calls: WebRTC is missing or switched off. '
          + 'Allow it in the browser’s settings or extensions, or open this page in another browser.',
      });
    }
    this.#login = login;
    preferences.save({ ...preferences.load(), name: login.name, manyRoom: login.room });
    this.#lobbyView.busy(true);
    const { devices, notices } = await openDevices(login.kinds, this.#pattern);
    const room = new Room(login, {
      stateChanged: () => this.#render(),
      changed: () => this.#render(),
      cameAndLeft: (news) => this.#tellWhoMoved(news),
      message: (message) => this.#showMessage(message),
      transcribed: (speech) => this.#captions.take(speech),
      localChanged: (source, text) => this.#localChanged(source, text),
      left: (text) => this.#ended(text),
    });
    this.#meeting = { room, devices: new Map() };
    this.#enlarged = null;
    this.#screens.clear();
    this.#meetingView.show(readableName(login.room));
    for (const notice of notices) this.#meetingView.notices.show(notice);
    for (const device of devices) this.#send(SOURCES[device.track.kind], device);
    this.#render();
    room.join();
  }

  #leave() {
    if (!this.#meeting) return;
    this.#meeting.room.leave();
    this.#ended(null);
  }

  #ended(notice) {
    if (!this.#meeting) return;
    for (const device of this.#meeting.devices.values()) device.stop();
    this.#meeting = null;
    this.#tilesView.render([]);
    this.#sounds.render(new Map());
    this.#messagesView.clear();
    this.#captions.clear();
    this.#captionsView.clear();
    this.#lobbyView.show({ ...this.#login, notice });
  }

  async #invite() {
    const link = `${location.origin}${location.pathname}?${new URLSearchParams({ room: this.#login.room })}`;
    try {
      await navigator.clipboard.writeText(link);
      this.#meetingView.invited();
    } catch {
      // Browsers have a clipboard on https:// pages and localhost alone, and users may forbid it.
      this.#meetingView.notices.show(`The link to this room, to send to others: ${link}`);
    }
  }

  get #pattern() {
    return this.#parameters.pattern && { ...this.#parameters.pattern, name: this.#login.name };
  }

  // What we send

  #send(source, device) {
    const { room, devices } = this.#meeting;
    devices.set(source, device);
    device.watch(() => this.#deviceLost(source));
    room.publish(source, device.track, { size: device.track.kind === 'video' ? device.size : null });
  }

  /** Microphone or camera on or off. A camera that is off is closed, so that its light goes out. */
  async #toggle(source) {
    const { room, devices } = this.#meeting;
    const local = room.local(source);
    const isOn = local !== null && !local.isMuted;
    if (isOn) {
      room.setMuted(source, true);
      if (source === TrackSource.camera) this.#closeCamera();
      else local.track.enabled = false;
    } else if (devices.has(source)) {
      devices.get(source).track.enabled = true;
      room.setMuted(source, false);
    } else {
      await this.#open(source);
    }
    this.#render();
  }

  async #open(source) {
    const meeting = this.#meeting;
    if (meeting.isOpening) return;
    meeting.isOpening = true;
    const { devices: [device], notices } = await openDevices([KINDS[source]], this.#pattern);
    meeting.isOpening = false;
    if (this.#meeting !== meeting) return device?.stop();
    for (const notice of notices) this.#meetingView.notices.show(notice);
    if (!device) return;
    if (!meeting.room.local(source)) return this.#send(source, device);
    meeting.devices.set(source, device);
    device.watch(() => this.#deviceLost(source));
    await meeting.room.replaceTrack(source, device.track);
    meeting.room.setMuted(source, false);
  }

  #deviceLost(source) {
    const { room } = this.#meeting;
    if (source in KINDS) {
      this.#close(source);
      room.setMuted(source, true);
      room.replaceTrack(source, null);
      const name = source === TrackSource.camera ? 'camera' : 'microphone';
      this.#meetingView.notices.show(
        `Your ${name} is gone: it was unplugged, or this page may not use it any more. Switch it on again when it is back.`);
    } else {
      this.#withdraw(source);
    }
    this.#render();
  }

  async #toggleScreen() {
    const meeting = this.#meeting;
    if (meeting.devices.has(TrackSource.screenShare)) {
      this.#withdraw(TrackSource.screenShare);
      return this.#render();
    }
    // The browser asks which screen, for as long as the user likes.
    if (meeting.isChoosingScreen) return;
    meeting.isChoosingScreen = true;
    let opened;
    try {
      opened = await openScreen();
    } catch (error) {
      if (error.name !== 'NotAllowedError') this.#meetingView.notices.show(`The screen cannot be shared (${error.name}).`);
      return;
    } finally {
      meeting.isChoosingScreen = false;
    }
    if (this.#meeting !== meeting) return opened.forEach((device) => device.stop());
    this.#withdraw(TrackSource.screenShare);
    for (const device of opened) this.#send(SCREEN[device.track.kind === 'video' ? 0 : 1], device);
    this.#render();
  }

  /** The screen or its sound; the screen takes its sound with it, which nobody could end otherwise. */
  #withdraw(source) {
    for (const one of source === TrackSource.screenShare ? SCREEN : [source]) {
      this.#close(one);
      this.#meeting.room.unpublish(one);
    }
  }

  /** The server has muted it, taken it away, or not taken it. */
  #localChanged(source, text) {
    const { room, devices } = this.#meeting;
    const local = room.local(source);
    if (!local) this.#withdraw(source);
    else if (source === TrackSource.camera && local.isMuted) this.#closeCamera();
    else if (devices.has(source)) devices.get(source).track.enabled = !local.isMuted;
    // Nobody but the user opens a device: without one there is nothing that could be switched on.
    else if (!local.isMuted) return room.setMuted(source, true);
    if (text) this.#meetingView.notices.show(text);
    this.#render();
  }

  #close(source) {
    const { devices } = this.#meeting;
    devices.get(source)?.stop();
    devices.delete(source);
  }

  #closeCamera() {
    this.#close(TrackSource.camera);
    this.#meeting.room.replaceTrack(TrackSource.camera, null);
  }

  // What others send

  #tellWhoMoved({ came, left }) {
    // Whose session is a new one has neither come nor left.
    const isNotAmong = (people) => ({ info }) => people.every((other) => other.info.identity !== info.identity);
    for (const { info } of came.filter(isNotAmong(left))) this.#meetingView.announce(`${nameOf(info)} came.`);
    for (const { info } of left.filter(isNotAmong(came))) this.#meetingView.announce(`${nameOf(info)} left.`);
  }

  #say(text) {
    if (!this.#meeting) return;
    this.#meeting.room.sendText(text);
    this.#messagesView.add({ name: this.#login.name, text, date: new Date(), isOwn: true });
  }

  #showMessage({ sid, text, date }) {
    const sender = this.room?.roster.others.find((person) => person.sid === sid);
    const name = sender ? nameOf(sender.info) : 'Somebody';
    this.#messagesView.add({ name, text, date });
    if (!this.#messagesView.isOpen) this.#meetingView.announce(`${name}: ${text}`);
  }

  /** Agents write down in the speaker's name, our own among them. */
  #nameOf(identity) {
    const { others, own } = this.room?.roster ?? { others: [] };
    if (identity === own?.info.identity) return 'You';
    const speaker = others.find(({ info }) => info.identity === identity);
    return speaker ? nameOf(speaker.info) : 'Somebody';
  }

  #enlarge(key) {
    const { key: present } = this.#tiles().find(({ isEnlarged }) => isEnlarged) ?? {};
    this.#enlarged = present === key ? '' : key;
    this.#render();
  }

  #watch(key, video) {
    const sid = this.#sidOf(key);
    if (this.#watched.get(video) === sid) return;
    this.#watched.set(video, sid);
    if (sid) this.#attention.watch(video);
  }

  #unwatch(video) {
    this.#watched.delete(video);
    this.#attention.forget(video);
  }

  #looked(video, view) {
    const sid = this.#watched.get(video);
    if (sid) this.room?.setTrackSettings(sid, view);
  }

  /** A tile's key is its participant and its source. */
  #sidOf(key) {
    const [who, source] = key.split(' ');
    const person = this.room?.roster.others.find(({ sid }) => sid === who);
    return person && trackOf(person, Number(source))?.sid;
  }

  // What is seen

  #tiles() {
    const { room } = this.#meeting;
    // What was known of the connections is old while there is none to the server.
    const qualityOf = (person) => (room.state === 'connected' ? QUALITIES[person?.quality] ?? 'good' : null);
    const tiles = room.roster.others.flatMap((person) => {
      const { sid, info, isSpeaking, pausedTracks } = person;
      return [TrackSource.camera, TrackSource.screenShare].flatMap((source) => {
        const picture = trackOf(person, source);
        if (!picture && source === TrackSource.screenShare) return [];
        return [{
          key: `${sid} ${source}`, name: nameOf(info), kind: source === TrackSource.camera ? 'camera' : 'screen',
          isOwn: false, isMirrored: false, isSpeaking: isSpeaking && source === TrackSource.camera,
          isMuted: trackOf(person, TrackSource.microphone)?.muted ?? true, isPaused: pausedTracks.has(picture?.sid),
          quality: qualityOf(person), track: picture && !picture.muted ? room.media(picture.sid) : null,
        }];
      });
    });
    const camera = this.#meeting.devices.get(TrackSource.camera);
    const { own } = room.roster;
    tiles.push({
      key: 'own', name: this.#login.name, kind: 'camera', isOwn: true, isMirrored: !this.#parameters.pattern,
      isSpeaking: own?.isSpeaking ?? false, isMuted: this.#isOff(TrackSource.microphone), isPaused: false,
      quality: qualityOf(own), track: this.#isOff(TrackSource.camera) ? null : camera?.track ?? null,
    });
    const keys = tiles.map(({ key }) => key);
    // A screen that somebody shares is what the others are to look at, unless they have chosen.
    const isChosen = this.#enlarged === '' || keys.includes(this.#enlarged);
    const enlarged = isChosen ? this.#enlarged : tiles.findLast(({ kind }) => kind === 'screen')?.key;
    return tiles.map((tile) => ({ ...tile, isEnlarged: tile.key === enlarged }));
  }

  /** Whoever wanted nothing enlarged had not seen a screen that comes now. */
  #noticeScreens() {
    const screens = this.#tiles().filter(({ kind }) => kind === 'screen').map(({ key }) => key);
    if (this.#enlarged === '' && screens.some((key) => !this.#screens.has(key))) this.#enlarged = null;
    this.#screens = new Set(screens);
  }

  #isOff(source) {
    const local = this.#meeting.room.local(source);
    return local === null || local.isMuted;
  }

  #render() {
    if (!this.#meeting) return;
    const { room, devices } = this.#meeting;
    this.#meetingView.render({
      state: room.state, people: room.roster.others.length + 1,
      isMuted: this.#isOff(TrackSource.microphone), isCameraOff: this.#isOff(TrackSource.camera),
      isSharing: devices.has(TrackSource.screenShare), canShare: canShareScreen(),
    });
    this.#noticeScreens();
    this.#tilesView.render(this.#tiles());
    const sounds = new Map();
    for (const person of room.roster.others) {
      for (const source of SOUNDS) {
        const sid = trackOf(person, source)?.sid;
        const track = sid && room.media(sid);
        if (track) sounds.set(sid, track);
      }
    }
    this.#sounds.render(sounds);
  }
}

const nameOf = ({ name, identity }) => readableName(name || identity);

/** What somebody publishes of a source; a picture or a sound of which nobody said what it is counts as camera or microphone. */
function trackOf({ info: { tracks } }, source) {
  const kind = { [TrackSource.camera]: TrackType.video, [TrackSource.microphone]: TrackType.audio }[source];
  return tracks.find((track) => track.source === source)
    ?? tracks.find((track) => track.source === TrackSource.unknown && track.type === kind);
}
