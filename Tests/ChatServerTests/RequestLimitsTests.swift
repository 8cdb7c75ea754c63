import ChatModel
import Testing

@testable import ChatServer

struct RequestLimitsTests {
    private static let start = Timestamp(milliseconds: 1_790_000_000_000)

    private func isTaken(_ kind: RequestLimits.Kind, of limits: RequestLimits, at now: Timestamp) -> Bool {
        do {
            try limits.take(kind, at: now)
            return true
        } catch {
            return false
        }
    }

    @Test func `when all buckets are in use, who is known stays counted, and newcomers share one`() {
        let limits = RequestLimits(most: 10)
        var now = Self.start
        for number in 0..<10 { #expect(isTaken(.letters("known\(number)"), of: limits, at: now)) }
        for _ in 0..<4 { #expect(isTaken(.letters("known0"), of: limits, at: now)) }
        #expect(!isTaken(.letters("known0"), of: limits, at: now))
        // Five letters for all of them together.
        #expect((0..<8).filter { isTaken(.letters("new\($0)"), of: limits, at: now) } == [0, 1, 2, 3, 4])
        // Another family has its own.
        #expect(isTaken(.strangers("192.0.2.1"), of: limits, at: now))
        #expect(!isTaken(.letters("known0"), of: limits, at: now))
        // What is full again makes room.
        now = now.advanced(by: .seconds(601))
        #expect(isTaken(.letters("new9"), of: limits, at: now))
        #expect((0..<8).filter { _ in isTaken(.letters("new9"), of: limits, at: now) }.count == 4)
    }
}
