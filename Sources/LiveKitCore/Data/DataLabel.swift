import Foundation
import RTCEngine

/// The data channels of LiveKit's clients. What a message is goes by its channel: some clients write the kind into
/// their packets the wrong way round.
enum DataLabel: String, CaseIterable {
    case reliable = "_reliable"
    case lossy = "_lossy"
    /// Of data tracks (`DataTrackPacket`).
    case tracks = "_data_track"

    /// How the room makes it, in a connection in which it offers.
    var options: DataChannelInit {
        switch self {
        case .reliable: DataChannelInit(ordered: true)
        case .lossy, .tracks: DataChannelInit(ordered: false, maxRetransmits: 0)
        }
    }
}

/// The numbers of the last messages of services, each used once.
struct Nonces {
    private var seen: Set<Data> = []
    private var order: [Data] = []
    private var next = 0

    static let maximum = 1_000
    static let length = 16

    /// - Returns: false for one that has come before. Who has none is always new.
    mutating func isNew(_ nonce: Data) -> Bool {
        guard !nonce.isEmpty else { return true }
        guard seen.insert(nonce).inserted else { return false }
        if order.count < Self.maximum {
            order.append(nonce)
        } else {
            seen.remove(order[next])
            order[next] = nonce
            next = (next + 1) % Self.maximum
        }
        return true
    }
}

/// The last reliable messages of one sender, for those who were away for a moment.
struct MessageLog {
    struct Entry {
        var sequence: UInt32
        var bytes: [UInt8]
        /// Empty: everybody.
        var destinations: Set<String>
    }

    /// Of what has arrived; the sender counts from 1.
    private(set) var lastSequence: UInt32 = 0
    private(set) var entries: [Entry] = []
    private var bytes = 0

    /// - Returns: false for one that has come before.
    mutating func isNew(_ sequence: UInt32) -> Bool {
        guard sequence > 0 else { return true }
        guard sequence > lastSequence else { return false }
        lastSequence = sequence
        return true
    }

    mutating func keep(_ entry: Entry, _ limits: RoomLimits) {
        entries.append(entry)
        bytes += entry.bytes.count
        while entries.count > limits.replayMessages || bytes > limits.replayBytes, !entries.isEmpty {
            bytes -= entries.removeFirst().bytes.count
        }
    }
}
