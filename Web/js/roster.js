// Who is in the room, as far as the server's announcements tell.
// The seed's server tells only those already present about a newcomer, so what we know may be partial.

/** Our own entry never appears: the server announces others only. */
export class Roster {
  /** One entry a connection: `{username, isCaller}`. */
  #entries = [];
  #isComplete = false;
  #hasUnnamedCaller = false;

  /** More than a call room ever holds; a server that announces without end costs no memory. */
  static LIMIT = 1000;

  joined({ username, isCaller }) {
    if (this.#entries.length < Roster.LIMIT) this.#entries.push({ username, isCaller });
  }

  /** Everybody who is there: from now on an empty room is known to be empty. */
  listed(users) {
    this.#entries = users.slice(0, Roster.LIMIT).map(({ username, isCaller }) => ({ username, isCaller }));
    this.#isComplete = true;
    this.#hasUnnamedCaller = false;
  }

  /** Takes one connection of that name away; returns its entry, or null when nothing was known of it. */
  left(username, ourRole) {
    const index = this.#entries.findIndex((entry) => entry.username === username);
    if (index < 0) {
      this.#hasUnnamedCaller = false;
      return null;
    }
    const [entry] = this.#entries.splice(index, 1);
    if (entry.isCaller !== (ourRole === 'caller')) {
      // Seen coming and going: from now on an empty room is known to be empty.
      this.#isComplete = true;
      this.#hasUnnamedCaller = false;
    }
    return entry;
  }

  /** An offer came, so a caller is there. */
  offered() {
    this.#hasUnnamedCaller = true;
  }

  /** The names of those whom we, as `ourRole`, can call or be called by. */
  partners(ourRole) {
    return this.#entries.filter((entry) => entry.isCaller !== (ourRole === 'caller')).map((entry) => entry.username);
  }

  /**
   * Whose name that is which an offer or answer gives: a name that the server has told, or anybody's while it has not
   * told of everybody. Without one, whoever alone can be meant; null when there are several.
   */
  nameOf(given, ourRole) {
    const partners = this.partners(ourRole);
    if (partners.length === 0 || partners.includes(given)) return given;
    if (given !== null && !this.#isComplete) return given;
    return partners.length === 1 ? partners[0] : null;
  }

  /** The names of those with our own role, whom a call cannot reach. */
  others(ourRole) {
    return this.#entries.filter((entry) => entry.isCaller === (ourRole === 'caller')).map((entry) => entry.username);
  }

  /**
   * `{kind: 'present', name}` (name may be null), `{kind: 'absent'}` or `{kind: 'unknown'}`. Of several whom a caller
   * could call it is the one who came last: an echo peer that always waits came before.
   */
  presence(ourRole) {
    const name = this.partners(ourRole).at(ourRole === 'caller' ? -1 : 0);
    if (name !== undefined) return { kind: 'present', name };
    if (this.#hasUnnamedCaller && ourRole === 'callee') return { kind: 'present', name: null };
    return { kind: this.#isComplete ? 'absent' : 'unknown' };
  }
}
