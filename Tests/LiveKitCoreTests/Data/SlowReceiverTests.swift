import Foundation
import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Those who take less than is sent to them, have no channel, or are not there yet: who waits for whom, how much is
/// kept, and who is sent away to come back anew.
@Suite struct SlowReceiverTests {
    @Test func `what one client cannot take is not waited for`() throws {
        let venue = Venue { $0.limits.dataMessageBytes = 300_000 }
        let ann = try venue.gather([("ann", .single)])[0]
        // While bob joins, all of it waits for his channel.
        let bob = try venue.join("bob") { _ in
        } claims: { _ in
        } request: {
            $0.publisherOffer.sdp = $0.publisherOffer.sdp.replacing(
                "max-message-size:262144", with: "max-message-size:1000")
        }
        try ann.say(String(repeating: "x", count: 5_000))
        try ann.say("small")
        venue.run(for: .seconds(Int64(1)))
        try ann.say(String(repeating: "x", count: 5_000))
        try ann.say("small too")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: small", "ann: small too"])
    }

    @Test func `of what a client does not take little is on its way, the rest waits in bounds and comes in the end`()
        throws
    {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        venue.isLost = { client, bytes in client === bob && (20...63).contains(bytes[0]) }
        for number in 0..<60 {
            try ann.say("\(number) " + String(repeating: "x", count: 60_000))
            venue.run(for: .milliseconds(100))
        }
        let participant = try #require(venue.room.people.last)
        let connection = try #require(participant.primary)
        let channel = try #require(connection.channels[.reliable])
        let amount = venue.room.media.withMachine(of: connection.id) { $0.bufferedAmount(of: channel) } ?? 0
        #expect((400_000...600_000).contains(amount) && !participant.outbox.isEmpty)
        venue.isLost = { _, _ in false }
        #expect(venue.run(atMost: .seconds(Int64(90))) { participant.outbox.isEmpty })
        venue.run(for: .seconds(Int64(5)))
        let numbers = bob.heard.compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
        #expect(numbers.count > 20 && numbers == Array(0..<numbers.count))
    }

