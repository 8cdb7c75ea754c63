#if !canImport(WebRTC)
    public import RTCNetwork

    /// The engine where there is no libwebrtc: Roost's own WebRTC.
    typealias RoostRTCEngine = ReceivingEngine<RoostConnection>

    extension RoostRTCEngine {
        init(configuration: PeerConnectionConfiguration) {
            self.init { () async throws(Refusal) in RoostConnection(configuration: configuration) }
        }

        /// With the default configuration; its certificate is made with the first connection.
        init() {
            let configuration = LazyConfiguration()
            self.init { () async throws(Refusal) in RoostConnection(configuration: try await configuration.value()) }
        }
    }

    private actor LazyConfiguration {
        private var made: PeerConnectionConfiguration?

        func value() throws(Refusal) -> PeerConnectionConfiguration {
            if let made { return made }
            do throws(PeerConnectionError) {
                let configuration = try PeerConnectionConfiguration()
                made = configuration
                return configuration
            } catch {
                throw Refusal(reason: "\(error)")
            }
        }
    }

    extension WebRTCDependency {
        /// Receives by Roost's own WebRTC, with servers, addresses and codecs of your choice.
        public static func live(configuration: PeerConnectionConfiguration) -> WebRTCDependency {
            WebRTCDependency(engine: RoostRTCEngine(configuration: configuration))
        }
    }
#endif
