import Testing

@testable import RedisClient

struct SubscriptionBufferTests {
    private func events(of buffer: inout SubscriptionBuffer) -> [RedisSubscriptionEvent] {
        var events: [RedisSubscriptionEvent] = []
        while case .event(let event, _) = buffer.next() { events.append(event) }
        return events
    }

    @Test func `hands over in order, and tells of attempts that fail only once`() {
        var buffer = SubscriptionBuffer(limit: 1_000)
        let all: [RedisSubscriptionEvent] = [.down, .up, .message([1]), .down, .down, .up, .message([2])]
        for event in all { #expect(buffer.add(event) == .none) }
        #expect(events(of: &buffer) == [.up, .message([1]), .down, .up, .message([2])])
    }

    @Test func `of a reader that does not keep up what waits is dropped, and it goes on when that is known`() {
        var buffer = SubscriptionBuffer(limit: 1_000)
        #expect(buffer.add(.up) == .none)
        // 64 for `up`, and 164 for each.
        for number in 0..<5 { #expect(buffer.add(.message(.init(repeating: UInt8(number), count: 100))) == .none) }
        #expect(buffer.add(.message(.init(repeating: 5, count: 100))) == .pause)
        // What the connection still had counts for nothing.
        for event: RedisSubscriptionEvent in [.message([6]), .down, .up] { #expect(buffer.add(event) == .none) }
        guard case .event(.down, resumes: true) = buffer.next() else {
            Issue.record("the reader is told that something is lost, and the connection is wanted again")
            return
        }
        for event: RedisSubscriptionEvent in [.down, .up, .message([7])] { #expect(buffer.add(event) == .none) }
        #expect(events(of: &buffer) == [.up, .message([7])])
    }

    @Test func `what was taken makes room`() {
        var buffer = SubscriptionBuffer(limit: 1_000)
        _ = buffer.add(.up)
        for number in 0..<10_000 {
            #expect(buffer.add(.message([UInt8(number & 255)])) == .none)
            if number % 3 > 0 { continue }
            #expect(!events(of: &buffer).isEmpty)
        }
    }

    @Test func `small messages count too`() {
        var buffer = SubscriptionBuffer(limit: 64 * 100)
        _ = buffer.add(.up)
        let pauses = (0..<200).filter { _ in buffer.add(.message([])) == .pause }
        #expect(pauses == [99])
    }

    @Test func `what waited when it ended is handed over`() {
        var buffer = SubscriptionBuffer(limit: 1_000)
        _ = buffer.add(.up)
        _ = buffer.add(.message([1]))
        buffer.finish()
        #expect(buffer.add(.message([2])) == .none)
        #expect(events(of: &buffer) == [.up, .message([1])])
        guard case .finished = buffer.next() else {
            Issue.record("nothing follows")
            return
        }
    }
}
