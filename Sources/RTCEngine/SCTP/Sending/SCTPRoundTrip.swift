/// The retransmission time-out (RFC 9260 §6.3.1).
struct SCTPRoundTrip: Sendable {
    private(set) var smoothed: Interval?
    private var variation = Interval.zero
    private(set) var timeout: Interval
    /// Whether silence has made the time-out longer than what was measured.
    private(set) var isBackedOff = false
    private let minimum: Interval
    private let maximum: Interval
    private let maximumBackOff: Interval

    init(configuration: SCTPConfiguration) {
        timeout = configuration.initialRTO
        minimum = configuration.minimumRTO
        maximum = configuration.maximumRTO
        maximumBackOff = configuration.maximumBackOff
    }

    mutating func measured(_ sample: Interval) {
        // A link without delay still takes time; §6.3.1 C5 has a granularity for this.
        let sample = max(sample, .microseconds(10))
        if let before = smoothed {
            // C3: RTO.Beta is 1/4, RTO.Alpha 1/8.
            let difference = before < sample ? sample - before : before - sample
            variation = variation * 3 / 4 + difference / 4
            smoothed = before * 7 / 8 + sample / 8
        } else {
            // C2.
            smoothed = sample
            variation = sample / 2
        }
        isBackedOff = false
        timeout = min(max((smoothed ?? sample) + variation * 4, minimum), maximum)
    }

    /// §6.3.3 E2.
    mutating func backOff() {
        isBackedOff = true
        timeout = max(timeout, min(timeout * 2, maximumBackOff))
    }
}
