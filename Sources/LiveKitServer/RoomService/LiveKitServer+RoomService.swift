internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCEngine
package import SocketIO
internal import SwiftProtobuf

/// The services of LiveKit's that there are here.
enum TwirpService: String, CaseIterable {
    case rooms = "RoomService"
    case egress = "Egress"
    case agentDispatch = "AgentDispatchService"

    var prefix: String { "/twirp/livekit.\(rawValue)/" }

    /// Nil for paths of others.
    init?(path: String) {
        guard let service = Self.allCases.first(where: { path.hasPrefix($0.prefix) }) else { return nil }
        self = service
    }
}

/// What services ask, by Twirp. `method` is the whole table of livekit.RoomService; the others have their own.
extension LiveKitServer {
    /// As LiveKit's server has it.
    static let bodyLimit = 10 << 20

    /// How large a body may be, of a request of which the head has come: more than usual of those with a token that
    /// lets them ask for anything.
    package func bodyLimit(of request: SocketIOHTTPRequest) -> Int? {
        let path = request.withOneSlash.path
        guard TwirpService(path: path) != nil,
            let grants = try? request.accessToken(keys: configuration.keys, at: Date()).claims.video,
            grants.isForServices
        else { return nil }
        return Self.bodyLimit
    }

    /// Nil for other paths.
    func answerTwirp(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse? {
        guard request.path.hasPrefix("/twirp/") else { return nil }
        if request.method == "OPTIONS" { return CrossOrigin.answer(request) }
        guard let service = TwirpService(path: request.path) else {
            return TwirpError(.badRoute, "no handler for path \(request.path)").response
        }
        do throws(TwirpError) {
            let token: AccessToken
            do throws(HTTPRefusal) {
                token = try request.accessToken(keys: configuration.keys, at: Date())
            } catch {
                throw TwirpError(error)
            }
            let call = try TwirpCall(
                request, method: String(request.path.dropFirst(service.prefix.count)), token: token)
            return switch service {
            case .rooms: try await method(call)
            case .egress: try await egressMethod(call)
            case .agentDispatch: try await agentDispatchMethod(call)
            }
        } catch {
            return error.response
        }
    }

    private func method(_ call: TwirpCall) async throws(TwirpError) -> SocketIOHTTPResponse {
        switch call.method {
        case "CreateRoom":
            try call.require(\.roomCreate)
            return try call.response(try await create(call.argument()))
        case "ListRooms":
            try call.require(\.roomList)
            return try call.response(try await list(call.argument()))
        case "DeleteRoom":
            try call.require(\.roomCreate)
            let request: LiveKitDeleteRoomRequest = try call.argument()
            try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                machine.end(.roomEndApiDelete, at: now)
            }
            return try call.response(LiveKitDeleteRoomResponse())
        case "UpdateRoomMetadata":
            let request: LiveKitUpdateRoomMetadataRequest = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, _ throws(RoomServiceError) in
                    try machine.updateMetadata(request.metadata)
                })
        case "ListParticipants":
            return try call.response(try await listParticipants(call.administration(\.room)))
        case "GetParticipant":
            let request: LiveKitRoomParticipantIdentity = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, _ throws(RoomServiceError) in
                    try machine.participant(request.identity)
                })
        case "RemoveParticipant":
            let request: LiveKitRoomParticipantIdentity = try call.administration(\.room)
            try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                try machine.removeParticipant(request.identity, at: now)
            }
            return try call.response(LiveKitRemoveParticipantResponse())
        case "MutePublishedTrack":
            let request: LiveKitMuteRoomTrackRequest = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                    let track = try machine.muteTrack(
                        TrackSID(rawValue: request.trackSid), of: request.identity, isMuted: request.muted, at: now)
                    return LiveKitMuteRoomTrackResponse.with { if let track { $0.track = track } }
                })
        case "UpdateParticipant":
            let request: LiveKitUpdateParticipantRequest = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                    try machine.updateParticipant(request, at: now)
                })
        case "UpdateSubscriptions":
            let request: LiveKitUpdateSubscriptionsRequest = try call.administration(\.room)
            try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                try machine.updateSubscriptions(request, at: now)
            }
            return try call.response(LiveKitUpdateSubscriptionsResponse())
        case "SendData":
            let request: LiveKitSendDataRequest = try call.administration(\.room)
            try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                try machine.sendData(request, at: now)
            }
            return try call.response(LiveKitSendDataResponse())
        case "PerformRpc":
            return try call.response(try await performRPC(call.administration(\.room)))
        case "ForwardParticipant":
            let request: LiveKitForwardParticipantRequest = try call.argument()
            throw try call.refusal(ofMoveTo: request.destinationRoom, from: request.room)
        case "MoveParticipant":
            let request: LiveKitMoveParticipantRequest = try call.argument()
            throw try call.refusal(ofMoveTo: request.destinationRoom, from: request.room)
        default:
            throw TwirpError(.badRoute, "no handler for path \(TwirpService.rooms.prefix)\(call.method)")
        }
    }

    func create(_ request: LiveKitCreateRoomRequest) async throws(TwirpError) -> LiveKitRoom {
        guard !request.name.isEmpty else { throw TwirpError(.invalidArgument, "the room needs a name") }
        guard request.name.isComposed else { throw TwirpError(.invalidArgument, HTTPRefusal.notComposed.text) }
        guard request.name.utf8.count <= configuration.rooms.limits.nameBytes else {
            throw TwirpError(RoomServiceError.nameTooLong(limit: configuration.rooms.limits.nameBytes))
        }
        guard request.metadata.utf8.count <= configuration.rooms.limits.metadataBytes else {
            throw TwirpError(RoomServiceError.metadataTooLong(limit: configuration.rooms.limits.metadataBytes))
        }
        // There are none here by name. A room that is not as it was meant to be would be worse than none.
        guard request.roomPreset.isEmpty else {
            throw TwirpError(.invalidArgument, "unknown room configuration: this server has no presets")
        }
        try check(request.agents)
        let recording = try request.hasEgress ? automaticEgress(request.egress) : nil
        let room = configuration.rooms.described(request.name, as: request.configuration)
        do throws(WorkerRefusal) {
            let made = try await atRoom(request.name) { worker throws(WorkerRefusal) in try await worker.create(room) }
            if let recording { await recording.egresses.startAutomatic(room: made, template: recording.template) }
            return made
        } catch {
            throw TwirpError(error)
        }
    }

    private func check(_ agents: [LiveKitRoomAgentDispatch]) throws(TwirpError) {
        let limits = configuration.rooms.limits
        do throws(RoomServiceError) {
            for agent in agents { try agent.check(within: limits) }
        } catch {
            throw TwirpError(error)
        }
        guard agents.count <= limits.agentDispatches else {
            throw TwirpError(.invalidArgument, "a room has \(limits.agentDispatches) dispatches of agents at most")
        }
    }

    /// Names in one request: as many rooms as a worker has.
    static let nameLimit = 10_000

    private func list(_ request: LiveKitListRoomsRequest) async throws(TwirpError) -> LiveKitListRoomsResponse {
        guard request.names.count <= Self.nameLimit else {
            throw TwirpError(.invalidArgument, "more than \(Self.nameLimit) names")
        }
        let names = Set(request.names)
        var rooms: [LiveKitRoom] = []
        for worker in workers { rooms += await worker.infos(named: names) }
        return LiveKitListRoomsResponse.with { $0.rooms = rooms }
    }

    /// Nobody is in a room that is not there, as LiveKit's server has it.
    private func listParticipants(
        _ request: LiveKitListParticipantsRequest
    ) async throws(TwirpError) -> LiveKitListParticipantsResponse {
        do throws(TwirpError) {
            return try await atExistingRoom(request.room) { machine, _ throws(RoomServiceError) in
                LiveKitListParticipantsResponse.with { $0.participants = machine.participants }
            }
        } catch {
            guard error == .noSuchRoom else { throw error }
            return LiveKitListParticipantsResponse()
        }
    }

    private func performRPC(_ request: LiveKitPerformRpcRequest) async throws(TwirpError) -> LiveKitPerformRpcResponse {
        guard !request.destinationIdentity.isEmpty else {
            throw TwirpError(.invalidArgument, "destination identity is required")
        }
        guard let worker = worker(ofRoom: request.room) else { throw .noSuchRoom }
        let outcome: RPCOutcome
        do throws(WorkerFailure) {
            outcome = try await worker.performRPC(request)
        } catch {
            throw TwirpError(error)
        }
        switch outcome {
        case .payload(let payload): return LiveKitPerformRpcResponse.with { $0.payload = payload }
        case .error(let code, let message, let data):
            throw TwirpError(rpcCode: code, message: message, data: data)
        }
    }

    @discardableResult
    func atExistingRoom<Value: Sendable>(
        _ name: String, _ body: @Sendable (RoomMachine, Instant) throws(RoomServiceError) -> Value
    ) async throws(TwirpError) -> Value {
        guard let worker = worker(ofRoom: name) else { throw .noSuchRoom }
        do throws(WorkerFailure) {
            return try await worker.atRoom(name, body)
        } catch {
            throw TwirpError(error)
        }
    }
}

