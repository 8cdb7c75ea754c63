public import ClientKit

/// What the room's screen shows.
public struct RoomState: Hashable, Sendable {
    /// The connection to the signaling server.
    public enum Connection: Hashable, Sendable {
        case disconnected
        case connecting
        case connected
        /// It broke and is being repaired.
        case reconnecting(reason: String)
    }

    /// The one button that connects and disconnects.
    public enum ConnectButton: String, Hashable, Sendable {
        case connect = "Connect"
        case cancel = "Cancel"
        case disconnect = "Disconnect"
    }

    /// The caller switch, which becomes a fixed text once connected.
    public enum RoleControl: Hashable, Sendable {
        case isCallerSwitch(Bool)
        case fixed(String)
    }

    public let username: String
    public let room: CallRoomID
    public internal(set) var role = CallRole.callee
    public internal(set) var connection = Connection.disconnected
    /// What went wrong, or how the last call ended.
    public internal(set) var notice: String?
    var roster = RoomRoster()

    init(login: QuickCallLogin) {
        username = login.username
        room = login.room
    }

    public var connectButton: ConnectButton {
        switch connection {
        case .disconnected: .connect
        case .connecting: .cancel
        case .connected, .reconnecting: .disconnect
        }
    }

    public var roleControl: RoleControl {
        switch connection {
        case .disconnected: .isCallerSwitch(role.isCaller)
        case .connecting, .connected, .reconnecting: .fixed(role.isCaller ? "You are the caller" : "You are the callee")
        }
    }

    /// Whether somebody of the opposite role is there.
    public var presence: PeerPresence {
        switch connection {
        case .connected, .reconnecting: roster.presence(of: role.opposite)
        case .disconnected, .connecting: .unknown
        }
    }

    /// Whether everybody who is in the room is known. A server tells a newcomer one by one; whoever calls the first of
    /// them at once does not know yet that there are several. Other servers than Roost's never say that these were all.
    public var knowsEverybody: Bool {
        connection == .connected && roster.isComplete
    }

    /// People whom a call cannot reach, because they have the same role.
    public var sameRoleNames: [String] {
        roster.names(of: role)
    }

    /// Only with somebody to call. A server that tells a newcomer nothing leaves that unknown; then it may be tried
    /// (see the decision "Presence and incoming calls").
    public var canStartCall: Bool {
        switch (connection, presence) {
        case (.connected, .present), (.connected, .unknown): true
        case (.connected, .absent), (.disconnected, _), (.connecting, _), (.reconnecting, _): false
        }
    }

    public var connectionText: String {
        switch connection {
        case .disconnected: "Not connected"
        case .connecting: "Connecting…"
        case .connected: "Connected"
        case .reconnecting: "The connection broke, reconnecting…"
        }
    }

    /// The partner in words; nil while there is no connection.
    public var peerText: String? {
        let kind = role.opposite.rawValue
        switch connection {
        case .disconnected, .connecting: return nil
        case .connected, .reconnecting: break
        }
        switch presence {
        case .present(let name?): return "\(name) is here (\(kind))"
        case .present(nil): return "A \(kind) is here"
        case .absent:
            guard let name = sameRoleNames.first else { return "No \(kind) is in the room" }
            return "No \(kind) is in the room; \(name) is a \(role.rawValue) too"
        case .unknown: return "This server does not say whether a \(kind) is in the room"
        }
    }
}

/// What the user does on the room's screen.
public enum RoomIntent: Hashable, Sendable {
    case isCallerChanged(Bool)
    case connectTapped
    case disconnectTapped
    case startCallTapped
    case logoutTapped
}
