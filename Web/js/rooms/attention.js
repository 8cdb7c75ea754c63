// How large each picture is on the screen, and whether anybody can see it: what the server need not send, it does not.

/** Sizes settle before they are told: a window that is drawn larger passes through many. */
const CALM = 200;

export class Attention {
  #changed;
  /** By element: `{isInView, timer}`. */
  #watched = new Map();
  #resizes = new ResizeObserver((entries) => entries.forEach(({ target }) => this.#settle(target)));
  #crossings = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const entry = this.#watched.get(target);
      if (!entry) continue;
      entry.isInView = isIntersecting;
      this.#settle(target);
    }
  });

  /** @param {(element: Element, view: {disabled: boolean, width: number, height: number}) => void} changed */
  constructor(changed) {
    this.#changed = changed;
    document.addEventListener('visibilitychange', () => {
      for (const element of this.#watched.keys()) this.#settle(element);
    });
  }

  watch(element) {
    if (this.#watched.has(element)) return this.#settle(element);
    this.#watched.set(element, { isInView: true, timer: null });
    this.#resizes.observe(element);
    this.#crossings.observe(element);
  }

  forget(element) {
    clearTimeout(this.#watched.get(element)?.timer);
    this.#watched.delete(element);
    this.#resizes.unobserve(element);
    this.#crossings.unobserve(element);
  }

  #settle(element) {
    const entry = this.#watched.get(element);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => {
      const { clientWidth, clientHeight } = element;
      const isSeen = entry.isInView && !document.hidden && clientWidth > 0 && clientHeight > 0;
      const pixels = (length) => Math.ceil(length * devicePixelRatio);
      // An unseen picture keeps its size: that is what it will be wanted in.
      this.#changed(element, { disabled: !isSeen, width: pixels(clientWidth), height: pixels(clientHeight) });
    }, CALM);
  }
}
