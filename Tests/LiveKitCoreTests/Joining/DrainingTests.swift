import LiveKitProtocol
import RTCEngine
import Testing

@testable import LiveKitCore

/// A room that takes nobody new.
@Suite struct DrainingTests {
    @Test func `a room that is draining takes nobody new, lets people come back, and ends with the last`() throws {
        let venue = Venue()
        let (ann, bob) = (try venue.join("ann"), try venue.join("bob"))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.room.drain(at: venue.now)
        venue.drain()
        #expect(throws: JoinRefusal.roomDraining) { try venue.join("eve") }
        #expect(venue.room.participants.map(\.identity) == ["ann", "bob"])
        // By resuming, and by a new session under the same identity.
        venue.cut(ann)
        venue.resume(ann)
        #expect(ann.lines.contains { $0.hasPrefix("< reconnect") })
        let again = try venue.join("bob")
        #expect(bob.lines.suffix(2) == ["< leave duplicateIdentity disconnect", "< closed"])
        venue.send(.leave(.init()), from: ann)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.ending == nil && venue.room.peopleCount == 1)
        // And by leaving before: a client that makes its connection anew does.
        venue.send(.leave(.init()), from: again)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.ending == nil && venue.room.peopleCount == 0 && venue.room.isAwaited)
        let last = try venue.join("ann")
        #expect(!venue.room.isAwaited)
        venue.send(.leave(.init()), from: last)
        venue.run(for: venue.room.configuration.departureTimeout + .seconds(Int64(1)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(venue.room.holdsNothing)
    }

    @Test func `who is there for the others comes into a room that is draining, and is not waited for`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        venue.room.drain(at: venue.now)
        let recorder = try venue.join("recorder", .dual, grants: { $0.recorder = true })
        _ = try venue.join("helper", claims: { $0.kind = "agent" })
        #expect(venue.room.participants.count == 3 && venue.room.peopleCount == 1)
        venue.send(.leave(.init()), from: ann)
        venue.run(for: venue.room.configuration.departureTimeout + .seconds(Int64(1)))
        #expect(venue.ending == .roomEndIdleTimeout)
        #expect(recorder.lines.suffix(2) == ["< leave roomClosed disconnect", "< closed"])
    }

    @Test func `a room that nobody has come to ends at once when it is draining`() {
        let venue = Venue()
        venue.run(for: .seconds(Int64(1)))
        venue.room.drain(at: venue.now)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.ending == .roomEndIdleTimeout)
    }
}
