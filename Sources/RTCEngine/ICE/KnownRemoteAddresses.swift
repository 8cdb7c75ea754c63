internal import RTCWire

/// Addresses that datagrams of the peer may come from: its candidates, and wherever a check under our credential came
/// from. Of a generation that a restart has ended they stay until the next restart, since media still flows over the
/// old pair.
struct KnownRemoteAddresses: Sendable {
    private var present: [TransportAddress] = []
    private var former: [TransportAddress] = []
    /// Beyond this the oldest is forgotten; its next check brings it back. Only the peer itself can fill it.
    private let limit: Int

    /// - Parameter limit: of one generation.
    init(limit: Int) { self.limit = limit }

    mutating func learn(_ address: TransportAddress) {
        guard !present.contains(address) else { return }
        if present.count >= limit { present.removeFirst() }
        present.append(address)
    }

    mutating func beginGeneration() {
        former = present
        present = []
    }

    func contains(_ address: TransportAddress) -> Bool { present.contains(address) || former.contains(address) }
}
