internal import RTCWire

/// The pairs of one generation with the order in which they are checked (RFC 8445 §6.1.2).
struct Checklist: Sendable {
    /// A check that does not wait for its turn (RFC 8445 §6.1.4.1), or the one that nominates.
    struct Check: Hashable, Sendable {
        let pair: PairID
        let nominates: Bool
    }

    /// Highest priority first.
    private(set) var pairs: [CandidatePair] = []
    private var triggered: [Check] = []
    private var nextNumber = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    // MARK: Looking

    subscript(id: PairID) -> CandidatePair? {
        pairs.first { $0.id == id }
    }

    func pair(over route: ICERoute) -> CandidatePair? {
        pairs.first { $0.route == route }
    }

    /// Pairs whose check came back, best first.
    var valid: [CandidatePair] { pairs.filter { $0.state == .succeeded } }

    /// Whether a check is still to be made or under way.
    var isWorking: Bool {
        !triggered.isEmpty
            || pairs.contains {
                switch $0.state {
                case .frozen, .waiting, .inProgress: true
                case .succeeded, .failed: false
                }
            }
    }

    /// Whether `popNextCheck` has something to give.
    var hasNextCheck: Bool {
        if !triggered.isEmpty { return true }
        return pairs.contains { $0.state == .waiting } || thawable != nil
    }

    /// RFC 8445 §14.3: how many pairs share the pacing.
    var activeCount: Int {
        pairs.count { $0.state == .waiting || $0.state == .inProgress }
    }

    // MARK: Forming pairs

    /// Adds a pair and puts it in its place; nil when there is one over this route already, or when the list is
    /// full of better ones. A pair that has failed gives way, or else a frozen or waiting one of lower priority
    /// (RFC 8445 §6.1.2.5).
    ///
    /// - Parameter isAsked: the peer's own check has come this way. It is there, so that any pair that nobody has
    ///   answered on gives way (§7.3.1.4).
    mutating func add(
        _ local: LocalCandidate, _ remote: RemoteCandidate, role: ICERole, isAsked: Bool = false
    ) -> PairID? {
        let route = ICERoute(base: local.base, remote: remote.address)
        guard pair(over: route) == nil else { return nil }
        let priority = CandidatePair.priority(
            local: local.candidate.priority, remote: remote.candidate.priority, role: role)
        if pairs.count >= limit {
            let victim =
                pairs.lastIndex { $0.state == .failed }
                ?? pairs.lastIndex { ($0.state == .frozen || $0.state == .waiting) && $0.priority < priority }
                ?? (isAsked ? pairs.lastIndex { $0.state != .succeeded && $0.nomination == .none } : nil)
            guard let victim else { return nil }
            let id = pairs.remove(at: victim).id
            triggered.removeAll { $0.pair == id }
        }
        nextNumber += 1
        var pair = CandidatePair(
            id: PairID(number: nextNumber), route: route, localCandidate: local.candidate,
            remoteCandidate: remote.candidate, priority: priority, state: .waiting)
        // RFC 8445 §6.1.2.6 and RFC 8838 §12: one pair of a foundation goes first; once one has succeeded, the
        // others are likely to succeed too.
        let alike = pairs.filter { $0.sharesFoundation(with: pair) }
        if !alike.isEmpty, !alike.contains(where: { $0.state == .succeeded }) { pair.state = .frozen }
        insert(pair)
        return pair.id
    }

    /// The peer has said what a peer-reflexive candidate really is (RFC 8838 §11).
    mutating func replace(_ remote: RemoteCandidate, role: ICERole) {
        for index in pairs.indices
        where pairs[index].route.remote == remote.address
            && pairs[index].remoteCandidate.transport == remote.candidate.transport
        {
            pairs[index].remoteCandidate = remote.candidate
        }
        recomputePriorities(role: role)
    }

    /// RFC 8445 §7.3.1.1: priorities depend on who is controlling.
    mutating func recomputePriorities(role: ICERole) {
        for index in pairs.indices {
            pairs[index].priority = CandidatePair.priority(
                local: pairs[index].localCandidate.priority, remote: pairs[index].remoteCandidate.priority,
                role: role)
        }
        // By number among equals, so that a run repeats.
        pairs.sort { ($0.priority, $1.id.number) > ($1.priority, $0.id.number) }
    }

