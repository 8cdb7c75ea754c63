import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// Those whom nobody sees any more, for clients that were away meanwhile: a client takes nobody off its list for not
/// being named.
struct Departures {
    private struct Entry {
        var info: LiveKitParticipantInfo
        var at: Instant
    }

    /// In the order in which they went.
    private var entries: [Entry] = []

    /// Of a thousand who leave while somebody is away, the others stay on that one's list.
    static let maximum = 1_000

    var isEmpty: Bool { entries.isEmpty }

    /// Keeps what a client knows somebody by, and nothing of what it could do without.
    mutating func add(_ info: LiveKitParticipantInfo, at now: Instant) {
        if entries.count == Self.maximum { entries.removeFirst() }
        let short = LiveKitParticipantInfo.with {
            $0.sid = info.sid
            $0.identity = info.identity
            $0.state = .disconnected
            $0.version = info.version
            $0.disconnectReason = info.disconnectReason
        }
        entries.append(Entry(info: short, at: now))
    }

    mutating func forget(before time: Instant) {
        guard let first = entries.first, first.at < time else { return }
        entries.removeAll { $0.at < time }
    }

    /// Who has gone since then. Clients know people by identity: whoever is there under one again is not gone.
    func since(_ time: Instant, without present: Set<String>) -> [LiveKitParticipantInfo] {
        entries.filter { $0.at >= time && !present.contains($0.info.identity) }.map(\.info)
    }
}
