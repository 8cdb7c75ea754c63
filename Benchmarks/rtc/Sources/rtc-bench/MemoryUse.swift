import Foundation
import RTCEngine
import RTCNetwork

/// Resident memory that connected pairs add to the process, a connection.
enum MemoryUse {
    /// 300 packets, or messages of a packet's size, a second for long enough that histories are full.
    private static let burstsPerSecond = 30
    private static let packetsPerBurst = 10
    private static let bursts = 150

    /// A pair, and what the caller sends by.
    private struct Link {
        let pair: Pair
        var video: RTPTransceiver?
        var channel: DataChannel?
        /// The channel as the callee has it.
        var theirs: DataChannel?
    }

    static func run(_ count: Int, of cargo: Cargo, isBusy: Bool) async throws {
        // What the first pair loads and starts is not a connection's.
        let first = try await connected(cargo)
        try await load([first])
        let before = resident()
        var links: [Link] = []
        for _ in 0..<count { links.append(try await connected(cargo)) }
        if isBusy { try await load(links) }
        let after = resident()
        report(["KiB": Double(after - before) / 1_024 / Double(2 * count), "kind": isBusy ? "busy" : "idle"])
        for link in links + [first] { await link.pair.close() }
    }

    private static func connected(_ cargo: Cargo) async throws -> Link {
        let pair = try Pair()
        var link = Link(pair: pair)
        switch cargo {
        case .video: link.video = try await pair.caller.addTransceiver(.video, direction: .sendonly)
        case .data: link.channel = try await pair.caller.createDataChannel("x")
        }
        let callerEvents = pair.caller.events
        let calleeEvents = pair.callee.events
        let announcements = pair.callee.events
        try await pair.answer(try await pair.offer())
        await Pair.connected(callerEvents)
        await Pair.connected(calleeEvents)
        if let channel = link.channel {
            try await channel.waitUntilOpen()
            link.theirs = await Pair.dataChannel(announcements)
        }
        return link
    }

    private static func load(_ links: [Link]) async throws {
        let readers = links.map { link in
            Task {
                if let receiver = await link.pair.callee.transceivers.first?.receiver {
                    for await _ in receiver.frames {}
                } else if let channel = link.theirs {
                    for await _ in channel.messages {}
                }
            }
        }
        let clock = ContinuousClock()
        let message = [UInt8](repeating: 0, count: 1_150)
        var next = clock.now
        for number in 0..<bursts {
            let frame = EncodedFrame.vp8(
                bytes: packetsPerBurst * 1_100, timestamp: UInt32(number * 90_000 / burstsPerSecond),
                isKeyFrame: number % burstsPerSecond == 0)
            for link in links {
                if let channel = link.channel {
                    for _ in 0..<packetsPerBurst { try await channel.send(message) }
                } else {
                    try await link.video?.sender.send(frame)
                }
            }
            next += .seconds(1) / burstsPerSecond
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
