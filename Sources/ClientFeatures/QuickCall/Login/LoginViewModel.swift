internal import ClientKit
public import Observation

/// The login screen: a name, a room, continue.
@MainActor @Observable public final class LoginViewModel {
    public private(set) var state = LoginState() {
        didSet {
            guard state != oldValue else { return }
            changes.publish(state)
            onChange()
        }
    }

    /// Where the screen leads; set by the coordinator.
    @ObservationIgnored var onContinue: (QuickCallLogin) -> Void = { _ in }
    @ObservationIgnored var onChange: () -> Void = {}

    @ObservationIgnored private let store: QuickCallLoginStore
    @ObservationIgnored private let changes = Broadcast<LoginState>()

    init(store: QuickCallLoginStore) {
        self.store = store
    }

    /// The state now and after every change.
    public var stateChanges: AsyncStream<LoginState> {
        changes.stream(startingWith: state)
    }

    public func send(_ intent: LoginIntent) {
        switch intent {
        case .usernameChanged(let username):
            edit { $0.username = username }
        case .roomChanged(let room):
            edit { $0.room = room }
        case .continueTapped:
            proceed()
        }
    }

    /// Shows what was stored and returns it.
    func restore() -> QuickCallLogin? {
        do throws(StoreError) {
            guard let login = try store.load() else { return nil }
            edit {
                $0.username = login.username
                $0.room = login.room.description
            }
            return login
        } catch {
            edit { $0.notice = error.sentence + " Please enter your name and room again." }
            return nil
        }
    }

    /// Forgets what was stored and typed.
    func clear() {
        var cleared = LoginState()
        do throws(StoreError) {
            try store.clear()
        } catch {
            cleared.notice = error.sentence
        }
        state = cleared
    }

    private func edit(_ change: (inout LoginState) -> Void) {
        var next = state
        change(&next)
        if next.isChecked {
            next.usernameProblem = LoginCheck.username(next.username).problem
            next.roomProblem = LoginCheck.room(next.room).problem
        }
        state = next
    }

    private func proceed() {
        edit { $0.isChecked = true }
        guard case .success(let username) = LoginCheck.username(state.username),
            case .success(let room) = LoginCheck.room(state.room)
        else { return }
        let login = QuickCallLogin(username: username, room: room)
        var notice: String?
        do throws(StoreError) {
            try store.save(login)
        } catch {
            // The call is what the user came for; it does not depend on the store.
            notice = error.sentence
        }
        edit { $0.notice = notice }
        onContinue(login)
    }
}

extension Result where Failure == LoginProblem {
    fileprivate var problem: String? {
        switch self {
        case .success: nil
        case .failure(let problem): problem.sentence
        }
    }
}
