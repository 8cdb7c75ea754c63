internal import RTCWire

/// What the descriptions have settled about the one bundled transport. A rollback restores an earlier value, and the
/// difference between two values is what the transport is told.
struct TransportAgreement: Sendable, Equatable {
    struct RemoteICE: Sendable, Equatable {
        var parameters: ICEParameters
        var isLite: Bool
    }

    struct DTLS: Sendable, Equatable {
        /// Ours.
        var role: DTLSRole
        var fingerprints: [Fingerprint]
    }

    var iceRole: ICERole?
    var localICE: ICEParameters?
    var remoteICE: RemoteICE?
    var dtls: DTLS?
    /// The peer's candidates of this generation in the order in which they came.
    var remoteCandidates: [ICECandidate] = []
    var isRemoteComplete = false
    /// The section that stands for the bundle in both descriptions.
    var section: Int?

    /// What leads from `old` to here, in the order in which the transport wants it.
    func actions(since old: TransportAgreement) -> [NegotiationAction] {
        var actions: [NegotiationAction] = []
        if let iceRole, iceRole != old.iceRole { actions.append(.iceRole(iceRole)) }
        let isRestarted = old.localICE != nil && localICE != old.localICE
        if isRestarted, let localICE { actions.append(.restartICE(local: localICE)) }
        // After a rollback of our restart the agent needs the peer's unchanged half again. A restart that we offer
        // waits for the new half, which the answer brings: `remoteICE` is nil until then.
        let isRemoteNew = remoteICE != nil && (remoteICE != old.remoteICE || isRestarted)
        if isRemoteNew, let remoteICE {
            actions.append(.setRemoteICE(remoteICE.parameters, isLite: remoteICE.isLite))
        }
        if let dtls, old.dtls == nil { actions.append(.startDTLS(dtls.role, fingerprints: dtls.fingerprints)) }
        let known = isRemoteNew ? [] : Set(old.remoteCandidates)
        actions += remoteCandidates.filter { !known.contains($0) }.map { .addRemoteCandidate($0) }
        if isRemoteComplete, isRemoteNew || !old.isRemoteComplete { actions.append(.endOfRemoteCandidates) }
        return actions
    }
}
