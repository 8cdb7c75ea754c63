import RTCEngine
import RTCWire

/// When sound is muted a second of silent packets is sent, as by LiveKit's server. A decoder that gets no packets makes
/// noise like the last sound, and some would go on with that until the track is unmuted.
extension Room {
    /// The length of `OpusPacket.silence`, 20 ms, in samples.
    static let silentSamples = OpusPacket.samplesPerSecond / silentPacketsPerSecond
    private static let silentPacketsPerSecond = 50
    private static let silenceInterval = Interval.milliseconds(Int64(1_000 / silentPacketsPerSecond))

    func beginSilence(of publication: Publication, at now: Instant) {
        guard publication.description.format == .opus, !publication.description.isSealed,
            !publication.subscriptions.isEmpty
        else { return }
        publication.silence = (now, Self.silentPacketsPerSecond)
        silenced.append(publication)
    }

    /// The publication is unmuted, or has ended: no more silence is sent.
    func endSilence(of publication: Publication) {
        guard publication.silence != nil else { return }
        publication.silence = nil
        silenced.removeAll { $0 === publication }
    }

    /// Sends the silent packets that are due to all subscribers.
    func sendSilence(
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        for publication in silenced {
            guard let (due, left) = publication.silence, due <= now else { continue }
            for subscription in publication.subscriptions {
                subscription.sendSilence(due: due, into: &outbox, at: now)
                if outbox.isFull { send(&outbox) }
            }
            publication.silence = left > 1 ? (due + Self.silenceInterval, left - 1) : nil
        }
        silenced.removeAll { $0.silence == nil }
    }
}
