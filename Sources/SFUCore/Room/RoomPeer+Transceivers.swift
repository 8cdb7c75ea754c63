import RTCEngine
import RTCWire

/// Which transceiver of a peer carries what it is subscribed to.
extension RoomPeer {
    /// Finds a publication a transceiver to be sent on. Leaves nothing behind when it is refused.
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
            // The peer's offer has made it for receiving only, or it was held.
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
            // There is no room for another: better one in which it has been.
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

    /// A publication that comes back is put where it has not been, as long as fewer than these carry nothing.
    private static let mostIdle = 16

    /// One that the peer knows to be inactive: it is not to take the new track for the one before. And one in which the
    /// track has not been before, in whatever codec: LiveKit's Rust and Python SDK 1.2 tell of it in a section once in
    /// a session.
    ///
    /// - Parameter publication: nil for any.
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
