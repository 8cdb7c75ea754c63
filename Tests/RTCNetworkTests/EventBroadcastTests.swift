import Testing

@testable import RTCNetwork

@Suite(.timeLimit(.minutes(2))) struct EventBroadcastTests {
    @Test func `what came before the first listener is kept for it`() async {
        let broadcast = EventBroadcast<Int>(backlog: 3)
        for number in 1...5 { broadcast.send(number) }
        let stream = broadcast.stream()
        broadcast.finish()
        var heard: [Int] = []
        for await number in stream { heard.append(number) }
        #expect(heard == [3, 4, 5])
    }

    @Test func `each listener hears everything from when it began`() async {
        let broadcast = EventBroadcast<Int>(backlog: 10)
        let first = broadcast.stream()
        broadcast.send(1)
        let second = broadcast.stream()
        broadcast.send(2)
        broadcast.finish()
        var heard: ([Int], [Int]) = ([], [])
        for await number in first { heard.0.append(number) }
        for await number in second { heard.1.append(number) }
        #expect(heard.0 == [1, 2])
        #expect(heard.1 == [2])
    }

    @Test func `a stream taken after the end is empty`() async {
        let broadcast = EventBroadcast<Int>(backlog: 10)
        broadcast.finish()
        for await number in broadcast.stream() { Issue.record("heard \(number)") }
    }

    @Test func `a listener that comes while events are sent hears them in their order`() async {
        for _ in 0..<200 {
            let broadcast = EventBroadcast<Int>(backlog: 1_000)
            for number in 0..<300 { broadcast.send(number) }
            let sender = Task.detached {
                for number in 300..<600 { broadcast.send(number) }
                broadcast.finish()
            }
            var heard: [Int] = []
            for await number in broadcast.stream() { heard.append(number) }
            #expect(heard == Array(0..<600))
            await sender.value
        }
    }

    @Test func `a listener that is gone is forgotten`() async {
        let broadcast = EventBroadcast<Int>(backlog: 10)
        let task = Task { for await _ in broadcast.stream() {} }
        task.cancel()
        await task.value
        #expect(broadcast.listenerCount == 0)
    }
}
