extension Negotiator {
    /// Keeps what a rollback restores, once, when the stable state is left.
    mutating func rememberStable() {
        guard stable == nil else { return }
        stable = StableState(
            associations: Dictionary(uniqueKeysWithValues: transceivers.map { ($0.id, $0.association) }),
            transport: transport, payloadTypes: payloadTypes, extensionIDs: extensionIDs,
            data: data.association, retired: retired, created: created)
    }

    /// Back to the last stable state (RFC 8829 §4.1.10.2). Either side's offer may be rolled back by either call, as
    /// browsers have it; a provisional answer may not.
    mutating func rollBack(_ side: DescriptionSide) throws(NegotiationError) {
        switch signalingState {
        case .haveLocalOffer, .haveRemoteOffer: break
        case .closed: throw .closed
        case .stable, .haveLocalPranswer, .haveRemotePranswer: throw .wrongState(signalingState, .rollback, side)
        }
        guard let stable else { throw .wrongState(signalingState, .rollback, side) }
        // What the offer made, it takes with it; but what the user has added since stays.
        transceivers.removeAll { stable.associations[$0.id] == nil && $0.origin == .remoteOffer }
        for index in transceivers.indices {
            transceivers[index].association = stable.associations[transceivers[index].id] ?? Transceiver.Association()
            switch transceivers[index].phase {
            case .active: break
            case .stopping, .stopped: transceivers[index].endStreams()
            }
        }
        // Stopped while it had a section only in the offer that is gone: the peer never hears of it.
        transceivers.removeAll { $0.phase != .active && $0.mid == nil }
        transport = stable.transport
        payloadTypes = stable.payloadTypes
        extensionIDs = stable.extensionIDs
        data.association = stable.data
        retired = stable.retired
        pendingLocalDescription = nil
        pendingRemoteDescription = nil
        self.stable = nil
        // What was created before may be set again, unless it is about something that is over.
        created = stable.created.flatMap { isSettable($0) ? $0 : nil }
        signalingState = .stable
    }

    private func isSettable(_ created: CreatedDescription) -> Bool {
        created.typed.type == .offer
            && created.plan.allSatisfy { section in
                guard case .transceiver(let id, _) = section else { return true }
                return transceivers.contains { $0.id == id && $0.phase == .active }
            }
    }
}
