#if canImport(ComposableArchitecture)
    internal import ComposableArchitecture
#else
    internal import ComposableArchitectureStandIn
#endif

extension WebRTCFeature {
    /// What the engine tells. It is for the connection that the peer has now, or for one whose answer has not been told
    /// yet (then it waits), or for one that is over (then it never finds a taker).
    func happened(_ event: WebRTCEvent, _ state: inout State) -> Effect<Action> {
        let userId = event.connection.userId
        guard var peer = state.connectedPeers[id: userId], peer.connection == event.connection else {
            state.ledger.keep(event)
            return .none
        }
        defer { if state.connectedPeers[id: userId] != nil { state.connectedPeers[id: userId] = peer } }
        switch event {
        case .connectionStateChanged(let connectionState, _, let because):
            peer.connectionState = connectionState
            if connectionState == .failed { state.error = .connectionFailed(userId: userId, reason: because) }
            if connectionState == .closed {
                state.connectedPeers.remove(id: userId)
                state.ledger.end(event.connection)
            }
            return .send(.delegate(.connectionStateChanged(userId: userId, state: connectionState)))
        case .iceCandidateGenerated(let candidate, _):
            return .send(
                .delegate(
                    .iceCandidateGenerated(
                        candidate: candidate.candidate, sdpMLineIndex: candidate.sdpMLineIndex,
                        sdpMid: candidate.sdpMid, userId: userId)))
        case .videoTrackAdded(let info):
            peer.videoTracks.append(info)
            return .send(.delegate(.videoTrackAdded(info)))
        case .videoTrackRemoved(let info):
            peer.videoTracks.removeAll { $0 == info }
            return .send(.delegate(.videoTrackRemoved(info)))
        case .audioTrackAdded(let info):
            peer.audioTracks.append(info)
            return .send(.delegate(.audioTrackAdded(info)))
        case .audioTrackRemoved(let info):
            peer.audioTracks.removeAll { $0 == info }
            return .send(.delegate(.audioTrackRemoved(info)))
        case .errorOccurred(let error, _):
            state.error = error
            return .none
        }
    }
}
