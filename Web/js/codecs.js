// Which video codec a call asks for.

const isHelper = (mimeType) => /\/(rtx|red|ulpfec|flexfec-03)$/.test(mimeType);

/** Has the connection's video in one codec (`VP8`, `H264`) only; where the browser lacks it, all stay. */
export function preferCodec(connection, codec) {
  if (!codec || !globalThis.RTCRtpReceiver?.getCapabilities) return;
  const wanted = `video/${codec}`.toLowerCase();
  const chosen = RTCRtpReceiver.getCapabilities('video').codecs
    .filter(({ mimeType }) => mimeType.toLowerCase() === wanted || isHelper(mimeType));
  if (chosen.every(({ mimeType }) => isHelper(mimeType))) return;
  for (const transceiver of connection.getTransceivers()) {
    if (transceiver.receiver.track.kind === 'video') transceiver.setCodecPreferences(chosen);
  }
}
