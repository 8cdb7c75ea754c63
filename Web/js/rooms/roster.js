// Who is in the room and what they publish, as the server tells it.
import { ConnectionQuality, ParticipantState, StreamState } from './messages.js';

/** More than the page shows; a server that names people without end costs no memory. */
const LIMIT = 1_000;

export class Roster {
  /** Others, by sid, in the order of their coming. */
  #others = new Map();
  own = null;

  joined({ participant, otherParticipants }) {
    this.own = newcomer(participant);
    this.#others.clear();
    this.update(otherParticipants);
  }

  /** @returns {{came: object[], left: object[]}} */
  update(infos) {
    const [came, left] = [[], []];
    for (const info of infos) {
      if (info.sid === this.own?.sid) {
        this.own.info = info;
        continue;
      }
      const known = this.#others.get(info.sid);
      if (info.state === ParticipantState.disconnected) {
        if (this.#others.delete(info.sid)) left.push(known);
      } else if (!known) {
        // Of an identity there is one session: that the one before is over is not told (from protocol 12 on).
        const former = this.others.find((person) => person.info.identity === info.identity);
        if (former && this.#others.delete(former.sid)) left.push(former);
        if (this.#others.size >= LIMIT) continue;
        const person = newcomer(info);
        this.#others.set(info.sid, person);
        came.push(person);
      } else if (info.version >= known.info.version) {
        known.info = info;
      }
    }
    return { came, left };
  }

  speakers(changes) {
    for (const { sid, active } of changes) {
      const person = this.#person(sid);
      if (person) person.isSpeaking = active;
    }
  }

  qualities(updates) {
    for (const { participantSid, quality } of updates) {
      const person = this.#person(participantSid);
      if (person) person.quality = quality;
    }
  }

  streamStates(states) {
    for (const { participantSid, trackSid, state } of states) {
      const paused = this.#person(participantSid)?.pausedTracks;
      if (state === StreamState.paused) paused?.add(trackSid);
      else paused?.delete(trackSid);
    }
  }

  get others() {
    return [...this.#others.values()];
  }

  #person(sid) {
    return sid === this.own?.sid ? this.own : this.#others.get(sid);
  }
}

function newcomer(info) {
  return { sid: info.sid, info, isSpeaking: false, quality: ConnectionQuality.excellent, pausedTracks: new Set() };
}
