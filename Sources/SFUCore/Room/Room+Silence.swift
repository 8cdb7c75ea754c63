import RTCEngine
import RTCWire

/// Sound that is muted ends with a second of silence, as with LiveKit's server. A decoder that misses packets makes
/// comfort noise like what it had last, and some go on droning with the noise of a room until it is unmuted.
extension Room {
    /// What `OpusPacket.silence` lasts: 20 ms.
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

    /// It is heard again, or over.
    func endSilence(of publication: Publication) {
        guard publication.silence != nil else { return }
        publication.silence = nil
        silenced.removeAll { $0 === publication }
    }

    /// Sends what is due to all who are subscribed.
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
