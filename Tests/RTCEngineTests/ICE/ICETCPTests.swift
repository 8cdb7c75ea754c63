import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Candidates over TCP (RFC 6544), as dialogues. Connections are the owner's: the agent sees routes.
@Suite struct ICETCPTests {
    private static let active = endpoint("192.0.2.1", ICEAgent.activePort)
    private static let listener = endpoint("192.0.2.1", 7_000)
    private static let server = endpoint("198.51.100.1", 443)

    private func peer(_ role: ICERole, _ hosts: [(TransportAddress, ICECandidate.TCPType)]) -> ScriptedPeer {
        var peer = ScriptedPeer(role: role)
        peer.tell { agent, now in for (base, type) in hosts { agent.addTCPHost(base, type, at: now) } }
        return peer
    }

    private func passive(_ address: TransportAddress = server) -> ICECandidate {
        ICECandidate(
            foundation: "9", transport: .tcp, priority: 1_518_083_839, address: .ip(address), type: .host,
            tcpType: .passive)
    }

    /// Where requests that were not answered yet have gone.
    private func requests(_ peer: ScriptedPeer) -> [(bytes: [UInt8], from: TransportAddress, to: TransportAddress)] {
        peer.outputs.compactMap {
            guard case .send(let bytes, let from, let to) = $0,
                let message = try? STUNMessage(parsing: bytes.span.bytes), message.kind == .request
            else { return nil }
            return (bytes, from, to)
        }
    }