    private mutating func insert(_ pair: CandidatePair) {
        let place = pairs.firstIndex { $0.priority < pair.priority } ?? pairs.endIndex
        pairs.insert(pair, at: place)
    }

    // MARK: What happens to a pair

    mutating func update(_ id: PairID, _ change: (inout CandidatePair) -> Void) {
        guard let index = pairs.firstIndex(where: { $0.id == id }) else { return }
        change(&pairs[index])
    }

    /// Puts a pair at the end of the triggered-check queue, once.
    mutating func trigger(_ id: PairID, nominating: Bool = false) {
        let check = Check(pair: id, nominates: nominating)
        guard !triggered.contains(check) else { return }
        if !nominating { update(id) { $0.state = .waiting } }
        triggered.append(check)
    }

    /// Takes the check whose turn it is (RFC 8445 §6.1.4.2): triggered ones first, then the best waiting pair,
    /// then the best frozen one that nothing keeps frozen.
    mutating func popNextCheck() -> Check? {
        while !triggered.isEmpty {
            let check = triggered.removeFirst()
            guard let pair = self[check.pair] else { continue }
            if !check.nominates {
                // Answered or begun meanwhile.
                guard pair.state == .waiting else { continue }
                update(check.pair) { $0.state = .inProgress }
            }
            return check
        }
        guard let next = pairs.first(where: { $0.state == .waiting })?.id ?? thawable else { return nil }
        update(next) { $0.state = .inProgress }
        return Check(pair: next, nominates: false)
    }

    /// RFC 8445 §6.1.4.2: a frozen pair with none of its foundation waiting or in progress.
    private var thawable: PairID? {
        pairs.first { frozen in
            frozen.state == .frozen
                && !pairs.contains {
                    ($0.state == .waiting || $0.state == .inProgress) && $0.sharesFoundation(with: frozen)
                }
        }?.id
    }

    /// A check came back: pairs of the same foundation are set free (RFC 8445 §7.2.5.3.3).
    mutating func succeed(_ id: PairID, validity: CandidatePair.Validity) {
        guard let pair = self[id] else { return }
        update(id) {
            $0.state = .succeeded
            $0.validity = validity
        }
        for index in pairs.indices where pairs[index].state == .frozen && pairs[index].sharesFoundation(with: pair) {
            pairs[index].state = .waiting
        }
    }

    mutating func fail(_ id: PairID) {
        update(id) {
            $0.state = .failed
            $0.validity = nil
            $0.nomination = .none
        }
        triggered.removeAll { $0.pair == id }
    }

    /// RFC 8445 §8.1.2: once a pair is nominated nothing else is checked. But a peer may have nominated a better one
    /// before, whose answer is still on its way, and ends on that one: its check goes on.
    ///
    /// - Parameter priority: of the nominated pair; better ones that the peer wants are kept.
    mutating func settle(above priority: UInt64 = .max) {
        pairs.removeAll { pair in
            switch pair.state {
            case .succeeded: false
            case .waiting, .inProgress: pair.nomination != .wantedByPeer || pair.priority <= priority
            case .frozen, .failed: true
            }
        }
        triggered.removeAll { check in
            check.nominates || !pairs.contains { $0.id == check.pair && $0.state == .waiting }
        }
    }

    /// What worked long ago makes room: a peer that moves often would find the list full.
    mutating func forget(confirmedBefore time: Instant, but kept: ICERoute) {
        pairs.removeAll { pair in
            pair.state == .succeeded && pair.route != kept && pair.validity.map { $0.confirmedAt < time } ?? true
        }
    }

    /// A socket of ours is gone, and its pairs with it.
    mutating func remove(base: TransportAddress) {
        let gone = pairs.filter { $0.route.base == base }.map(\.id)
        triggered.removeAll { gone.contains($0.pair) }
        pairs.removeAll { $0.route.base == base }
    }

    /// What went this way is over, and may begin anew.
    mutating func remove(over route: ICERoute) {
        guard let index = pairs.firstIndex(where: { $0.route == route }) else { return }
        let id = pairs.remove(at: index).id
        triggered.removeAll { $0.pair == id }
    }

    mutating func dropNominations() {
        triggered.removeAll { $0.nominates }
    }
}
