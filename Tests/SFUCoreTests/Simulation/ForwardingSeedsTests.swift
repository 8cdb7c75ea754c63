import RTCEngine
import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// Hundreds of random publications of each coding, each with one subscriber who wants this and that at random times,
/// over a path that loses, delays and repeats packets. Of half of them packets are forwarded as they come, of the
/// others some at a time. What has to hold in each of them is in `ModelReceiver`.
@Suite struct ForwardingSeedsTests {
    @Test(arguments: ModelCoding.allCases)
    func `no subscriber sees a broken stream`(coding: ModelCoding) async {
        for seed in 0..<300 as Range<UInt64> {
            await Task.yield()
            var scene = ForwardingScene(coding, seed: seed)
            scene.run()
            guard !scene.violations.isEmpty else { continue }
            Issue.record("\(coding), seed \(seed):\n\(scene.violations.prefix(8).joined(separator: "\n"))")
            return
        }
    }

    @Test(arguments: ModelCoding.allCases)
    func `without losses whatever is wanted is reached`(coding: ModelCoding) {
        for seed in 0..<40 as Range<UInt64> {
            var scene = ForwardingScene(coding, seed: seed, isCalm: true)
            scene.run()
            #expect(scene.violations.isEmpty, "\(coding), seed \(seed): \(scene.violations.prefix(4))")
            #expect(scene.reached == scene.wanted, "\(coding), seed \(seed)")
        }
    }
}

/// One publication and one subscriber for some seconds.
struct ForwardingScene: ~Copyable {
    let coding: ModelCoding
    private var random: EngineRandom
    private var publisher: ModelPublisher
    private var path: ModelPath
    private var track: PublishedTrack
    private var forwarder: VideoForwarder
    private var receiver: ModelReceiver
    private var arrived: [Int: Set<Int>] = [:]
    private var now = Instant.zero + .seconds(Int64(5))
    private let isCalm: Bool
    private var keysDue: [(stream: Int, at: Instant)] = []
    /// What has come and is still to be forwarded, and how much of it there may be.
    private var waiting: [PublishedPacket] = []
    private let mostWaiting: Int
    private(set) var wanted: LayerTarget?

    init(_ coding: ModelCoding, seed: UInt64, isCalm: Bool = false) {
        self.coding = coding
        self.isCalm = isCalm
        random = .seeded(seed)
        mostWaiting = seed.isMultiple(of: 2) ? 0 : Int.random(in: 1...30, using: &random)
        var character = ModelPath.Character()
        if !isCalm {
            character.loss = [0, 0.02, 0.1].randomElement(using: &random) ?? 0
            character.repaired = [1, 1, 0.7].randomElement(using: &random) ?? 1
            character.duplicates = [0, 0.05].randomElement(using: &random) ?? 0
            character.jitter = [0, 3, 25].randomElement(using: &random) ?? 0
        }
        publisher = ModelPublisher(coding, random: random.split())
        path = ModelPath(character, random: random.split())
        track = PublishedTrack(
            format: coding.format, streams: coding.announcedStreams, arrangement: coding.announcedArrangement)
        forwarder = VideoForwarder(
            selector: LayerSelector(),
            rewriter: .forVideo(firstSequenceNumber: UInt16.random(in: 65_000...65_535, using: &random)))
        receiver = ModelReceiver(coding)
        wanted = .highest
    }

    var violations: [String] { receiver.violations }

    /// What is forwarded at the end.
    var reached: LayerTarget? { forwarder.selector.forwarded(of: track).map { existing($0) } }

    /// As many layers as there are.
    private func existing(_ target: LayerTarget) -> LayerTarget {
        LayerTarget(
            spatial: min(Int(target.spatial), 2), temporal: coding == .h264Simulcast ? 0 : min(Int(target.temporal), 2))
    }

    mutating func run() {
        for picture in 0..<240 {
            if !isCalm || picture < 150 { change() }
            for packet in publisher.picture() { path.send(packet, at: now) }
            step(.seconds(1.0 / 30))
        }
        // Calm at the end, so that all that is under way arrives.
        step(.milliseconds(400))
        wanted = wanted.map { existing($0) }
        receiver.finish(publisher.frames, arrived: arrived, lost: path.lost, isInOrder: isCalm)
    }

