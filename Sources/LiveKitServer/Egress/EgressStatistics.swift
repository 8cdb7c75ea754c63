internal import LiveKitProtocol

/// What became of recordings.
package struct EgressStatistics: Sendable, Equatable {
    /// Tracks that are being recorded, or are waited for.
    package var tracks = 0
    /// Recordings that are not over, of tracks and of whole rooms.
    package var active = 0
    /// Since the server began, as those that follow.
    package var started = 0
    package var completed = 0
    package var failed = 0
    package var aborted = 0
    /// Tracks that were to be recorded and could not be, or not at once.
    package var omitted = 0
    /// Of files that are complete.
    package var bytes = 0

    mutating func ended(_ status: LiveKitEgressStatus) {
        active -= 1
        switch status {
        case .egressComplete: completed += 1
        case .egressAborted: aborted += 1
        case .egressFailed, .egressLimitReached: failed += 1
        case .egressStarting, .egressActive, .egressEnding, .UNRECOGNIZED: break
        }
    }
}
