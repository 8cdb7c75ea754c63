internal import Foundation
internal import LiveKitProtocol
internal import Logging
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

    /// As `LiveKitServer.removeParticipant`, which knows who has come beside somebody with their token. A cluster does
    /// not tell: they are known by their identities.
    ///
    /// - Parameter isTheirs: whether an identity is the same person's.
    package func removeParticipant(
        _ identity: String, from room: String, andWhere isTheirs: @Sendable (String) -> Bool
    ) async {
        await remove(identity, from: room)
        // Afterwards: until then they may come once more.
        for other in await identities(in: room) where other != identity && isTheirs(other) {
            await remove(other, from: room)
        }
    }

    /// Nobody where the cluster does not tell, which it is asked for once more.
    private func identities(in room: String, isLastAttempt: Bool = false) async -> [String] {
        do {
            return try await participants(of: room).keys.sorted()
        } catch {
            guard isLastAttempt else { return await identities(in: room, isLastAttempt: true) }
            logger.warning(
                "what somebody publishes beside themselves may have stayed in a room", metadata: ["error": "\(error)"])
            return []
        }
    }

    private func remove(_ identity: String, from room: String) async {
        let request = LiveKitRoomParticipantIdentity.with {
            $0.room = room
            $0.identity = identity
        }
        try? await ask("RemoveParticipant", request, room: room)
    }

    /// As `LiveKitServer.participants`.
    ///
    /// - Throws: when the cluster does not tell. One that knows no such room answers with nobody, or with `not_found`.
    package func participants(of room: String) async throws -> [String: String] {
        let answer = try await call(
            "ListParticipants", LiveKitListParticipantsRequest.with { $0.room = room }, room: room)
        guard case .bytes(let body) = answer.body else { throw Refusal("ListParticipants", answer.status) }
        if answer.status == 404, Self.isNotFound(body) { return [:] }
        guard answer.status == 200 else {
            throw Refusal("ListParticipants", answer.status)
        }
        let list = try LiveKitListParticipantsResponse(serializedBytes: body)
        return Dictionary(list.participants.map { ($0.identity, $0.sid) }) { first, _ in first }
    }

    /// Whether an answer of 404 is Twirp's word that there is no such thing. A proxy's is not, nor is `bad_route`, of a
    /// path that nobody serves (https://twitchtv.github.io/twirp/docs/spec_v7.html, "Errors").
    static func isNotFound(_ body: [UInt8]) -> Bool {
        let error = try? JSONDecoder().decode(TwirpAnswer.self, from: Data(body))
        return error?.code == TwirpError.Code.notFound.rawValue
    }

    private struct TwirpAnswer: Decodable {
        let code: String
    }

    /// Twirp's protobuf form: https://twitchtv.github.io/twirp/docs/spec_v7.html.
    private func call(
        _ method: String, _ request: some SwiftProtobuf.Message, room: String
    ) async throws -> SocketIOHTTPResponse {
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
        return try await requester.ask(
            "POST", target,
            headers: [
                ("Authorization", "Bearer \(token)"), ("Content-Type", "application/protobuf"), ("Via", via),
            ], body: body, timeout: configuration.checkTimeout)
    }

    private func ask(_ method: String, _ request: some SwiftProtobuf.Message, room: String) async throws {
        let answer = try await call(method, request, room: room)
        guard answer.status == 200 else { throw Refusal(method, answer.status) }
    }
}

extension LiveKitCluster.Refusal {
    fileprivate init(_ method: String, _ status: Int) {
        description = "The cluster answers \(method) with \(status)."
    }
}
