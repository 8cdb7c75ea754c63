internal import RTCWire

/// Finds server-reflexive addresses and knows when gathering is over (RFC 8445 §5.1.1.2). It decides whom to ask
/// and what an answer means; the agent does the sending.
struct Gatherer: Sendable {
    /// One STUN server asked from one base.
    struct Query: Sendable {
        enum State: Hashable, Sendable {
            case pending, asked, answered, silent
        }

        let route: ICERoute
        fileprivate(set) var state = State.pending
    }

    private enum Bases: Hashable, Sendable {
        case mayGrow, complete
    }

    private(set) var queries: [Query] = []
    private(set) var state = ICEGatheringState.new
    private var bases = Bases.mayGrow
    private var deadline: Instant?
    private var nextKeepalive: Instant?

    /// A base was bound: every server that it can reach is to be asked.
    mutating func add(base: TransportAddress, servers: [TransportAddress], timeout: Interval, at now: Instant) {
        for server in servers where server.ip.canPair(with: base.ip) {
            let route = ICERoute(base: base, remote: server)
            guard !queries.contains(where: { $0.route == route }) else { continue }
            queries.append(Query(route: route))
            deadline = now + timeout
        }
        if state == .new { state = .gathering }
    }

    mutating func basesComplete() {
        bases = .complete
        begin()
    }

    /// Something is asked for, if only by others.
    mutating func begin() {
        if state == .new { state = .gathering }
    }

    var hasPending: Bool { queries.contains { $0.state == .pending } }

    /// The next query to send, with its index; it counts as asked from now on.
    mutating func popPending() -> (index: Int, route: ICERoute)? {
        guard let index = queries.firstIndex(where: { $0.state == .pending }) else { return nil }
        queries[index].state = .asked
        return (index, queries[index].route)
    }

    mutating func answered(_ index: Int, keepalive: Interval, at now: Instant) {
        guard queries.indices.contains(index) else { return }
        queries[index].state = .answered
        if nextKeepalive == nil { nextKeepalive = now + keepalive }
    }

    /// - Returns: the server, where no other of our addresses has an answer of it or may get one.
    mutating func gaveUp(_ index: Int) -> TransportAddress? {
        guard queries.indices.contains(index), queries[index].state == .asked else { return nil }
        queries[index].state = .silent
        let server = queries[index].route.remote
        return queries.allSatisfy { $0.route.remote != server || $0.state == .silent } ? server : nil
    }

    /// The base is gone: its servers are asked and awaited no more. Their places stay, since transactions name them.
    mutating func remove(base: TransportAddress) {
        for index in queries.indices where queries[index].route.base == base { queries[index].state = .silent }
    }

    /// True once, when every base is known and every server has answered or been given up.
    mutating func finishes(at now: Instant) -> Bool {
        guard state == .gathering, bases == .complete else { return false }
        let isOpen = queries.contains {
            switch $0.state {
            case .pending, .asked: true
            case .answered, .silent: false
            }
        }
        // A late answer still makes a candidate; only the end of gathering does not wait for it.
        if isOpen, let deadline, now < deadline { return false }
        state = .complete
        return true
    }

    /// The bindings to refresh now: a NAT forgets a mapping that is idle (RFC 8445 §11).
    mutating func popKeepalives(every interval: Interval, at now: Instant) -> [ICERoute] {
        guard let due = nextKeepalive, due <= now else { return [] }
        nextKeepalive = now + interval
        return queries.filter { $0.state == .answered }.map(\.route)
    }

    /// A pair is selected: its own checks keep its bindings open, the others may go.
    mutating func stopKeepalives() { nextKeepalive = nil }

    var nextWake: Instant? {
        var wake = nextKeepalive
        if state == .gathering, bases == .complete, let deadline { wake = min(wake ?? deadline, deadline) }
        return wake
    }
}
