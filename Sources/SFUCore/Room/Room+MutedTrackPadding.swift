import RTCEngine
import RTCWire

/// Pion, and so LiveKit's Go SDK, reports a track when its first packet comes. A subscriber that joins while a track is
/// muted would not hear of the track until it is unmuted. So it gets some packets of padding, as from LiveKit's server.
extension Room {
    /// Padding packets that one subscriber is to get of a muted track.
    struct MutedTrackPadding {
        let subscription: Subscription
        var due: Instant
        /// Given up at this time, if there is no path to the subscriber until then.
        let until: Instant
    }

    /// How many a subscriber gets of a track: any of them may be lost.
    static let mutedTrackPaddingPackets = 5
    private static let mutedTrackPaddingInterval = Interval.milliseconds(100)
    private static let mutedTrackPaddingPatience = Interval.seconds(Int64(30))

    /// The publication is muted, or the subscription to a muted one has begun.
    func beginMutedTrackPadding(of subscription: Subscription, at now: Instant) {
        // The packets of media before the track was muted have told the subscriber of it.
        let hasSentMedia = subscription.hasSent && subscription.paddingPacketsLeft == Self.mutedTrackPaddingPackets
        guard subscription.subscriber.needsPackets, subscription.publication.isMuted, !hasSentMedia,
            subscription.paddingPacketsLeft > 0
        else { return }
        endMutedTrackPadding(of: subscription)
        mutedTrackPadding.append(
            MutedTrackPadding(
                subscription: subscription, due: now + Self.mutedTrackPaddingInterval,
                until: now + Self.mutedTrackPaddingPatience))
    }

    func endMutedTrackPadding(of subscription: Subscription) {
        mutedTrackPadding.removeAll { $0.subscription === subscription }
    }

    var nextMutedTrackPadding: Instant? { mutedTrackPadding.lazy.map(\.due).min() }

    /// Sends the padding that is due.
    func sendMutedTrackPadding(
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        for place in mutedTrackPadding.indices where mutedTrackPadding[place].due <= now {
            mutedTrackPadding[place].due = now + Self.mutedTrackPaddingInterval
            let subscription = mutedTrackPadding[place].subscription
            if subscription.sendPadding(into: &outbox, at: now) { subscription.paddingPacketsLeft -= 1 }
            if outbox.isFull { send(&outbox) }
        }
        mutedTrackPadding.removeAll {
            $0.subscription.paddingPacketsLeft == 0 || $0.until <= now || !$0.subscription.publication.isMuted
        }
    }
}
