// The connection on which we receive: the server offers, we answer.
import { Target } from './messages.js';

export class Subscriber {
  #connection;
  #signal;
  #events;
  #work = Promise.resolve();
  #early = [];
  #isClosed = false;

  /**
   * @param signal `send(name, message)`
   * @param events `moved()` when the connection's state has changed, `trackArrived(sid, track)`, `message(bytes)`
   */
  constructor(iceServers, signal, events) {
    this.#signal = signal;
    this.#events = events;
    this.#connection = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    this.#connection.onconnectionstatechange = () => this.#events.moved();
    this.#connection.onicecandidate = ({ candidate }) => {
      if (!candidate) return;
      this.#signal.send('trickle', { candidateInit: JSON.stringify(candidate), target: Target.subscriber });
    };
    this.#connection.ontrack = ({ track, streams: [stream], transceiver }) => {
      const sid = this.#sid(stream?.id, transceiver.mid);
      if (sid) this.#events.trackArrived(sid, track);
    };
    this.#connection.ondatachannel = ({ channel }) => {
      if (channel.label !== '_reliable') return;
      channel.binaryType = 'arraybuffer';
      channel.onmessage = ({ data }) => this.#events.message(new Uint8Array(data));
    };
  }

  get state() {
    return this.#connection.connectionState;
  }

  get connection() {
    return this.#connection;
  }

  /**
   * Which track it is: a section that carries one after the other has one MediaStreamTrack. The stream says it
   * (`PA_…|TR_…`), or names what is played in step (`PA_…|camera`): then the section's description does, for the id of a
   * MediaStreamTrack is the first track's, and in Firefox the browser's own.
   */
  #sid(stream, mid) {
    const [participant, name] = stream?.split('|') ?? [];
    if (name?.startsWith('TR_')) return name;
    if (!participant?.startsWith('PA_')) return undefined;
    const { sdp } = this.#connection.remoteDescription;
    const section = sdp.split(/^m=/m).find((text) => text.includes(`\na=mid:${mid}\r`));
    return section?.match(/^a=msid:\S+ (TR_\S+)\r?$/m)?.[1];
  }

  /** From the next restart of ICE on. */
  setICEServers(iceServers) {
    this.#connection.setConfiguration({ ...this.#connection.getConfiguration(), iceServers });
  }

  /** What we last answered, for a server with which we go on. */
  get description() {
    return this.#connection.localDescription;
  }

  receiveOffer({ sdp, id }) {
    this.#work = this.#work.then(async () => {
      if (this.#isClosed) return;
      try {
        await this.#connection.setRemoteDescription({ type: 'offer', sdp });
        for (const candidate of this.#early.splice(0)) await this.#add(candidate);
        await this.#connection.setLocalDescription();
        this.#signal.send('answer', { type: 'answer', sdp: this.#connection.localDescription.sdp, id });
      } catch (error) {
        if (!this.#isClosed) console.error('The server’s offer could not be answered:', error);
      }
    });
  }

  addCandidate(candidate) {
    if (!this.#connection.remoteDescription) this.#early.push(candidate);
    else this.#add(candidate);
  }

  async #add(candidate) {
    await this.#connection.addIceCandidate(candidate).catch((error) => console.warn('A candidate is no good:', error));
  }

  close() {
    this.#isClosed = true;
    this.#connection.onconnectionstatechange = this.#connection.onicecandidate = null;
    this.#connection.ontrack = this.#connection.ondatachannel = null;
    this.#connection.close();
  }
}
