internal import RTCWire

extension Negotiator {
    /// Whether an offer should be made (W3C WebRTC §4.7.3, "check if negotiation is needed"). Only asked while stable;
    /// the owner says it once, after its user's calls have settled.
    public var negotiationNeeded: Bool {
        guard signalingState == .stable else { return false }
        return wantsICERestart || needsDataSection || transceivers.contains { needsNegotiation($0) }
    }

    private func needsNegotiation(_ transceiver: Transceiver) -> Bool {
        guard let index = transceiver.mLineIndex else { return transceiver.phase == .active }
        switch transceiver.phase {
        case .stopped: return false
        // Without a name it is in an offer that was made and not set.
        case .stopping: return transceiver.mid != nil
        case .active: break
        }
        guard let local = currentLocalDescription, let remote = currentRemoteDescription,
            local.sdp.media.indices.contains(index), remote.sdp.media.indices.contains(index)
        else { return true }
        let ours = local.sdp.media[index]
        let wanted = transceiver.direction.described
        // Also of a section that does not send: an answer of before we wanted to has not described the track.
        if wanted.sends, !describesStreams(ours, of: transceiver) { return true }
        switch local.type {
        case .offer:
            let answered = remote.sdp.direction(ofSection: index, answering: local.sdp).reversed
            return ours.direction != wanted && answered != wanted
        case .answer, .pranswer, .rollback:
            // What the offer did not allow would not come by asking the same way; but by an offer of ours it may.
            return ours.direction != wanted.intersection(remote.sdp.direction(ofSection: index).reversed)
        }
    }

    private func describesStreams(_ section: MediaDescription, of transceiver: Transceiver) -> Bool {
        let msids = section.all(SDP.MediaStreamID.self)
        return !msids.isEmpty && Set(msids.map(\.stream).filter { $0 != "-" }) == Set(transceiver.streamIDs)
    }
}