    @Test func `candidates as RFC 6544 §4.5 writes them, behind UDP, active before passive`() {
        let peer = peer(.controlling, [(Self.listener, .passive), (Self.active, .active)])
        let lines = peer.agent.localCandidates.map(\.attribute)
        #expect(lines[1].contains(" 1 tcp ") && lines[1].contains("192.0.2.1 7000 typ host tcptype passive"))
        #expect(lines[2].contains("192.0.2.1 9 typ host tcptype active"))
        let priorities = peer.agent.localCandidates.map(\.priority)
        #expect(priorities[0] > priorities[2] && priorities[2] > priorities[1])
        // §4.2: (2^13) × direction + other, under a type preference below UDP's.
        #expect(priorities[2] >> 24 == 90 && priorities[2] >> 21 & 7 == 6 && priorities[1] >> 21 & 7 == 4)
        #expect(Set(peer.agent.localCandidates.map(\.foundation)).count == 2)
        for line in lines { #expect((try? ICECandidate(parsing: line))?.attribute == line) }
    }

    @Test func `an active one asks a passive one once, and the answer selects the pair`() throws {
        var peer = peer(.controlling, [(Self.active, .active)])
        peer.address = Self.server
        peer.introduce(withCandidate: false)
        peer.tell { agent, now in agent.addRemoteCandidate(passive(), at: now) }
        let first = try #require(requests(peer).first)
        #expect(first.from == Self.active && first.to == Self.server)
        // TCP sees to it that it arrives.
        peer.wait(.milliseconds(5_000))
        #expect(requests(peer).count == 1)
        #expect(try STUNMessage(parsing: first.bytes.span.bytes).priority.map { $0 >> 24 } == 80)
        for _ in 0..<10 where peer.selections.isEmpty {
            for request in peer.takeRequests() { confirm(request, in: &peer) }
            peer.wait(.milliseconds(150))
        }
        let pair = try #require(peer.selections.first)
        #expect(pair.route == ICERoute(base: Self.active, remote: Self.server))
        // RFC 6544 §7.2: what the peer saw is a port that only this connection has.
        #expect(pair.localCandidate.type == .peerReflexive && pair.localCandidate.transport == .tcp)
        #expect(pair.localCandidate.tcpType == .active)
    }

    private func confirm(_ request: STUNMessage, in peer: inout ScriptedPeer) {
        let response = STUNMessage(
            .success, transactionID: request.transactionID,
            attributes: [.xorMappedAddress(endpoint("192.0.2.1", 50_123))])
        peer.send(
            response.encoded(key: HMACSHA1(password: peer.parameters.password)), from: Self.server, to: Self.active)
    }

    @Test func `a passive one waits, and takes whoever connects with a check`() throws {
        var peer = peer(.controlled, [(Self.listener, .passive)])
        peer.introduce(withCandidate: false)
        let theirs = ICECandidate(
            foundation: "9", transport: .tcp, priority: 1, address: .ip(endpoint("198.51.100.1", 9)), type: .host,
            tcpType: .active)
        peer.tell { agent, now in
            agent.addRemoteCandidate(theirs, at: now)
            agent.addRemoteCandidate(passive(), at: now)
        }
        peer.wait(.milliseconds(500))
        #expect(requests(peer).isEmpty)
        let connection = endpoint("198.51.100.1", 50_001)
        check(&peer, from: connection)
        // Answered, and checked back over the same connection.
        let back = try #require(requests(peer).first)
        #expect(back.from == Self.listener && back.to == connection)
        let message = try STUNMessage(parsing: back.bytes.span.bytes)
        let response = STUNMessage(
            .success, transactionID: message.transactionID, attributes: [.xorMappedAddress(Self.listener)])
        peer.send(
            response.encoded(key: HMACSHA1(password: peer.parameters.password)), from: connection, to: Self.listener)
        let pair = try #require(peer.selections.first)
        #expect(pair.route == ICERoute(base: Self.listener, remote: connection))
        #expect(pair.remoteCandidate.type == .peerReflexive && pair.remoteCandidate.transport == .tcp)
        #expect(peer.agent.knows(connection))
    }

    private func check(_ peer: inout ScriptedPeer, from connection: TransportAddress) {
        let local = peer.agent.localParameters
        let request = STUNMessage(
            .request, transactionID: STUNTransactionID(high: 1, low: 2),
            attributes: [
                .username("\(local.usernameFragment):\(peer.parameters.usernameFragment)"), .priority(1_358_954_495),
                .iceControlling(tieBreaker: 1), .useCandidate,
            ])
        peer.send(request.encoded(key: HMACSHA1(password: local.password)), from: connection, to: Self.listener)
    }

    @Test func `UDP and TCP never pair, and one port number may serve both`() {
        var peer = peer(.controlling, [(Self.active, .active), (Self.listener, .passive)])
        peer.introduce(withCandidate: false)
        let datagrams = ICECandidate(foundation: "8", priority: 2, address: .ip(Self.server), type: .host)
        peer.tell { agent, now in
            agent.addRemoteCandidate(passive(), at: now)
            agent.addRemoteCandidate(datagrams, at: now)
        }
        peer.wait(.milliseconds(100))
        let routes = peer.agent.statistics.pairs.map { ($0.localCandidate.transport, $0.remoteCandidate.transport) }
        #expect(routes.count == 2)
        #expect(routes.allSatisfy { $0.0 == $0.1 })
        #expect(Set(requests(peer).map(\.from)) == [peer.base, Self.active])
    }

    @Test func `without TCP of ours, and for active and simultaneous ones, nothing happens`() {
        var peer = peer(.controlling, [(endpoint("192.0.2.1", 7_001), .simultaneousOpen)])
        peer.introduce(withCandidate: false)
        var simultaneous = passive()
        simultaneous.tcpType = .simultaneousOpen
        peer.tell { agent, now in
            agent.addRemoteCandidate(passive(), at: now)
            agent.addRemoteCandidate(simultaneous, at: now)
        }
        peer.wait(.milliseconds(500))
        #expect(peer.agent.statistics.pairs.isEmpty)
        #expect(peer.agent.localCandidates.count == 1)
        #expect(peer.agent.statistics.remoteCandidatesIgnored == 2)
    }

    @Test func `a connection that cannot be made fails its pair at once`() {
        var peer = peer(.controlling, [(Self.active, .active)])
        peer.introduce(withCandidate: false)
        peer.tell { agent, now in agent.addRemoteCandidate(passive(), at: now) }
        peer.tell { agent, now in agent.tcpConnectionClosed(from: Self.active, to: Self.server, at: now) }
        #expect(peer.agent.statistics.pairs.map(\.state) == [.failed])
    }

    @Test func `a selected connection that closes is made again, and the call goes on`() throws {
        var peer = peer(.controlling, [(Self.active, .active)])
        peer.introduce(withCandidate: false)
        peer.tell { agent, now in agent.addRemoteCandidate(passive(), at: now) }
        func connect() {
            for _ in 0..<10 {
                for request in peer.takeRequests() { confirm(request, in: &peer) }
                peer.wait(.milliseconds(150))
            }
        }
        connect()
        #expect(peer.agent.hasConsent)
        peer.tell { agent, now in agent.tcpConnectionClosed(from: Self.active, to: Self.server, at: now) }
        #expect(!peer.agent.hasConsent)
        #expect(peer.agent.connectionState == .disconnected)
        connect()
        #expect(peer.agent.hasConsent)
        #expect(peer.agent.connectionState == .connected)
    }
}
