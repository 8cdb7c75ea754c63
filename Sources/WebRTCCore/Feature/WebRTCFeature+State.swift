#if canImport(ComposableArchitecture)
    public import ComposableArchitecture
#else
    public import ComposableArchitectureStandIn
#endif

extension WebRTCFeature {
    /// Whether media of a peer can arrive.
    public typealias ConnectionState = WebRTCConnectionState

    /// What a view shows.
    public struct State: Equatable, Sendable {
        /// Whose offers were answered, in the order in which they were.
        public var connectedPeers: IdentifiedArrayOf<PeerState> { didSet { _$willModify() } }
        /// Whether events of the engine arrive.
        public var isListening: Bool { didSet { _$willModify() } }
        /// What went wrong last, with one peer; stays until it is dismissed.
        public var error: WebRTCError? { didSet { _$willModify() } }

        var ledger = ConnectionLedger()
        private var registrar = ObservationStateRegistrar()

        public init(
            connectedPeers: IdentifiedArrayOf<PeerState> = [], isListening: Bool = false, error: WebRTCError? = nil
        ) {
            self.connectedPeers = connectedPeers
            self.isListening = isListening
            self.error = error
        }

        /// All peers in one word: the best that any of them has; `new` when there are none.
        public var connectionState: ConnectionState {
            let order: [ConnectionState] = [.connected, .connecting, .new, .disconnected, .failed]
            return order.first { state in connectedPeers.contains { $0.connectionState == state } } ?? .new
        }
    }

    /// One peer.
    public struct PeerState: Identifiable, Equatable, Sendable {
        /// Its name in the signaling: the offer's `from`.
        public let id: String
        /// Whether its media can arrive.
        public var connectionState: ConnectionState
        /// Its pictures; nil while it sends none.
        public var videoTrack: VideoTrackInfo? { videoTracks.last }
        /// All its pictures, the newest last: a camera, and a screen beside it.
        public var videoTracks: [VideoTrackInfo]
        /// Its sound; nil while it sends none.
        public var audioTrack: AudioTrackInfo? { audioTracks.last }
        /// All its sounds, the newest last.
        public var audioTracks: [AudioTrackInfo]
        /// Which of its connections this is.
        public let connection: WebRTCConnectionID

        public init(
            id: String, connectionState: ConnectionState, videoTrack: VideoTrackInfo? = nil,
            audioTrack: AudioTrackInfo? = nil, connection: WebRTCConnectionID? = nil
        ) {
            self.id = id
            self.connectionState = connectionState
            videoTracks = videoTrack.map { [$0] } ?? []
            audioTracks = audioTrack.map { [$0] } ?? []
            self.connection = connection ?? WebRTCConnectionID(userId: id)
        }
    }
}

// What the macro `@ObservableState` would write, for the state as a whole.
extension WebRTCFeature.State: ObservableState {
    public var _$id: ObservableStateID { registrar.id }
    /// Called with each change: gives the state as a whole another identity, so that views look again.
    public mutating func _$willModify() { registrar._$willModify() }
}
