internal import LiveKitProtocol
internal import LiveKitRecorder
internal import SwiftProtobuf

/// One recording as services know it, from being asked for to its end: what happens goes in with its time (nanoseconds
/// since 1970), `info` is what is told. A value without I/O.
struct Egress {
    /// What it takes in.
    enum Scope: Equatable {
        case track(String)
        /// Every track of a room, each in a file of its own.
        case room(sound: Bool, pictures: Bool)
    }

    /// What a service is to hear of.
    enum News: Equatable {
        case updated
        case ended
    }

    let scope: Scope
    /// What files are called.
    let template: String
    private(set) var info: LiveKitEgressInfo
    /// Tracks that are being recorded, or are waited for, and where in `info.fileResults` their files are.
    private var tracks: [String: Int?] = [:]
    /// Tracks that it has had: each is recorded once. No more than `trackLimit`.
    private(set) var known: Set<String> = []
    /// The first one counts.
    private var failure: RecordingFailure?
    /// Of a room: tracks that are left out, or were until they went, and why. No more than `trackLimit`.
    private var omissions: [(track: String, reason: String)] = []
    /// Of a room: tracks of whose files something is missing, and why. No more than `trackLimit`.
    private var incomplete: [(track: String, reason: String)] = []
    /// Of a room: tracks that are to be had when there is a place for them. No more than `trackLimit`.
    private(set) var waiting: Set<String> = []
    /// Its room, or its recorder, is no longer there for it.
    private var isOrphaned = false

    init(id: String, scope: Scope, template: String, room: LiveKitRoom, index: String, at now: Int64) {
        self.scope = scope
        self.template = template
        info = .with {
            $0.egressID = id
            $0.roomID = room.sid
            $0.roomName = room.name
            $0.sourceType = .sdk
            $0.status = .egressStarting
            $0.startedAt = now
            $0.updatedAt = now
            $0.manifestLocation = index
            switch scope {
            case .track(let sid):
                $0.track = .with {
                    $0.roomName = room.name
                    $0.trackID = sid
                    $0.file = .with { $0.filepath = template }
                }
            case .room(let sound, let pictures):
                $0.egress = .with {
                    $0.roomName = room.name
                    $0.template = .with {
                        $0.audioOnly = !pictures
                        $0.videoOnly = !sound
                    }
                    $0.preset = .passthrough
                    $0.outputs = [.with { $0.file = .with { $0.filepath = template } }]
                }
            }
        }
    }

    /// LiveKit's word for "not over yet": what `ListEgress` calls active.
    var isActive: Bool {
        switch info.status {
        case .egressStarting, .egressActive, .egressEnding: true
        case .egressComplete, .egressFailed, .egressAborted, .egressLimitReached, .UNRECOGNIZED: false
        }
    }

    /// It can be asked to end, and takes tracks in.
    var isRunning: Bool { info.status == .egressStarting || info.status == .egressActive }

    /// Tracks of one recording: its room has no more files.
    static let trackLimit = RecordingFolder.fileLimit

    /// It takes no more tracks in.
    var isFull: Bool { known.count >= Self.trackLimit }

    func wants(_ track: LiveKitTrackInfo) -> Bool {
        guard isRunning, !known.contains(track.sid) else { return false }
        switch (scope, track.type) {
        case (.track(let sid), _): return sid == track.sid
        case (.room(let sound, _), .audio): return sound
        case (.room(_, let pictures), .video): return pictures
        case (.room, .data), (.room, .UNRECOGNIZED): return false
        }
    }

    // MARK: What happens

    /// A track is going to be recorded.
    mutating func took(_ track: String, at now: Int64) -> News? {
        known.insert(track)
        tracks[track] = .some(nil)
        waiting.remove(track)
        omissions.removeAll { $0.track == track }
        return tellDetails(at: now)
    }

    /// A track is not in the room any more, and is not waited for. That it was left out is still told.
    mutating func gone(_ track: String) { waiting.remove(track) }

    /// A room's recorder is in the room.
    mutating func becameActive(at now: Int64) -> News? {
        guard info.status == .egressStarting else { return nil }
        info.status = .egressActive
        info.startedAt = now
        info.updatedAt = now
        return .updated
    }

    mutating func fileBegan(_ path: String, of track: String, at now: Int64) -> News? {
        // One track may have several files, for its recorder may have to come back.
        guard tracks.keys.contains(track), info.fileResults.count < Self.trackLimit else { return nil }
        tracks[track] = info.fileResults.count
        info.fileResults.append(
            .with {
                $0.filename = path
                $0.location = path
                $0.startedAt = now
            })
        return becameActive(at: now)
    }

