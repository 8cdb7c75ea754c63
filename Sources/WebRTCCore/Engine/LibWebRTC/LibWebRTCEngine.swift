#if canImport(WebRTC)
    @preconcurrency internal import WebRTC

    /// The engine on Apple's platforms: libwebrtc, with its hardware decoders.
    typealias LibWebRTCEngine = ReceivingEngine<LibWebRTCConnection>

    extension LibWebRTCEngine {
        /// - Parameter stunServers: `stun:host:port`; none are needed on a local network.
        init(stunServers: [String] = []) {
            let factory = LibWebRTCFactory(stunServers: stunServers)
            self.init { () async throws(Refusal) in try LibWebRTCConnection(factory: factory) }
        }
    }

    /// Makes connections. Unchecked: what it holds is made once, and the library's factory hands every call to threads
    /// of its own.
    final class LibWebRTCFactory: @unchecked Sendable {
        private let factory: RTCPeerConnectionFactory
        private let stunServers: [String]

        init(stunServers: [String]) {
            RTCInitializeSSL()
            self.stunServers = stunServers
            factory = RTCPeerConnectionFactory(
                encoderFactory: RTCDefaultVideoEncoderFactory(), decoderFactory: RTCDefaultVideoDecoderFactory())
        }

        func makeConnection(delegate: LibWebRTCDelegate) -> RTCPeerConnection? {
            let configuration = RTCConfiguration()
            configuration.sdpSemantics = .unifiedPlan
            configuration.bundlePolicy = .maxBundle
            // A phone goes from one network into another. Gathering never ends so, and no end of candidates is told.
            configuration.continualGatheringPolicy = .gatherContinually
            if !stunServers.isEmpty { configuration.iceServers = [RTCIceServer(urlStrings: stunServers)] }
            let constraints = RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
            return factory.peerConnection(with: configuration, constraints: constraints, delegate: delegate)
        }
    }

    extension WebRTCDependency {
        /// Receives by libwebrtc, with STUN servers of your choice (`stun:host:port`).
        public static func live(stunServers: [String]) -> WebRTCDependency {
            WebRTCDependency(engine: LibWebRTCEngine(stunServers: stunServers))
        }
    }
#endif
