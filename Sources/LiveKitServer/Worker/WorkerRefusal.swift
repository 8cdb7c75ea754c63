internal import LiveKitCore

/// Why a worker does not take somebody in.
enum WorkerRefusal: Error, Equatable {
    case join(JoinRefusal)
    case noSuchRoom
    case tooManyRooms(limit: Int)
    case tooManyConnections(limit: Int)
    /// The room is on another worker.
    case elsewhere
    /// There is no such room, and no new ones are taken.
    case draining
    case goingDown
}
