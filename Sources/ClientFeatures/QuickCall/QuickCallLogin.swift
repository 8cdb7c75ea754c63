public import ClientKit

/// Who calls, and where.
public struct QuickCallLogin: Hashable, Sendable {
    /// The name that others are shown.
    public var username: String
    /// The room to go to.
    public var room: CallRoomID

    public init(username: String, room: CallRoomID) {
        self.username = username
        self.room = room
    }
}

/// Keeps the login between runs: the name among the preferences, the room, which lets one in, among the secrets.
struct QuickCallLoginStore: Sendable {
    static let username = StoreKey("quickCall.username")
    static let room = StoreKey("quickCall.roomId")

    let preferences: any PreferencesStore
    let secrets: any SecretStore

    /// The stored login; nil when there is none or only a part of it.
    func load() throws(StoreError) -> QuickCallLogin? {
        guard let username = try preferences.value(for: QuickCallLoginStore.username),
            let number = try secrets.secret(for: QuickCallLoginStore.room).flatMap({ Int($0) }),
            let room = CallRoomID(number)
        else { return nil }
        return QuickCallLogin(username: username, room: room)
    }

    func save(_ login: QuickCallLogin) throws(StoreError) {
        try preferences.setValue(login.username, for: QuickCallLoginStore.username)
        try secrets.setSecret(login.room.description, for: QuickCallLoginStore.room)
    }

    /// Clears both, the second also when the first fails.
    func clear() throws(StoreError) {
        let first = Result { () throws(StoreError) in
            try preferences.setValue(nil, for: QuickCallLoginStore.username)
        }
        try secrets.setSecret(nil, for: QuickCallLoginStore.room)
        try first.get()
    }
}
