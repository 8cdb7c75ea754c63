#if !canImport(WebRTC)
    public import RTCEngine

    /// What a peer sends on one track, as coded frames: for recorders, decoders and tests.
    public struct RemoteTrack: Identifiable, Sendable {
        /// Unique among the tracks of its connection.
        public let id: String
        private let makeFrames: @Sendable () -> AsyncStream<EncodedFrame>
        private let askForKeyFrame: @Sendable () async -> Void

        /// - Parameters:
        ///   - frames: a stream for each listener.
        ///   - requestKeyFrame: asks the sender for a picture that decoding can begin at.
        public init(
            id: String, frames: @escaping @Sendable () -> AsyncStream<EncodedFrame>,
            requestKeyFrame: @escaping @Sendable () async -> Void = {}
        ) {
            self.id = id
            makeFrames = frames
            askForKeyFrame = requestKeyFrame
        }

        /// The frames from now on, complete and in decoding order; each access is a stream of its own. It ends with the
        /// track: one that its peer takes back and sends again is another one.
        public var frames: AsyncStream<EncodedFrame> { makeFrames() }

        /// Asks the sender for a picture that decoding can begin at. Means nothing for sound.
        public func requestKeyFrame() async { await askForKeyFrame() }
    }
#endif
