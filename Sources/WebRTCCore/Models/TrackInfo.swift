#if canImport(WebRTC)
    @preconcurrency public import WebRTC

    /// What a view shows: libwebrtc's track.
    public typealias WebRTCVideoTrack = RTCVideoTrack
    /// Sound that comes in; libwebrtc plays it by itself.
    public typealias WebRTCAudioTrack = RTCAudioTrack
#else
    /// What a recorder or decoder reads: the coded frames.
    public typealias WebRTCVideoTrack = RemoteTrack
    /// Sound that comes in, as coded packets.
    public typealias WebRTCAudioTrack = RemoteTrack
#endif

/// Pictures that a peer sends.
///
/// Unchecked because libwebrtc's track says nothing about threads: it is a proxy that hands every call to the library's
/// own ones. Where the track is ours it is a value that may go anywhere.
public struct VideoTrackInfo: Identifiable, @unchecked Sendable {
    /// Unique among the tracks of its connection.
    public let id: String
    /// The connection that it comes over.
    public let connection: WebRTCConnectionID
    /// What to show.
    public let track: WebRTCVideoTrack

    /// Who sends it.
    public var userId: String { connection.userId }

    public init(id: String, connection: WebRTCConnectionID, track: WebRTCVideoTrack) {
        self.id = id
        self.connection = connection
        self.track = track
    }
}

/// Sound that a peer sends. Unchecked for the reason that `VideoTrackInfo` gives.
public struct AudioTrackInfo: Identifiable, @unchecked Sendable {
    /// Unique among the tracks of its connection.
    public let id: String
    /// The connection that it comes over.
    public let connection: WebRTCConnectionID
    /// What to hear.
    public let track: WebRTCAudioTrack

    /// Who sends it.
    public var userId: String { connection.userId }

    public init(id: String, connection: WebRTCConnectionID, track: WebRTCAudioTrack) {
        self.id = id
        self.connection = connection
        self.track = track
    }
}

extension VideoTrackInfo: Hashable {
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.id == rhs.id && lhs.connection == rhs.connection }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(connection)
    }
}

extension AudioTrackInfo: Hashable {
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.id == rhs.id && lhs.connection == rhs.connection }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(connection)
    }
}