    /// Somebody changes their mind.
    private mutating func change() {
        let dice = Int.random(in: 0..<100, using: &random)
        switch dice {
        case 0..<6:
            wanted = LayerTarget(
                spatial: Int.random(in: 0...2, using: &random), temporal: Int.random(in: 0...2, using: &random))
            forwarder.target = wanted
            receiver.wantsOthers()
        case 6 where !isCalm:
            wanted = nil
            forwarder.target = nil
        case 7 where !isCalm && !coding.isScalable:
            publisher.set(Int.random(in: 0...2, using: &random), isActive: false)
        case 8, 9: for stream in 0..<coding.streams { publisher.set(stream, isActive: true) }
        case 10, 11:
            for stream in 0..<coding.streams where Bool.random(using: &random) {
                track.reported(
                    SenderClock(
                        ntp: WallClock(offset: .seconds(Int64(1_700_000_000))).ntp(at: now),
                        timestamp: publisher.timestamp(of: stream), receivedAt: now), layer: stream)
            }
        case 12 where !isCalm: publisher.askForKey(Int.random(in: 0..<coding.streams, using: &random))
        case _: break
        }
        if isCalm, wanted == nil {
            wanted = .highest
            forwarder.target = wanted
        }
    }

    private mutating func step(_ interval: Interval) {
        let end = now + interval
        for (time, packet) in path.arrivals(until: end) {
            now = max(now, time)
            arrive(packet)
        }
        forwardWaiting()
        now = end
        if let stream = forwarder.keyFrameWish(of: track, at: now) { keysDue.append((stream, now + .milliseconds(60))) }
        for key in keysDue where key.at <= now { publisher.askForKey(key.stream) }
        keysDue.removeAll { $0.at <= now }
        ask()
    }

    private mutating func arrive(_ packet: ModelPacket) {
        guard let header = try? RTPHeader(parsing: packet.bytes.span.bytes) else { return }
        // As `Room.receive` has it.
        let descriptor = header.extensionElement(
            Packet.extensions.dependencyDescriptor, in: packet.bytes.span.bytes)
        if descriptor.map({ DependencyParser.bringsStructure(packet.bytes.span.bytes.extracting($0)) }) ?? false {
            forwardWaiting()
        }
        guard
            let published = track.receive(
                header, packet.bytes.span.bytes, layer: packet.stream, extensions: Packet.extensions, at: now)
        else { return }
        if !packet.isPadding { arrived[packet.frame, default: []].insert(packet.index) }
        waiting.append(published)
        if waiting.count > mostWaiting { forwardWaiting() }
    }

    private mutating func forwardWaiting() {
        for packet in waiting {
            give(packet)
            while let (layer, sequence) = forwarder.nextMissed() {
                guard let missed = track.packet(layer: Int(layer), sequence: sequence, at: now) else { continue }
                give(missed)
            }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private mutating func give(_ published: PublishedPacket) {
        guard let out = forwarder.receive(published, of: track, at: now) else { return }
        receiver.receive(write(out, published))
    }

    private func write(_ out: OutgoingPacket, _ packet: PublishedPacket) -> [UInt8] {
        var bytes: [UInt8] = []
        track.withBytes(of: packet) { bytes = (try? out.written($0, of: packet)) ?? [] }
        return bytes
    }

    /// The subscriber misses a few packets of its own, and gets them as they were.
    private mutating func ask() {
        guard forwarder.rewriter.hasBegun else { return }
        for _ in 0..<3 {
            let number = forwarder.rewriter.lastSequenceNumber &- UInt16.random(in: 0..<60, using: &random)
            guard let answer = forwarder.repair(number, of: track, roundTrip: .milliseconds(20), at: now) else {
                continue
            }
            guard let sent = receiver.bytes(number) else {
                receiver.note("\(number) was never sent, and comes again")
                continue
            }
            if write(answer.out, answer.packet) != sent { receiver.note("\(number) comes again as something else") }
        }
    }
}
