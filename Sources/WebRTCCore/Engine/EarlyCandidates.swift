/// Candidates that came before their offer: signaling and effects may overtake each other.
struct EarlyCandidates: Sendable {
    /// What is kept for one peer; more than any host gathers. The oldest give way.
    static let limitPerPeer = 64
    /// For how many peers; whoever has waited longest gives way.
    static let peerLimit = 64

    private var candidates: [String: [ICECandidate.Candidate]] = [:]
    private var order: [String] = []

    /// How many are kept, for all peers.
    var count: Int { candidates.values.reduce(0) { $0 + $1.count } }

    mutating func keep(_ candidate: ICECandidate.Candidate, of userId: String) {
        if candidates[userId] == nil {
            order.append(userId)
            if order.count > Self.peerLimit { candidates[order.removeFirst()] = nil }
        }
        candidates[userId, default: []].append(candidate)
        if candidates[userId, default: []].count > Self.limitPerPeer { candidates[userId]?.removeFirst() }
    }

    /// Hands out those that can belong to an offer: a candidate that names another generation is of a call that is
    /// over.
    mutating func take(for userId: String, offer: DescriptionScan) -> [ICECandidate.Candidate] {
        let kept = candidates[userId] ?? []
        forget(userId)
        return kept.filter(offer.hasGeneration)
    }

    mutating func forget(_ userId: String) {
        candidates[userId] = nil
        order.removeAll { $0 == userId }
    }
}