    mutating func fileEnded(_ file: RecordedFile, of track: String) {
        guard case .some(.some(let place)) = tracks[track] else { return }
        info.fileResults[place] = .with {
            $0.filename = file.path
            $0.location = file.path
            $0.startedAt = file.startedAt
            $0.endedAt = file.endedAt
            $0.duration = file.duration
            $0.size = file.size
        }
    }

    /// A track is over, or cannot be had.
    mutating func trackEnded(_ track: String, _ failure: RecordingFailure?, at now: Int64) -> News? {
        guard tracks.removeValue(forKey: track) != nil else { return nil }
        switch (scope, failure) {
        case (_, nil): break
        case (.room, let failure?) where failure.isHole:
            incomplete.append((track, failure.description))
            let news = tellDetails(at: now)
            return settle(at: now) ?? news
        // The others go on.
        case (.room, let failure?) where failure.isOfOneTrack:
            let news = omit(track, failure.description, at: now)
            return settle(at: now) ?? news
        case (_, let failure?): self.failure = self.failure ?? failure
        }
        return settle(at: now)
    }

    /// Of a room: a track that is not recorded.
    ///
    /// - Parameter waits: it is, once another has ended.
    mutating func omit(_ track: String, _ reason: String, waits: Bool = false, at now: Int64) -> News? {
        if waits, waiting.count < Self.trackLimit {
            waiting.insert(track)
        } else if !isFull {
            known.insert(track)
        }
        guard isRunning, omissions.count < Self.trackLimit, !omissions.contains(where: { $0.track == track }) else {
            return nil
        }
        omissions.append((track, reason))
        return tellDetails(at: now)
    }

    /// Says in `info.details` what is left out, and what is not complete, if that is something else now.
    private mutating func tellDetails(at now: Int64) -> News? {
        func sentence(_ title: String, _ tracks: [(track: String, reason: String)]) -> [String] {
            // Rooms may have thousands.
            let named = tracks.prefix(Self.namedOmissions).map { "\($0.track): \($0.reason)" }
            return named.isEmpty ? [] : [title + named.joined(separator: " ")]
        }
        let details = (sentence("Not recorded: ", omissions) + sentence("Not complete: ", incomplete))
            .joined(separator: " ")
        guard details != info.details else { return nil }
        info.details = details
        info.updatedAt = now
        return .updated
    }

    private static let namedOmissions = 20

    /// Somebody asks for its end.
    mutating func stopRequested(at now: Int64) -> News? {
        guard isRunning else { return nil }
        info.status = .egressEnding
        info.updatedAt = now
        return settle(at: now) ?? .updated
    }

    /// The room is over, or its recorder is no longer in it.
    mutating func orphaned(_ failure: RecordingFailure?, at now: Int64) -> News? {
        isOrphaned = true
        self.failure = self.failure ?? failure
        return settle(at: now)
    }

    var isOfRoom: Bool {
        switch scope {
        case .track: false
        case .room: true
        }
    }

    private mutating func settle(at now: Int64) -> News? {
        guard isActive, tracks.isEmpty else { return nil }
        if isOfRoom, isRunning, !isOrphaned, failure == nil { return nil }
        info.updatedAt = now
        info.endedAt = now
        // The field that came before the list.
        if info.fileResults.count == 1 { info.file = info.fileResults[0] }
        if let failure {
            info.status = .egressFailed
            info.error = failure.description
            info.errorCode = 500
        } else if info.fileResults.isEmpty, !omissions.isEmpty {
            // Of a room all that there was has been left out.
            info.status = .egressFailed
            info.error = info.details
            info.errorCode = 500
        } else if info.fileResults.isEmpty, !isOfRoom {
            info.status = .egressAborted
            info.error = "Nothing was received of the track before it ended."
            info.errorCode = 412
        } else {
            info.status = .egressComplete
        }
        return .ended
    }
}

extension RecordingFailure {
    /// It says nothing of other tracks.
    var isOfOneTrack: Bool {
        switch self {
        case .unsupported, .noBeginning, .noSuchTrack, .notAllowed, .encrypted, .tooManyFiles,
            .tooManyChanges:
            true
        case .diskFull, .unwritable, .fellBehind, .notInRoom: false
        }
    }
}
