internal import LiveKitCore
internal import LiveKitProtocol
internal import SwiftProtobuf

/// Rooms for another part of this process: as the room service makes and ends them, without a token.
extension LiveKitServer {
    /// Makes a room, unless it is there.
    ///
    /// - Parameters:
    ///   - emptyTimeout: how long it waits for somebody to come, in seconds.
    ///   - departureTimeout: how long it waits once all have gone, in seconds.
    package func openRoom(_ name: String, emptyTimeout: UInt32, departureTimeout: UInt32) async throws {
        let wanted = LiveKitRoomConfiguration.with {
            $0.emptyTimeout = emptyTimeout
            $0.departureTimeout = departureTimeout
        }
        let room = configuration.rooms.described(name, as: wanted)
        _ = try await atRoom(name) { worker throws(WorkerRefusal) in try await worker.create(room) }
    }

    /// Ends a room for all; one that is over already is left.
    package func endRoom(_ name: String) async {
        guard let worker = worker(ofRoom: name) else { return }
        _ = try? await worker.atRoom(name) { machine, now throws(RoomServiceError) in
            machine.end(.roomEndApiDelete, at: now)
        }
    }

    /// Who is in a room, by identity, each with the name of their connection; nobody where there is no such room.
    package func participants(of room: String) async -> [String: String] {
        guard let worker = worker(ofRoom: room) else { return [:] }
        let participants = try? await worker.atRoom(room) { machine, _ throws(RoomServiceError) in machine.participants
        }
        return Dictionary((participants ?? []).map { ($0.identity, $0.sid) }) { first, _ in first }
    }

    /// Takes somebody out of a room, if they are there.
    package func removeParticipant(_ identity: String, from room: String) async {
        guard let worker = worker(ofRoom: room) else { return }
        _ = try? await worker.atRoom(room) { machine, now throws(RoomServiceError) in
            try machine.removeParticipant(identity, at: now)
        }
    }
}
