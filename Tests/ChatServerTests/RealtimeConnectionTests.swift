import Synchronization
import Testing

@testable import ChatServer

/// What happens on a realtime socket is looked at one after the other, by a task that is there only meanwhile.
@Suite(.timeLimit(.minutes(2))) struct RealtimeConnectionTests {
    private static func ping(_ number: Int) -> [UInt8] { Array(#"{"type":"ping","id":\#(number)}"#.utf8) }

    private static func name(of step: RealtimeConnection.Step) -> String {
        switch step {
        case .opened: "opened"
        case .request(let request): (try? request.get().id) ?? "bad"
        case .closed: "closed"
        }
    }

    @Test func `frames are looked at one at a time, in their order, and the end comes last and once`() async {
        let (steps, seen) = AsyncStream.makeStream(of: String.self)
        let isBusy = Atomic(false)
        let connection = RealtimeConnection(.stranger, counters: RealtimeCounters()) { _, step in
            let wasBusy = isBusy.exchange(true, ordering: .relaxed)
            #expect(!wasBusy)
            await Task.yield()
            isBusy.store(false, ordering: .relaxed)
            seen.yield(Self.name(of: step))
        }
        for number in 0..<100 { connection.webSocketReceived(Self.ping(number), isText: true) }
        var heard: [String] = []
        for await step in steps {
            heard.append(step)
            if heard.count == 100 { break }
        }
        // Nobody looks any more: the next one has somebody come again.
        for number in 100..<200 { connection.webSocketReceived(Self.ping(number), isText: true) }
        connection.webSocketReceived(Array("{".utf8), isText: true)
        connection.webSocketClosed()
        connection.webSocketReceived(Self.ping(200), isText: true)
        connection.webSocketClosed()
        for await step in steps {
            heard.append(step)
            if step == "closed" { seen.finish() }
        }
        #expect(heard == (0..<200).map(String.init) + ["bad", "closed"])
    }

    @Test func `256 frames may wait, and one more ends the socket`() async {
        let (steps, seen) = AsyncStream.makeStream(of: String.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let connection = RealtimeConnection(.stranger, counters: RealtimeCounters()) { _, step in
            let name = Self.name(of: step)
            seen.yield(name)
            if name == "0" { for await _ in gate { break } }
            if name == "closed" { seen.finish() }
        }
        connection.webSocketReceived(Self.ping(0), isText: true)
        for await _ in steps { break }
        for number in 1...258 { connection.webSocketReceived(Self.ping(number), isText: true) }
        open.yield()
        var heard: [String] = []
        for await step in steps { heard.append(step) }
        #expect(heard == (1...256).map(String.init) + ["closed"])
    }

    @Test func `who does not say who they are is closed, and a stranger who has gone is not kept until then`() async {
        let (steps, seen) = AsyncStream.makeStream(of: String.self)
        let silent = RealtimeConnection(.stranger, counters: RealtimeCounters()) { _, step in
            seen.yield(Self.name(of: step))
        }
        silent.waitForName(.milliseconds(1))
        for await step in steps {
            #expect(step == "closed")
            break
        }
        var gone: RealtimeConnection? = RealtimeConnection(.stranger, counters: RealtimeCounters()) { _, step in
            seen.yield(Self.name(of: step))
        }
        weak let kept = gone
        gone?.waitForName(.seconds(3_600))
        gone?.webSocketClosed()
        gone = nil
        while kept != nil { await Task.yield() }
    }
}
