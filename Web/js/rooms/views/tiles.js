// One tile for each camera and each shared screen, and where they stand.
import { initial } from '../../names.js';
import { byID, setIcon, setText } from '../../views/screens.js';
import { arrange } from '../layout.js';

const QUALITY_TEXT = {
  poor: 'poor connection', good: 'fair connection', excellent: 'good connection', lost: 'connection lost',
};

export class TilesView {
  #stage = byID('stage');
  #list = byID('tiles');
  #intents;
  /** By key. */
  #tiles = new Map();
  #enlarged = -1;

  /** @param intents `enlargeTapped(key)`, `shown(key, video)`, `hidden(video)` */
  constructor(intents) {
    this.#intents = intents;
    new ResizeObserver(() => this.#arrange()).observe(this.#stage);
  }

  /**
   * @param {{key: string, name: string, kind: 'camera' | 'screen', isOwn: boolean, isMirrored: boolean, isMuted: boolean,
   *   isPaused: boolean, isSpeaking: boolean, quality: ?string, track: ?MediaStreamTrack, isEnlarged: boolean}[]} tiles
   *   in their order; `track` is null while there is no picture, `quality` while nobody knows it
   */
  render(tiles) {
    const keys = new Set(tiles.map(({ key }) => key));
    for (const [key, tile] of this.#tiles) {
      if (keys.has(key)) continue;
      this.#intents.hidden(tile.video);
      tile.close();
      this.#tiles.delete(key);
    }
    tiles.forEach((view, place) => {
      let tile = this.#tiles.get(view.key);
      if (!tile) {
        tile = new Tile(() => this.#intents.enlargeTapped(view.key));
        this.#tiles.set(view.key, tile);
      }
      // A picture that is moved within the document stops; who is already in place stays there.
      if (this.#list.children[place] !== tile.element) {
        this.#list.insertBefore(tile.element, this.#list.children[place] ?? null);
      }
      tile.render(view);
      if (!view.isOwn) this.#intents.shown(view.key, tile.video);
    });
    this.#enlarged = tiles.findIndex(({ isEnlarged }) => isEnlarged);
    this.#arrange();
  }

  video(key) {
    return this.#tiles.get(key)?.video ?? null;
  }

  #arrange() {
    const { clientWidth: width, clientHeight: height } = this.#stage;
    if (width === 0) return;
    const elements = [...this.#list.children];
    const places = arrange(elements.length, { width, height }, this.#enlarged);
    elements.forEach(({ style }, place) => {
      for (const [name, value] of Object.entries(places[place])) style.setProperty(name, `${Math.round(value)}px`);
    });
    const lowest = Math.max(0, ...places.map(({ top, height: tall }) => top + tall));
    this.#list.style.setProperty('height', `${Math.round(lowest)}px`);
  }
}

class Tile {
  element = document.createElement('li');
  video = document.createElement('video');
  #initial = part('span');
  #muted = icon('icon-microphone-off', 'tile-muted');
  #name = part('span', 'tile-name');
  #words = part('span', 'unseen');
  #quality = icon('icon-quality', 'tile-quality');
  #note = part('p', 'tile-note');
  #enlarge = part('button', 'tile-enlarge');
  #track = null;

  constructor(enlargeTapped) {
    Object.assign(this.video, { autoplay: true, playsInline: true, muted: true });
    const empty = part('div', 'tile-initial', this.#initial);
    empty.setAttribute('aria-hidden', 'true');
    this.#enlarge.type = 'button';
    this.#enlarge.append(icon('icon-enlarge'));
    this.#enlarge.addEventListener('click', enlargeTapped);
    setText(this.#note, 'Paused: the network is too slow');
    const label = part('div', 'tile-label', this.#muted, this.#name, this.#words, this.#quality);
    this.element.append(this.video, empty, label, this.#note, this.#enlarge);
    // A picture is there once its size is known.
    const shown = () => this.element.classList.toggle('has-picture', this.#track !== null && this.video.videoWidth > 0);
    this.#shown = shown;
    for (const event of ['resize', 'loadeddata', 'emptied']) this.video.addEventListener(event, shown);
  }

  #shown;

  render({ key, name, kind, isOwn, isMirrored, isMuted, isPaused, isSpeaking, quality, track, isEnlarged }) {
    const { classList, dataset } = this.element;
    dataset.key = key;
    classList.toggle('is-speaking', isSpeaking);
    classList.toggle('is-screen', kind === 'screen');
    classList.toggle('is-enlarged', isEnlarged);
    classList.toggle('is-mirrored', isMirrored);
    classList.add('tile');
    const shownName = kind === 'screen' ? `${name}: screen` : isOwn ? `${name} (you)` : name;
    setText(this.#name, shownName);
    // What is cut off is read by pointing at it.
    this.#name.title = shownName;
    setText(this.#initial, initial(name));
    this.video.setAttribute('aria-label', `Video of ${shownName}`);
    this.#enlarge.setAttribute('aria-label', `Enlarge ${shownName}`);
    this.#enlarge.setAttribute('aria-pressed', String(isEnlarged));
    this.#muted.toggleAttribute('hidden', !isMuted || kind === 'screen');
    const isQualityShown = quality !== null && !(isOwn && quality === 'excellent') && kind !== 'screen';
    this.#quality.toggleAttribute('hidden', !isQualityShown);
    this.#quality.dataset.quality = quality ?? '';
    this.#note.hidden = !isPaused;
    const words = [];
    if (kind === 'camera') {
      if (isMuted) words.push('muted');
      if (!track) words.push('camera off');
      if (quality) words.push(QUALITY_TEXT[quality]);
    }
    setText(this.#words, words.map((word) => `, ${word}`).join(''));
    if (track !== this.#track) {
      this.#track = track;
      this.video.srcObject = track ? new MediaStream([track]) : null;
    }
    this.#shown();
  }

  close() {
    this.video.srcObject = null;
    this.element.remove();
  }
}

function part(name, className = '', ...content) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...content);
  return element;
}

function icon(id, className = '') {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  if (className) svg.setAttribute('class', className);
  svg.setAttribute('aria-hidden', 'true');
  svg.append(document.createElementNS(space, 'use'));
  setIcon(svg, id);
  return svg;
}
