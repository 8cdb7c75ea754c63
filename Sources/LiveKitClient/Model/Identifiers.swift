/// Names a track in its room, as the server does: `TR_…`, of data `DTR_…`.
public struct TrackSID: Hashable, Sendable, CustomStringConvertible {
    /// As it stands in LiveKit's messages.
    public let rawValue: String

    public init(_ rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}

/// Names one session of a participant: `PA_…`. Whoever joins anew has another one.
public struct ParticipantSID: Hashable, Sendable, CustomStringConvertible {
    /// As it stands in LiveKit's messages.
    public let rawValue: String

    public init(_ rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}

/// Who a participant is, by its token. One session at a time has it.
public struct ParticipantIdentity: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// As it stands in LiveKit's messages.
    public let rawValue: String

    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    public var description: String { rawValue }
}
