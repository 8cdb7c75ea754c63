internal import LiveKitProtocol
internal import LiveKitRecorder
internal import Logging
internal import RTCEngine
internal import RTCNetwork

/// Rooms of which every track is recorded as it is published.
extension Egresses {
    /// A room of which every track is recorded as it is published.
    struct Automatic {
        let room: LiveKitRoom
        /// What files are called.
        var template: String
        /// Tracks that it has had: each is recorded once, unless its recorder is lost.
        var known: Set<String> = []
        var losses = RecorderLosses()
    }

    /// Records each track of a room as it is published, and those that are.
    func startAutomatic(room: LiveKitRoom, template: String) async {
        // Who asks again does not have what is recorded recorded twice.
        automatic[room.sid, default: Automatic(room: room, template: template)].template = template
        guard let (found, people) = await surroundings.look(room.name), found.sid == room.sid else {
            // It is over, which may have been told before.
            automatic[room.sid] = nil
            return
        }
        for track in people.flatMap(\.tracks) { recordAutomatically(track, in: room) }
    }

    func recordAutomatically(_ track: LiveKitTrackInfo, in room: LiveKitRoom) {
        guard let wish = automatic[room.sid], !wish.known.contains(track.sid),
            track.type == .audio || track.type == .video
        else { return }
        guard wish.known.count < Egress.trackLimit else { return count { $0.omitted += 1 } }
        automatic[room.sid]?.known.insert(track.sid)
        guard track.encryption == .none else { return count { $0.omitted += 1 } }
        let id = add(.track(track.sid), wish.template, room)
        record(track, for: id, room, isAutomatic: true)
    }

    /// A recorder has no users any more: if it was lost, another one records what goes on.
    func recordLost(of sid: String) async {
        guard lost[sid] != nil else { return }
        let tracks = await surroundings.look(automatic[sid]?.room.name ?? "")?.people.flatMap(\.tracks) ?? []
        // From here on nobody comes in between: each finds the place that it had.
        recordAgain(lost.removeValue(forKey: sid) ?? [], of: sid, among: tracks)
        // Of those that are gone somebody else has the place.
        await fillPlaces()
    }

    private func recordAgain(_ sids: Set<String>, of room: String, among tracks: [LiveKitTrackInfo]) {
        guard let wish = automatic[room], !sids.isEmpty else { return }
        guard !wish.losses.areTooMany else { return tellOfLosses(wish.losses, tracks: sids.count) }
        automatic[room]?.known.subtract(sids)
        for track in tracks where sids.contains(track.sid) { recordAutomatically(track, in: wish.room) }
    }

    private func tellOfLosses(_ losses: RecorderLosses, tracks: Int) {
        // What is published from now on is tried once, and people publish as often as they like.
        guard losses.count == RecorderLosses.limit else { return }
        logger.warning(
            """
            recorders of a room were lost as soon as they were in it, and no other one comes for their tracks; if a \
            service removes whom it does not know, it has to let participants of the kind EGRESS stay
            """,
            metadata: ["count": "\(tracks)", "reason": "\(losses.reason?.description ?? "")"])
    }

    func automaticEnded(
        _ work: Work, _ failure: RecordingFailure?, in room: String, recorderCame came: Instant
    ) {
        guard automatic[room] != nil else { return }
        var loss: RecordingFailure?
        // What was asked to end does not begin again.
        if case .notInRoom? = failure, egresses[work.egress]?.isRunning == true { loss = failure }
        automatic[room]?.losses.trackEnded(loss, recorderCame: came, at: NetworkLoop.now)
        if loss != nil { lost[room, default: []].insert(work.track) }
    }
}
