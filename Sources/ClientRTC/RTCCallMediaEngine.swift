public import ClientKit
public import RTCEngine
public import RTCNetwork

/// `ClientKit`'s media over Roost's own `PeerConnection`: plays files as camera and microphone, and hands what comes in
/// to a sink, such as a recorder. For the command line, bots and tests; an app plugs in a camera engine instead.
public struct RTCCallMediaEngine: CallMediaEngine {
    private let configuration: PeerConnectionConfiguration
    private let media: CallMedia
    private let restartsICEAfter: Interval?
    private let makeSink: @Sendable () -> (any CallFrameSink)?

    /// - Parameters:
    ///   - restartsICEAfter: restarts ICE once, this long after the call connected; for tests of other peers.
    ///   - sink: makes a sink for each call; nil when nothing listens.
    public init(
        configuration: PeerConnectionConfiguration, media: CallMedia, restartsICEAfter: Interval? = nil,
        sink: @escaping @Sendable () -> (any CallFrameSink)? = { nil }
    ) {
        // A call is sound and pictures.
        var configuration = configuration
        configuration.dataChannels.acceptsOffers = false
        self.configuration = configuration
        self.media = media
        self.restartsICEAfter = restartsICEAfter
        self.makeSink = sink
    }

    public func makeSession() async throws(CallMediaError) -> any CallMediaSession {
        let session = RTCCallMediaSession(
            connection: PeerConnection(configuration: configuration), media: media, restartsICEAfter: restartsICEAfter,
            sink: makeSink())
        await session.start()
        return session
    }
}
