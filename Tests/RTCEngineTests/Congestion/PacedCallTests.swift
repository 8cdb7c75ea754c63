import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Estimate and pacer in whole calls.
@Suite struct PacedCallTests {
    @Test func `the estimate is told as an event and in the statistics, and grows by probes`() throws {
        var call = CallSimulation()
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(5)))
        #expect(call.violations == [])
        let last = try #require(call[.left].targets.last)
        // The line has no limit; the first probes show six times the start.
        #expect(last.target.available > .megabits(1))
        #expect(last.target.shares.count == 2)
        let video = try #require(call.transceiver(.video, of: .left))
        let audio = try #require(call.transceiver(.audio, of: .left))
        #expect(last.target[audio] == .kilobits(64))
        #expect((last.target[video] ?? .zero) > .megabits(1))
        let stats = call[.left].machine.stats(at: call.now)
        let pair = try #require(stats.candidatePairs.first { $0.id == stats.transport?.selectedCandidatePairID })
        #expect((pair.availableOutgoingBitrate ?? 0) > 1_000_000)
        for (kind, transceiver) in [("video", video), ("audio", audio)] {
            let told = stats.outboundRTP.first { $0.kind == kind }?.targetBitrate
            #expect(told == last.target[transceiver].map { Double($0.bitsPerSecond) })
        }
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `a restart at the same addresses keeps the estimate, and one at others begins anew`(
        side: CallSimulation.Side
    ) throws {
        var call = CallSimulation()
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(5)))
        let (changes, before) = (call[.left].targets.count, try #require(call[.left].targets.last).target.available)
        let pairs = call[.left].machine.counters.selectedPairChanges
        #expect(before > .megabits(1))
        call.offer(side, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        #expect(call[.left].machine.counters.selectedPairChanges > pairs)
        #expect(call[.left].targets[changes...].allSatisfy { $0.target.available > before * 0.5 })

        let spare = endpoint("192.0.2.77", 4_077)
        call.tell(.left) { machine, now in
            machine.interfacesChanged(lost: [CallSimulation.leftBase], found: [spare], at: now)
        }
        call.offer(.left, iceRestart: true)
        call.run(for: .seconds(Int64(3)))
        #expect(call[.left].machine.selectedPair?.base == spare)
        #expect(call[.left].targets[changes...].contains { $0.target.available < before * 0.5 })
        #expect(call.violations == [])
    }

    @Test func `media below the estimate wait no longer than a few milliseconds`() {
        // The line takes 20 ms, no more and no less.
        var call = CallSimulation()
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(1)))
        let before = call.judge(.video, at: .right).count
        call.run(for: .seconds(Int64(5)))
        let arrivals = call.judge(.video, at: .right).arrivals.dropFirst(before)
        let gaps = zip(arrivals, arrivals.dropFirst()).map { ($1 - $0).milliseconds }
        #expect(gaps.count > 70)
        #expect((gaps.max() ?? 0) < 66.7 + 15)
    }

    @Test func `limits are told at once, and refused for what does not exist`() throws {
        var call = CallSimulation()
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(3)))
        let video = try #require(call.transceiver(.video, of: .left))
        try call.tell(.left) { machine, now in
            try machine.setBitrateLimits(SenderBitrateLimits(maximum: .kilobits(250)), of: video, at: now)
        }
        #expect(call[.left].targets.last?.target[video] == .kilobits(250))
        call.close(.left)
        #expect(throws: PeerError.closed) {
            try call.tell(.left) { machine, now in try machine.setBitrateLimits(.video, of: video, at: now) }
        }
    }

    @Test func `a track that is held, and one that comes back, is told at once to those who share the path`() throws {
        var call = CallSimulation()
        call.begin([.audio, .video])
        call.connects()
        call.run(for: .seconds(Int64(3)))
        let video = try #require(call.transceiver(.video, of: .left))
        #expect(call[.left].targets.last?.target[video] != nil)
        for (direction, isSent) in [(TransceiverDirection.inactive, false), (.sendrecv, true)] {
            call.setDirection(direction, of: video, .left)
            call.offer(.left)
            call.run(for: .milliseconds(400))
            #expect((call[.left].targets.last?.target[video] != nil) == isSent)
        }
    }

    @Test func `padding is the last packets again, and without any it is padding alone`() throws {
        var configuration = SendStreamConfiguration(
            ssrc: 7, payloadType: 96, format: .vp8, retransmission: .init(ssrc: 8, payloadType: 97), cname: "c",
            extensions: HeaderExtensionIDs(transportSequence: 3))
        func stream() -> SendStream {
            SendStream(configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
        }
        let frame = EncodedFrame(
            payload: [0x11, 0, 0] + [UInt8](repeating: 1, count: 700), timestamp: 0, isKeyFrame: true, format: .vp8)
        var queue = PacketQueue()
        func take() throws -> QueuedPacket {
            let packet = queue.popFirst()
            return try #require(packet)
        }
        var media = stream()
        // Nothing sent yet: the receiver would not know what this is.
        #expect(media.pad(100, probe: 1, into: &queue, at: .zero) == 0)
        media.send(frame, into: &queue, at: .zero)
        let original = try take()
        #expect(media.pad(500, probe: 9, into: &queue, at: .zero + .milliseconds(10)) > 500)
        let again = try take()
        let header = try RTPHeader(parsing: again.bytes.span.bytes)
        #expect(header.ssrc == 8)
        #expect(again.probe == 9)
        #expect(again.priority == .padding)
        #expect(again.places.transportSequence != nil)
        #expect(again.bytes.suffix(100) == original.bytes.suffix(100))
        #expect(queue.isEmpty)

        configuration.historyCount = 0
        var bare = stream()
        bare.send(frame, into: &queue, at: .zero)
        _ = queue.popFirst()
        #expect(bare.pad(200, probe: 2, into: &queue, at: .zero) > 200)
        let padding = try take()
        let filler = try RTPHeader(parsing: padding.bytes.span.bytes)
        #expect(filler.ssrc == 8)
        #expect(filler.paddingCount == 224)
        #expect(filler.payloadRange.isEmpty)

        configuration.retransmission = nil
        var plain = stream()
        plain.send(frame, into: &queue, at: .zero)
        #expect(plain.pad(200, probe: 3, into: &queue, at: .zero) == 0)
    }

    /// RFC 8852 §3.2. Pion takes a packet of retransmissions that has the media's element for the layer itself.
    @Test(arguments: [6, nil] as [UInt8?], [16, 0])
    func `padding names its layer as retransmissions do, or not at all`(repairedRID: UInt8?, history: Int) throws {
        let ids = HeaderExtensionIDs(rid: 5, repairedRID: repairedRID, transportSequence: 3)
        var configuration = SendStreamConfiguration(
            ssrc: 7, payloadType: 96, format: .vp8, retransmission: .init(ssrc: 8, payloadType: 97), cname: "c",
            extensions: ids)
        configuration.rid = "h"
        configuration.historyCount = history
        var stream = SendStream(configuration: configuration, clock: WallClock(offset: .zero), random: .seeded(1))
        let frame = EncodedFrame(
            payload: [0x11, 0, 0] + [UInt8](repeating: 1, count: 700), timestamp: 0, isKeyFrame: true, format: .vp8)
        var queue = PacketQueue()
        stream.send(frame, into: &queue, at: .zero)
        let media = try #require(queue.popFirst()?.bytes)
        let sent = try RTPHeader(parsing: media.span.bytes)
        #expect(sent.extensionElement(5, in: media.span.bytes).map { Array(media[$0]) } == Array("h".utf8))
        #expect(stream.pad(100, probe: 1, into: &queue, at: .zero + .milliseconds(10)) > 100)
        let padding = try #require(queue.popFirst()?.bytes)
        let header = try RTPHeader(parsing: padding.span.bytes)
        #expect(header.ssrc == 8)
        #expect(header.extensionElement(5, in: padding.span.bytes) == nil)
        let name = header.extensionElement(repairedRID ?? 6, in: padding.span.bytes).map { Array(padding[$0]) }
        #expect(name == (repairedRID == nil ? nil : Array("h".utf8)))
        #expect(header.extensionElement(3, in: padding.span.bytes) != nil)
    }
}
