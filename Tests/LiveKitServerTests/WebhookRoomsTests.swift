import LiveKitProtocol
import SocketIO
import SwiftProtobuf
import Synchronization
import Testing

@testable import LiveKitServer

/// Events of several rooms for one receiver, which has a real socket.
@Suite(.timeLimit(.minutes(2))) struct WebhookRoomsTests {
    /// Takes webhooks. It answers those of some rooms only when it is told to.
    private final class Receiver: Sendable {
        private struct State {
            var held: Set<String>
            var waiting: [CheckedContinuation<Void, Never>] = []
            var statuses: [String: [Int]]
            var heard: [String] = []
            var underWay = 0
            var mostUnderWay = 0
        }

        private let state: Mutex<State>
        /// Each request as it comes: "room: event".
        let arrivals: AsyncStream<String>
        private let arrival: AsyncStream<String>.Continuation

        /// - Parameter statuses: of the first answers of each room; those that follow are 200.
        init(holding rooms: Set<String> = [], statuses: [String: [Int]] = [:]) {
            state = Mutex(State(held: rooms, statuses: statuses))
            (arrivals, arrival) = AsyncStream.makeStream(of: String.self)
        }

        func events(ofRoom room: String) -> [String] {
            state.withLock { $0.heard.filter { $0.hasPrefix("\(room): ") } }
        }

        var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }

        func take(_ request: SocketIOHTTPRequest) async -> SocketIOHTTPResponse {
            guard let event = WebhookBench.event(in: request) else { return .text("", status: 401) }
            let room = event.room.name
            let text = "\(room): \(event.event)"
            state.withLock { state in
                state.heard.append(text)
                state.underWay += 1
                state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            }
            arrival.yield(text)
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    guard state.held.contains(room) else { return false }
                    state.waiting.append(continuation)
                    return true
                }
                if !isHeld { continuation.resume() }
            }
            let status = state.withLock { state in
                state.underWay -= 1
                guard state.statuses[room]?.isEmpty == false else { return 200 }
                return state.statuses[room]?.removeFirst() ?? 200
            }
            return .text("", status: status)
        }

        /// Answers all.
        func release() {
            let waiting = state.withLock { state in
                state.held = []
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    @Test func `a receiver that holds one room's event has those of the others meanwhile`() async throws {
        let receiver = Receiver(holding: ["kitchen"])
        try await WebhookBench.run(answer: { await receiver.take($0) }) { sender in
            for number in 1...2 { sender.send(WebhookBench.event("\(number)", ofRoom: "kitchen")) }
            for number in 1...20 { sender.send(WebhookBench.event("\(number)", ofRoom: "lounge")) }
            for await text in receiver.arrivals where text == "lounge: 20" { break }
            #expect(receiver.events(ofRoom: "kitchen") == ["kitchen: 1"])
            receiver.release()
            await sender.finish(within: .seconds(60))
            #expect(receiver.events(ofRoom: "kitchen") == ["kitchen: 1", "kitchen: 2"])
            #expect(receiver.events(ofRoom: "lounge") == (1...20).map { "lounge: \($0)" })
            #expect(sender.statistics == WebhookStatistics(delivered: 22))
        }
    }

    @Test func `in each room what fails is tried again before the next one`() async throws {
        let receiver = Receiver(statuses: ["kitchen": [503, 500], "lounge": [429]])
        let pauses = Array(repeating: Duration.milliseconds(10), count: 5)
        try await WebhookBench.run(pauses: pauses, answer: { await receiver.take($0) }) { sender in
            for number in 1...3 {
                for room in ["kitchen", "lounge"] { sender.send(WebhookBench.event("\(number)", ofRoom: room)) }
            }
            await sender.finish(within: .seconds(60))
            #expect(receiver.events(ofRoom: "kitchen") == [1, 1, 1, 2, 3].map { "kitchen: \($0)" })
            #expect(receiver.events(ofRoom: "lounge") == [1, 1, 2, 3].map { "lounge: \($0)" })
            #expect(sender.statistics == WebhookStatistics(delivered: 6, failedAttempts: 3))
        }
    }

    @Test func `a room's recordings are in its order`() async throws {
        let receiver = Receiver(statuses: ["kitchen": [503]])
        let pauses = Array(repeating: Duration.milliseconds(10), count: 5)
        try await WebhookBench.run(pauses: pauses, answer: { await receiver.take($0) }) { sender in
            sender.send(WebhookBench.event("room_started", ofRoom: "kitchen"))
            var event = WebhookBench.event("egress_started")
            event.egressInfo.roomName = "kitchen"
            sender.send(event)
            for await text in receiver.arrivals where text == ": egress_started" { break }
            #expect(sender.statistics.failedAttempts == 1)
            #expect(receiver.events(ofRoom: "kitchen").count == 2)
        }
    }

    @Test func `so many requests to one URL are under way and no more`() async throws {
        let rooms = (1...40).map { "room \($0)" }
        let receiver = Receiver(holding: Set(rooms))
        try await WebhookBench.run(answer: { await receiver.take($0) }) { sender in
            for room in rooms { sender.send(WebhookBench.event("room_started", ofRoom: room)) }
            var count = 0
            for await _ in receiver.arrivals {
                count += 1
                if count == WebhookConnections.limit { break }
            }
            try await Task.sleep(for: .milliseconds(200))
            #expect(receiver.mostUnderWay == WebhookConnections.limit)
            receiver.release()
            await sender.finish(within: .seconds(60))
            #expect(receiver.mostUnderWay == WebhookConnections.limit)
            #expect(sender.statistics == WebhookStatistics(delivered: 40))
        }
    }

    @Test func `a room whose event is to be tried again leaves its place to others until then`() async throws {
        let rooms = (1...WebhookConnections.limit).map { "room \($0)" }
        let receiver = Receiver(statuses: Dictionary(uniqueKeysWithValues: rooms.map { ($0, [503]) }))
        try await WebhookBench.run(pauses: [.seconds(600)], answer: { await receiver.take($0) }) { sender in
            for room in rooms { sender.send(WebhookBench.event("room_started", ofRoom: room)) }
            sender.send(WebhookBench.event("room_started", ofRoom: "lounge"))
            for await text in receiver.arrivals where text == "lounge: room_started" { break }
            await sender.finish(within: .zero)
            #expect(sender.statistics.delivered + sender.statistics.lost == rooms.count + 1)
        }
    }

    @Test func `after a burst two connections stay, and as many as before can be had`() async throws {
        var configuration = SocketIOServerConfiguration()
        configuration.fallback = { _ in .text("") }
        let server = SocketIOServer(configuration: configuration)
        let port = try await server.bind(host: "127.0.0.1", port: 0)
        let url = try #require(WebhookURL("http://127.0.0.1:\(port)/"))
        let connections = try #require(WebhookConnections(to: url))
        for _ in 0..<2 {
            var taken: [HTTPPoster] = []
            for _ in 0..<WebhookConnections.limit {
                let poster = await connections.take()
                taken.append(try #require(poster))
            }
            for poster in taken { _ = try await poster.post([1], headers: []) }
            #expect(await connections.connectedCount == WebhookConnections.limit)
            for poster in taken { connections.giveBack(poster) }
            for _ in 0..<1_000 {
                if await connections.connectedCount <= 2 { break }
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(await connections.connectedCount == 2)
        }
        await connections.close()
        await server.shutdown()
    }

    // MARK: What waits

    @Test func `so many wait for one URL, half as many of one room, and what comes then is lost`() {
        var queue = WebhookQueue<Int>(limit: 4)
        let admissions = [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("d", 6)].map { room, number in
            queue.add(number, size: 1, ofRoom: room)
        }
        #expect(admissions == [.begins, .waits, .refused, .begins, .begins, .refused])
        #expect(queue.first(ofRoom: "a") == 1)
        let rest = [queue.removeFirst(ofRoom: "a"), queue.removeFirst(ofRoom: "a"), queue.removeFirst(ofRoom: "a")]
        #expect(rest == [2, nil, nil])
        #expect(queue.count == 2)
        let again = queue.add(7, size: 1, ofRoom: "a")
        #expect(again == .begins)
    }

    @Test func `so many bytes wait for one URL, half as many of one room, and what comes then is lost`() {
        var queue = WebhookQueue<Int>(byteLimit: 100)
        let admissions = [("a", 30), ("a", 20), ("a", 1), ("b", 50), ("c", 1)].map { room, size in
            queue.add(size, size: size, ofRoom: room)
        }
        #expect(admissions == [.begins, .waits, .refused, .begins, .refused])
        #expect(queue.bytes == 100 && queue.count == 3)
        let next = queue.removeFirst(ofRoom: "a")
        #expect(next == 20 && queue.bytes == 70)
        let places = [queue.add(31, size: 31, ofRoom: "c"), queue.add(30, size: 30, ofRoom: "d")]
        #expect(places == [.refused, .refused])
        _ = queue.removeFirst(ofRoom: "a")
        let again = queue.add(50, size: 50, ofRoom: "c")
        #expect(again == .begins)
        for room in ["b", "c"] { _ = queue.removeFirst(ofRoom: room) }
        #expect(queue.bytes == 0 && queue.count == 0)
    }

    @Test func `a small event does not pass a large one that there was no place for`() {
        var queue = WebhookQueue<Int>(byteLimit: 100)
        // In a room: of the others' places it takes none.
        let admissions = [("a", 40), ("a", 11), ("a", 10), ("b", 10)].map { room, size in
            queue.add(size, size: size, ofRoom: room)
        }
        #expect(admissions == [.begins, .refused, .refused, .begins])
        _ = queue.add(1, size: 1, ofRoom: "c")
        _ = queue.removeFirst(ofRoom: "a")
        let begun = [queue.add(40, size: 40, ofRoom: "a"), queue.add(10, size: 10, ofRoom: "a")]
        #expect(begun == [.begins, .waits])
        // Of all together: 61 are taken, 40 would not fit, and when ten have gone they would.
        let full = [queue.add(40, size: 40, ofRoom: "d"), queue.add(1, size: 1, ofRoom: "e")]
        #expect(full == [.refused, .refused])
        _ = queue.removeFirst(ofRoom: "b")
        let free = [queue.add(1, size: 1, ofRoom: "e"), queue.add(1, size: 1, ofRoom: "e")]
        #expect(free == [.begins, .waits])
        // What its own room has no place for takes none of all together either.
        var other = WebhookQueue<Int>(byteLimit: 100)
        let own = [("a", 50), ("b", 45), ("a", 40), ("c", 5)].map { room, size in
            other.add(size, size: size, ofRoom: room)
        }
        #expect(own == [.begins, .begins, .refused, .begins])
        // What is larger than there is ever room for is waited for by nobody.
        let never = [queue.add(51, size: 51, ofRoom: "f"), queue.add(1, size: 1, ofRoom: "f")]
        #expect(never == [.refused, .begins])
    }

    @Test func `an event is as large as what it names, and somebody else's as that and what came`() throws {
        let event = LiveKitWebhookEvent.with { $0.room.metadata = String(repeating: "m", count: 60_000) }
        let size = WebhookNotice.event(event).size
        #expect((60_000..<60_100).contains(size))
        let body = [UInt8](repeating: 0, count: 70_000)
        #expect(WebhookNotice.written(body, event).size == 70_000 + size)
    }

    @Test func `an event's size is told without its being written, and is no less than that`() throws {
        let text = String(repeating: "é", count: 10_000)
        var track = LiveKitTrackInfo()
        track.name = text
        let events: [LiveKitWebhookEvent] = [
            .init(), .with { $0.event = text }, .with { $0.createdAt = .max },
            .with { $0.participant.attributes = ["a": text, text: ""] },
            .with { $0.participant.tracks = [track, track] }, .with { $0.egressInfo.error = text },
            .with { $0.room.metadata = text },
        ]
        for event in events {
            let written: [UInt8] = try event.serializedBytes()
            let size = WebhookNotice.event(event).size
            #expect((written.count...written.count + 500).contains(size), "\(written.count), \(size)")
        }
    }

    @Test func `a room's events leave in the order in which they came, however many there are`() {
        var queue = WebhookQueue<Int>()
        var left: [Int] = []
        for number in 0..<1_000 {
            _ = queue.add(number, size: 1, ofRoom: "a")
            guard number % 3 == 0, let first = queue.first(ofRoom: "a") else { continue }
            left.append(first)
            _ = queue.removeFirst(ofRoom: "a")
        }
        while let first = queue.first(ofRoom: "a") {
            left.append(first)
            _ = queue.removeFirst(ofRoom: "a")
        }
        #expect(left == Array(0..<1_000) && queue.count == 0)
    }

    @Test func `what has been delivered is not kept, whatever waits behind it`() {
        final class Body: Sendable {}
        var queue = WebhookQueue<Body>()
        weak var first: Body?
        do {
            let body = Body()
            first = body
            _ = queue.add(body, size: 1, ofRoom: "a")
        }
        for _ in 0..<10 { _ = queue.add(Body(), size: 1, ofRoom: "a") }
        #expect(first != nil)
        _ = queue.removeFirst(ofRoom: "a")
        #expect(first == nil && queue.count == 10)
    }
}
