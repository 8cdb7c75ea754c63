import RTCEngine
import RTCWire

/// Pion, and so LiveKit's Go SDK, reports a track when its first packet comes. A subscriber that joins while a track is
/// muted would not hear of the track until it is unmuted. So it gets some packets of padding, as from LiveKit's server.
extension Room {
    /// Padding packets that one subscriber is to get of a muted track.
    struct Introduction {
        let subscription: Subscription
        var due: Instant
        /// Given up at this time, if there is no path to the subscriber until then.
        let until: Instant
    }

    /// How many a subscriber gets of a track: any of them may be lost.
    static let introductionPackets = 5
    private static let introductionInterval = Interval.milliseconds(100)
    private static let introductionPatience = Interval.seconds(Int64(30))

    /// The publication is muted, or the subscription to a muted one has begun.
    func beginIntroduction(of subscription: Subscription, at now: Instant) {
        // Where media went first, none are needed any more.
        let hasSentMedia = subscription.hasSent && subscription.introductionsLeft == Self.introductionPackets
        guard subscription.subscriber.needsPackets, subscription.publication.isMuted, !hasSentMedia,
            subscription.introductionsLeft > 0
        else { return }
        endIntroduction(of: subscription)
        introductions.append(
            Introduction(
                subscription: subscription, due: now + Self.introductionInterval,
                until: now + Self.introductionPatience))
    }

    func endIntroduction(of subscription: Subscription) {
        introductions.removeAll { $0.subscription === subscription }
    }

    var nextIntroduction: Instant? { introductions.lazy.map(\.due).min() }

    /// Sends what is due.
    func introduce(
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        for place in introductions.indices where introductions[place].due <= now {
            introductions[place].due = now + Self.introductionInterval
            let subscription = introductions[place].subscription
            if subscription.sendPadding(into: &outbox, at: now) { subscription.introductionsLeft -= 1 }
            if outbox.isFull { send(&outbox) }
        }
        introductions.removeAll {
            $0.subscription.introductionsLeft == 0 || $0.until <= now || !$0.subscription.publication.isMuted
        }
    }
}
