import RTCNetwork
import Synchronization

@testable import WebRTCCore

/// Reads an engine's events and waits for those that a test is about.
struct EventLog {
    private let stream: AsyncStream<WebRTCEvent>

    init(_ stream: AsyncStream<WebRTCEvent>) { self.stream = stream }

    init(_ engine: some WebRTCEngine) async { stream = await engine.events() }

    /// The first event from here on that `pick` makes something of. Nil when the stream ended without it.
    func first<Value>(_ pick: (WebRTCEvent) -> Value?) async -> Value? {
        for await event in stream {
            if let value = pick(event) { return value }
        }
        return nil
    }

    func reached(_ state: WebRTCConnectionState, by userId: String) async -> WebRTCConnectionID? {
        await first { event in
            guard case .connectionStateChanged(state, let connection, _) = event, connection.userId == userId else {
                return nil
            }
            return connection
        }
    }

    func video(of userId: String) async -> VideoTrackInfo? {
        await first { if case .videoTrackAdded(let info) = $0, info.userId == userId { info } else { nil } }
    }

    func audio(of userId: String) async -> AudioTrackInfo? {
        await first { if case .audioTrackAdded(let info) = $0, info.userId == userId { info } else { nil } }
    }
}

/// Makes an engine's connections and remembers them weakly.
final class ConnectionWitness: Sendable {
    private struct Entry: Sendable { weak var connection: RoostConnection? }
    private let entries = Mutex<[Entry]>([])

    /// How many were made.
    var made: Int { entries.withLock { $0.count } }
    /// How many are still there.
    var alive: Int { entries.withLock { $0.count { $0.connection != nil } } }

    func engine(
        peerLimit: Int = 64, change: (inout PeerConnectionConfiguration) -> Void = { _ in }
    ) throws -> RoostRTCEngine {
        var configuration = try TestSender.configuration()
        change(&configuration)
        let settled = configuration
        return RoostRTCEngine(peerLimit: peerLimit) { [self] () async throws(Refusal) in
            let connection = RoostConnection(configuration: settled)
            entries.withLock { $0.append(Entry(connection: connection)) }
            return connection
        }
    }
}
