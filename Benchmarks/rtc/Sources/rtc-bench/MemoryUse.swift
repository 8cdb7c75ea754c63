import Foundation
import RTCEngine
import RTCNetwork

/// Resident memory that connected pairs add to the process, a connection.
enum MemoryUse {
    /// 300 packets a second for long enough that histories are full.
    private static let framesPerSecond = 30
    private static let packetsPerFrame = 10
    private static let frames = 150

    static func run(_ count: Int, isBusy: Bool) async throws {
        // What the first pair loads and starts is not a connection's.
        let first = try await connectedPair()
        try await load([first])
        let before = resident()
        var pairs: [Pair] = []
        for _ in 0..<count { pairs.append(try await connectedPair()) }
        if isBusy { try await load(pairs) }
        let after = resident()
        report(["KiB": Double(after - before) / 1_024 / Double(2 * count), "kind": isBusy ? "busy" : "idle"])
        for pair in pairs + [first] { await pair.close() }
    }

    private static func connectedPair() async throws -> Pair {
        let pair = try await Pair()
        let callerEvents = pair.caller.events
        let calleeEvents = pair.callee.events
        try await pair.negotiate()
        await Pair.connected(pair.caller, callerEvents)
        await Pair.connected(pair.callee, calleeEvents)
        return pair
    }

    private static func load(_ pairs: [Pair]) async throws {
        let readers = pairs.map { pair in
            Task {
                guard let receiver = await pair.callee.transceivers.first?.receiver else { return }
                for await _ in receiver.frames {}
            }
        }
        let clock = ContinuousClock()
        var next = clock.now
        for number in 0..<frames {
            let frame = EncodedFrame.vp8(
                bytes: packetsPerFrame * 1_100, timestamp: UInt32(number * 90_000 / framesPerSecond),
                isKeyFrame: number % framesPerSecond == 0)
            for pair in pairs { try await pair.video.sender.send(frame) }
            next += .seconds(1) / framesPerSecond
            try await Task.sleep(until: next, clock: clock)
        }
        for reader in readers { reader.cancel() }
    }

    /// In bytes.
    private static func resident() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * Int(getpagesize()) } ?? 0
    }
}
