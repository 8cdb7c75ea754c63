internal import Foundation
internal import LiveKitProtocol
internal import SocketIO
internal import SwiftProtobuf

/// Rooms of the cluster for another part of this process: asked for by its room service.
extension LiveKitCluster {
    /// The cluster has not done what it was asked for.
    package struct Refusal: Error, CustomStringConvertible {
        package let description: String
    }

    /// As `LiveKitServer.openRoom`.
    package func openRoom(_ name: String, emptyTimeout: UInt32, departureTimeout: UInt32) async throws {
        try await ask(
            "CreateRoom",
            LiveKitCreateRoomRequest.with {
                $0.name = name
                $0.emptyTimeout = emptyTimeout
                $0.departureTimeout = departureTimeout
            }, room: name)
    }

    /// As `LiveKitServer.endRoom`.
    package func endRoom(_ name: String) async {
        try? await ask("DeleteRoom", LiveKitDeleteRoomRequest.with { $0.room = name }, room: name)
    }

    /// As `LiveKitServer.removeParticipant`.
    package func removeParticipant(_ identity: String, from room: String) async {
        let request = LiveKitRoomParticipantIdentity.with {
            $0.room = room
            $0.identity = identity
        }
        try? await ask("RemoveParticipant", request, room: room)
    }

    /// Twirp's protobuf form: https://twitchtv.github.io/twirp/docs/spec_v7.html.
    private func ask(_ method: String, _ request: some SwiftProtobuf.Message, room: String) async throws {
        var claims = AccessToken.Claims()
        var grants = VideoGrants()
        grants.roomCreate = true
        grants.roomAdmin = true
        grants.room = room
        claims.video = grants
        let token = try AccessToken(claims: claims, at: Date(), validFor: 60).signed(with: configuration.signingKey)
        let target = configuration.server.target(
            "/twirp/livekit.RoomService/\(method)", EngineIOQuery(items: []))
        let body: [UInt8] = try request.serializedBytes()
        let answer = try await requester.ask(
            "POST", target,
            headers: [
                ("Authorization", "Bearer \(token)"), ("Content-Type", "application/protobuf"), ("Via", via),
            ], body: body, timeout: configuration.checkTimeout)
        guard answer.status == 200 else {
            throw Refusal(description: "The cluster answers \(method) with \(answer.status).")
        }
    }
}
