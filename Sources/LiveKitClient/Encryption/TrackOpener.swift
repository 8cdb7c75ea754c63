internal import RTCEngine
internal import RTCWire
internal import Synchronization

/// Opens the frames of one track that is encrypted between clients, for any number of listeners. Pictures go on at one
/// that a decoder can begin at when some could not be opened.
final class TrackOpener: Sendable {
    /// A key frame is asked for at most so often.
    private static let patience = Duration.seconds(1)

    private let keys: KeyProvider
    private let identity: ParticipantIdentity
    private let serverTrailer: [UInt8]
    private let askedAt = Mutex<ContinuousClock.Instant?>(nil)

    init(_ keys: KeyProvider, of identity: ParticipantIdentity, serverTrailer: [UInt8]) {
        self.keys = keys
        self.identity = identity
        self.serverTrailer = serverTrailer
    }

    /// What one listener gets of each frame: nothing of what cannot be opened, or is of no use by itself.
    func listener(
        _ askForKeyFrame: @escaping @Sendable () async -> Void
    ) -> @Sendable (EncodedFrame) -> EncodedFrame? {
        let isLost = Flag()
        return { [self] frame in
            guard
                let opened = FrameCryptor.open(frame, of: identity, with: keys, serverTrailer: serverTrailer)
            else {
                if frame.format.isVideo { isLost.value.withLock { $0 = true } }
                return nil
            }
            guard frame.format.isVideo, !opened.isKeyFrame else {
                isLost.value.withLock { $0 = false }
                return opened
            }
            guard isLost.value.withLock({ $0 }) else { return opened }
            // On a thread that cannot wait; it asks at most once in `patience`.
            if mayAsk() { Task { await askForKeyFrame() } }
            return nil
        }
    }

    /// The last picture could not be opened, or followed one that could not.
    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    private func mayAsk() -> Bool {
        askedAt.withLock { askedAt in
            let now = ContinuousClock.now
            guard askedAt.map({ now - $0 >= Self.patience }) ?? true else { return false }
            askedAt = now
            return true
        }
    }
}
