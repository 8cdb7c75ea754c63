import RTCWire
import Testing

@testable import RTCEngine

/// `a=ice-lite` on our side (RFC 8839 §5.3).
@Suite struct LiteNegotiationTests {
    @Test(arguments: [true, false])
    func `a lite side says so and is controlled, in offers and in answers`(offers: Bool) throws {
        var lite = Party("lite") { $0.isICELite = true }
        var full = Party("full")
        if offers {
            _ = try lite.negotiator.addTransceiver(.audio)
        } else {
            _ = try full.negotiator.addTransceiver(.audio)
        }
        let exchange = try offers ? negotiate(&lite, &full) : negotiate(&full, &lite)
        #expect(exchange.offer.has(.iceLite) == offers)
        #expect(exchange.answer.has(.iceLite) == !offers)
        let (ours, theirs) =
            offers
            ? (exchange.offererActions, exchange.answererActions) : (exchange.answererActions, exchange.offererActions)
        #expect(ours.outline.contains("iceRole controlled"))
        #expect(theirs.outline.contains("iceRole controlling"))
        #expect(theirs.outline.contains("setRemoteICE lite-0 lite"))
        #expect(ours.outline.contains("setRemoteICE full-0"))
    }

    @Test func `of two lite sides the one that is told last refuses, and nothing has changed`() throws {
        var alice = Party("alice") { $0.isICELite = true }
        var bob = Party("bob") { $0.isICELite = true }
        _ = try alice.negotiator.addTransceiver(.audio)
        let offer = try alice.offers().sdp
        #expect(throws: NegotiationError.bothLite) { try bob.takes(offer) }
        #expect(bob.negotiator.signalingState == .stable)
        var carol = Party("carol")
        _ = try carol.takes(offer)
        var answer = try carol.answers().sdp
        answer.append(.iceLite)
        #expect(throws: NegotiationError.bothLite) { try alice.negotiator.setRemote(.answer, answer) }
        #expect(alice.negotiator.signalingState == .haveLocalOffer)
    }
}
