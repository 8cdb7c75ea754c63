extension Negotiator {
    /// What the step from `old` to this state asks for. Deriving it from the two states, rather than collecting it on
    /// the way, makes a rollback the same as any other step. The application hears of the state first, then of tracks
    /// that end, then of those that begin (W3C WebRTC §4.4.1.5).
    func actions(since old: Negotiator) -> [NegotiationAction] {
        var actions: [NegotiationAction] = []
        if signalingState != old.signalingState {
            // Our offer was rolled back on the way (W3C WebRTC §4.4.1.5).
            if old.signalingState == .haveLocalOffer, signalingState == .haveRemoteOffer {
                actions.append(.signalingStateChanged(.stable))
            }
            actions.append(.signalingStateChanged(signalingState))
        }
        if signalingState != .closed {
            actions += transport.actions(since: old.transport)
            actions += data.actions(since: old.data)
        }
        for transceiver in transceivers where old.transceiver(transceiver.id) == nil {
            if transceiver.origin == .remoteOffer { actions.append(.transceiverAdded(transceiver.id)) }
        }
        for before in old.transceivers {
            actions += Self.streamActions(from: before, to: transceiver(before.id), id: before.id)
        }
        for after in transceivers where old.transceiver(after.id) == nil {
            actions += Self.streamActions(from: nil, to: after, id: after.id)
        }
        for transceiver in transceivers where transceiver.bringsTrack(since: old.transceiver(transceiver.id)) {
            actions.append(.trackAdded(transceiver.id))
        }
        return actions
    }

    private static func streamActions(
        from before: Transceiver?, to after: Transceiver?, id: TransceiverID
    ) -> [NegotiationAction] {
        var actions: [NegotiationAction] = []
        let (old, new) = (before?.association, after?.association)
        if old?.receiving != new?.receiving { actions.append(.configureReceiver(id, new?.receiving)) }
        if old?.sending != new?.sending { actions.append(.configureSender(id, new?.sending)) }
        if old?.receivesTrack == true, new?.receivesTrack != true { actions.append(.trackRemoved(id)) }
        let isOver = after == nil || after?.phase == .stopped
        if let before, before.phase != .stopped, isOver { actions.append(.transceiverStopped(id)) }
        return actions
    }
}

extension Transceiver {
    /// Whether the peer sends what it did not before: a track, or one in other streams (W3C WebRTC §5.1.1).
    fileprivate func bringsTrack(since before: Transceiver?) -> Bool {
        guard association.receivesTrack else { return false }
        guard let before, before.association.receivesTrack else { return true }
        return Set(remoteStreamIDs) != Set(before.remoteStreamIDs)
    }
}
