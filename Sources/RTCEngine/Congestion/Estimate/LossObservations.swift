/// What was sent and lost in one quarter of a second or more.
struct LossObservation {
    var packets = 0.0
    var lost = 0.0
    /// In bits a second.
    var rate = 0.0

    var received: Double { packets - lost }
}

/// The last observations of loss, newest last. Storage is made once.
struct LossObservations {
    static let capacity = 20
    /// Newer ones weigh more.
    private static let fading = 0.9
    private static let shortest = Interval.milliseconds(250)

    private var ring: [LossObservation] = []
    private var head = 0
    private var partial = LossObservation()
    private var partialBytes = 0
    private var partialSince: Instant?

    var count: Int { ring.count }

    /// A packet's fate is known. Packets come in the order of their sending; one that was told lost and came after all
    /// is told twice.
    ///
    /// - Returns: whether an observation is complete.
    mutating func add(_ result: TransportFeedbackTracker.PacketResult) -> Bool {
        if result.wasToldLost {
            forgive()
            return false
        }
        let since = partialSince ?? result.sentAt
        partialSince = since
        let elapsed = result.sentAt - since
        var isComplete = false
        if elapsed >= Self.shortest {
            partial.rate = Bitrate(bytes: partialBytes, in: elapsed).value
            append(partial)
            partial = LossObservation()
            partialBytes = 0
            partialSince = result.sentAt
            isComplete = true
        }
        partial.packets += 1
        partialBytes += result.size
        if result.arrivedAt == nil { partial.lost += 1 }
        return isComplete
    }

    /// It was late, not lost; of which observation is not kept, and one of the last is near enough.
    private mutating func forgive() {
        if partial.lost >= 1 {
            partial.lost -= 1
        } else if !ring.isEmpty {
            let newest = (head + ring.count - 1) % ring.count
            ring[newest].lost = max(ring[newest].lost - 1, 0)
        }
    }

    private mutating func append(_ observation: LossObservation) {
        if ring.count < Self.capacity {
            ring.append(observation)
        } else {
            ring[head] = observation
            head = (head + 1) % Self.capacity
        }
    }

    mutating func removeAll() {
        ring.removeAll(keepingCapacity: true)
        head = 0
        partial = LossObservation()
        partialBytes = 0
        partialSince = nil
    }

    /// Calls `body` with each observation and its weight.
    func forEach(_ body: (LossObservation, Double) -> Void) {
        var weight = 1.0
        for age in 0..<ring.count {
            body(ring[(head + ring.count - 1 - age) % ring.count], weight)
            weight *= Self.fading
        }
    }

    /// The share of packets lost, newer ones weighing more.
    var lossRatio: Double {
        var lost = 0.0
        var packets = 0.0
        forEach {
            lost += $0.lost * $1
            packets += $0.packets * $1
        }
        return packets > 0 ? lost / packets : 0
    }
}
