import ComposableArchitectureStandIn

extension TestStore {
    /// Asserts the state as it is now.
    public func assert(
        _ updateStateToExpectedResult: @escaping (_ state: inout State) throws -> Void,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) {
        let place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        expect(state, became: state, mayChangeNothing: true, updateStateToExpectedResult, at: place)
    }

    /// Drops the received actions, and takes their changes of the state as they are.
    ///
    /// - Parameter strict: whether the test fails when there are none.
    public func skipReceivedActions(
        strict: Bool = true,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        await executor.settle()
        let place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        if strict, received.isEmpty { place.record("There were no received actions to skip.") }
        skipAll()
    }

    /// Cancels the effects that run, and waits until they have ended.
    ///
    /// - Parameter strict: whether the test fails when there are none.
    public func skipInFlightEffects(
        strict: Bool = true,
        fileID: StaticString = #fileID, file filePath: StaticString = #filePath,
        line: UInt = #line, column: UInt = #column
    ) async {
        await executor.settle()
        let place = Place(fileID: fileID, filePath: filePath, line: line, column: column)
        if strict, core.causesInFlight.isEmpty { place.record("There were no effects in flight to skip.") }
        core.cancelAll()
        await changes.wait(for: timeout) { core.causesInFlight.isEmpty }
    }

    /// Runs an operation with another exhaustivity.
    public func withExhaustivity<R>(_ exhaustivity: Exhaustivity, operation: () throws -> R) rethrows -> R {
        let before = self.exhaustivity
        defer { self.exhaustivity = before }
        self.exhaustivity = exhaustivity
        return try operation()
    }

    /// Runs an operation with another exhaustivity.
    public func withExhaustivity<R>(
        _ exhaustivity: Exhaustivity, operation: () async throws -> sending R
    ) async rethrows -> R {
        let before = self.exhaustivity
        defer { self.exhaustivity = before }
        self.exhaustivity = exhaustivity
        return try await operation()
    }

    func skipAll() {
        if let last = received.last { state = last.state }
        received = []
    }

    func report(_ message: String, at place: Place) {
        place.record(message, under: exhaustivity)
    }

    /// Compares what a change of the state was expected to be with what it is.
    func expect(
        _ before: State, became actual: State, mayChangeNothing: Bool = false,
        _ update: ((inout State) throws -> Void)?, at place: Place
    ) {
        // With exhaustivity off the test names some of the changes; all else is as it came out.
        var expected = exhaustivity == .on ? before : actual
        do {
            try ComposableArchitectureStandIn.withDependencies {
                $0 = core.dependencies
            } operation: {
                try update?(&expected)
            }
        } catch {
            place.record("The assertion threw an error: \(error)")
            return
        }
        if expected != actual {
            let heading =
                update == nil
                ? "State was not expected to change, but a change occurred:"
                : "A state change does not match expectation:"
            place.record("\(heading)\n\(Description.difference(expected, actual))")
        } else if update != nil, expected == before, !mayChangeNothing {
            report("Expected state to change, but no change occurred. If so, leave out the closure.", at: place)
        }
    }
}
