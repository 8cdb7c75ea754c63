import RTCWire
import Testing

@testable import RTCEngine

/// Which layers descriptions name, and which an answer takes (RFC 8853).
@Suite struct SimulcastNegotiationTests {
    @Test func `an offer names its layers and no sources, and a server's answer takes them all (RFC 8853 5_3)`() throws
    {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: SimulcastDuet.layers)
        let exchange = try negotiate(&alice, &bob)
        let offer = exchange.offer.media[0]
        #expect(offer.values(of: "simulcast") == ["send q;h;f"])
        #expect(offer.values(of: "rid") == ["q send", "h send", "f send"])
        #expect(offer.values(of: "ssrc").isEmpty)
        let answer = exchange.answer.media[0]
        #expect(answer.values(of: "simulcast") == ["recv q;h;f"])
        #expect(answer.values(of: "rid") == ["q recv", "h recv", "f recv"])
        let sending = try #require(alice.transceiver(id)?.sendParameters)
        #expect(sending.layers.map(\.rid) == SimulcastDuet.names)
        #expect(sending.layers[0].ssrc == sending.ssrc)
        #expect(Set(sending.layers.flatMap { [$0.ssrc, $0.rtxSSRC ?? 0] }).count == 6)
        #expect(sending.extensions[HeaderExtensionURI.rid] != nil)
        #expect(sending.extensions[HeaderExtensionURI.repairedRID] != nil)
        let receiving = try #require(bob.negotiator.transceivers[0].receiveParameters)
        #expect(receiving.layers.map(\.rid) == SimulcastDuet.names)
    }

    @Test func `a plain client's answer takes one layer, which is sent without a name`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: SimulcastDuet.layers)
        let exchange = try negotiate(&alice, &bob)
        #expect(exchange.answer.media[0].values(of: "simulcast").isEmpty)
        #expect(exchange.answer.media[0].values(of: "rid").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == [])
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers == [])
    }

    @Test func `a server takes layers' names where there are no layers yet, and a client does not`() throws {
        for (isServer, expected) in [(true, true), (false, false)] {
            var bob = Party("bob") { $0.receivesSimulcast = isServer }
            _ = try bob.takes(try CapturedOffers.load("py120_single_join_offer"))
            let (answer, _) = try bob.answers()
            let video = answer.media.filter { $0.kind == "video" }
            #expect(video.count == 3)
            for section in video {
                let uris = section.all(SDP.ExtensionMap.self).map(\.uri)
                #expect(uris.contains(HeaderExtensionURI.rid) == expected)
                #expect(uris.contains(HeaderExtensionURI.repairedRID) == expected)
            }
        }
    }

    @Test func `the layers that an answer leaves out are not sent`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: SimulcastDuet.layers)
        let (offer, _) = try alice.offers()
        _ = try bob.takes(offer)
        var (answer, _) = try bob.answers()
        answer.media[0].removeAttributes(named: "simulcast")
        answer.media[0].append(SDP.Simulcast(receive: [["h"], ["~f", "q"], ["unknown"]]))
        _ = try alice.negotiator.setRemote(.answer, answer)
        #expect(alice.transceiver(id)?.sendParameters?.layers.map(\.rid) == ["h", "f"])
    }

    @Test func `a later offer of the server's asks for the layers again, and the answer goes on sending them`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: SimulcastDuet.layers)
        try negotiate(&alice, &bob)
        let before = try #require(alice.transceiver(id)?.sendParameters)
        let exchange = try negotiate(&bob, &alice)
        let offer = exchange.offer.media[0]
        #expect(offer.values(of: "simulcast") == ["recv q;h;f"])
        #expect(offer.values(of: "rid") == ["q recv", "h recv", "f recv"])
        let names = [HeaderExtensionURI.rid, HeaderExtensionURI.repairedRID]
        for section in [offer, exchange.answer.media[0]] {
            #expect(Set(section.all(SDP.ExtensionMap.self).map(\.uri)).isSuperset(of: names))
        }
        let answer = exchange.answer.media[0]
        #expect(answer.values(of: "simulcast") == ["send q;h;f"])
        #expect(answer.values(of: "rid") == ["q send", "h send", "f send"])
        #expect(answer.values(of: "ssrc").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == before.layers)
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers.map(\.rid) == SimulcastDuet.names)

        // After a hold they come back.
        let server = bob.negotiator.transceivers[0].id
        try bob.negotiator.setDirection(.inactive, of: server)
        try negotiate(&bob, &alice)
        #expect(alice.transceiver(id)?.sendParameters == nil)
        try bob.negotiator.setDirection(.recvonly, of: server)
        try negotiate(&bob, &alice)
        #expect(alice.transceiver(id)?.sendParameters?.layers == before.layers)
    }

    @Test func `an answer sends the layers that the offer wants, and one stream when it wants none`() throws {
        var alice = Party("alice")
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let id = try alice.negotiator.addTransceiver(.video, direction: .sendonly, encodings: SimulcastDuet.layers)
        try negotiate(&alice, &bob)
        var (offer, _) = try bob.offers()
        offer.media[0].removeAttributes(named: "simulcast")
        offer.media[0].append(SDP.Simulcast(receive: [["f"]]))
        _ = try alice.takes(offer)
        let fewer = try alice.answers().sdp
        #expect(fewer.media[0].values(of: "simulcast") == ["send f"])
        #expect(alice.transceiver(id)?.sendParameters?.layers.map(\.rid) == ["f"])
        _ = try bob.negotiator.setRemote(.answer, fewer)
        #expect(bob.negotiator.transceivers[0].receiveParameters?.layers.map(\.rid) == ["f"])

        offer = try bob.offers().sdp
        #expect(offer.media[0].values(of: "simulcast") == ["recv f"])
        SimulcastDuet.withoutLayers(&offer)
        _ = try alice.takes(offer)
        let one = try alice.answers().sdp.media[0]
        #expect(one.values(of: "simulcast").isEmpty && one.values(of: "rid").isEmpty)
        #expect(alice.transceiver(id)?.sendParameters?.layers == [])
        #expect(one.signaledSources?.primary == alice.transceiver(id)?.ssrc)
    }

    @Test func `encodings that are no layers are refused`() throws {
        var alice = Party("alice")
        for encodings in [
            [SendEncoding(rid: "")], [SendEncoding(rid: "a b")], [SendEncoding(rid: "a-b")],
            [SendEncoding(rid: "a"), SendEncoding(rid: "a")], (0..<9).map { SendEncoding(rid: "\($0)") },
        ] {
            #expect(throws: NegotiationError.invalidEncodings) {
                try alice.negotiator.addTransceiver(.video, encodings: encodings)
            }
        }
        #expect(throws: NegotiationError.invalidEncodings) {
            try alice.negotiator.addTransceiver(.audio, encodings: [SendEncoding(rid: "a")])
        }
        #expect(alice.negotiator.transceivers.isEmpty)
    }

    @Test func `the sources of an older peer's SIM group are layers by their place`() throws {
        var bob = Party("bob") { $0.receivesSimulcast = true }
        let offer = try CodecNegotiationTests.offer(
            formats: "96 97",
            [
                "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=ssrc-group:SIM 11 12 13",
                "a=ssrc-group:FID 11 21", "a=ssrc-group:FID 12 22", "a=ssrc:11 cname:x", "a=ssrc:12 cname:x",
            ])
        _ = try bob.takes(offer)
        _ = try bob.answers()
        let layers = bob.negotiator.transceivers[0].receiveParameters?.layers ?? []
        #expect(layers.map(\.rid) == ["0", "1", "2"])
        #expect(layers.map { $0.sources?.primary } == [11, 12, 13])
        #expect(layers.map { $0.sources?.rtx } == [21, 22, nil])
        #expect(bob.negotiator.routes.first.map { Set($0.ssrcs) } == [11, 12, 13, 21, 22])
    }
}
