// What one hears: an element for each sound, none of which can be seen.

export class Sounds {
  #button;
  /** By sid. */
  #elements = new Map();

  /** @param {HTMLButtonElement} button shown while the browser holds sounds back until somebody touches the page */
  constructor(button) {
    this.#button = button;
    button.addEventListener('click', () => {
      button.hidden = true;
      for (const element of this.#elements.values()) this.#play(element);
    });
  }

  /** @param {Map<string, MediaStreamTrack>} tracks all that there are, by sid */
  render(tracks) {
    for (const [sid, element] of this.#elements) {
      if (tracks.has(sid)) continue;
      element.srcObject = null;
      this.#elements.delete(sid);
    }
    for (const [sid, track] of tracks) {
      let element = this.#elements.get(sid);
      if (!element) this.#elements.set(sid, element = new Audio());
      if (element.srcObject?.getTracks()[0] === track) continue;
      element.srcObject = new MediaStream([track]);
      this.#play(element);
    }
    if (tracks.size === 0) this.#button.hidden = true;
  }

  async #play(element) {
    try {
      await element.play();
    } catch (error) {
      // Anything else is an element whose sound is gone already.
      if (error.name === 'NotAllowedError') this.#button.hidden = false;
    }
  }
}
