import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitCore

/// What holds in the end in rooms of people who do anything.
extension Venue {
    /// Whoever is connected gets more than 20 pictures of each of the others' tracks while something happens.
    ///
    /// - Parameter titles: the names of somebody's tracks that have pictures.
    func everybodySees(_ titles: (TestClient) -> [String], during something: () throws -> Void) rethrows {
        let counts = clients.map { client in client.frames.mapValues(\.count) }
        try something()
        for (client, before) in zip(clients, counts) where client.states.contains(.connected) {
            for other in clients where other !== client {
                for title in titles(other) {
                    let sid = other.track(title)?.sid ?? ""
                    #expect((client.frames[sid]?.count ?? 0) > (before[sid] ?? 0) + 20, "\(client.name) of \(title)")
                }
            }
        }
    }

    /// Nothing has failed for anybody, and once all have left the room holds nothing.
    ///
    /// - Parameter gone: who has left before.
    func endsWithoutFault(_ gone: [TestClient]) {
        for client in clients + gone {
            #expect(!client.lines.contains { $0.hasPrefix("!") || $0.contains("mediaFailure") }, "\(client.lines)")
        }
        for client in clients { send(.leave(.init()), from: client) }
        run(for: .milliseconds(50))
        let holdsNothing = room.holdsNothing
        #expect(holdsNothing)
    }
}
