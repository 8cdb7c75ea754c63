import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Those who have gone while a client was away.
@Suite struct DepartureTests {
    @Test func `who has gone while a client was away is told to it when it is back`() throws {
        let venue = Venue()
        let names = ["ann", "bob", "cat", "dan", "eve"]
        for name in names { try venue.join(name) }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let bob = try #require(venue["bob"])
        venue.cut(bob)
        try venue.room.removeParticipant("cat", at: venue.now)
        try venue.room.removeParticipant("dan", at: venue.now)
        venue.drain()
        for name in ["cat", "dan"] { venue.forget(try #require(venue[name])) }
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "eve"
                $0.permission.hidden = true
            }, at: venue.now)
        try venue.join("dan")
        _ = bob.news()
        venue.resume(bob)
        let update = "< update bob active, cat disconnected, eve disconnected, ann active, dan joined"
        #expect(bob.news().prefix(2) == ["< reconnect 0", "\(update)"])
        let present = bob.others.filter { $0.value.state != .disconnected }.keys.sorted()
        #expect(present == ["ann", "bob", "dan"])
    }

    @Test func `what was told on a connection that was dead already is told again, and nothing older`() throws {
        let venue = Venue()
        for name in ["ann", "bob", "cat", "dan"] { try venue.join(name) }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let bob = try #require(venue["bob"])
        func ping(_ seconds: Int64) {
            for _ in 0..<(seconds / 5) {
                venue.run(for: .seconds(Int64(5)))
                venue.send(.ping(1), from: bob)
            }
        }
        func remove(_ name: String) throws {
            try venue.room.removeParticipant(name, at: venue.now)
            venue.drain()
            venue.forget(try #require(venue[name]))
        }
        try remove("cat")
        ping(30)
        try remove("dan")
        ping(10)
        _ = bob.news()
        venue.resume(bob)
        #expect(bob.news().contains("< update bob active, dan disconnected, ann active"))
        // Nothing says that this has come: it is told once more, and not for ever.
        venue.run(for: .seconds(Int64(10)))
        venue.resume(bob)
        #expect(bob.news().contains("< update bob active, dan disconnected, ann active"))
        ping(60)
        venue.resume(bob)
        #expect(bob.news().contains("< update bob active, ann active"))
    }

    @Test func `who was silent before the connection was lost is told of all who went meanwhile, however late`() throws
    {
        let venue = Venue()
        for name in ["ann", "bob", "cat"] { try venue.join(name) }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        let bob = try #require(venue["bob"])
        venue.run(for: .seconds(Int64(5)))
        try venue.room.removeParticipant("cat", at: venue.now)
        venue.drain()
        venue.forget(try #require(venue["cat"]))
        venue.run(for: .seconds(Int64(40)))
        venue.cut(bob)
        venue.run(for: .seconds(Int64(56)))
        _ = bob.news()
        venue.resume(bob)
        #expect(bob.news().contains("< update bob active, cat disconnected, ann active"))
    }

    @Test func `so many are remembered who have gone, and so long`() {
        var departures = Departures()
        let start = Instant.zero + .seconds(Int64(1))
        for number in 0..<(Departures.maximum + 10) {
            departures.add(
                .with {
                    $0.sid = "PA_\(number)"
                    $0.identity = "\(number)"
                    $0.metadata = "long"
                    $0.version = 3
                }, at: start + .milliseconds(Int64(number)))
        }
        let gone = departures.since(start, without: ["12"])
        #expect(gone.count == Departures.maximum - 1)
        #expect(gone.prefix(3).map(\.identity) == ["10", "11", "13"])
        #expect(gone.allSatisfy { $0.metadata.isEmpty && $0.state == .disconnected && $0.version == 3 })
        departures.forget(before: start + .milliseconds(Int64(Departures.maximum)))
        #expect(departures.since(start, without: []).count == 10)
        departures.forget(before: start + .seconds(Int64(60)))
        #expect(departures.isEmpty)
    }
}
