import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Networks through which datagrams do not get, or not for long: who comes back is offered TCP and nothing else.
@Suite struct FallbackTests {
    /// As what the room's candidates are reached, in the last answer that a client has.
    private static func transports(_ client: TestClient) throws -> Set<String> {
        try transports(in: try #require(client.answers.last))
    }

    private static func transports(in description: LiveKitSessionDescription) throws -> Set<String> {
        let media = try SessionDescription(parsing: description.sdp).media
        return Set(media.flatMap { $0.values(of: "candidate") }.map { $0.split(separator: " ")[2].lowercased() })
    }

    private static func restartedTransports(_ client: TestClient) throws -> Set<String> {
        client.forgetOffer()
        try client.offer(iceRestart: true)
        return try transports(client)
    }

    /// RFC 7983 §7.
    private static func isDTLS(_ datagram: [UInt8]) -> Bool { datagram.first.map { (20...63).contains($0) } ?? false }

    /// Ann comes and is heard, and no handshake of hers gets through.
    private static func loseHandshake(in venue: Venue) throws {
        venue.isLost = { _, datagram in Self.isDTLS(datagram) }
        let ann = try venue.join("ann")
        #expect(try transports(ann) == ["udp", "tcp"])
        venue.run(for: .seconds(Int64(5)))
        venue.send(.ping(1), from: ann)
        #expect(venue.run(atMost: .seconds(Int64(10))) { ann.lines.contains("< leave connectionTimeout reconnect") })
        venue.forget(ann)
    }

    @Test func `where checks pass and handshakes do not, the next session is over TCP`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        try Self.loseHandshake(in: venue)
        let second = try venue.join("ann")
        #expect(try Self.transports(second) == ["tcp"])
        // Others have networks of their own.
        let other = try venue.join("bob")
        #expect(try Self.transports(other) == ["udp", "tcp"])
        // It found no path: everything is tried again.
        venue.send(.leave(LiveKitLeaveRequest()), from: second)
        venue.forget(second)
        let third = try venue.join("ann")
        #expect(try Self.transports(third) == ["udp", "tcp"])
    }

    @Test func `whom TCP has served well comes back over it, also when all paths were lost at once`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        try Self.loseHandshake(in: venue)
        let second = try venue.join("ann")
        venue.findPath(of: second)
        let third = try venue.join("ann")
        #expect(try Self.transports(third) == ["tcp"])
    }

    @Test func `who asks for TCP and begins anew at once, as browsers' SDKs do, is offered nothing else`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        venue.send(.simulate(.with { $0.switchCandidateProtocol = .tcp }), from: ann)
        venue.send(.leave(LiveKitLeaveRequest()), from: ann)
        venue.forget(ann)
        #expect(try Self.transports(try venue.join("ann")) == ["tcp"])
    }

    @Test func `that there is no handshake counts only of a client that is heard while it has its path`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        venue.isLost = { _, datagram in Self.isDTLS(datagram) }
        let ann = try venue.join("ann")
        venue.run(for: .seconds(Int64(12)))
        #expect(!ann.lines.contains { $0.hasPrefix("< leave") })
        venue.send(.ping(1), from: ann)
        #expect(venue.run(atMost: .seconds(Int64(1))) { ann.lines.contains("< leave connectionTimeout reconnect") })
    }

    @Test(arguments: [true, false])
    func `a path that fails soon is not taken again, unless nothing is heard of the client in any way`(
        _ isHeard: Bool
    ) throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .seconds(Int64(10)))
        // The last that is heard of who goes may come by either way.
        venue.isLost = { _, _ in true }
        venue.run(for: .milliseconds(500))
        venue.send(.ping(1), from: ann)
        for _ in 0..<60 where !ann.lines.contains("< leave connectionTimeout resume") {
            if isHeard { venue.send(.ping(1), from: ann) }
            venue.run(for: .seconds(Int64(1)))
        }
        #expect(ann.lines.contains("< leave connectionTimeout resume"))
        venue.cut(ann)
        venue.resume(ann, because: .rrPublisherFailed)
        #expect(try Self.restartedTransports(ann) == (isHeard ? ["tcp"] : ["udp", "tcp"]))
    }

    @Test(arguments: [5, 95] as [Int64])
    func `a client says that its path has failed, and counts when it has not lasted long`(_ seconds: Int64) throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.run(for: .seconds(seconds))
        venue.send(.ping(1), from: ann)
        venue.cut(ann)
        venue.resume(ann, because: .rrPublisherFailed)
        #expect(try Self.restartedTransports(ann) == (seconds < 90 ? ["tcp"] : ["udp", "tcp"]))
    }

    @Test func `a path is as old as it was when only the signaling was lost meanwhile`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for reason in [LiveKitReconnectReason.rrSignalDisconnected, .rrPublisherFailed] {
            venue.run(for: .seconds(Int64(5)))
            venue.send(.ping(1), from: ann)
            venue.cut(ann)
            venue.resume(ann, because: reason)
        }
        #expect(try Self.restartedTransports(ann) == ["tcp"])
    }

    @Test func `a path found anew counts from then on, also where the room never missed the one before`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        for (seconds, transports) in [(95, ["udp", "tcp"]), (20, ["tcp"])] as [(Int64, Set<String>)] {
            venue.run(for: .seconds(seconds))
            #expect(venue.room.people.first?.publisher?.state == .connected)
            venue.send(.ping(1), from: ann)
            venue.cut(ann)
            venue.resume(ann, because: .rrPublisherFailed)
            #expect(try Self.restartedTransports(ann) == transports)
        }
    }

    @Test func `of two connections the one that works goes on over datagrams until the client is back`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try #require(try venue.gather([("ann", .dual)]).first)
        let person = try #require(venue.room.people.first)
        let (failed, other) = (try #require(person.publisher), try #require(person.subscriber))
        func hasPath(_ connection: Connection) -> Bool {
            let pair = venue.room.media.withMachine(of: connection.id) { $0.selectedPair } ?? nil
            return pair != nil
        }
        venue.send(.ping(1), from: ann)
        venue.room.connectionChanged(failed, to: .failed, at: venue.now)
        venue.run(for: .seconds(Int64(1)))
        #expect(hasPath(other))
        venue.cut(ann)
        venue.resume(ann)
        #expect(try Self.transports(in: try #require(ann.offers.last)) == ["tcp"])
        #expect(try Self.restartedTransports(ann) == ["tcp"])
    }

    @Test func `who makes no TCP connections is offered datagrams all the same`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann", request: { $0.clientInfo.sdk = .go })
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.cut(ann)
        venue.resume(ann, because: .rrPublisherFailed)
        #expect(try Self.restartedTransports(ann) == ["udp", "tcp"])
    }

    @Test func `what is remembered of an identity is not for a client of its that makes no TCP connections`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        try Self.loseHandshake(in: venue)
        let second = try venue.join("ann", request: { $0.clientInfo.sdk = .go })
        #expect(try Self.transports(second) == ["udp", "tcp"])
    }
}
