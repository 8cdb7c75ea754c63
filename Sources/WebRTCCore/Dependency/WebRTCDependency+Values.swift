#if canImport(ComposableArchitecture)
    public import ComposableArchitecture
#else
    public import ComposableArchitectureStandIn
#endif

extension WebRTCDependency: DependencyKey {
    /// The engine of this platform.
    public static var liveValue: WebRTCDependency { live }

    #if canImport(WebRTC)
        private static let live = WebRTCDependency(engine: LibWebRTCEngine())
    #else
        private static let live = WebRTCDependency(engine: RoostRTCEngine())
    #endif

    /// Fails the test that calls what it has not replaced.
    public static var testValue: WebRTCDependency {
        WebRTCDependency(
            events: {
                reportIssue("Unimplemented: webRTCEngine.events")
                return AsyncStream { $0.finish() }
            },
            setRemoteOffer: { (offer) async throws(WebRTCError) in
                reportIssue("Unimplemented: webRTCEngine.setRemoteOffer")
                throw .unavailable(reason: "The test gives no setRemoteOffer.")
            },
            addIceCandidate: { (candidate) async throws(WebRTCError) in
                reportIssue("Unimplemented: webRTCEngine.addIceCandidate")
                throw .unavailable(reason: "The test gives no addIceCandidate.")
            },
            disconnect: { _ in reportIssue("Unimplemented: webRTCEngine.disconnect") })
    }

    /// For previews: answers everybody, and nothing ever happens.
    public static var previewValue: WebRTCDependency {
        WebRTCDependency(
            events: { AsyncStream { _ in } },
            setRemoteOffer: { (offer) async throws(WebRTCError) in WebRTCAnswer(to: offer, sdp: "v=0") },
            addIceCandidate: { (candidate) async throws(WebRTCError) in },
            disconnect: { _ in })
    }
}

extension DependencyValues {
    /// What receives video; replace it, or single closures of it, with `withDependencies`.
    public var webRTCEngine: WebRTCDependency {
        get { self[WebRTCDependency.self] }
        set { self[WebRTCDependency.self] = newValue }
    }
}
