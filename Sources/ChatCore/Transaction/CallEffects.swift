package import ChatModel

/// What is to be done outside the database once a call's change is kept: by whoever made it, and by nobody twice.
package struct CallEffects: Sendable, Equatable, Codable {
    /// Whose devices begin to ring.
    package var rings: [CallID: Set<UserID>] = [:]
    /// Whose devices stop: true for who has missed it, false for who has answered, on this or another device.
    package var silenced: [CallID: [UserID: Bool]] = [:]
    /// Who is not to be in a room of media any more.
    package var departures: Set<Departure> = []
    /// Rooms of media that are over.
    package var endedRooms: Set<String> = []
    /// Something is to be looked at again then, or sooner.
    package var deadline: Timestamp?

    package struct Departure: Sendable, Hashable, Codable {
        package let room: String
        package let user: UserID

        package init(room: String, user: UserID) {
            self.room = room
            self.user = user
        }
    }

    package init() {}

    mutating func wait(until time: Timestamp) { deadline = min(deadline ?? time, time) }
}
