internal import ChatModel

/// How far each workspace's log was read, and up to where everything is done with: there a restart goes on.
struct PushPositions {
    private struct Place {
        var read: Int64
        var kept: Int64
        /// Of messages that were read, the pushes that are not done with.
        var open: [Int64: Int] = [:]

        var done: Int64 { open.keys.min().map { $0 - 1 } ?? read }
    }

    private var places: [WorkspaceID: Place] = [:]

    /// Nil for a workspace of which nothing is known.
    func read(of workspace: WorkspaceID) -> Int64? { places[workspace]?.read }

    mutating func begin(_ workspace: WorkspaceID, at kept: Int64) {
        places[workspace] = Place(read: kept, kept: kept)
    }

    mutating func read(_ workspace: WorkspaceID, upTo sequence: Int64) {
        places[workspace]?.read = sequence
    }

    mutating func begin(_ origin: Push.Origin) {
        places[origin.workspace]?.open[origin.sequence, default: 0] += 1
    }

    mutating func finish(_ origin: Push.Origin) {
        guard let count = places[origin.workspace]?.open[origin.sequence] else { return }
        places[origin.workspace]?.open[origin.sequence] = count > 1 ? count - 1 : nil
    }

    /// What is to be written down, once.
    mutating func takeChanged() -> [WorkspaceID: Int64] {
        var changed: [WorkspaceID: Int64] = [:]
        for (workspace, place) in places where place.done > place.kept {
            changed[workspace] = place.done
            places[workspace]?.kept = place.done
        }
        return changed
    }

    /// Somebody else reads now.
    mutating func forget() { places = [:] }
}
