internal import ChatCore
internal import ChatModel
internal import Logging

/// What another server has said of a call whose room is here can be lost: its end, and who is not to be in it any more.
extension CallCenter {
    /// Compares the rooms that this server carries with what the database says of their calls, and looks for what is
    /// due: whoever knew of it may be gone.
    ///
    /// - Parameter node: this server.
    func lookAgain(as node: NodeID) async {
        await expire()
        guard let rooms, rooms.isOwn else { return }
        do {
            let carried = try await service.read { try $0.callsCarried(by: node) }
            for room in carried.ended { await rooms.end(room) }
            var strangers: Set<CallEffects.Departure> = []
            for (room, people) in carried.running {
                for user in try await rooms.people(in: room).keys where !people.contains(user) {
                    strangers.insert(.init(room: room, user: user))
                }
            }
            // At the first look somebody may just be on their way.
            for departure in strangers.intersection(self.strangers) {
                await rooms.remove(departure.user, from: departure.room)
            }
            self.strangers = strangers
        } catch {
            logger.error("rooms could not be compared with their calls", metadata: ["error": "\(error)"])
        }
    }
}
