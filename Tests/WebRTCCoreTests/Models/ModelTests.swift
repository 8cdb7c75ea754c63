import Foundation
import Testing

#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif
@testable import WebRTCCore

@Suite struct ModelTests {
    @Test func `offer, answer and candidate travel as JSON under the names of their properties`() throws {
        let offer = WebRTCOffer(sdp: "v=0", type: "offer", from: "a", to: "b", videoSource: "camera")
        let candidate = ICECandidate(
            type: "ice", from: "a", to: "b",
            candidate: ICECandidate.Candidate(candidate: "candidate:1", sdpMLineIndex: 0, sdpMid: "0"))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        #expect(
            String(decoding: try encoder.encode(offer), as: UTF8.self)
                == #"{"from":"a","sdp":"v=0","to":"b","type":"offer","videoSource":"camera"}"#)
        #expect(
            String(decoding: try encoder.encode(candidate), as: UTF8.self)
                == #"{"candidate":{"candidate":"candidate:1","sdpMLineIndex":0,"sdpMid":"0"},"from":"a","to":"b","type":"ice"}"#
        )
        #expect(try JSONDecoder().decode(WebRTCOffer.self, from: try encoder.encode(offer)) == offer)
        #expect(try JSONDecoder().decode(ICECandidate.self, from: try encoder.encode(candidate)) == candidate)
        let answer = WebRTCAnswer(to: offer, sdp: "v=0")
        #expect(try JSONDecoder().decode(WebRTCAnswer.self, from: try encoder.encode(answer)) == answer)
        #expect(answer.from == "b" && answer.to == "a" && answer.videoSource == "camera")
    }

    @Test func `every error is a sentence that names the peer`() {
        let errors: [WebRTCError] = [
            .offerRefused(userId: "Ann", reason: "It is none."), .nothingToReceive(userId: "Ann"),
            .candidateRefused(userId: "Ann", reason: "It is none."),
            .connectionFailed(userId: "Ann", reason: "No path is left."), .disconnected(userId: "Ann"),
        ]
        for error in errors {
            #expect(error.userId == "Ann")
            #expect(error.localizedDescription.contains("Ann") && error.localizedDescription.hasSuffix("."))
        }
        #expect(
            WebRTCError.unavailable(reason: "There is no network.").localizedDescription
                == "Video cannot be received here. There is no network.")
    }

    @Test func `one word for all peers: the best that any has`() {
        var state = WebRTCFeature.State()
        #expect(state.connectionState == .new)
        state.connectedPeers = [
            .init(id: "Ann", connectionState: .failed), .init(id: "Bob", connectionState: .connecting),
        ]
        #expect(state.connectionState == .connecting)
        state.connectedPeers[id: "Ann"]?.connectionState = .connected
        #expect(state.connectionState == .connected)
    }
}

@Suite struct ConnectionLedgerTests {
    private func event(_ userId: String, _ session: String) -> WebRTCEvent {
        .connectionStateChanged(
            .connected, connection: WebRTCConnectionID(userId: userId, session: session), because: "")
    }

    @Test func `what comes before the answer waits for it; what comes after the end does not`() {
        var ledger = ConnectionLedger()
        let (first, second) = (event("Ann", "1"), event("Ann", "2"))
        ledger.keep(first)
        ledger.keep(event("Bob", "9"))
        #expect(ledger.begin(first.connection) == [first])
        ledger.end(first.connection)
        ledger.keep(first)
        ledger.keep(second)
        #expect(ledger.begin(second.connection) == [second])
        #expect(ledger.early == [event("Bob", "9")])
    }

    @Test func `both lists are bounded`() {
        var ledger = ConnectionLedger()
        for number in 0..<1_000 {
            ledger.keep(event("Ann", "\(number)"))
            ledger.end(WebRTCConnectionID(userId: "peer \(number)"))
        }
        #expect(ledger.early.count == ConnectionLedger.earlyLimit)
        #expect(ledger.former.count == ConnectionLedger.formerLimit)
    }
}
