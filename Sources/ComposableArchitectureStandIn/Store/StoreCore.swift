/// Runs a reducer: takes actions in order, keeps the state, runs the effects. A store and a test store each have one.
@MainActor
package final class StoreCore<State, Action> {
    /// Who sent an action.
    package enum Origin { case store, effect }

    /// The state, after all actions that were taken.
    package private(set) var state: State
    /// What the reducer and its effects depend on.
    package var dependencies: DependencyValues
    /// Called after each action with the state that it led to.
    package var actionReduced: ((Action, State, Origin) -> Void)?
    /// Called when an effect began or ended.
    package var effectsChanged: (() -> Void)?
    /// The actions whose effects are running.
    package var causesInFlight: [Action] { causes.sorted { $0.key < $1.key }.map(\.value) }

    let observers = StateObservers()
    private let reducer: any Reducer<State, Action>
    private let executor: (any TaskExecutor)?
    private var waiting: [(action: Action, origin: Origin)] = []
    private var isReducing = false

    private typealias EffectNumber = UInt64
    private var lastNumber: EffectNumber = 0
    private var running: [EffectNumber: Task<Void, Never>] = [:]
    private var causes: [EffectNumber: Action] = [:]
    private var named: [CancelID: Set<EffectNumber>] = [:]

    package init(
        state: State, reducer: any Reducer<State, Action>, dependencies: DependencyValues,
        executor: (any TaskExecutor)? = nil
    ) {
        self.state = state
        self.reducer = reducer
        self.dependencies = dependencies
        self.executor = executor
    }

    deinit {
        for task in running.values { task.cancel() }
    }

    /// Takes an action, and all those that its effects send at once.
    @discardableResult
    package func send(_ action: Action, from origin: Origin) -> Task<Void, Never>? {
        waiting.append((action, origin))
        guard !isReducing else {
            if origin == .store { reportIssue("\(action) was sent while another action was being processed.") }
            return nil
        }
        let tasks = TaskBag()
        isReducing = true
        var next = state
        while !waiting.isEmpty {
            let (action, origin) = waiting.removeFirst()
            DependencyValues.$_current.withValue(dependencies) {
                let effect = reducer.reduce(into: &next, action: action)
                actionReduced?(action, next, origin)
                start(effect, Frame(cause: action, names: [], tasks: tasks))
            }
        }
        state = next
        isReducing = false
        observers.notify()
        return tasks.all
    }

    /// Cancels all that runs.
    package func cancelAll() {
        for task in running.values { task.cancel() }
    }
}

extension StoreCore {
    /// Where an effect came from, under which names it runs, and who waits for it.
    private struct Frame {
        let cause: Action
        var names: [CancelID]
        let tasks: TaskBag
    }

    /// Starts an effect and returns the tasks that it is; none when it was done at once.
    @discardableResult
    private func start(_ effect: Effect<Action>, _ frame: Frame) -> [Task<Void, Never>] {
        switch effect.operation {
        case .none: return []
        case .send(let carried):
            if let task = send(carried.action, from: .effect) { frame.tasks.append(task) }
            return []
        case .cancel(let name):
            for number in named.removeValue(forKey: name) ?? [] { running[number]?.cancel() }
            return []
        case .cancellable(let effect, let name, let cancelInFlight):
            if cancelInFlight { start(Effect(operation: .cancel(name)), frame) }
            var frame = frame
            frame.names.append(name)
            return start(effect, frame)
        case .merge(let effects): return effects.flatMap { start($0, frame) }
        case .concatenate(let effects): return startInOrder(effects[...], frame)
        case .run(let priority, let operation):
            let life = Life()
            let send = send(into: frame.tasks, during: life)
            return [
                launch(frame, priority: priority) {
                    await operation(send)
                    life.isOver = true
                }
            ]
        }
    }

    private func send(into tasks: TaskBag, during life: Life) -> Send<Action> {
        Send { [weak self] action in
            if life.isOver { reportIssue("\(action) was sent by an effect that has ended.") }
            if let task = self?.send(action, from: .effect) { tasks.append(task) }
        }
    }

    private func startInOrder(_ effects: ArraySlice<Effect<Action>>, _ frame: Frame) -> [Task<Void, Never>] {
        guard let first = effects.first else { return [] }
        let begun = start(first, frame)
        guard !begun.isEmpty else { return startInOrder(effects.dropFirst(), frame) }
        return [
            launch(frame) { [weak self] in
                await Self.finish(begun)
                guard !Task.isCancelled, let rest = self?.startInOrder(effects.dropFirst(), frame) else { return }
                await Self.finish(rest)
            }
        ]
    }

    private static func finish(_ tasks: [Task<Void, Never>]) async {
        await withTaskCancellationHandler {
            for task in tasks { await task.value }
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    private func launch(
        _ frame: Frame, priority: TaskPriority? = nil, _ work: @escaping @MainActor () async -> Void
    ) -> Task<Void, Never> {
        lastNumber += 1
        let number = lastNumber
        let names = frame.names
        let task = Task(executorPreference: executor, priority: priority) { [weak self] in
            await work()
            await self?.ended(number, names)
        }
        running[number] = task
        causes[number] = frame.cause
        for name in frame.names { named[name, default: []].insert(number) }
        frame.tasks.append(task)
        effectsChanged?()
        return task
    }

    private func ended(_ number: EffectNumber, _ names: [CancelID]) {
        running[number] = nil
        causes[number] = nil
        for name in names {
            named[name]?.remove(number)
            if named[name]?.isEmpty == true { named[name] = nil }
        }
        effectsChanged?()
    }
}

/// Whether an effect has ended.
@MainActor
private final class Life {
    var isOver = false
}

/// The stores that look at a state; held weakly.
@MainActor
final class StateObservers {
    private struct Entry { weak var observer: (any StateObserver)? }
    private var entries: [Entry] = []

    func add(_ observer: any StateObserver) {
        entries.append(Entry(observer: observer))
    }

    func notify() {
        entries.removeAll { $0.observer == nil }
        for entry in entries { entry.observer?.stateDidChange() }
    }
}

@MainActor
protocol StateObserver: AnyObject {
    func stateDidChange()
}
