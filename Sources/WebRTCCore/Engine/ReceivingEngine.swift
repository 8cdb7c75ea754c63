/// Connections by peer. It alone knows who they are to; each connection runs by itself, and what happens on any of them
/// comes out of one broadcast.
///
/// An actor may begin one call while another waits, so what concerns one peer happens in turn (`enter`, `leave`), and
/// what concerns several at the same time.
actor ReceivingEngine<Connection: ReceivingConnection>: WebRTCEngine {
    typealias MakeConnection = @Sendable () async throws(Refusal) -> Connection

    private struct Peer {
        let id: WebRTCConnectionID
        let connection: Connection
        /// The last offer that was answered.
        var offer: DescriptionScan
        var hasFailed = false
    }

    private let makeConnection: MakeConnection
    private let peerLimit: Int
    private var peers: [String: Peer] = [:]
    /// Whose first offer, or one that begins anew, is being answered.
    private var beginning: Set<String> = []
    private var early = EarlyCandidates()
    /// Present while somebody has the turn: who waits for it.
    private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
    /// The last to go with the engine: whose stream ends finds the connections freed.
    private nonisolated let broadcast = WebRTCEventBroadcast()

    /// - Parameter peerLimit: connections at most. Each has sockets, and whoever can send offers under many names opens
    ///   them. By default more than a call room holds.
    init(peerLimit: Int = 64, makeConnection: @escaping MakeConnection) {
        self.peerLimit = peerLimit
        self.makeConnection = makeConnection
    }

    func events() -> AsyncStream<WebRTCEvent> { broadcast.stream() }

    /// Whom there is a connection to, and how many candidates wait for their offer.
    var holdings: (peers: Set<String>, earlyCandidates: Int) { (Set(peers.keys), early.count) }

    func setRemoteOffer(_ offer: WebRTCOffer) async throws(WebRTCError) -> WebRTCAnswer {
        let userId = offer.from
        await enter(userId)
        defer { leave(userId) }
        // Whoever cancels disconnects; an offer that gets here later must not bring the peer back.
        guard !Task.isCancelled else { throw .disconnected(userId: userId) }
        let scan = DescriptionScan(offer.sdp)
        if let peer = peers[userId], peer.offer.isContinued(by: scan) {
            return WebRTCAnswer(to: offer, sdp: try await renegotiate(peer, userId, offer.sdp, scan))
        }
        return WebRTCAnswer(to: offer, sdp: try await begin(userId, offer.sdp, scan))
    }

    private func renegotiate(
        _ peer: Peer, _ userId: String, _ sdp: String, _ scan: DescriptionScan
    ) async throws(WebRTCError) -> String {
        // A sender that has not heard our answer repeats its offer; the same offer gets the same answer.
        if scan.essence == peer.offer.essence, let answer = await peer.connection.presentAnswer() {
            guard peers[userId]?.id == peer.id else { throw .disconnected(userId: userId) }
            return answer
        }
        let answer: String
        do throws(Refusal) {
            answer = try await peer.connection.answer(sdp)
        } catch {
            throw .offerRefused(userId: userId, reason: error.reason)
        }
        // It closed meanwhile, which has been told: an answer after that would bring the peer back.
        guard peers[userId]?.id == peer.id else { throw .disconnected(userId: userId) }
        peers[userId]?.offer = scan
        await addEarlyCandidates(of: userId, to: peer.connection, offer: scan)
        return answer
    }

    private func begin(_ userId: String, _ sdp: String, _ scan: DescriptionScan) async throws(WebRTCError) -> String {
        beginning.insert(userId)
        defer { beginning.remove(userId) }
        // Who failed makes room for who comes, once there is an answer: a refused offer changes nothing.
        let alive = peers.lazy.filter { !$0.value.hasFailed }.map(\.key)
        guard beginning.union(alive).count <= peerLimit else { throw full(for: userId) }
        let connection: Connection
        do throws(Refusal) {
            connection = try await makeConnection()
        } catch {
            throw .unavailable(reason: error.reason)
        }
        let happenings = connection.happenings
        let answer: String
        do throws(Refusal) {
            answer = try await connection.answer(sdp)
        } catch {
            await connection.close()
            throw .offerRefused(userId: userId, reason: error.reason)
        }
        guard scan.hasMedia else {
            await connection.close()
            throw .nothingToReceive(userId: userId)
        }
        // The peer has begun anew, and what it had before goes; or else somebody goes who failed.
        let isNew = peers[userId] == nil
        let leaving = isNew && peers.count >= peerLimit ? peers.first { $0.value.hasFailed }?.key : userId
        guard let leaving else {
            await connection.close()
            throw full(for: userId)
        }
        let former = peers.removeValue(forKey: leaving)
        let id = WebRTCConnectionID(userId: userId, answerSDP: answer)
        peers[userId] = Peer(id: id, connection: connection, offer: scan)
        if let former {
            await former.connection.close()
            if leaving != userId {
                broadcast.send(
                    .connectionStateChanged(.closed, connection: former.id, because: "it made room for another"))
            }
        }
        await addEarlyCandidates(of: userId, to: connection, offer: scan)
        follow(happenings, of: id)
        return answer
    }

    private func full(for userId: String) -> WebRTCError {
        .offerRefused(userId: userId, reason: "There are \(peerLimit) connections already.")
    }

    private func addEarlyCandidates(of userId: String, to connection: Connection, offer: DescriptionScan) async {
        for candidate in early.take(for: userId, offer: offer) {
            // It was looked at when it came; one that does not fit the offer is no loss.
            try? await connection.add(candidate)
        }
    }

    func addIceCandidate(_ candidate: ICECandidate) async throws(WebRTCError) {
        let userId = candidate.from
        await enter(userId)
        defer { leave(userId) }
        guard candidate.candidate.attribute != nil else {
            throw .candidateRefused(userId: userId, reason: "It is no candidate.")
        }
        // Of no generation that was offered: it overtook its offer, or comes late from a former one.
        guard let peer = peers[userId], peer.offer.hasGeneration(of: candidate.candidate) else {
            return early.keep(candidate.candidate, of: userId)
        }
        do throws(Refusal) {
            try await peer.connection.add(candidate.candidate)
        } catch {
            throw .candidateRefused(userId: userId, reason: error.reason)
        }
    }

    func disconnect(_ userId: String) async {
        await enter(userId)
        defer { leave(userId) }
        early.forget(userId)
        await peers.removeValue(forKey: userId)?.connection.close()
    }

    // MARK: What happens

    private func follow(_ happenings: AsyncStream<ConnectionHappening>, of id: WebRTCConnectionID) {
        Task { [weak self] in
            for await happening in happenings { await self?.happened(happening, on: id) }
        }
    }

    private func happened(_ happening: ConnectionHappening, on id: WebRTCConnectionID) async {
        // Late news of a connection that was ended or replaced.
        guard peers[id.userId]?.id == id else { return }
        switch happening {
        case .state(let state, let because):
            // Whoever hears that it is closed finds it freed.
            peers[id.userId]?.hasFailed = state == .failed
            if state == .closed { await peers.removeValue(forKey: id.userId)?.connection.close() }
            broadcast.send(.connectionStateChanged(state, connection: id, because: because))
        case .candidate(let candidate): broadcast.send(.iceCandidateGenerated(candidate, connection: id))
        case .videoAdded(let track, let video):
            broadcast.send(.videoTrackAdded(VideoTrackInfo(id: track, connection: id, track: video)))
        case .videoRemoved(let track, let video):
            broadcast.send(.videoTrackRemoved(VideoTrackInfo(id: track, connection: id, track: video)))
        case .audioAdded(let track, let audio):
            broadcast.send(.audioTrackAdded(AudioTrackInfo(id: track, connection: id, track: audio)))
        case .audioRemoved(let track, let audio):
            broadcast.send(.audioTrackRemoved(AudioTrackInfo(id: track, connection: id, track: audio)))
        }
    }

    // MARK: Turns

    private func enter(_ userId: String) async {
        guard waiting[userId] != nil else { return waiting[userId] = [] }
        await withCheckedContinuation { waiting[userId, default: []].append($0) }
    }

    private func leave(_ userId: String) {
        guard var queue = waiting[userId], !queue.isEmpty else { return waiting[userId] = nil }
        let next = queue.removeFirst()
        waiting[userId] = queue
        next.resume()
    }
}
