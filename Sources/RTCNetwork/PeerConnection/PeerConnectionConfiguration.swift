public import RTCEngine
public import RTCSecurity
public import RTCWire

/// What a `PeerConnection` is made with (W3C: RTCConfiguration). The defaults place a call on a local network.
public struct PeerConnectionConfiguration: Sendable {
    /// A server that helps to find a path (W3C: RTCIceServer).
    public struct ICEServer: Sendable, Equatable {
        /// `stun:host`, `stun:host:port`, `stun:[v6]:port`, and likewise `turn:` (over UDP, or TCP with
        /// `?transport=tcp`) and `turns:` (over TLS). Anything else fails `setLocalDescription` with
        /// `PeerConnectionError.iceServer`.
        public var urls: [String]
        /// For TURN servers.
        public var username: String?
        /// The password for TURN servers.
        public var credential: String?

        public init(urls: [String], username: String? = nil, credential: String? = nil) {
            self.urls = urls
            self.username = username
            self.credential = credential
        }

        /// Throws `PeerConnectionError.iceServer` for the first URL that a connection would refuse: for those who would
        /// rather know it before the call.
        public func check() throws(PeerConnectionError) {
            for url in urls {
                guard TURNServerURL.isMeant(by: url) else {
                    _ = try STUNServerURL(url)
                    continue
                }
                _ = try TURNServerURL(url)
                guard username != nil, credential != nil else { throw .iceServerCredential(url) }
            }
        }
    }

    /// On which of the host's addresses candidates are gathered.
    public enum Addresses: Sendable, Equatable {
        /// All that are not loopback, as browsers do; loopback when the host has nothing else.
        case automatic
        /// All, loopback among them: for peers on the same machine.
        case all
        /// Just these.
        case only([IPAddress])
    }

    /// Whether TCP is offered beside UDP (RFC 6544), for networks that let no UDP through.
    public enum TCPCandidates: Sendable, Equatable {
        case none
        /// Connections are made to peers that accept them, as browsers do.
        case active
        /// And accepted: on this port of each address, 0 for any that is free. For servers.
        case activeAndPassive(port: UInt16)
    }

    /// Servers that tell the address under which the peer sees us, or that relay for us. None are needed on a local
    /// network.
    public var iceServers: [ICEServer]
    /// `.relay`: nothing but TURN servers is used, and the peer learns no address of ours.
    public var iceTransportPolicy = ICETransportPolicy.all
    /// A file of certificates (PEM) that `turns:` servers are checked against, in place of the system's.
    public var turnCertificateAuthorities: String?
    /// On which of the host's addresses sockets are opened.
    public var addresses: Addresses
    /// Whether TCP is offered beside UDP; not unless it is asked for.
    public var tcp = TCPCandidates.none
    /// Times and limits of connectivity checks. With `ice.isLite` this connection leaves the search for a path to its
    /// peer and asks no ICE server: for servers with a public address.
    public var ice: ICEConfiguration
    /// What is offered and accepted for sound, best first.
    public var audioCodecs: [CodecParameters]
    /// How many earlier packets of sound go with each, where redundancy is negotiated and preferred (RFC 2198).
    public var redundancyDepth = 1
    /// All layers of a simulcast that a peer offers are received, each frame with its layer's name, as a server wants
    /// it; otherwise one, which is enough to see the picture.
    public var receivesSimulcast = false
    /// What comes in as: whole frames (`RTPReceiver.frames`), or the packets as they come
    /// (`RTPReceiver.setPacketHandler`), for those who record or pass on RTP itself. Frames go out either way.
    public var receives = MediaUnit.frames
    /// What is offered and accepted for pictures, best first.
    public var videoCodecs: [CodecParameters]
    /// Our certificate and the SRTP profiles that we accept. Shared by connections that are given the same value.
    public var security: OpenSSLSecurity
    /// What is sent before the path is known, the limits of what is sent, and pacing.
    public var congestion = CongestionConfiguration()
    /// Whether data channels are accepted, and their limits.
    public var dataChannels = DataChannelConfiguration()

    public init(
        iceServers: [ICEServer] = [], addresses: Addresses = .automatic, ice: ICEConfiguration = ICEConfiguration(),
        audioCodecs: [CodecParameters] = CodecParameters.defaultAudio,
        videoCodecs: [CodecParameters] = CodecParameters.defaultVideo,
        security: OpenSSLSecurity? = nil
    ) throws(PeerConnectionError) {
        self.iceServers = iceServers
        self.addresses = addresses
        self.ice = ice
        self.audioCodecs = audioCodecs
        self.videoCodecs = videoCodecs
        do {
            self.security = try security ?? OpenSSLSecurity()
        } catch {
            throw .certificate("\(error)")
        }
    }
}

extension PeerMachineConfiguration {
    /// Relates the loop's clock to the wall clock once, so that a step of the latter does not disturb a call.
    init(_ configuration: PeerConnectionConfiguration) {
        var ice = configuration.ice
        ice.transportPolicy = configuration.iceTransportPolicy
        var negotiation = NegotiatorConfiguration(
            fingerprint: configuration.security.localFingerprint, audioCodecs: configuration.audioCodecs,
            videoCodecs: configuration.videoCodecs)
        negotiation.dataChannels = configuration.dataChannels
        negotiation.receivesSimulcast = configuration.receivesSimulcast
        self.init(
            ice: ice, negotiation: negotiation,
            wallClockOffset: NetworkLoop.wallClockOffset,
            congestion: configuration.congestion)
        redundancyDepth = configuration.redundancyDepth
        receivesPackets = configuration.receives == .packets
    }
}
