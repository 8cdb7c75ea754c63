// Whose leaving ends a call. Descriptions need not say who sent them; then what the room's list tells has to do.

/** Who in the room a call is with. */
export class CallPartner {
  /** Whom we call, or who rings; null when it may be anybody of the other role. */
  #expected;
  /** Who it can be once somebody called or answered: who says so, or all who were there. Null before. */
  #names = null;

  constructor(expected = null) {
    this.#expected = expected;
  }

  get isSettled() {
    return this.#names !== null;
  }

  /** Their name, as far as it is certain. */
  get name() {
    return this.#names?.size === 1 ? [...this.#names][0] : null;
  }

  /**
   * Somebody's offer or answer was taken; whoever joins later is somebody else.
   *
   * @param {?string} name of those who say it
   * @param {string[]} present everybody of the other role
   */
  settle(name, present) {
    this.#names = new Set(name === null ? present : [name]);
  }

  /**
   * Somebody left who may have had the other role. Whether that ends the call; where several could be the partner,
   * their media tells.
   *
   * @param {boolean} wasAnnounced whether the server had told of them
   * @param {string[]} others who of the other role is still there
   */
  left(username, wasAnnounced, others) {
    if (this.#names === null) return this.#expected === null ? others.length === 0 : this.#expected === username;
    // The partner is somebody of whom the server has never told.
    if (this.#names.size === 0) return !wasAnnounced;
    return this.#names.delete(username) && this.#names.size === 0;
  }
}
