#if canImport(ComposableArchitecture)
    import ComposableArchitecture
#else
    import ComposableArchitectureStandIn
#endif

/// A feature as an app writes it without macros: it answers offers by an engine, and tells its parent.
struct Calls: Reducer {
    struct Peer: Equatable, Identifiable, Sendable {
        var id: String
        var isConnected = false
    }

    struct State: Equatable, ObservableState {
        var peers: IdentifiedArrayOf<Peer> = [] { didSet { _$willModify() } }
        var isListening = false { didSet { _$willModify() } }

        private var registrar = ObservationStateRegistrar()
        var _$id: ObservableStateID { registrar.id }
        mutating func _$willModify() { registrar._$willModify() }
    }

    enum Action: Equatable, Sendable {
        case view(View)
        case delegate(Delegate)
        case answered(String, String)
        case connected(String)

        enum View: Equatable, Sendable {
            case task
            case stop
            case offer(from: String)
            case leave(String)
        }

        enum Delegate: Equatable, Sendable {
            case answerGenerated(sdp: String, userId: String)
            case failed
        }
    }

    private enum CancelID { case events }

    @Dependency(\.engine) var engine

    func reduce(into state: inout State, action: Action) -> Effect<Action> {
        switch action {
        case .view(.task):
            state.isListening = true
            return .run { [engine] send in
                for await user in engine.events() { await send(.connected(user)) }
            }
            .cancellable(id: CancelID.events, cancelInFlight: true)
        case .view(.stop):
            state.isListening = false
            return .cancel(id: CancelID.events)
        case .view(.offer(let user)):
            return .run { [engine] send in
                await send(.answered(user, try await engine.answer(user)))
            } catch: { _, send in
                await send(.delegate(.failed))
            }
        case .view(.leave(let user)):
            state.peers.remove(id: user)
            return .none
        case .answered(let user, let sdp):
            state.peers.append(Peer(id: user))
            return .send(.delegate(.answerGenerated(sdp: sdp, userId: user)))
        case .connected(let user):
            state.peers[id: user]?.isConnected = true
            return .none
        case .delegate:
            return .none
        }
    }
}

struct Engine: DependencyKey {
    var answer: @Sendable (String) async throws -> String
    var events: @Sendable () -> AsyncStream<String>

    static let liveValue = Engine(answer: { "live answer to \($0)" }, events: { AsyncStream { $0.finish() } })
    static let testValue = Engine(
        answer: unimplemented("Engine.answer"),
        events: unimplemented("Engine.events", placeholder: AsyncStream { $0.finish() }))
}

extension DependencyValues {
    var engine: Engine {
        get { self[Engine.self] }
        set { self[Engine.self] = newValue }
    }
}

extension Calls.Action: CasePathable {
    struct AllCasePaths: Sendable {
        var view: AnyCasePath<Calls.Action, View> {
            AnyCasePath(embed: { .view($0) }, extract: { if case .view(let view) = $0 { view } else { nil } })
        }
        var delegate: AnyCasePath<Calls.Action, Delegate> {
            AnyCasePath(
                embed: { .delegate($0) }, extract: { if case .delegate(let delegate) = $0 { delegate } else { nil } })
        }
    }
    static var allCasePaths: AllCasePaths { AllCasePaths() }
}

extension Calls.Action.View: CasePathable {
    struct AllCasePaths: Sendable {
        var task: AnyCasePath<Calls.Action.View, Void> {
            AnyCasePath(embed: { .task }, extract: { $0 == .task ? () : nil })
        }
    }
    static var allCasePaths: AllCasePaths { AllCasePaths() }
}

extension Calls.Action.Delegate: CasePathable {
    struct AllCasePaths: Sendable {
        var answerGenerated: AnyCasePath<Calls.Action.Delegate, (sdp: String, userId: String)> {
            AnyCasePath(
                embed: { .answerGenerated(sdp: $0.sdp, userId: $0.userId) },
                extract: { if case .answerGenerated(let sdp, let userId) = $0 { (sdp, userId) } else { nil } })
        }
    }
    static var allCasePaths: AllCasePaths { AllCasePaths() }
}

/// A dependency without a value for tests.
struct Clerk: DependencyKey {
    var name: String
    static let liveValue = Clerk(name: "live")
}

extension DependencyValues {
    var clerk: Clerk {
        get { self[Clerk.self] }
        set { self[Clerk.self] = newValue }
    }
}
