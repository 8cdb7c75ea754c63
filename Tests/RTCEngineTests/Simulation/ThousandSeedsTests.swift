import Foundation
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A thousand random calls, and what has to hold in each of them (`CallInvariants`).
///
/// A failing seed is lived through again, with everything that happens printed, by
///
///     ROOST_SEED=123 swift test --filter ThousandSeedsTests
@Suite struct ThousandSeedsTests {
    private static let chosenSeed = ProcessInfo.processInfo.environment["ROOST_SEED"].flatMap { UInt64($0) }
    /// Another thousand, for a machine that has nothing else to do.
    private static let firstSeed = ProcessInfo.processInfo.environment["ROOST_FIRST_SEED"].flatMap { UInt64($0) } ?? 0
    /// More than a thousand: `make simulate` sets it.
    private static let seeds = ProcessInfo.processInfo.environment["ROOST_SEEDS"].flatMap { UInt64($0) } ?? 1_000
    /// Two parts for two cores. More would stand in line before every step of every other test.
    private static let chunk = (seeds + 1) / 2

    @Test(.enabled(if: chosenSeed == nil), arguments: 0..<2 as Range<UInt64>)
    func `in a thousand calls nothing goes wrong`(part: UInt64) async {
        for seed in (part * Self.chunk..<(part + 1) * Self.chunk).map({ Self.firstSeed + $0 }) {
            // Tests with real peers run on the same threads, and have deadlines.
            await Task.yield()
            let scenario = CallScenario(seed: seed)
            let violations = scenario.run().violations
            guard !violations.isEmpty else { continue }
            Issue.record(
                """
                \(scenario.summary)
                \(violations.joined(separator: "\n"))
                Again, with a trace: ROOST_SEED=\(seed) swift test --filter ThousandSeedsTests
                """)
        }
    }

    @Test func `a thousand seeds are the whole matrix: profiles, roles, full and lite, trickling and not`() {
        var seen: [String: Int] = [:]
        for scenario in (0..<1_000 as Range<UInt64>).map({ CallScenario(seed: $0) }) {
            let (options, signaling) = (scenario.options, scenario.signaling)
            let lite = options.liteSide.map { "\($0)" } ?? "none"
            seen["\(options.profile) \(options.answeringRole) \(lite) \(signaling.trickling.count)", default: 0] += 1
        }
        for profile in SRTPProfile.allCases {
            for role in [DTLSRole.client, .server] {
                for lite in ["none", "left", "right"] {
                    for trickling in 0...2 {
                        let place = "\(profile) \(role) \(lite) \(trickling)"
                        #expect(seen[place] != nil, "\(place)")
                    }
                }
            }
        }
    }

    @Test(.enabled(if: chosenSeed != nil))
    func `the chosen seed is lived through with a trace`() {
        let scenario = CallScenario(seed: Self.chosenSeed ?? 0)
        let call = scenario.run(isTracing: true)
        print(scenario.summary)
        for line in call.trace { print(line) }
        #expect(call.violations == [])
    }

    @Test(arguments: [3, 14, 159] as [UInt64])
    func `a seed repeats to the last datagram`(seed: UInt64) {
        let scenario = CallScenario(seed: seed)
        let first = scenario.run(isTracing: true)
        let second = scenario.run(isTracing: true)
        #expect(first.trace.count > 50)
        #expect(first.trace == second.trace)
    }

    @Test(arguments: [
        (CallSimulation.Sabotage.losesFrame, "cannot be decoded"), (.repeatsFrame, "came after frame"),
        (.damagesFrame, "is damaged"), (.sendsMediaAtOnce, "rtp is sent before DTLS is done"),
        (.sendsToStranger, "never answered"), (.talksAfterTheEnd, "rtp is sent after the end"),
        (.tellsAfterTheEnd, "is told after the end"), (.keepsTimer, "a timer outlives the end"),
    ])
    func `a driver that breaks a rule is found out`(sabotage: CallSimulation.Sabotage, complaint: String) {
        var scenario = CallScenario(seed: 1)
        scenario.options = CallSimulation.Options()
        scenario.signaling = VirtualSignaling()
        scenario.kinds = [.video]
        scenario.answersWith = [.video]
        scenario.incident =
            [.talksAfterTheEnd, .tellsAfterTheEnd, .keepsTimer].contains(sabotage) ? .leftCloses : .nothing
        scenario.incidentAt = .milliseconds(1_000)
        #expect(scenario.run().violations == [])
        let violations = scenario.run(sabotage: sabotage).violations
        #expect(violations.contains { $0.contains(complaint) }, "\(violations)")
    }
}
