import RTCEngine
import RTCWire

/// Pion tells of a track when its first packet comes, and with it LiveKit's Go SDK: one that is muted when somebody
/// comes would not be there for them until it is heard. They get some packets of padding, as from LiveKit's server.
extension Room {
    /// Packets that some subscriber is to get of a track of which nothing comes.
    struct Introduction {
        let subscription: Subscription
        var due: Instant
        /// Packets that are still to be sent, for one may be lost.
        var left = 5
        /// Until then there may be a way to the subscriber.
        let until: Instant
    }

    private static let introductionInterval = Interval.milliseconds(100)
    private static let introductionPatience = Interval.seconds(Int64(30))

    /// The publication is muted, or the subscription to a muted one has begun.
    func beginIntroduction(of subscription: Subscription, at now: Instant) {
        guard subscription.subscriber.needsPackets, subscription.publication.isMuted, !subscription.hasSent else {
            return
        }
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
            if introductions[place].subscription.sendPadding(into: &outbox, at: now) { introductions[place].left -= 1 }
            if outbox.isFull { send(&outbox) }
        }
        introductions.removeAll { $0.left == 0 || $0.until <= now || !$0.subscription.publication.isMuted }
    }
}
