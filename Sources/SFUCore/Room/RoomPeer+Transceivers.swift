import RTCEngine
import RTCWire

/// How a transceiver is chosen for a new subscription.
extension RoomPeer {
    /// Finds or makes a transceiver for a publication. When that fails, no new transceiver is left.
    func attach(
        _ publication: Publication, _ existing: TransceiverID?, streamID: String, trackID: String?,
        continuing isContinued: Bool, inPlaceOf original: Publication, at now: Instant
    ) throws(PeerError) -> TransceiverID {
        defer { touch() }
        let codecs = publication.description.codecs
        let kind: MediaKind = publication.description.format.isVideo ? .video : .audio
        func take(_ taken: TransceiverID) throws(PeerError) -> TransceiverID {
            try machine.setCodecPreferences(codecs, of: taken)
            if idle.contains(taken), !isContinued { try machine.renewSources(of: taken) }
            try machine.setStreams([streamID], trackID: trackID, of: taken)
            // The transceiver was made by the peer's offer and so only receives, or is inactive.
            try machine.setDirection(.sendonly, of: taken, at: now)
            idle.removeAll { $0 == taken }
            return taken
        }
        if let existing { return try take(existing) }
        if reusesTransceivers, let free = idleTransceiver(kind, for: original.id) {
            carriers[original.id, default: []].insert(free)
            return try take(free)
        }
        let transceiver: TransceiverID
        do throws(PeerError) {
            transceiver = try machine.addTransceiver(
                kind, direction: .sendonly, streamIDs: [streamID], trackID: trackID)
        } catch {
            // No more transceivers can be made, so an idle one is used even if it has carried this publication before.
            guard let used = idleTransceiver(kind, for: nil) else { throw error }
            return try take(used)
        }
        do throws(PeerError) {
            try machine.setCodecPreferences(codecs, of: transceiver)
        } catch {
            try machine.setDirection(.stopped, of: transceiver, at: now)
            throw error
        }
        carriers[original.id, default: []].insert(transceiver)
        return transceiver
    }

    /// When so many transceivers are idle, one that has carried the publication before is used again instead of making
    /// a new one.
    private static let mostIdle = 16

    /// An idle transceiver for a publication. The peer has to have been told that it is inactive, so that it does not
    /// take the new track for the former one. And the publication must not have been on it before, in any codec:
    /// LiveKit's Rust and Python SDKs 1.2 report a track once for each section in a session, and would not report it
    /// again.
    ///
    /// - Parameter publication: nil for a transceiver that may have carried it.
    private func idleTransceiver(_ kind: MediaKind, for publication: PublicationID?) -> TransceiverID? {
        guard !idle.isEmpty else { return nil }
        let free = machine.transceivers.filter {
            $0.kind == kind && $0.currentDirection == .inactive && idle.contains($0.id)
        }
        guard let used = publication.flatMap({ carriers[$0] }) else { return free.first?.id }
        let fresh = free.first { !used.contains($0.id) }
        return (fresh ?? (free.count >= Self.mostIdle ? free.first : nil))?.id
    }
}
