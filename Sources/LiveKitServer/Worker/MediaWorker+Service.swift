internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCEngine
internal import RTCNetwork

/// Why a worker does not do what the room service asks.
enum WorkerFailure: Error, Equatable {
    case refused(WorkerRefusal)
    case room(RoomServiceError)
}

/// What the room service asks.
extension MediaWorker {
    /// The room of that name, made if it is new.
    func create(_ configuration: RoomConfiguration) throws(WorkerRefusal) -> LiveKitRoom {
        let room = try openRoom(configuration, at: NetworkLoop.now)
        return withRoom(room) { machine, _ in machine.info }
    }

    /// The rooms of these names, the oldest first; all of them for none.
    func infos(named names: Set<String>) -> [LiveKitRoom] {
        let rooms = names.isEmpty ? hostedRooms : names.compactMap(room(named:)).sorted { $0.number < $1.number }
        return rooms.map(\.machine.info)
    }

    /// A room and who is in it; nil when there is none of the name.
    func look(at name: String) -> (room: LiveKitRoom, people: [LiveKitParticipantInfo])? {
        room(named: name).map { ($0.machine.info, $0.machine.participants) }
    }

    func atRoom<Value: Sendable>(
        _ name: String, _ body: @Sendable (RoomMachine, Instant) throws(RoomServiceError) -> Value
    ) throws(WorkerFailure) -> Value {
        guard let room = room(named: name) else { throw .refused(.noSuchRoom) }
        do throws(RoomServiceError) {
            return try withRoom(room, body)
        } catch {
            throw .room(error)
        }
    }

    /// Calls a participant. How long it may take is in the request; the room says when it is over.
    func performRPC(_ request: LiveKitPerformRpcRequest) async throws(WorkerFailure) -> RPCOutcome {
        guard let room = room(named: request.room) else { throw .refused(.noSuchRoom) }
        let now = NetworkLoop.now
        let call: RPCCallID
        do throws(RoomServiceError) {
            call = try room.machine.performRPC(request, at: now)
        } catch {
            throw .room(error)
        }
        // The outcome is not told before the room is settled.
        return await withCheckedContinuation { continuation in
            room.calls[call] = continuation
            touch(room)
            settleAll(at: now)
        }
    }
}