    @Test func `who sends waits for who takes less, and nothing is left out`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cid", .single)])
        let (ann, bob, cid) = (clients[0], clients[1], clients[2])
        // Every third datagram of data to Bob is lost: SCTP is slow.
        var count = 0
        venue.isLost = { client, bytes in
            guard client === bob, (20...63).contains(bytes[0]) else { return false }
            count += 1
            return count % 3 == 0
        }
        // Six megabytes, as fast as they go.
        var next = 0
        var most = 0
        let sender = try #require(venue.room.people.first)
        while next < 100 {
            if try ann.sayIfThereIsRoom("\(next) " + String(repeating: "x", count: 60_000)) { next += 1 }
            venue.run(for: .milliseconds(20))
            most = max(most, sender.heldData)
            guard venue.now < Instant.zero + .seconds(Int64(600)) else { break }
        }
        #expect(next == 100)
        // What SCTP's window lets come, and what was on its way.
        #expect(most > 1 << 20 && most < 4 << 20)
        venue.isLost = { _, _ in false }
        #expect(venue.run(atMost: .seconds(Int64(90))) { bob.heard.count == 100 })
        for client in [bob, cid] {
            let numbers = client.heard.compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
            #expect(numbers == Array(0..<100))
        }
        #expect(sender.heldData == 0)
    }

    @Test func `who takes nothing for which others wait is sent away, to come back anew, and they go on`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cid", .single)])
        let (ann, bob, cid) = (clients[0], clients[1], clients[2])
        // Its data alone are lost: ICE goes on.
        venue.isLost = { client, bytes in client === bob && (20...63).contains(bytes[0]) }
        var next = 0
        while next < 60 {
            if try ann.sayIfThereIsRoom("\(next) " + String(repeating: "x", count: 60_000)) { next += 1 }
            venue.run(for: .milliseconds(100))
            guard venue.now < Instant.zero + .seconds(Int64(120)) else { break }
        }
        #expect(next == 60)
        venue.run(for: .seconds(Int64(2)))
        #expect(bob.responses.contains { if case .leave(let leave) = $0 { leave.action == .reconnect } else { false } })
        #expect(cid.heard.count == 60)
        #expect(venue.room.people.first?.heldData == 0)
    }

    @Test func `who closes its channel while others wait for it is sent away, and they go on`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single), ("cid", .single)])
        let (ann, bob, cid) = (clients[0], clients[1], clients[2])
        let (sender, receiver) = (venue.room.people[0], venue.room.people[1])
        // Bob hears nothing, until Ann is made to wait.
        venue.isLost = { client, bytes in client === bob && (20...63).contains(bytes[0]) }
        var next = 0
        while sender.heldData < 2 << 20, venue.now < Instant.zero + .seconds(Int64(20)) {
            if try ann.sayIfThereIsRoom("\(next) " + String(repeating: "x", count: 60_000)) { next += 1 }
            venue.run(for: .milliseconds(20))
        }
        #expect(sender.heldData >= 2 << 20 && !receiver.hasLeft)
        venue.isLost = { _, _ in false }
        bob.closeReliable()
        #expect(venue.run(atMost: .seconds(Int64(5))) { receiver.hasLeft })
        #expect(sender.heldData == 0)
        while next < 80, venue.now < Instant.zero + .seconds(Int64(60)) {
            if try ann.sayIfThereIsRoom("\(next) " + String(repeating: "x", count: 60_000)) { next += 1 }
            venue.run(for: .milliseconds(20))
        }
        #expect(venue.run(atMost: .seconds(Int64(10))) { cid.heard.count == 80 })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who has no channel any more while media go on is sent away, to come back anew`(
        _ mode: ConnectionMode
    ) throws {
        let venue = Venue()
        let bob = try venue.gather([("ann", .single), ("bob", mode)])[1]
        bob.closeReliable()
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.people.count == 2)
        venue.run(for: .seconds(Int64(3)))
        #expect(bob.lines.suffix(2) == ["< leave connectionTimeout reconnect", "< closed"])
        #expect(venue.room.people.map(\.identity) == ["ann"])
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who closes its channels on leaving goes of its own accord`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let bob = try venue.gather([("ann", .single), ("bob", mode)])[1]
        bob.closeReliable()
        venue.run(for: .seconds(Int64(1)))
        venue.send(.leave(.init()), from: bob)
        venue.run(for: .seconds(Int64(3)))
        #expect(!bob.lines.contains { $0.hasPrefix("< leave") })
        let left = venue.webhooks.filter { $0.event == "participant_left" }
        #expect(left.map(\.participant.disconnectReason) == [.clientInitiated])
    }

    @Test func `who makes its channel anew goes on with it, and misses nothing that was said meanwhile`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        bob.closeReliable()
        venue.run(for: .milliseconds(200))
        try ann.say("meanwhile")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard.isEmpty)
        try bob.openReliable()
        venue.run(for: .seconds(Int64(5)))
        try ann.say("afterwards")
        try bob.say("here")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: meanwhile", "ann: afterwards"])
        #expect(ann.heard == ["bob: here"])
    }

    @Test func `who has another channel goes on with that`() throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try bob.openReliable()
        venue.run(for: .milliseconds(200))
        bob.closeReliable()
        venue.run(for: .seconds(Int64(5)))
        try ann.say("hello")
        venue.run(for: .milliseconds(200))
        #expect(bob.heard == ["ann: hello"])
    }

    @Test func `after a message that was left out somebody has none, and is sent away once`() throws {
        let venue = Venue()
        let bob = try venue.gather([("bob", .single)])[0]
        let receiver = try #require(venue.room.people.first)
        func send(_ count: Int) throws {
            try venue.room.sendData(.with { $0.data = Data(repeating: 0, count: count) }, at: venue.now)
        }
        // No time goes by, so that nothing of it arrives.
        for _ in 0..<400 where !receiver.isGivenUp { try send(60_000) }
        #expect(receiver.isGivenUp)
        try send(60_000)
        // For this one there would be room.
        try send(10)
        var last = 0
        while let message = receiver.outbox.next {
            last = message.bytes.count
            _ = receiver.outbox.removeFirst()
        }
        #expect(last > 60_000)
        // And now for any.
        try send(20)
        #expect(receiver.outbox.isEmpty)
        venue.run(for: .seconds(Int64(1)))
        #expect(bob.lines.filter { $0.hasPrefix("< leave") } == ["< leave connectionTimeout reconnect"])
        #expect(bob.messages.allSatisfy { $0.packet.user.payload.count == 60_000 })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `nobody waits for one who is still coming`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let clients = try venue.gather([("ann", .single), ("cid", .single)])
        let (ann, cid) = (clients[0], clients[1])
        // Signaling alone: no datagram of Bob's arrives.
        venue.isLost = { client, _ in client !== ann && client !== cid }
        _ = try venue.join("bob", mode)
        let sender = try #require(venue.room.people.first)
        var next = 0
        while next < 80, venue.now < Instant.zero + .seconds(Int64(30)) {
            if try ann.sayIfThereIsRoom("\(next) " + String(repeating: "x", count: 60_000)) { next += 1 }
            venue.run(for: .milliseconds(20))
            #expect(sender.heldData == 0)
        }
        #expect(next == 80)
        venue.run(for: .seconds(Int64(30)))
        #expect(cid.heard.count == 80)
        // A minute is given to come.
        let bob = try #require(venue.room.people.last)
        #expect(bob.identity == "bob" && !bob.hasLeft)
        var held = 0
        while bob.outbox.next != nil {
            _ = bob.outbox.removeFirst()
            held += 1
        }
        #expect((10...17).contains(held))
    }

    @Test func `what waits for one who is still coming is bounded, and so is what waits for anybody`() {
        var outbox = Outbox()
        for limit in [Outbox.maximumCostUnopened, Outbox.maximumCost] {
            var held = 0
            while outbox.hold(HeldMessage([UInt8](repeating: 0, count: 1_000), sender: nil), limit: limit) { held += 1 }
            #expect(held == limit / 1_128)
            while outbox.removeFirst() != nil {}
            #expect(outbox.isEmpty)
        }
        // Small ones are counted by what they take.
        var small = 0
        while outbox.hold(HeldMessage([1], sender: nil), limit: Outbox.maximumCostUnopened) { small += 1 }
        #expect(small < 10_000)
    }

    @Test func `little in a long time is too little, and nothing to take is enough`() {
        var outbox = Outbox()
        func isStuck(_ waiting: Int, second: Int64) -> Bool {
            outbox.isStuck(waiting: waiting, at: .zero + .seconds(second))
        }
        #expect(!isStuck(0, second: 0))
        let bytes = [UInt8](repeating: 0, count: 60_000)
        for _ in 0..<100 { _ = outbox.hold(HeldMessage(bytes, sender: nil), limit: .max) }
        #expect(!isStuck(500_000, second: 1))
        #expect(!isStuck(500_000, second: 20))
        // It has taken two hundred thousand.
        #expect(!isStuck(300_000, second: 21))
        #expect(!isStuck(300_000, second: 40))
        #expect(isStuck(250_000, second: 41))
        while outbox.removeFirst() != nil {}
        #expect(!isStuck(250_000, second: 100))
    }

    @Test func `what was taken is not kept, though others wait behind it`() {
        var outbox = Outbox()
        weak var first: HeldMessage?
        do {
            let message = HeldMessage([1], sender: nil)
            first = message
            _ = outbox.hold(message, limit: .max)
        }
        _ = outbox.hold(HeldMessage([2], sender: nil), limit: .max)
        #expect(first != nil)
        _ = outbox.removeFirst()
        #expect(first == nil)
        #expect(outbox.next?.bytes == [2])
    }

    @Test func `who was away has as long to take something as anybody`() throws {
        let venue = Venue()
        _ = try venue.gather([("bob", .single)])
        let bob = try #require(venue.room.people.first)
        _ = bob.outbox.hold(HeldMessage([1], sender: nil), limit: .max)
        func isStuck(after seconds: Int64) -> Bool {
            venue.room.isStuck(bob, at: venue.now + .seconds(seconds))
        }
        #expect(!isStuck(after: 0))
        bob.phase = .interrupted(until: venue.now + .seconds(Int64(15)))
        #expect(!isStuck(after: 10))
        bob.phase = .active
        #expect(!isStuck(after: 21))
        #expect(!isStuck(after: 40))
        #expect(isStuck(after: 41))
    }
}
