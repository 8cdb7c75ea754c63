import RTCEngine
import RTCWire

@testable import SimulatedCalls

/// A send stream and a receive stream over two lossy links, driven in virtual time.
struct StreamPair {
    static let ssrc: UInt32 = 0x1111_1111
    static let rtxSSRC: UInt32 = 0x2222_2222
    static let receiverSSRC: UInt32 = 0x3333_3333

    var now = Instant.zero + .seconds(Int64(10))
    var sender: SendStream
    var receiver: ReceiveStream
    var there: LossyLink
    var back: LossyLink
    private var senderQueue = PacketQueue()
    private var receiverQueue = PacketQueue()
    private var senderReports: ReportSchedule
    private var receiverReports: ReportSchedule

    private(set) var sent: [EncodedFrame] = []
    private(set) var received: [EncodedFrame] = []
    /// When each frame of `received` came out.
    private(set) var receivedAt: [Instant] = []
    private(set) var outputs: [ReceiveStreamOutput] = []
    private(set) var keyFrameRequests: [Instant] = []
    /// RTCP packets of the receiver, as they left.
    private(set) var feedback: [(at: Instant, packet: RTCPPacket)] = []

    init(
        _ format: PayloadFormat, usesRTX: Bool = true, there: LossyLink.Conditions = .init(),
        back: LossyLink.Conditions = .init(), seed: UInt64 = 1,
        adjust: (inout SendStreamConfiguration, inout ReceiveStreamConfiguration) -> Void = { _, _ in }
    ) {
        var random = EngineRandom.seeded(seed)
        var sending = SendStreamConfiguration(
            ssrc: Self.ssrc, payloadType: 96, format: format,
            retransmission: usesRTX ? .init(ssrc: Self.rtxSSRC, payloadType: 97) : nil, cname: "sender", mid: "0",
            extensions: HeaderExtensionIDs(mid: 1, absoluteSendTime: 2, transportSequence: 3))
        var receiving = ReceiveStreamConfiguration(
            ssrc: Self.ssrc, retransmissionSSRC: usesRTX ? Self.rtxSSRC : nil, localSSRC: Self.receiverSSRC,
            cname: "receiver", codecs: [96: .media(format), 97: .retransmission(of: 96)])
        adjust(&sending, &receiving)
        let clock = WallClock(offset: .seconds(Int64(1_700_000_000)))
        sender = SendStream(configuration: sending, clock: clock, random: random.split())
        receiver = ReceiveStream(configuration: receiving)
        receiver.roundTripTime = there.delay + back.delay
        senderReports = ReportSchedule(random: random.split())
        receiverReports = ReportSchedule(random: random.split())
        senderReports.start(at: now)
        receiverReports.start(at: now)
        self.there = LossyLink(there, seed: random.next())
        self.back = LossyLink(back, seed: random.next())
    }

    mutating func send(_ frame: EncodedFrame) {
        sent.append(frame)
        sender.send(frame, into: &senderQueue, at: now)
        flush()
    }

    /// Lets time pass, in steps of a millisecond.
    mutating func run(for interval: Interval) {
        let end = now + interval
        while now < end {
            now += .milliseconds(1)
            deliver()
            sender.tick(at: now)
            receiver.tick(into: &receiverQueue, at: now)
            report()
            drain()
            flush()
        }
    }

    /// Sends `count` frames of `source`, one each `interval`, a key frame whenever one was asked for, then lets the
    /// rest arrive.
    mutating func call(frames count: Int, from source: inout FrameSource, rest: Interval = .seconds(Int64(2))) {
        for _ in 0..<count {
            let isKeyFrame = keyFrameRequests.count > source.answeredRequests
            source.answeredRequests = keyFrameRequests.count
            send(source.next(isKeyFrame: isKeyFrame))
            run(for: source.interval)
        }
        run(for: rest)
    }

    private mutating func deliver() {
        while let packet = there.leave(at: now) {
            switch packet.kind {
            case .rtp:
                guard let header = try? RTPHeader(parsing: packet.bytes.span.bytes) else { continue }
                receiver.receive(header, packet.bytes.span.bytes, into: &receiverQueue, at: now)
            case .rtcp:
                for element in rtcp(packet.bytes) { receiver.receive(element, at: now) }
            }
        }
        while let packet = back.leave(at: now) {
            for element in rtcp(packet.bytes) { sender.receive(element, into: &senderQueue, at: now) }
        }
    }

    private mutating func report() {
        if senderReports.isDue(at: now) {
            var builder = ReportBuilder(localSSRC: Self.ssrc, cname: "sender")
            builder.add(sender.senderReport(at: now))
            builder.write(into: &senderQueue)
        }
        if receiverReports.isDue(at: now) {
            var builder = ReportBuilder(localSSRC: Self.receiverSSRC, cname: "receiver")
            builder.add(receiver.reportBlock(at: now))
            builder.write(into: &receiverQueue)
        }
    }

    private mutating func drain() {
        while let output = receiver.pollOutput() {
            outputs.append(output)
            if case .frame(let frame) = output {
                received.append(frame)
                receivedAt.append(now)
            }
        }
        while let output = sender.pollOutput() {
            switch output {
            case .keyFrameRequested: keyFrameRequests.append(now)
            case .packetRequested: preconditionFailure("frames were sent, not packets")
            }
        }
    }

    private mutating func flush() {
        while let packet = senderQueue.popFirst() { there.enter(packet, at: now) }
        while let packet = receiverQueue.popFirst() {
            for element in rtcp(packet.bytes) { feedback.append((now, element)) }
            back.enter(packet, at: now)
        }
    }
}

/// The packets of a compound that must parse as a whole.
func rtcp(_ bytes: [UInt8]) -> [RTCPPacket] {
    var packets: [RTCPPacket] = []
    var reader = RTCPReader(bytes.span.bytes)
    while let element = reader.next() {
        if case .packet(let packet) = element { packets.append(packet) }
    }
    return packets
}

/// Makes frames that look like a codec's to a packetizer, each with other bytes.
struct FrameSource {
    let format: PayloadFormat
    let interval: Interval
    var answeredRequests = 0
    private var timestamp: UInt32
    private var count = 0
    private var random: EngineRandom

    init(_ format: PayloadFormat, timestamp: UInt32 = 1_000, seed: UInt64 = 7) {
        self.format = format
        self.timestamp = timestamp
        interval = format.isVideo ? .milliseconds(33) : .milliseconds(20)
        random = .seeded(seed)
    }

    /// The first frame is a key frame in any case.
    mutating func next(isKeyFrame: Bool) -> EncodedFrame {
        let isKeyFrame = isKeyFrame || count == 0 || !format.isVideo
        defer {
            count += 1
            timestamp &+= format.isVideo ? 2_970 : 960
        }
        return EncodedFrame(
            payload: payload(isKeyFrame: isKeyFrame), timestamp: timestamp, isKeyFrame: isKeyFrame, format: format)
    }

    private mutating func payload(isKeyFrame: Bool) -> [UInt8] {
        // No zero among the random bytes: in H.264 they could look like a start code.
        let size = format.isVideo ? (isKeyFrame ? 9_000 : Int.random(in: 200...4_000, using: &random)) : 80
        let body = random.bytes(size).map { $0 == 0 ? 1 : $0 }
        return CodedBytes.frame(format, isKeyFrame: isKeyFrame, body: body)
    }
}
