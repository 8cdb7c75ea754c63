import ChatModel
import Testing

@testable import ChatServer

struct RequestLimitsTests {
    private static let start = Timestamp(milliseconds: 1_790_000_000_000)

    private func isTaken(_ kind: RequestLimits.Kind, of limits: RequestLimits, at now: Timestamp) async -> Bool {
        do {
            try await limits.take(kind, at: now)
            return true
        } catch {
            return false
        }
    }

    @Test func `a name has tries for each site, and ten times as many for all together`() async {
        let limits = RequestLimits()
        var now = Self.start
        var (atOne, atAll) = (0, 0)
        for _ in 0..<20 where await isTaken(.passwords("ann", site: "192.0.2.1"), of: limits, at: now) { atOne += 1 }
        #expect(atOne == 10)
        #expect(await isTaken(.passwords("ann", site: "192.0.2.2"), of: limits, at: now))
        #expect(await isTaken(.passwords("bob", site: "192.0.2.1"), of: limits, at: now))
        for _ in 0..<200 where await isTaken(.passwordsFromAll("ann"), of: limits, at: now) { atAll += 1 }
        #expect(atAll == 100)
        now = now.advanced(by: .seconds(3))
        #expect(await isTaken(.passwordsFromAll("ann"), of: limits, at: now))
        #expect(await !isTaken(.passwords("ann", site: "192.0.2.1"), of: limits, at: now))
        (atOne, atAll) = (0, 0)
        for _ in 0..<20 where await isTaken(.resets("a@b.c", site: "192.0.2.1"), of: limits, at: now) { atOne += 1 }
        for _ in 0..<200 where await isTaken(.resetsFromAll("a@b.c"), of: limits, at: now) { atAll += 1 }
        #expect(atOne == 5 && atAll == 50)
    }

    @Test func `when all buckets are in use, who is known stays counted, and newcomers share one`() async {
        let limits = RequestLimits(most: 10)
        var now = Self.start
        for number in 0..<10 { #expect(await isTaken(.letters("known\(number)"), of: limits, at: now)) }
        for _ in 0..<4 { #expect(await isTaken(.letters("known0"), of: limits, at: now)) }
        #expect(await !isTaken(.letters("known0"), of: limits, at: now))
        // Five letters for all of them together.
        var taken: [Int] = []
        for number in 0..<8 where await isTaken(.letters("new\(number)"), of: limits, at: now) { taken.append(number) }
        #expect(taken == [0, 1, 2, 3, 4])
        // Another family has its own.
        #expect(await isTaken(.strangers("192.0.2.1"), of: limits, at: now))
        #expect(await !isTaken(.letters("known0"), of: limits, at: now))
        // What is full again makes room.
        now = now.advanced(by: .seconds(601))
        #expect(await isTaken(.letters("new9"), of: limits, at: now))
        var more = 0
        for _ in 0..<8 where await isTaken(.letters("new9"), of: limits, at: now) { more += 1 }
        #expect(more == 4)
    }
}
