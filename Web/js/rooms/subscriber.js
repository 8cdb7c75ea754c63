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
    // A section that carries one track after the other has one MediaStreamTrack; the stream says which it is: `PA_…|TR_…`.
    this.#connection.ontrack = ({ track, streams: [stream] }) => {
      const sid = stream?.id.split('|')[1];
      if (sid?.startsWith('TR_')) this.#events.trackArrived(sid, track);
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
