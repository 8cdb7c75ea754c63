// Timers by name: what has to have happened by then, or else.

export class Deadlines {
  #timers = new Map();

  /** Runs `late` after that time unless the name is cancelled or set again before. */
  set(name, milliseconds, late) {
    this.cancel(name);
    const timer = setTimeout(() => (this.#timers.delete(name), late()), milliseconds);
    this.#timers.set(name, { timer, late });
  }

  /** Runs now what would run later. */
  hurry(name) {
    const waiting = this.#timers.get(name);
    if (!waiting) return;
    this.cancel(name);
    waiting.late();
  }

  cancel(...names) {
    for (const name of names) {
      clearTimeout(this.#timers.get(name)?.timer);
      this.#timers.delete(name);
    }
  }

  cancelAll() {
    this.cancel(...this.#timers.keys());
  }
}
