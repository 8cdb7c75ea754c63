import RTCEngine
import RTCWire

/// One call over the link: a sender with an encoder, and a receiver. Whole peer connections, joined by datagrams.
final class Call {
    enum Side: Int { case sender, receiver }

    private(set) var sender: PeerMachine
    private(set) var receiver: PeerMachine
    private(set) var encoder: Encoder
    private let bases: [TransportAddress]
    private var video: TransceiverID?
    /// What the sender's estimator says.
    private(set) var target: Bitrate
    private(set) var framesReceived = 0

    init(number: Int, maximum: Bitrate, seed: UInt64, configuration: CongestionConfiguration, at now: Instant) throws {
        var random = EngineRandom.seeded(seed &+ UInt64(number) &* 1_000)
        bases = (0..<2).map { side in
            TransportAddress(
                IPAddress("198.51.100.\(number * 2 + side + 1)") ?? .v4(0), port: UInt16(4_000 + number))
        }
        func machine() -> PeerMachine {
            let security = NullSecurity(seed: random.next())
            return PeerMachine(
                configuration: PeerMachineConfiguration(
                    ice: ICEConfiguration(),
                    negotiation: NegotiatorConfiguration(
                        fingerprint: security.localFingerprint, videoCodecs: [.vp8]),
                    wallClockOffset: .seconds(Int64(1_700_000_000)), congestion: configuration),
                security: security, random: random.split())
        }
        sender = machine()
        receiver = machine()
        encoder = Encoder(start: configuration.startBitrate, maximum: maximum, seed: random.next())
        target = configuration.startBitrate
        try connect(upTo: maximum, at: now)
    }

    /// Signaling is not what this is about: it takes no time.
    private func connect(upTo maximum: Bitrate, at now: Instant) throws {
        let id = try sender.addTransceiver(.video, direction: .sendonly, streamIDs: ["camera"])
        video = id
        try sender.setBitrateLimits(
            SenderBitrateLimits(minimum: .kilobits(30), maximum: maximum), of: id, at: now)
        Self.gather(&sender, at: bases[0], now)
        Self.gather(&receiver, at: bases[1], now)
        let offer = try sender.createOffer(iceRestart: false)
        try sender.setLocalDescription(.offer, offer, at: now)
        try receiver.setRemoteDescription(.offer, sender.localDescription?.sdp, at: now)
        let answer = try receiver.createAnswer()
        try receiver.setLocalDescription(.answer, answer, at: now)
        try sender.setRemoteDescription(.answer, receiver.localDescription?.sdp, at: now)
        Self.tellCandidates(of: &sender, to: &receiver, at: now)
        Self.tellCandidates(of: &receiver, to: &sender, at: now)
    }

    private static func gather(_ machine: inout PeerMachine, at base: TransportAddress, _ now: Instant) {
        machine.addLocalHost(base, at: now)
        machine.localHostsComplete(at: now)
    }

    private static func tellCandidates(of machine: inout PeerMachine, to other: inout PeerMachine, at now: Instant) {
        while let event = machine.pollEvent() {
            guard case .localCandidate(let candidate, let mid, let index) = event else { continue }
            try? other.addICECandidate(
                candidate.attribute, mid: mid, mLineIndex: index, usernameFragment: candidate.usernameFragment, at: now)
        }
    }

    var nextWake: Instant? {
        switch (sender.nextWake, receiver.nextWake) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    func tick(at now: Instant) {
        if let wake = sender.nextWake, wake <= now { sender.tick(at: now) }
        if let wake = receiver.nextWake, wake <= now { receiver.tick(at: now) }
    }

    func makeFrame(at now: Instant) {
        guard let video, let format = sender.sendingFormat(of: video) else { return }
        // Pictures made before the connection is up would be passed over.
        guard sender.connectionState == .connected else { return }
        try? sender.send(encoder.next(format), on: video, at: now)
    }

    func receive(_ bytes: [UInt8], at side: Side, _ now: Instant) {
        var bytes = bytes
        switch side {
        case .sender: sender.receive(&bytes, from: bases[1], to: bases[0], at: now)
        case .receiver: receiver.receive(&bytes, from: bases[0], to: bases[1], at: now)
        }
    }

    /// Takes what one side wants sent.
    func transmits(of side: Side, _ body: ([UInt8]) -> Void) {
        switch side {
        case .sender: Self.transmits(of: &sender, body)
        case .receiver: Self.transmits(of: &receiver, body)
        }
    }

    private static func transmits(of machine: inout PeerMachine, _ body: ([UInt8]) -> Void) {
        while let transmit = machine.pollTransmit() {
            body(transmit.bytes)
            machine.recycle(transmit)
        }
    }

    func drainEvents() {
        while let event = sender.pollEvent() {
            if case .targetBitrateChanged(let news) = event {
                target = news.available
                if let video, let share = news[video] { encoder.target = share }
            }
            if case .keyFrameRequested = event { encoder.wantsKeyFrame = true }
        }
        while let event = receiver.pollEvent() {
            if case .frame = event { framesReceived += 1 }
        }
    }
}
