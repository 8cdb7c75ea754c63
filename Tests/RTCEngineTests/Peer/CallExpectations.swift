import Testing

@testable import RTCEngine
@testable import SimulatedCalls

extension CallSimulation {
    /// Lets time pass until both are connected, which has to happen.
    mutating func connects(
        within limit: Interval = .milliseconds(10_000), sourceLocation: SourceLocation = #_sourceLocation
    ) {
        awaits("both are connected", within: limit, sourceLocation: sourceLocation) { $0.bothConnected }
    }

    /// Lets time pass until something holds, which has to happen.
    mutating func awaits(
        _ what: Comment, within limit: Interval = .milliseconds(10_000),
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: (borrowing CallSimulation) -> Bool
    ) {
        let happened = run(within: limit, until: condition)
        #expect(happened, what, sourceLocation: sourceLocation)
    }
}
