package import ChatModel

/// Whoever carries the media of calls of the kind `room`: a server of LiveKit's protocol, our own or another.
package protocol CallRooms: Sendable {
    /// Makes a room that ends by itself when nobody comes, or when all have gone.
    ///
    /// - Throws: when it cannot be made.
    func open(_ room: String) async throws
    /// LiveKit's access token, with which somebody may come into a room for some minutes.
    func token(for user: UserID, name: String, room: String) throws -> String
    /// Ends a room, for whoever is in it. One that is over already, or is out of reach, is left.
    func end(_ room: String) async
    /// Takes somebody out of a room, if they are there.
    func remove(_ user: UserID, from room: String) async
    /// Who is in a room, each with LiveKit's name of their connection; nobody where there is no such room.
    ///
    /// - Throws: when that cannot be told.
    func people(in room: String) async throws -> [UserID: String]
    /// Whether its rooms go with this process: then none goes on from before its start.
    var isOwn: Bool { get }
}

extension UserID {
    /// Whose connections to a call's room are called so: `USER`, and `USER#NAME` where somebody has come once more to
    /// publish alone (LiveKit's `publish=`).
    package init?(roomIdentity: String) { self.init(String(roomIdentity.unicodeScalars.prefix { $0 != "#" })) }
}

extension [UserID: String] {
    /// Who is in a room by what its server says.
    ///
    /// - Parameter connections: LiveKit's names of the connections, by identity. Where somebody has several it is that
    ///   of the identity which is theirs alone.
    package init(inRoom connections: [String: String]) {
        self = connections.reduce(into: [:]) { people, one in
            guard let user = UserID(roomIdentity: one.key) else { return }
            if people[user] == nil || one.key == user.description { people[user] = one.value }
        }
    }
}
