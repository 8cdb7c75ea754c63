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

/// What a `Room` reports to its owner, which does the signaling; oldest first.
public enum RoomEvent: Sendable {
    /// An event of a peer connection. Those that the room deals with itself are left out.
    case peer(RoomPeerID, PeerEvent)
    /// The speakers that began, changed their level or fell silent, loudest first.
    case speakersChanged([Speaker])
    /// A stream was paused (true), for the subscriber's path does not carry it, or goes on (false).
    case streamPaused(PublicationID, subscriber: RoomPeerID, isPaused: Bool)
    /// The highest quality that any subscriber wants of a publication: its publisher need not send more.
    case qualityWanted(PublicationID, VideoQuality)
    /// The first packet of a publication has come.
    case mediaBegan(PublicationID)
    /// A publisher has changed to another of the negotiated codecs. Nothing is forwarded until the owner calls
    /// `Room.republish`. Reported again and again until then.
    case codecChanged(PublicationID, PayloadFormat)

    /// How loud a publication is.
    public struct Speaker: Sendable, Hashable {
        /// The publication whose sound it is.
        public var publication: PublicationID
        /// From 0 to 1, in eighths; 0 when it has become silent.
        public var level: Double
    }
}

/// Why a room refuses something. Nothing has changed then.
public enum RoomError: Error, Sendable, Equatable {
    /// There is no peer with this id, or no longer.
    case unknownPeer
    /// There is no publication with this id, or no longer.
    case unknownPublication
    /// The transceiver has no part in the connection, carries a publication already, or is of the other kind.
    case unusableTransceiver
    /// The peer is subscribed to the publication already, or is its publisher.
    case alreadySubscribed
    /// The peer is not subscribed to the publication.
    case notSubscribed
    /// The peer's machine refused it.
    case peer(PeerError)
}
