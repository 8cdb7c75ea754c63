#if canImport(ComposableArchitecture)
    public import ComposableArchitecture
#else
    public import ComposableArchitectureStandIn
#endif

/// Receives video from any number of peers: hand it the offers and candidates that your signaling brings, send what its
/// delegate actions tell, and show what its state holds.
///
/// An offer is answered by itself. What goes wrong with one peer is told in `State.error`, and the others go on.
public struct WebRTCFeature: Reducer {
    @Dependency(\.webRTCEngine) private var engine

    public init() {}

    /// Takes `view` actions and what the engine tells; ignores `delegate` actions.
    public var body: some Reducer<State, Action> {
        Reduce { state, action in
            switch action {
            case .view(let action): return take(action, &state)
            case .remoteOfferHandled(let userId, let answer): return answered(userId, answer, &state)
            case .webRTCEvent(let event): return happened(event, &state)
            case .listeningEnded:
                state.isListening = false
                return .none
            case .failed(let error):
                state.error = error
                return .none
            case .delegate: return .none
            }
        }
    }

    /// What of this feature can be cancelled.
    enum CancelID: Hashable, Sendable {
        case listening
        case offer(userId: String)
    }

    // MARK: What the app says

    private func take(_ action: Action.ViewAction, _ state: inout State) -> Effect<Action> {
        switch action {
        case .task: return listen(&state)
        case .handleRemoteOffer(let offer): return handle(offer, after: state.ledger.leaving(of: offer.from))
        case .handleICECandidate(let candidate): return handle(candidate)
        case .disconnectPeer(let userId): return disconnect(userId, &state)
        case .dismissError:
            state.error = nil
            return .none
        }
    }

    /// A view may appear twice; listening twice would tell everything twice.
    private func listen(_ state: inout State) -> Effect<Action> {
        guard !state.isListening else { return .none }
        state.isListening = true
        return .run { [engine] send in
            for await event in await engine.events() { await send(.webRTCEvent(event)) }
            // Also when it was cancelled, as a view does that disappears: a cancelled task sends nothing itself.
            await Task { await send(.listeningEnded) }.value
        }
        .cancellable(id: CancelID.listening, cancelInFlight: true)
    }

    /// A peer that is being disconnected and calls again is a new one: effects have no order of their own.
    private func handle(_ offer: WebRTCOffer, after leaving: Task<Void, Never>?) -> Effect<Action> {
        .run { [engine] send in
            await leaving?.value
            do throws(WebRTCError) {
                let answer = try await engine.setRemoteOffer(offer)
                await send(.remoteOfferHandled(offer.from, answer))
            } catch {
                await send(.failed(error))
            }
        }
        .cancellable(id: CancelID.offer(userId: offer.from))
    }

    private func handle(_ candidate: ICECandidate) -> Effect<Action> {
        .run { [engine] send in
            do throws(WebRTCError) {
                try await engine.addIceCandidate(candidate)
            } catch {
                await send(.failed(error))
            }
        }
    }

    /// The peer goes from the state at once. An offer that is being answered is given up first, or its answer would
    /// bring the peer back.
    private func disconnect(_ userId: String, _ state: inout State) -> Effect<Action> {
        let peer = state.connectedPeers.remove(id: userId)
        if let peer { state.ledger.end(peer.connection) }
        let leaving = Task { [engine] in await engine.disconnect(userId) }
        state.ledger.leave(userId, leaving)
        return .merge(
            .cancel(id: CancelID.offer(userId: userId)),
            .run { send in
                await leaving.value
                if peer != nil { await send(.delegate(.connectionStateChanged(userId: userId, state: .closed))) }
            })
    }

    private func answered(_ userId: String, _ answer: WebRTCAnswer, _ state: inout State) -> Effect<Action> {
        let connection = WebRTCConnectionID(userId: userId, answerSDP: answer.sdp)
        // Its end was told before the answer to its last offer: nothing would ever end it again.
        guard !state.ledger.isOver(connection) else { return .none }
        // A later offer of the same call changes what is sent, not who is there.
        let former = state.connectedPeers[id: userId]?.connection
        if former != connection {
            if let former { state.ledger.end(former) }
            state.connectedPeers[id: userId] = PeerState(
                id: userId, connectionState: .connecting, connection: connection)
        }
        // The peer needs the answer before the candidates that belong to it, and what happened early before what comes
        // next: all of it leaves in this turn.
        var effects: [Effect<Action>] = [.send(.delegate(.answerGenerated(sdp: answer.sdp, userId: userId)))]
        for event in state.ledger.begin(connection) { effects.append(happened(event, &state)) }
        return .concatenate(effects)
    }
}
