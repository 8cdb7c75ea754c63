import SocketIO

/// The people in one room: those of this process, then the others, in the order they came.
struct CallRoom: Sendable {
    /// One person in a room; the same object for as long as they stay.
    final class Member: Sendable {
        enum Connection: Sendable {
            case socket(SocketIOSocket)
            case local(LocalParticipant)
        }

        let user: CallRoomUser
        let connection: Connection
        /// See `CallRoomParameters.client`.
        let client: String?

        init(user: CallRoomUser, connection: Connection, client: String? = nil) {
            self.user = user
            self.connection = connection
            self.client = client
        }

        var local: LocalParticipant? {
            switch connection {
            case .socket: nil
            case .local(let participant): participant
            }
        }

        func isLocal(_ participant: LocalParticipant) -> Bool { local === participant }

        /// Whether the newcomer is this very client, on a connection made anew.
        func isLostConnection(of newcomer: Member) -> Bool {
            client != nil && client == newcomer.client && user == newcomer.user
        }

        func receive(_ event: CallRoomEvent) {
            switch connection {
            case .socket(let socket):
                guard let (name, payload) = event.wire else { return }
                socket.emit(name, [.json(payload)])
            case .local(let participant): participant.receive(event)
            }
        }
    }

    var members: [Member] = [] {
        didSet { localCount = members.count { $0.local != nil } }
    }

    /// How many are in this process.
    private(set) var localCount = 0

    /// Local participants belong to the house: they stand before the guests, however often they leave and come back.
    mutating func add(_ member: Member) {
        if member.local == nil { members.append(member) } else { members.insert(member, at: localCount) }
    }
}
