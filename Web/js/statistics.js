// What the statistics overlay shows, from W3C's getStats.

/** Cipher names as people know them; browsers write them with and without a prefix. */
const CIPHERS = [
  [/AES(_CM_|)128.*SHA1_80/, 'AES-CM 128'], [/AES_128_GCM/, 'AES-GCM 128'], [/AES_256_GCM/, 'AES-GCM 256'],
];

const picture = ({ frameWidth, frameHeight, framesPerSecond = 0 }) =>
  (frameWidth ? `${frameWidth}×${frameHeight}, ${Math.round(framesPerSecond)} fps` : '–');

const INTERVAL = 1_000;

/** Asks a connection once a second, from now until `stop()`, and hands on the rows. */
export class StatisticsFeed {
  #timer;
  #statistics = new Statistics();

  constructor(connection, show) {
    const refresh = async () => {
      const report = await connection.getStats();
      if (this.#timer !== null) show(this.#statistics.rows(report));
    };
    this.#timer = setInterval(refresh, INTERVAL);
    refresh();
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** Turns successive reports into rates. */
export class Statistics {
  #before = null;

  /** @returns {Array<[string, string]>} label and value, in the order of the overlay */
  rows(report) {
    const all = [...report.values()];
    const find = (type, kind) => all.find((entry) => entry.type === type && (!kind || entry.kind === kind)) ?? {};
    const transport = find('transport');
    // Where the transport does not say which pair it uses, the pair says it itself.
    const isUsed = ({ type, state, selected, nominated }) =>
      type === 'candidate-pair' && state === 'succeeded' && (selected ?? nominated);
    const pair = report.get(transport.selectedCandidatePairId) ?? all.find(isUsed) ?? {};
    const [near, far] = [report.get(pair.localCandidateId) ?? {}, report.get(pair.remoteCandidateId) ?? {}];
    const [video, audio] = [find('inbound-rtp', 'video'), find('inbound-rtp', 'audio')];
    const sent = find('outbound-rtp', 'video');
    const remote = find('remote-inbound-rtp', 'video');
    const codec = (entry) => report.get(entry.codecId)?.mimeType?.split('/')[1] ?? '–';

    const now = {
      at: transport.timestamp ?? pair.timestamp ?? 0,
      // The transport's bytes go on when the path changes; a new pair begins with none.
      in: transport.bytesReceived ?? pair.bytesReceived ?? 0, out: transport.bytesSent ?? pair.bytesSent ?? 0,
      lost: (video.packetsLost ?? 0) + (audio.packetsLost ?? 0),
      received: (video.packetsReceived ?? 0) + (audio.packetsReceived ?? 0),
    };
    const before = this.#before ?? now;
    this.#before = now;
    const seconds = (now.at - before.at) / 1000;
    const kilobits = (bytes) => Math.round((Math.max(0, bytes) * 8) / seconds / 1000);
    const rate = (after, earlier) => (seconds > 0 ? `${kilobits(after - earlier)} kbit/s` : '–');
    const packets = now.received - before.received + (now.lost - before.lost);
    const loss = packets > 0 ? `${((100 * Math.max(0, now.lost - before.lost)) / packets).toFixed(1)} %` : '–';
    const milliseconds = (value) => (Number.isFinite(value) ? `${Math.round(value * 1000)} ms` : '–');

    return [
      ['Received', rate(now.in, before.in)],
      ['Sent', rate(now.out, before.out)],
      ['Round trip', milliseconds(pair.currentRoundTripTime ?? remote.roundTripTime)],
      ['Loss', loss],
      ['Jitter', milliseconds(video.jitter)],
      ['Picture', picture(video)],
      ['Frames', `${video.framesDecoded ?? 0} decoded, ${video.framesDropped ?? 0} dropped`],
      ['Codecs', `${codec(video)} in, ${codec(sent)} out, ${codec(audio)}`],
      ['Cipher', CIPHERS.find(([pattern]) => pattern.test(transport.srtpCipher))?.[1] ?? transport.srtpCipher ?? '–'],
      ['Path', near.candidateType ? `${near.candidateType} → ${far.candidateType}, ${near.protocol}` : '–'],
    ];
  }
}
