// When a lost connection is tried again, and how.

/** As LiveKit's SDKs wait, in milliseconds; ten attempts. */
const WAITS = [0, 300, 1_200, 2_700, 4_800, 7_000, 7_000, 7_000, 7_000, 7_000];
/** So many of them for the same session: a server keeps it for seconds. */
const RESUMES = 4;

export class Attempts {
  #count = 0;
  #mustRejoin = false;

  /** From now on a new session is wanted. */
  giveUpSession() {
    this.#mustRejoin = true;
  }

  succeeded() {
    this.#count = 0;
    this.#mustRejoin = false;
  }

  /** @returns {?{wait: number, isResume: boolean}} null when it has been tried often enough */
  next() {
    if (this.#count >= WAITS.length) return null;
    const wait = WAITS[this.#count];
    this.#mustRejoin ||= this.#count >= RESUMES;
    this.#count += 1;
    return { wait, isResume: !this.#mustRejoin };
  }
}
