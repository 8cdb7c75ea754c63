internal import LiveKitProtocol

/// What is sent on a data track in one piece: it comes whole, or not at all.
public struct DataTrackFrame: Sendable, Hashable {
    /// Up to 2 MB.
    public var payload: [UInt8]
    /// When it was made, or whatever its publisher wants to say with a number.
    public var userTimestamp: UInt64?

    public init(payload: [UInt8], userTimestamp: UInt64? = nil) {
        self.payload = payload
        self.userTimestamp = userTimestamp
    }
}

/// A data track that somebody publishes, whether we have subscribed to it or not.
public struct RemoteDataTrack: Sendable, Hashable, Identifiable {
    /// What stays the same of a track when its publisher is back in a new session.
    public struct ID: Sendable, Hashable {
        /// Who publishes the track.
        public let publisher: ParticipantIdentity
        /// The track's name, which none of the publisher's other data tracks has.
        public let name: String
    }

    /// What the server calls it; another one in a new session of its publisher's, of which no event tells.
    public let sid: TrackSID
    /// Its publisher has no other one of this name.
    public let name: String
    /// Who publishes the track.
    public let publisher: ParticipantIdentity
    /// Encrypted between clients: its frames mean nothing here, and it cannot be subscribed to.
    public let isEncrypted: Bool

    public var id: ID { ID(publisher: publisher, name: name) }
}

extension RemoteDataTrack {
    init(_ info: LiveKitDataTrackInfo, of publisher: ParticipantIdentity) {
        sid = TrackSID(info.sid)
        name = info.name
        self.publisher = publisher
        isEncrypted = info.encryption != .none
    }
}
