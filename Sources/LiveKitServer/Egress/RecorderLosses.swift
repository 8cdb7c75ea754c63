internal import LiveKitRecorder
internal import RTCEngine

/// Recorders of one room that are lost, one after the other, and when they are too many. Whatever takes a recorder away
/// for having come (a service that removes whom it does not know) takes the next one, too, at once and without end. A
/// value without I/O.
struct RecorderLosses {
    /// A recorder that is in the room for so long was not taken away for having come.
    static let steadyTime = Interval.seconds(Int64(10))
    /// So many in a row that were not, and no other one comes for what they recorded.
    static let limit = 2

    /// In a row, that were in the room for less.
    private(set) var count = 0
    /// Why the last of them was lost.
    private(set) var reason: RecordingFailure?
    /// When it had come: each of its tracks tells of the loss.
    private var lastCame: Instant?

    var areTooMany: Bool { count >= Self.limit }

    /// A recorder is done with a track.
    ///
    /// - Parameters:
    ///   - loss: why the recorder was lost; nil when it was not.
    ///   - came: when it was in the room.
    mutating func trackEnded(_ loss: RecordingFailure?, recorderCame came: Instant, at now: Instant) {
        // It counts as what it was at its first track's end: to close the files of the others may take long.
        guard came != lastCame else { return }
        if now - came >= Self.steadyTime {
            count = 0
        } else if let loss {
            count += 1
            reason = loss
            lastCame = came
        }
    }
}
