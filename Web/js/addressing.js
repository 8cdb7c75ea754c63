// Whose signals a call takes. A call room passes every offer, answer and candidate on to everybody in it and does not
// say who sent it. So our clients say it themselves, with two optional keys that others ignore: `fromCall`, the
// sender's call, and `toCall`, the call that is meant; here `from` and `to`. Clients without these keys are taken at
// their word, as ever; that nobody takes a call over from its partner is then up to the pinned fingerprint.
//
// Two more keys are names of people: `fromUser` says who calls or answers, `toUser` who is meant when several could
// answer. Without it two who wait would answer one caller, and neither would get through.

/** One call's own id, and its partner's once an offer or answer of it was applied. */
export class Addressing {
  /** Random, and new with each call: who calls again is somebody else. */
  id = randomID();
  partner = null;
  partnerName = null;

  /** What goes out with each signal. */
  get stamp() {
    return this.partner === null ? { from: this.id } : { from: this.id, to: this.partner };
  }

  /** Whether a signal may be the partner's, and is meant for this call. */
  accepts({ from = null, to = null }) {
    if (to !== null && to !== this.id) return false;
    return from === null || this.partner === null || from === this.partner;
  }

  /** An offer or answer was applied: its sender is the partner. */
  applied({ from = null, fromUser = null }) {
    this.partner ??= from;
    this.partnerName ??= fromUser;
  }
}

/**
 * Whether a description may follow one that was applied. A peer keeps its certificate for the whole call, so another
 * fingerprint is another peer. All have to be known: one that is known beside one that is not would let a stranger in.
 */
export function isOfSamePeer(appliedSDP, sdp) {
  const known = fingerprints(appliedSDP);
  const named = [...fingerprints(sdp)];
  return named.length > 0 && named.every((fingerprint) => known.has(fingerprint));
}

/** The `a=fingerprint` values of a description (RFC 8122 §5), in upper case: neither part heeds it. */
function fingerprints(sdp) {
  return new Set([...sdp.matchAll(/^a=fingerprint:\s*(\S+)\s+(\S+)/gim)].map(([, hash, value]) =>
    `${hash} ${value}`.toUpperCase()));
}

/** 128 bits; `randomUUID` would be missing on insecure pages. */
export function randomID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
