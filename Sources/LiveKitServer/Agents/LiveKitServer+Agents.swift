internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCEngine
internal import SocketIO
internal import SwiftProtobuf

/// Agents: where workers connect, and `livekit.AgentDispatchService`, which sends for them.
extension LiveKitServer {
    static let agentPath = "/agent"

    /// Takes a worker's WebSocket.
    func takeWorker(_ request: SocketIOHTTPRequest) throws(HTTPRefusal) -> AgentConnection {
        let token = try request.accessToken(keys: configuration.keys, at: Date())
        guard token.claims.video?.agent == true else {
            throw HTTPRefusal(401, "The token does not let its bearer register as a worker of agents.")
        }
        return try agents.connection(key: AccessToken.issuer(ofVerified: request.accessTokenText ?? ""))
    }

    /// `agentDispatchMethod` is the whole table.
    func agentDispatchMethod(_ call: TwirpCall) async throws(TwirpError) -> SocketIOHTTPResponse {
        switch call.method {
        case "CreateDispatch": return try call.response(try await createDispatch(call.administration(\.room)))
        case "DeleteDispatch":
            let request: LiveKitDeleteAgentDispatchRequest = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
                    try machine.deleteDispatch(request.dispatchID, at: now)
                })
        case "ListDispatch":
            let request: LiveKitListAgentDispatchRequest = try call.administration(\.room)
            return try call.response(
                try await atExistingRoom(request.room) { machine, _ throws(RoomServiceError) in
                    LiveKitListAgentDispatchResponse.with {
                        $0.agentDispatches = machine.dispatches(id: request.dispatchID)
                    }
                })
        default:
            throw TwirpError(.badRoute, "no handler for path \(TwirpService.agentDispatch.prefix)\(call.method)")
        }
    }

    /// Where rooms come into being by being joined, this makes one as well.
    private func createDispatch(
        _ request: LiveKitCreateAgentDispatchRequest
    ) async throws(TwirpError) -> LiveKitAgentDispatch {
        let wish = LiveKitRoomAgentDispatch.with {
            $0.agentName = request.agentName
            $0.metadata = request.metadata
            $0.restartPolicy = request.restartPolicy
            $0.deployment = request.deployment
            $0.attributes = request.attributes
        }
        do throws(RoomServiceError) {
            try wish.check(within: configuration.rooms.limits)
        } catch {
            throw TwirpError(error)
        }
        if configuration.createsRooms, worker(ofRoom: request.room) == nil {
            _ = try await create(.with { $0.name = request.room })
        }
        return try await atExistingRoom(request.room) { machine, now throws(RoomServiceError) in
            try machine.createDispatch(wish, at: now)
        }
    }
}
