import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// A pair that was selected, given up for a better one, and is nominated once more while it is checked anew (RFC 8445
/// §7.3.1.5).
@Suite struct ICERenominationTests {
    private let other = endpoint("192.0.2.9", 4_000)
    private let better = endpoint("198.51.100.2", 5_000)

    /// The agent's requests to an address, of all that it has sent since the last call.
    private func requests(to address: TransportAddress, of peer: inout ScriptedPeer) -> [STUNMessage] {
        let sent = peer.outputs
        _ = peer.takeSent()
        return sent.compactMap { output in
            guard case .send(let bytes, _, let to) = output, to == address,
                let message = try? STUNMessage(parsing: bytes.span.bytes), message.kind == .request
            else { return nil }
            return message
        }
    }

    private func confirmOverOther(_ request: STUNMessage, _ peer: inout ScriptedPeer) {
        let response = STUNMessage(
            .success, transactionID: request.transactionID, attributes: [.xorMappedAddress(other)])
        peer.send(
            response.encoded(key: HMACSHA1(password: peer.parameters.password)), from: better, to: other)
    }

    @Test func `a pair that was selected before and is nominated while it is checked anew is selected again`() throws {
        var peer = ScriptedPeer(role: .controlled)
        let other = other
        peer.tell { agent, now in agent.addLocalHost(other, at: now) }
        peer.introduce(withCandidate: false)
        // A peer that nominates aggressively: first the lesser pair, then the better one, over our second address.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 100)
        peer.confirm(try #require(requests(to: peer.address, of: &peer).last))
        var random = EngineRandom.seeded(7)
        let credential = peer.agent.localParameters
        let check = STUNMessage(
            .request, transactionID: STUNTransactionID(using: &random),
            attributes: [
                .username("\(credential.usernameFragment):\(peer.parameters.usernameFragment)"), .priority(200),
                .iceControlling(tieBreaker: 1), .useCandidate,
            ])
        peer.wait(.milliseconds(30))
        peer.send(check.encoded(key: HMACSHA1(password: credential.password)), from: better, to: other)
        peer.wait(.milliseconds(30))
        confirmOverOther(try #require(requests(to: better, of: &peer).last), &peer)
        #expect(peer.selections.map(\.remote) == [peer.address, better])
        // Longer than what was proven for the lesser one counts as fresh; the better one answers.
        for _ in 0..<400 {
            peer.wait(.milliseconds(20))
            for request in requests(to: better, of: &peer) { confirmOverOther(request, &peer) }
        }
        // The second address is gone, and the lesser pair is checked anew.
        peer.tell { agent, now in _ = agent.interfacesChanged(lost: [other], found: [], at: now) }
        peer.wait(.milliseconds(60))
        #expect(!requests(to: peer.address, of: &peer).isEmpty)
        // The answer to that is lost, or late; the peer, whose own check of it has come back, nominates.
        peer.check([.iceControlling(tieBreaker: 1), .useCandidate], priority: 100)
        peer.wait(.milliseconds(60))
        peer.confirm(try #require(requests(to: peer.address, of: &peer).last))
        // RFC 8445 §7.3.1.5: nominated when the triggered check succeeds.
        #expect(peer.selections.map(\.remote) == [peer.address, better, peer.address])
    }
}
