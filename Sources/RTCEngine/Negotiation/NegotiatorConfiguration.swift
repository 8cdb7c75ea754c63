internal import RTCWire

/// A header extension that we are ready to use.
public struct HeaderExtensionCapability: Sendable, Hashable {
    public var uri: String
    /// The identifier that our offers give it if it is free.
    public var preferredID: UInt8
    public var kinds: Set<MediaKind>

    public init(uri: String, preferredID: UInt8, kinds: Set<MediaKind> = [.audio, .video]) {
        self.uri = uri
        self.preferredID = preferredID
        self.kinds = kinds
    }
}

/// What a negotiator offers and accepts.
public struct NegotiatorConfiguration: Sendable {
    /// Our certificate's hash.
    public var fingerprint: Fingerprint
    /// In the order of preference.
    public var audioCodecs: [CodecParameters]
    /// In the order of preference.
    public var videoCodecs: [CodecParameters]
    public var headerExtensions: [HeaderExtensionCapability]
    /// The canonical name of our sources (RFC 7022); nil for a random one.
    public var cname: String?
    /// The part we take in the DTLS handshake when the offerer leaves the choice to us. RFC 8842 §5.3 recommends
    /// `.client`, which saves half a round trip.
    public var answeringDTLSRole: DTLSRole
    /// The tokens of our `a=ice-options` line.
    public var iceOptions: [String]
    /// Our agent is lite, and our descriptions say so (RFC 8839 §5.3). A peer that is lite too is refused.
    public var isICELite: Bool
    /// How many transceivers, ours and the peer's, one connection may have.
    public var maximumTransceivers: Int
    /// Data channels: whether they are taken, and the limits that we tell and keep.
    public var dataChannels = DataChannelConfiguration()
    /// All layers of an offered simulcast are received, each as frames with its name, as a server wants it; otherwise
    /// one.
    public var receivesSimulcast = false
    /// H.264 Baseline that is offered is taken for Constrained Baseline, which is what senders of WebRTC make. For
    /// whoever only answers: a later offer of ours has Constrained Baseline alone, which such a peer may reject.
    public var takesBaseline = false

    public init(
        fingerprint: Fingerprint, audioCodecs: [CodecParameters] = CodecParameters.defaultAudio,
        videoCodecs: [CodecParameters] = CodecParameters.defaultVideo,
        headerExtensions: [HeaderExtensionCapability] = Self.defaultHeaderExtensions, cname: String? = nil,
        answeringDTLSRole: DTLSRole = .client, iceOptions: [String] = ["trickle", "ice2"],
        isICELite: Bool = false, maximumTransceivers: Int = 255
    ) {
        self.fingerprint = fingerprint
        self.audioCodecs = audioCodecs
        self.videoCodecs = videoCodecs
        self.headerExtensions = headerExtensions
        self.cname = cname
        self.answeringDTLSRole = answeringDTLSRole
        self.iceOptions = iceOptions
        self.isICELite = isICELite
        self.maximumTransceivers = maximumTransceivers
    }

    /// What the streams of this engine write and read.
    public static let defaultHeaderExtensions = [
        HeaderExtensionCapability(uri: HeaderExtensionURI.audioLevel, preferredID: 1, kinds: [.audio]),
        HeaderExtensionCapability(uri: HeaderExtensionURI.absoluteSendTime, preferredID: 2),
        HeaderExtensionCapability(uri: HeaderExtensionURI.transportSequence, preferredID: 3),
        HeaderExtensionCapability(uri: HeaderExtensionURI.mid, preferredID: 4),
        HeaderExtensionCapability(uri: HeaderExtensionURI.rid, preferredID: 5, kinds: [.video]),
        HeaderExtensionCapability(uri: HeaderExtensionURI.repairedRID, preferredID: 6, kinds: [.video]),
        HeaderExtensionCapability(uri: HeaderExtensionURI.videoOrientation, preferredID: 7, kinds: [.video]),
        HeaderExtensionCapability(uri: HeaderExtensionURI.playoutDelay, preferredID: 8, kinds: [.video]),
        HeaderExtensionCapability(uri: HeaderExtensionURI.absoluteCaptureTime, preferredID: 9),
        HeaderExtensionCapability(uri: HeaderExtensionURI.dependencyDescriptor, preferredID: 10, kinds: [.video]),
    ]

    /// The names of layers are of use only where there are layers.
    func extensions(withLayers: Bool) -> [HeaderExtensionCapability] {
        let names = [HeaderExtensionURI.rid, HeaderExtensionURI.repairedRID]
        return withLayers ? headerExtensions : headerExtensions.filter { !names.contains($0.uri) }
    }

    func codecs(for kind: MediaKind) -> [CodecParameters] {
        switch kind {
        case .audio: audioCodecs
        case .video: videoCodecs
        }
    }
}
