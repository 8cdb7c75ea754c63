package import LiveKitProtocol
package import RTCEngine
package import RTCWire

/// How a room is to be. What `CreateRoom` or a token's `roomConfig` leave open is the server's.
package struct RoomConfiguration: Sendable {
    package var name: String
    package var metadata = ""
    /// How long it stays when nobody has come yet.
    package var emptyTimeout = Interval.seconds(Int64(300))
    /// How long it stays after the last one has left.
    package var departureTimeout = Interval.seconds(Int64(20))
    /// Which agents come into it; nil where nobody has said so: those without a name come by themselves.
    package var agents: [LiveKitRoomAgentDispatch]?
    /// 0: as many as come.
    package var maximumParticipants = 0
    /// How long who receives pictures is asked to hold them back; nil leaves it to them, and to who publishes.
    package var playoutDelay: PlayoutDelayLimits?
    /// What belongs together of one publisher, as camera and microphone, is played in step: it is one stream to who
    /// receives it (`sync_streams`).
    package var syncsStreams = false
    /// Whether the room service may switch somebody's sound and pictures on again.
    package var allowsRemoteUnmute = false
    package var limits = RoomLimits()
    package var server = ServerDescription()

    package init(name: String) { self.name = name }
}

/// What clients are told of the server.
package struct ServerDescription: Sendable {
    /// Clients compare it: below 1.8.0 they do without calls to each other, and browsers refuse a server without one.
    package var version = "1.13.5"
    package var protocolVersion: Int32 = 17
    /// Of what workers of agents and the server say to each other.
    static let agentProtocol: Int32 = 1
    package var region = ""
    package var nodeID = ""
    /// For each join and each resume, unless the arrival brings its own.
    package var iceServers: [LiveKitICEServer] = []
    /// Whole seconds, never 0: a client's timer fails at it.
    package var pingInterval: Int32 = 5
    package var pingTimeout: Int32 = 15

    package init() {}
}

/// What a room's connections are made of: the worker's certificate, its port for datagrams and its port for TCP.
package struct RoomTransport: Sendable {
    package var security: any SecurityProvider
    /// Where datagrams for all peers come in, as clients are told it: the port that peers share, under each address. Of
    /// IPv4 the first one is offered, of IPv6 all, as RFC 8445 §5.2 has it for a lite agent.
    package var udpHosts: [TransportAddress]
    /// Where TCP connections are accepted (RFC 6544): on another port, for a path is known by its addresses alone.
    package var tcpHosts: [TransportAddress]
    /// Times of connectivity checks; always of a lite agent.
    package var ice = ICEConfiguration()
    package var congestion = CongestionConfiguration(pacing: .forwarded)
    /// What to add to an `Instant` to get the time since 1970.
    package var wallClockOffset: Interval

    package init(
        security: any SecurityProvider, udpHosts: [TransportAddress], tcpHosts: [TransportAddress] = [],
        wallClockOffset: Interval
    ) {
        self.security = security
        self.udpHosts = udpHosts
        self.tcpHosts = tcpHosts
        self.wallClockOffset = wallClockOffset
    }
}

/// The most that clients can make a room keep. LiveKit's own numbers where it has them.
package struct RoomLimits: Sendable {
    /// Of identities and names, in bytes.
    package var nameBytes = 256
    /// Who come with one person's token beside them, to publish alone.
    package var besideOne = 4
    /// Of a room's or a participant's metadata.
    package var metadataBytes = 512 << 10
    /// Of a participant's attributes, keys and values together.
    package var attributesBytes = 64 << 10
    /// Published tracks and those that are announced, of one participant.
    package var tracksPerParticipant = 64
    /// Of a track's client id, name and stream, each.
    package var trackNameBytes = 256
    /// Of all that a client says of a track.
    package var trackRequestBytes = 16 << 10
    /// Of one participant.
    package var dataTracksPerParticipant = 64
    /// Of the name of an encoding that is not a well-known one.
    package var dataEncodingBytes = 32
    /// Of one message on a data channel.
    package var dataMessageBytes = 64 << 10
    /// That a client opens in one connection.
    package var dataChannels = 16
    /// Sections of sound and pictures in one connection; a description has room for 256 of all kinds
    /// (`SDPLimits.mediaSections`).
    package var transceivers = 250
    /// Of reliable messages that are kept for those who resume, per participant.
    package var replayBytes = 256 << 10
    package var replayMessages = 128
    /// Calls of the server that wait for their answer, in a room.
    package var pendingCalls = 256
    /// Of a room.
    package var agentDispatches = 100

    package init() {}
}
