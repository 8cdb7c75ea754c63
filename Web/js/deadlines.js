// Timers by name: what has to have happened by then, or else.

export class Deadlines {
  #timers = new Map();

  /** Runs `late` after that time unless the name is cancelled or set again before. */
  set(name, milliseconds, late) {
    this.cancel(name);
    this.#timers.set(name, setTimeout(() => (this.#timers.delete(name), late()), milliseconds));
  }

  cancel(...names) {
    for (const name of names) {
      clearTimeout(this.#timers.get(name));
      this.#timers.delete(name);
    }
  }

  cancelAll() {
    this.cancel(...this.#timers.keys());
  }
}
