import RTCEngine
import RTCWire

/// The bitrate that a subscriber's path carries is divided among its subscriptions.
extension Room {
    func allocate(_ peer: RoomPeer, at now: Instant) {
        peer.needsDivision = false
        peer.dividedAt = now
        guard !peer.subscriptions.isEmpty else { return peer.machine.setProbeGoal(nil, at: now) }
        divisions += 1
        let isSpeaking = Set(speakers.speakers.map(\.track))
        let demands = peer.subscriptions.map { subscription in
            let speaks = subscription.publication.publisher.published.contains { entry in
                entry.publication.speaker.map { isSpeaking.contains($0) } ?? false
            }
            return (
                id: UInt64(subscription.publication.id.rawValue),
                demand: subscription.demand(isSpeaking: speaks, mayPause: peer.mayPause, at: now)
            )
        }
        // Before the path was measured everything may go: the first pictures are what it is measured with.
        let available = peer.machine.settledBitrate(at: now) ?? .megabits(100)
        let allocation = peer.allocator.divide(available, among: demands, at: now)
        peer.machine.setProbeGoal(allocation.nextStep, at: now)
        peer.touch()
        for (subscription, (demand, target)) in zip(peer.subscriptions, zip(demands, allocation.targets)) {
            give(target, to: subscription, demand.demand)
            subscription.wantKeyFrameIfNeeded(at: now)
        }
    }

    private func give(_ target: LayerTarget?, to subscription: Subscription, _ demand: StreamDemand) {
        var given = target
        if case .video(let steps) = demand.media, steps.isEmpty {
            // The layers' bitrates are not known yet, or nothing comes. The target stays as it was, or becomes what the
            // path last allowed or all, so that it is forwarded when it comes. A paused stream stays paused until its
            // bitrates are known to fit.
            let isWanted = subscription.wantedQuality != .off && !subscription.publication.isMuted
            given =
                isWanted && !subscription.isPaused
                ? subscription.withinLimit(subscription.target ?? subscription.held ?? .highest) : nil
        } else if subscription.publication.isMuted || subscription.hints.isDisabled {
            given = nil
        }
        if let target, case .video(let steps) = demand.media, let most = steps.last?.target {
            subscription.held = target < most ? target : nil
        }
        subscription.target = given
        // A stream that is hidden or muted keeps its paused flag (as in LiveKit); whether it fits is decided when it
        // comes again.
        guard !subscription.hints.isDisabled, !subscription.publication.isMuted else { return }
        let isPaused =
            given == nil && subscription.wantedQuality != .off
            && subscription.publication.description.format.isVideo
        guard isPaused != subscription.isPaused else { return }
        subscription.isPaused = isPaused
        events.append(
            .streamPaused(subscription.publication.id, subscriber: subscription.subscriber.id, isPaused: isPaused))
    }
}
