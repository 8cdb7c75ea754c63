import Testing

/// What a test has not asserted, in words, so that a store can say it when it goes away, from wherever that is.
struct Leftovers: Sendable {
    private var sentences: [String] = []
    private var exhaustivity = Exhaustivity.on

    init() {}

    init(actions: [Any], effects: [Any], exhaustivity: Exhaustivity) {
        self.exhaustivity = exhaustivity
        if !actions.isEmpty { sentences.append(Self.text(actions: actions)) }
        for action in effects {
            sentences.append(
                """
                An effect is still running at the end of the test. The action that it came from:
                \(Description.text(of: action))

                End it, cancel it, wait with "await store.finish()", or skip it with "store.skipInFlightEffects()".
                """)
        }
    }

    static func text(actions: [Any]) -> String {
        """
        The store received \(count(actions.count, "action")) that the test did not expect:
        \(actions.map { Description.text(of: $0) }.joined(separator: "\n"))

        Assert them with "store.receive", or skip them with "store.skipReceivedActions()".
        """
    }

    func record(at place: Place) {
        for sentence in sentences { place.record(sentence, under: exhaustivity) }
    }
}

extension Place {
    /// Records an issue, as far as it counts.
    func record(_ message: String, under exhaustivity: Exhaustivity) {
        switch exhaustivity {
        case .on: record(message)
        case .off(showSkippedAssertions: true): withKnownIssue("Skipped assertions") { record(message) }
        case .off(showSkippedAssertions: false): break
        }
    }
}
