import RTCEngine
import RTCWire

/// One call over the link: a sender with an encoder, and a receiver. Whole peer connections, joined by datagrams.
struct Call {
    enum Side: Int { case sender, receiver }

    var machines: [PeerMachine]
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
        machines = (0..<2).map { side in
            let security = NullSecurity(seed: random.next())
            return PeerMachine(
                configuration: PeerMachineConfiguration(
                    ice: ICEConfiguration(),
                    negotiation: NegotiatorConfiguration(
                        fingerprint: security.localFingerprint, videoCodecs: [.vp8]),
                    wallClockOffset: .seconds(Int64(1_700_000_000)), congestion: configuration),
                security: security, random: random.split())
        }
        encoder = Encoder(start: configuration.startBitrate, maximum: maximum, seed: random.next())
        target = configuration.startBitrate
        try connect(upTo: maximum, at: now)
    }

    /// Signaling is not what this is about: it takes no time.
    private mutating func connect(upTo maximum: Bitrate, at now: Instant) throws {
        let id = try machines[0].addTransceiver(.video, direction: .sendonly, streamIDs: ["camera"])
        video = id
        try machines[0].setBitrateLimits(
            SenderBitrateLimits(minimum: .kilobits(30), maximum: maximum), of: id, at: now)
        for side in 0..<2 {
            machines[side].addLocalHost(bases[side], at: now)
            machines[side].localHostsComplete(at: now)
        }
        let offer = try machines[0].createOffer(iceRestart: false)
        try machines[0].setLocalDescription(.offer, offer, at: now)
        try machines[1].setRemoteDescription(.offer, machines[0].localDescription?.sdp, at: now)
        let answer = try machines[1].createAnswer()
        try machines[1].setLocalDescription(.answer, answer, at: now)
        try machines[0].setRemoteDescription(.answer, machines[1].localDescription?.sdp, at: now)
        for side in 0..<2 { exchangeCandidates(side, at: now) }
    }

    private mutating func exchangeCandidates(_ side: Int, at now: Instant) {
        while let event = machines[side].pollEvent() {
            guard case .localCandidate(let candidate, let mid, let index) = event else { continue }
            try? machines[1 - side].addICECandidate(
                candidate.attribute, mid: mid, mLineIndex: index, usernameFragment: candidate.usernameFragment, at: now)
        }
    }

    var nextWake: Instant? {
        switch (machines[0].nextWake, machines[1].nextWake) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    mutating func tick(at now: Instant) {
        for side in 0..<2 {
            if let wake = machines[side].nextWake, wake <= now { machines[side].tick(at: now) }
        }
    }

    mutating func makeFrame(at now: Instant) {
        guard let video, let format = machines[0].sendingFormat(of: video) else { return }
        // Pictures made before the connection is up would be passed over.
        guard machines[0].connectionState == .connected else { return }
        try? machines[0].send(encoder.next(format), on: video, at: now)
    }

    mutating func receive(_ bytes: [UInt8], at side: Side, _ now: Instant) {
        var bytes = bytes
        machines[side.rawValue].receive(
            &bytes, from: bases[1 - side.rawValue], to: bases[side.rawValue], at: now)
    }

    /// Takes what one side wants sent.
    mutating func transmits(of side: Side, _ body: ([UInt8]) -> Void) {
        while let transmit = machines[side.rawValue].pollTransmit() {
            body(transmit.bytes)
            machines[side.rawValue].recycle(transmit)
        }
    }

    mutating func drainEvents() {
        while let event = machines[0].pollEvent() {
            if case .targetBitrateChanged(let news) = event {
                target = news.available
                if let video, let share = news[video] { encoder.target = share }
            }
            if case .keyFrameRequested = event { encoder.wantsKeyFrame = true }
        }
        while let event = machines[1].pollEvent() {
            if case .frame = event { framesReceived += 1 }
        }
    }
}
