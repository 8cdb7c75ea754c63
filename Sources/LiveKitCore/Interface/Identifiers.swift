import RTCEngine

/// Names one signaling connection of a room, a WebSocket, for as long as that lives. A participant that resumes has a
/// new one.
package struct SignalID: Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// `PA_…`: one session of a participant.
package struct ParticipantSID: Sendable, Hashable, RawRepresentable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
}

/// `TR_…`: one published track.
package struct TrackSID: Sendable, Hashable, RawRepresentable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
}

/// Names a call that the server makes of a participant (`RoomMachine.performRPC`).
package struct RPCCallID: Sendable, Hashable {
    package let rawValue: UInt64
}

extension EngineRandom {
    /// `prefix` and twelve random letters and digits: 71 bits, as LiveKit's ids have them.
    mutating func sid(_ prefix: String) -> String {
        let alphabet = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
        return prefix + String((0..<12).map { _ in alphabet[Int(next() >> 33) % alphabet.count] })
    }
}
