import RTCEngine
import RTCSecurity
import RTCWire

/// The packet path alone, for callgrind: two `PeerMachine`s joined in memory. Twice the frames minus once the frames is
/// what frames cost, whatever setting up took. The packets to receive are made beforehand, and as many for either
/// count.
enum PacketPath {
    private static let packetsPerFrame = 20

    /// What is done with the packets.
    enum Way: String {
        case send, receive
        /// Received and taken as packets, not as frames.
        case take
    }

    static func run(_ frames: Int, _ way: Way) throws {
        let link = try MachinePair(takesPackets: way == .take)
        try link.connect()
        if way != .send {
            // Always as many: callgrind's difference then holds no sending.
            let datagrams = try link.protectedFrames(frameLimit, packetsPerFrame)
            for frame in datagrams.prefix(frames) { link.deliver(frame) }
            let hasAll =
                way == .take ? link.packetsTaken >= frames * packetsPerFrame : link.framesReceived == frames
            guard hasAll else { throw BenchmarkError.nothingArrived }
        } else {
            try link.send(frames, packetsPerFrame)
        }
        report(["packets": frames * packetsPerFrame])
    }

    /// The largest count to ask for.
    static let frameLimit = 200
}

/// Caller and callee, and time that moves when we say so.
private final class MachinePair {
    private var caller: PeerMachine
    private var callee: PeerMachine
    private let callerAddress = TransportAddress(.v4(0x7f00_0001), port: 5_001)
    private let calleeAddress = TransportAddress(.v4(0x7f00_0001), port: 5_002)
    private var now = Instant.zero
    private var video: TransceiverID
    private(set) var framesReceived = 0
    private(set) var packetsTaken = 0

    init(takesPackets: Bool) throws {
        func machine(takesPackets: Bool) throws -> PeerMachine {
            let security = try OpenSSLSecurity()
            // Nobody answers here with an estimate, and at the rate of the beginning most packets would never leave.
            var configuration = PeerMachineConfiguration(
                ice: ICEConfiguration(),
                negotiation: NegotiatorConfiguration(
                    fingerprint: security.localFingerprint, audioCodecs: [], videoCodecs: [.vp8]),
                wallClockOffset: .zero, congestion: CongestionConfiguration(pacing: .off))
            configuration.receivesPackets = takesPackets
            return PeerMachine(configuration: configuration, security: security, random: .system)
        }
        caller = try machine(takesPackets: false)
        callee = try machine(takesPackets: takesPackets)
        video = try caller.addTransceiver(.video, direction: .sendonly, streamIDs: [])
    }

    func connect() throws {
        let offer = try caller.createOffer(iceRestart: false)
        try caller.setLocalDescription(.offer, offer, at: now)
        caller.addLocalHost(callerAddress, at: now)
        caller.localHostsComplete(at: now)
        try callee.setRemoteDescription(.offer, caller.localDescription?.sdp, at: now)
        let answer = try callee.createAnswer()
        try callee.setLocalDescription(.answer, answer, at: now)
        callee.addLocalHost(calleeAddress, at: now)
        callee.localHostsComplete(at: now)
        try caller.setRemoteDescription(.answer, callee.localDescription?.sdp, at: now)
        for _ in 0..<1_000 {
            exchange()
            // Longer than a nomination takes, after which there is one pair to look at.
            if caller.connectionState == .connected, callee.connectionState == .connected, now > .zero + .seconds(1) {
                return
            }
            now = now + .milliseconds(5)
            caller.tick(at: now)
            callee.tick(at: now)
        }
        throw BenchmarkError.notConnected
    }

    private func exchange() {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            while let transmit = caller.pollTransmit() {
                isQuiet = false
                var bytes = transmit.bytes
                callee.receive(&bytes, from: callerAddress, to: calleeAddress, at: now)
            }
            while let transmit = callee.pollTransmit() {
                isQuiet = false
                var bytes = transmit.bytes
                caller.receive(&bytes, from: calleeAddress, to: callerAddress, at: now)
            }
        }
        drainEvents()
    }

    private func drainEvents() {
        while caller.pollEvent() != nil {}
        while let event = callee.pollEvent() {
            if case .frame = event { framesReceived += 1 }
        }
    }

    /// 30 frames a second, the first one a key frame. What goes out is thrown away, its storage used again.
    func send(_ count: Int, _ packets: Int) throws {
        let frames = [true, false].map { EncodedFrame.vp8(bytes: packets * 1_150, timestamp: 0, isKeyFrame: $0) }
        for number in 0..<count {
            var frame = frames[number == 0 ? 0 : 1]
            frame.timestamp = UInt32(number * 3_000)
            try caller.send(frame, on: video, at: now)
            while let transmit = caller.pollTransmit() { caller.recycle(transmit) }
            now = now + .microseconds(33_333)
            caller.tick(at: now)
            while let transmit = caller.pollTransmit() { caller.recycle(transmit) }
            drainEvents()
        }
    }

    func protectedFrames(_ count: Int, _ packets: Int) throws -> [[[UInt8]]] {
        let begin = now
        defer { now = begin }
        let frames = [true, false].map { EncodedFrame.vp8(bytes: packets * 1_150, timestamp: 0, isKeyFrame: $0) }
        var datagrams: [[[UInt8]]] = []
        for number in 0..<count {
            var frame = frames[number == 0 ? 0 : 1]
            frame.timestamp = UInt32(number * 3_000)
            try caller.send(frame, on: video, at: now)
            var burst: [[UInt8]] = []
            while let transmit = caller.pollTransmit() { burst.append(transmit.bytes) }
            datagrams.append(burst)
            now = now + .microseconds(33_333)
        }
        return datagrams
    }

    func deliver(_ datagrams: [[UInt8]]) {
        var buffer: [UInt8] = []
        buffer.reserveCapacity(2_048)
        for datagram in datagrams {
            buffer.removeAll(keepingCapacity: true)
            buffer.append(contentsOf: datagram)
            callee.receive(&buffer, from: callerAddress, to: calleeAddress, at: now)
            if callee.takePacket(&buffer) != nil { packetsTaken += 1 }
        }
        while let transmit = callee.pollTransmit() { callee.recycle(transmit) }
        now = now + .microseconds(33_333)
        callee.tick(at: now)
        while let transmit = callee.pollTransmit() { callee.recycle(transmit) }
        drainEvents()
    }
}
