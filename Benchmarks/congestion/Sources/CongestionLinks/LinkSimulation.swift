public import RTCEngine

/// One run of a link: calls and downloads over one bottleneck, in virtual time, the same for the same seed.
public struct LinkSimulation {
    /// A tenth of a second of the run.
    public struct Sample: Sendable {
        public var at: Interval
        public var capacity: Bitrate
        /// Of the bottleneck, at the end.
        public var queueDelay: Interval
        /// What each flow's estimator said at the end; zero for downloads.
        public var targets: [Bitrate]
        /// What of each flow came out of the link.
        public var received: [Bitrate]
        /// Packets dropped at the queue's tail, and lost behind it.
        public var dropped: Int
        public var lost: Int
    }

    private enum Event {
        case media(flow: Int, Call.Side, [UInt8])
        case frame(flow: Int)
        case segment(flow: Int, number: Int)
        case acknowledgement(flow: Int, number: Int)
        case begin(flow: Int)
        case end(flow: Int)
        case sample
    }

    private enum Flow {
        case waiting
        case call(Call)
        case download(Download)
        case over
    }

    private static let sampling = Interval.milliseconds(100)
    /// IP and UDP; TCP's are in its segment.
    private static let headers = 28

    private let profile: LinkProfile
    private let configuration: CongestionConfiguration
    private let seed: UInt64
    private var bottleneck: Bottleneck
    private var flows: [Flow]
    private var agenda = Agenda<Event>()
    private var now = Instant.zero
    private var receivedBytes: [Int]
    private var samples: [Sample] = []
    private var framesReceived: [Int]

    /// Runs a link from beginning to end.
    public static func run(
        _ profile: LinkProfile, seed: UInt64 = 1, configuration: CongestionConfiguration = CongestionConfiguration()
    ) throws -> LinkReport {
        var simulation = LinkSimulation(profile, seed: seed, configuration: configuration)
        try simulation.run()
        return LinkReport(
            profile: profile, samples: simulation.samples, framesReceived: simulation.framesReceived)
    }

    private init(_ profile: LinkProfile, seed: UInt64, configuration: CongestionConfiguration) {
        self.profile = profile
        var configuration = configuration
        if let start = profile.startBitrate { configuration.startBitrate = start }
        self.configuration = configuration
        self.seed = seed
        bottleneck = Bottleneck(profile, seed: seed &+ 99)
        flows = profile.flows.map { _ in .waiting }
        receivedBytes = profile.flows.map { _ in 0 }
        framesReceived = receivedBytes
    }

    private mutating func run() throws {
        for (index, flow) in profile.flows.enumerated() {
            switch flow {
            case .media(let from, _): agenda.add(.begin(flow: index), at: .zero + from)
            case .download(let from, let until):
                agenda.add(.begin(flow: index), at: .zero + from)
                agenda.add(.end(flow: index), at: .zero + until)
            }
        }
        agenda.add(.sample, at: .zero + Self.sampling)
        let end = Instant.zero + profile.duration
        while let next = nextAt, next <= end {
            now = max(now, next)
            if let event = agenda.next(by: now) { try perform(event) }
            for index in flows.indices { drive(index) }
        }
    }

    private var nextAt: Instant? {
        var next = agenda.nextAt
        for case .call(let call) in flows {
            guard let wake = call.nextWake else { continue }
            next = min(next ?? wake, wake)
        }
        return next
    }

    private mutating func perform(_ event: Event) throws {
        switch event {
        case .media(let flow, let side, let bytes):
            if side == .receiver { receivedBytes[flow] += bytes.count }
            if case .call(let call) = flows[flow] { call.receive(bytes, at: side, now) }
        case .frame(let flow):
            if case .call(let call) = flows[flow] { call.makeFrame(at: now) }
            agenda.add(.frame(flow: flow), at: now + Encoder.interval)
        case .segment(let flow, let number):
            receivedBytes[flow] += Download.segment
            agenda.add(.acknowledgement(flow: flow, number: number), at: now + profile.delay(at: now - .zero))
        case .acknowledgement(let flow, let number):
            guard case .download(var download) = flows[flow] else { return }
            download.acknowledge(number, at: now)
            flows[flow] = .download(download)
        case .begin(let flow): try begin(flow)
        case .end(let flow): flows[flow] = .over
        case .sample: sample()
        }
    }

    private mutating func begin(_ index: Int) throws {
        switch profile.flows[index] {
        case .media(_, let maximum):
            flows[index] = .call(
                try Call(number: index, maximum: maximum, seed: seed, configuration: configuration, at: now))
            agenda.add(.frame(flow: index), at: now + Encoder.interval)
        case .download:
            flows[index] = .download(Download())
        }
    }

    /// Sends what a flow wants sent.
    private mutating func drive(_ index: Int) {
        if case .download(var download) = flows[index] {
            download.tick(at: now)
            for number in download.send(at: now) {
                guard let arrival = bottleneck.put(Download.segment, at: now) else { continue }
                agenda.add(.segment(flow: index, number: number), at: arrival)
            }
            flows[index] = .download(download)
            return
        }
        guard case .call(let call) = flows[index] else { return }
        call.tick(at: now)
        call.drainEvents()
        call.transmits(of: .sender) { bytes in
            guard let arrival = bottleneck.put(bytes.count + Self.headers, at: now) else { return }
            agenda.add(.media(flow: index, .receiver, bytes), at: arrival)
        }
        call.transmits(of: .receiver) { bytes in
            agenda.add(.media(flow: index, .sender, bytes), at: now + profile.delay(at: now - .zero))
        }
        framesReceived[index] = call.framesReceived
    }

    private mutating func sample() {
        samples.append(
            Sample(
                at: now - .zero, capacity: profile.rate(at: now - .zero), queueDelay: bottleneck.delay(at: now),
                targets: flows.map { if case .call(let call) = $0 { call.target } else { .zero } },
                received: receivedBytes.map { Bitrate(bytes: $0, in: Self.sampling) },
                dropped: bottleneck.dropped, lost: bottleneck.lost))
        for index in receivedBytes.indices { receivedBytes[index] = 0 }
        agenda.add(.sample, at: now + Self.sampling)
    }
}
