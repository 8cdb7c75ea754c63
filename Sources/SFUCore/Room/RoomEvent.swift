public import RTCEngine
public import RTCWire

/// Names a peer connection of a room for as long as it lives.
public struct RoomPeerID: Sendable, Hashable {
    public let rawValue: UInt32
}

/// Names a publication of a room for as long as it lives.
public struct PublicationID: Sendable, Hashable {
    public let rawValue: UInt32
}

/// What a `Room` has to tell whoever speaks with its participants, oldest first.
public enum RoomEvent: Sendable {
    /// What a connection has to tell, but for what the room deals with itself.
    case peer(RoomPeerID, PeerEvent)
    /// Those who began, changed or ceased to speak, loudest first.
    case speakersChanged([Speaker])
    /// A subscriber's path carries the stream again, or no longer.
    case streamPaused(PublicationID, subscriber: RoomPeerID, isPaused: Bool)
    /// The highest quality that any subscriber wants of a publication: its publisher need not send more.
    case qualityWanted(PublicationID, VideoQuality)
    /// The first packet of a publication has come.
    case mediaBegan(PublicationID)
    /// A publisher sends another of the codecs that were agreed, of which nothing is passed on until it is republished
    /// (`Room.republish`). Told again as long as it goes on.
    case codecChanged(PublicationID, PayloadFormat)

    /// One who speaks.
    public struct Speaker: Sendable, Hashable {
        public var publication: PublicationID
        /// From 0 to 1, in eighths; 0 when it has become silent.
        public var level: Double
    }
}

/// Why a room refuses something. Nothing has changed then.
public enum RoomError: Error, Sendable, Equatable {
    case unknownPeer
    case unknownPublication
    /// The transceiver has no part in the connection, carries a publication already, or is of the other kind.
    case unusableTransceiver
    /// The peer is subscribed already, or it is its own publication.
    case alreadySubscribed
    case notSubscribed
    case peer(PeerError)
}