extension TwirpCall {
    /// The token has this grant.
    func require(_ grant: (VideoGrants) -> Bool) throws(TwirpError) {
        guard let grants = token.claims.video, grant(grants) else { throw .notAllowed }
    }

    /// The argument of a method for those who administer its room.
    func administration<Value: SwiftProtobuf.Message>(
        _ room: (Value) -> String
    ) throws(TwirpError) -> Value {
        let request: Value = try argument()
        try require { $0.roomAdmin && !$0.room.isEmpty && $0.room == room(request) }
        return request
    }

    /// Of LiveKit's servers only its cloud takes somebody into another room; the open one refuses it as well, but not
    /// before it has looked at the token and the rooms (`EnsureDestRoomPermission`).
    ///
    /// - Returns: what whoever may ask for it hears.
    func refusal(ofMoveTo destination: String, from room: String) throws(TwirpError) -> TwirpError {
        try require {
            $0.roomAdmin && !$0.room.isEmpty && $0.room == room && !destination.isEmpty
                && $0.destinationRoom == destination
        }
        guard room != destination else {
            throw TwirpError(.invalidArgument, "destination room cannot be the same as source room")
        }
        return TwirpError(.unimplemented, "not implemented")
    }
}

extension VideoGrants {
    /// Whether the token is a service's, and not one that merely lets somebody into a room.
    var isForServices: Bool { roomAdmin || roomCreate || roomList || roomRecord || ingressAdmin }
}

extension TwirpError {
    fileprivate init(_ failure: WorkerFailure) {
        switch failure {
        case .room(let error): self.init(error)
        case .refused(let refusal): self.init(refusal)
        }
    }
}

extension LiveKitCreateRoomRequest {
    /// As a token describes a room.
    fileprivate var configuration: LiveKitRoomConfiguration {
        .with {
            $0.emptyTimeout = emptyTimeout
            $0.departureTimeout = departureTimeout
            $0.maxParticipants = maxParticipants
            $0.metadata = metadata
            $0.agents = agents
            $0.minPlayoutDelay = minPlayoutDelay
            $0.maxPlayoutDelay = maxPlayoutDelay
            $0.syncStreams = syncStreams
        }
    }
}
