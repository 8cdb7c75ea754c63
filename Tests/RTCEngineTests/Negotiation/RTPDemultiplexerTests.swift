import RTCWire
import Testing

@testable import RTCEngine

@Suite struct RTPDemultiplexerTests {
    private static let audio = TransceiverID(rawValue: 1)
    private static let video = TransceiverID(rawValue: 2)
    private static let screen = TransceiverID(rawValue: 3)

    private func demultiplexer() -> RTPDemultiplexer {
        var demultiplexer = RTPDemultiplexer()
        demultiplexer.update([
            RTPDemultiplexer.Route(transceiver: Self.audio, mid: "a", payloadTypes: [111], ssrcs: []),
            RTPDemultiplexer.Route(transceiver: Self.video, mid: "v1", payloadTypes: [96, 97], ssrcs: [10, 11]),
            RTPDemultiplexer.Route(transceiver: Self.screen, mid: "v2", payloadTypes: [96, 97, 98], ssrcs: []),
        ])
        return demultiplexer
    }

    /// A packet: source, payload type, and the mid that it carries.
    private func route(
        _ demultiplexer: inout RTPDemultiplexer, _ ssrc: UInt32, _ type: UInt8, _ mid: String? = nil
    ) -> TransceiverID? {
        guard let mid else { return demultiplexer.route(ssrc: ssrc, payloadType: type, mid: nil) }
        let bytes = Array(mid.utf8)
        return demultiplexer.route(ssrc: ssrc, payloadType: type, mid: bytes.span.bytes)
    }

    @Test func `a mid decides, and is remembered for the source`() {
        var table = demultiplexer()
        #expect(route(&table, 50, 96, "v2") == Self.screen)
        #expect(route(&table, 50, 96) == Self.screen)
        #expect(table.transceiver(ofSSRC: 50) == Self.screen)
    }

    @Test func `a mid moves a source, even one that was signaled`() {
        var table = demultiplexer()
        #expect(route(&table, 10, 96) == Self.video)
        #expect(route(&table, 10, 96, "v2") == Self.screen)
        #expect(route(&table, 10, 96) == Self.screen)
        #expect(route(&table, 10, 96, "v1") == Self.video)
        #expect(route(&table, 10, 96) == Self.video)
    }

    @Test func `a source that was learned is moved by the mid of the section that it was signaled for`() {
        var table = demultiplexer()
        #expect(route(&table, 50, 96, "v2") == Self.screen)
        table.update([
            RTPDemultiplexer.Route(transceiver: Self.video, mid: "v1", payloadTypes: [96], ssrcs: [50]),
            RTPDemultiplexer.Route(transceiver: Self.screen, mid: "v2", payloadTypes: [96], ssrcs: []),
        ])
        #expect(route(&table, 50, 96, "v1") == Self.video)
        #expect(route(&table, 50, 96) == Self.video)
    }

    @Test func `a source that a payload type had taught belongs, once it has said so itself, where its mid says`() {
        var table = demultiplexer()
        #expect(route(&table, 60, 111) == Self.audio)
        #expect(route(&table, 60, 111, "a") == Self.audio)
        table.update([
            RTPDemultiplexer.Route(transceiver: Self.audio, mid: "a", payloadTypes: [111], ssrcs: []),
            RTPDemultiplexer.Route(transceiver: Self.video, mid: "v1", payloadTypes: [96], ssrcs: [60]),
        ])
        #expect(route(&table, 60, 111) == Self.audio)
    }

    @Test func `an unknown mid is nobody's, whatever else the packet says`() {
        var table = demultiplexer()
        #expect(route(&table, 10, 111, "x") == nil)
        #expect(route(&table, 10, 111, "") == nil)
        #expect(route(&table, 10, 111, "v11") == nil)
    }

    @Test func `a payload type decides where one section alone has it`() {
        var table = demultiplexer()
        #expect(route(&table, 60, 111) == Self.audio)
        #expect(route(&table, 61, 98) == Self.screen)
        #expect(route(&table, 62, 96) == nil)
        #expect(route(&table, 63, 255) == nil)
        // And the source is known then.
        #expect(route(&table, 61, 96) == Self.screen)
    }

    @Test func `a description that names a source knows better than what its payload type has taught`() {
        var table = RTPDemultiplexer()
        table.update([RTPDemultiplexer.Route(transceiver: Self.video, mid: "v1", payloadTypes: [96], ssrcs: [])])
        #expect(route(&table, 10, 96) == Self.video)
        #expect(route(&table, 50, 96) == Self.video)
        #expect(route(&table, 51, 96, "v1") == Self.video)
        table.update([
            RTPDemultiplexer.Route(transceiver: Self.video, mid: "v1", payloadTypes: [96], ssrcs: [10]),
            RTPDemultiplexer.Route(transceiver: Self.screen, mid: "v2", payloadTypes: [96], ssrcs: [50, 51]),
        ])
        #expect(route(&table, 10, 96) == Self.video)
        #expect(route(&table, 50, 96) == Self.screen)
        // But not better than the packets' own mid.
        #expect(route(&table, 51, 96) == Self.video)
    }

    @Test func `what was learned outlives a negotiation, but not its transceiver`() {
        var table = demultiplexer()
        _ = route(&table, 60, 111)
        _ = route(&table, 61, 98)
        table.update([RTPDemultiplexer.Route(transceiver: Self.screen, mid: "v2", payloadTypes: [], ssrcs: [])])
        #expect(table.transceiver(ofSSRC: 61) == Self.screen)
        #expect(table.transceiver(ofSSRC: 60) == nil)
    }

    @Test func `the table is bounded: the oldest source is forgotten`() {
        var table = demultiplexer()
        let count = UInt32(RTPDemultiplexer.maximumLearnedSources)
        for ssrc in 1_000..<1_000 + count + 2 { _ = route(&table, ssrc, 111) }
        #expect(table.transceiver(ofSSRC: 1_000) == nil)
        #expect(table.transceiver(ofSSRC: 1_001) == nil)
        #expect(table.transceiver(ofSSRC: 1_002) == Self.audio)
        #expect(route(&table, 5, 111) == Self.audio)
        #expect(table.transceiver(ofSSRC: 1_003) == Self.audio)
    }

    @Test func `a negotiator's routes are what it may receive`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        try negotiate(&alice, &bob)
        let sources = alice.negotiator.transceivers.map { [$0.ssrc, $0.rtxSSRC] }
        #expect(
            bob.negotiator.routes == [
                RTPDemultiplexer.Route(
                    transceiver: bob.negotiator.transceivers[0].id, mid: "0", payloadTypes: [111],
                    ssrcs: [sources[0][0]]),
                RTPDemultiplexer.Route(
                    transceiver: bob.negotiator.transceivers[1].id, mid: "1", payloadTypes: [102, 103, 96, 97],
                    ssrcs: sources[1]),
            ])
        #expect(alice.negotiator.routes.isEmpty)
    }
}
