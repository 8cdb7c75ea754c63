public import ComposableArchitectureStandIn

extension TestStore where Action: Equatable {
    /// Waits for an action that an effect sends, and asserts how it changes the state.
    public func receive(
        _ expectedAction: Action,
        timeout duration: Duration? = nil,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        await receive(
            Expectation(
                words: "the following action:\n\(Description.text(of: expectedAction))",
                fits: { $0 == expectedAction },
                mismatch: { Description.difference(expectedAction, $0) }),
            duration, updateStateToExpectedResult, Place(fileID: fileID, filePath: filePath, line: line, column: column)
        )
    }
}

extension TestStore {
    /// Waits for an action that fits, and asserts how it changes the state.
    @_disfavoredOverload
    public func receive(
        _ isMatching: (_ action: Action) -> Bool,
        timeout duration: Duration? = nil,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        await withoutActuallyEscaping(isMatching) { isMatching in
            await receive(
                Expectation(words: "an action that fits the condition", fits: isMatching),
                duration, updateStateToExpectedResult,
                Place(fileID: fileID, filePath: filePath, line: line, column: column))
        }
    }

    /// Waits for an action of a case: `receive(\.delegate.answerGenerated)`.
    @_disfavoredOverload
    public func receive<Value>(
        _ actionCase: CaseKeyPath<Action, Value>,
        timeout duration: Duration? = nil,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        let path = AnyCasePath(actionCase)
        await receive(
            Expectation(
                words: "an action of the case that holds \(Value.self)", fits: { path.extract(from: $0) != nil }),
            duration, updateStateToExpectedResult, Place(fileID: fileID, filePath: filePath, line: line, column: column)
        )
    }

    /// Waits for an action of a case with a value: `receive(\.delegate, .connected("user"))`.
    @_disfavoredOverload
    public func receive<Value: Equatable>(
        _ actionCase: CaseKeyPath<Action, Value>, _ value: Value,
        timeout duration: Duration? = nil,
        assert updateStateToExpectedResult: ((_ state: inout State) throws -> Void)? = nil,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async where Action: CasePathable {
        let path = AnyCasePath(actionCase)
        await receive(
            Expectation(
                words: "the following action:\n\(Description.text(of: path.embed(value)))",
                fits: { path.extract(from: $0) == value },
                mismatch: { Description.difference(path.embed(value), $0) }),
            duration, updateStateToExpectedResult, Place(fileID: fileID, filePath: filePath, line: line, column: column)
        )
    }

    private struct Expectation {
        let words: String
        let fits: (Action) -> Bool
        var mismatch: (Action) -> String = { Description.text(of: $0) }
    }

    private func receive(
        _ expected: Expectation, _ duration: Duration?, _ update: ((inout State) throws -> Void)?, _ place: Place
    ) async {
        let duration = duration ?? timeout
        // Without an effect in flight nobody is left who could send the action, so that waiting would be in vain.
        await changes.wait(for: duration) { isThere(expected) || core.causesInFlight.isEmpty }
        guard isThere(expected) else {
            let reason =
                core.causesInFlight.isEmpty
                ? "No effect is in flight that could send it." : "It did not come within \(duration)."
            place.record("Expected to receive \(expected.words)\n\nbut did not. \(reason)")
            return
        }
        if exhaustivity != .on { skip(until: expected.fits, at: place) }
        let (action, newState) = received.removeFirst()
        let before = state
        state = newState
        if expected.fits(action) {
            expect(before, became: newState, update, at: place)
        } else {
            report("Received an unexpected action:\n\(expected.mismatch(action))", at: place)
        }
        await executor.settle()
    }

    /// With exhaustivity on, whatever comes first has to be the expected action.
    private func isThere(_ expected: Expectation) -> Bool {
        exhaustivity == .on ? !received.isEmpty : received.contains { expected.fits($0.action) }
    }

    private func skip(until fits: (Action) -> Bool, at place: Place) {
        let skipped = Array(received.prefix { !fits($0.action) })
        guard let last = skipped.last else { return }
        received.removeFirst(skipped.count)
        state = last.state
        report(
            "Skipped \(count(skipped.count, "received action")):\n\(Description.text(of: skipped.map(\.action)))",
            at: place)
    }
}
