internal import ChatModel
internal import ChatServer
internal import Foundation
internal import LiveKitProtocol
internal import LiveKitServer

/// Calls of the chat in rooms of LiveKit's protocol, of this process or of a cluster.
struct CallsInRooms: CallRooms {
    let service: LiveKitService

    /// In seconds: who starts a call comes at once, and who is alone after it may have lost the network.
    private static let (emptyTimeout, departureTimeout): (UInt32, UInt32) = (60, 20)
    /// For how long somebody may wait before coming; whoever is in a room is given newer tokens there.
    private static let validity: TimeInterval = 10 * 60

    var isOwn: Bool {
        switch service.rooms {
        case .embedded: true
        case .cluster: false
        }
    }

    func open(_ room: String) async throws {
        switch service.rooms {
        case .embedded(let server, _):
            try await server.openRoom(
                room, emptyTimeout: Self.emptyTimeout, departureTimeout: Self.departureTimeout)
        case .cluster(let cluster, _):
            try await cluster.openRoom(
                room, emptyTimeout: Self.emptyTimeout, departureTimeout: Self.departureTimeout)
        }
    }

    func token(for user: UserID, name: String, room: String) throws -> String {
        var claims = AccessToken.Claims()
        claims.name = Self.short(name)
        var grants = VideoGrants()
        grants.roomJoin = true
        grants.room = room
        claims.video = grants
        return try AccessToken(
            identity: user.description, claims: claims, at: Date(), validFor: Self.validity
        ).signed(with: service.signingKey)
    }

    /// What LiveKit's servers take for a name, in bytes.
    private static let nameLimit = 256

    private static func short(_ name: String) -> String {
        var name = name
        while name.utf8.count > nameLimit { name.removeLast() }
        return name
    }

    func end(_ room: String) async {
        switch service.rooms {
        case .embedded(let server, _): await server.endRoom(room)
        case .cluster(let cluster, _): await cluster.endRoom(room)
        }
    }

    func people(in room: String) async throws -> [UserID: String] {
        let participants =
            switch service.rooms {
            case .embedded(let server, _): await server.participants(of: room)
            case .cluster(let cluster, _): try await cluster.participants(of: room)
            }
        return [UserID: String](inRoom: participants)
    }

    func remove(_ user: UserID, from room: String) async {
        switch service.rooms {
        case .embedded(let server, _): await server.removeParticipant(user.description, from: room)
        case .cluster(let cluster, _):
            await cluster.removeParticipant(user.description, from: room) { UserID(roomIdentity: $0) == user }
        }
    }
}
