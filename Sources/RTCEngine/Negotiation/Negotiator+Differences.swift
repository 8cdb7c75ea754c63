extension Negotiator {
    /// What the step from `old` to this state asks for. Deriving it from the two states, rather than collecting it on
    /// the way, makes a rollback the same as any other step.
    func actions(since old: Negotiator) -> [NegotiationAction] {
        var actions = signalingState == .closed ? [] : transport.actions(since: old.transport)
        if signalingState != .closed { actions += data.actions(since: old.data) }
        for transceiver in transceivers where old.transceiver(transceiver.id) == nil {
            if transceiver.origin == .remoteOffer { actions.append(.transceiverAdded(transceiver.id)) }
        }
        for before in old.transceivers {
            actions += Self.streamActions(from: before, to: transceiver(before.id), id: before.id)
        }
        for after in transceivers where old.transceiver(after.id) == nil {
            actions += Self.streamActions(from: nil, to: after, id: after.id)
        }
        if signalingState != old.signalingState { actions.append(.signalingStateChanged(signalingState)) }
        return actions
    }

    private static func streamActions(
        from before: Transceiver?, to after: Transceiver?, id: TransceiverID
    ) -> [NegotiationAction] {
        var actions: [NegotiationAction] = []
        let (old, new) = (before?.association, after?.association)
        if old?.receiving != new?.receiving { actions.append(.configureReceiver(id, new?.receiving)) }
        if old?.sending != new?.sending { actions.append(.configureSender(id, new?.sending)) }
        switch (old?.receivesTrack ?? false, new?.receivesTrack ?? false) {
        case (false, true): actions.append(.trackAdded(id))
        case (true, false): actions.append(.trackRemoved(id))
        case (true, true):
            // W3C WebRTC §5.1.1: told again when it is in one more stream.
            let known = Set(old?.remoteStreamIDs ?? [])
            if new?.remoteStreamIDs.allSatisfy(known.contains) == false { actions.append(.trackAdded(id)) }
        case (false, false): break
        }
        let isOver = after == nil || after?.phase == .stopped
        if let before, before.phase != .stopped, isOver { actions.append(.transceiverStopped(id)) }
        return actions
    }
}
