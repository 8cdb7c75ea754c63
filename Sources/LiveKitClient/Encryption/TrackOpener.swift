internal import RTCEngine
internal import Synchronization

/// Opens the frames of one track that is encrypted between clients. Pictures go on at one that a decoder can begin at
/// when some could not be opened.
final class TrackOpener: Sendable {
    /// A key frame is asked for at most so often.
    private static let patience = Duration.seconds(1)

    private struct State {
        /// The last picture could not be opened, or followed one that could not.
        var isLost = false
        var askedAt: ContinuousClock.Instant?
    }

    private let keys: KeyProvider
    private let identity: ParticipantIdentity
    private let serverTrailer: [UInt8]
    private let state = Mutex(State())

    init(_ keys: KeyProvider, of identity: ParticipantIdentity, serverTrailer: [UInt8]) {
        self.keys = keys
        self.identity = identity
        self.serverTrailer = serverTrailer
    }

    /// Nil for what cannot be opened, or is of no use by itself.
    func open(_ frame: EncodedFrame, _ askForKeyFrame: @escaping @Sendable () async -> Void) -> EncodedFrame? {
        guard
            let opened = FrameCryptor.open(frame, of: identity, with: keys, serverTrailer: serverTrailer)
        else {
            if frame.format.isVideo { state.withLock { $0.isLost = true } }
            return nil
        }
        guard frame.format.isVideo else { return opened }
        let (isOfUse, asks) = state.withLock { state -> (Bool, Bool) in
            if opened.isKeyFrame { state.isLost = false }
            guard state.isLost else { return (true, false) }
            let now = ContinuousClock.now
            guard state.askedAt.map({ now - $0 >= Self.patience }) ?? true else { return (false, false) }
            state.askedAt = now
            return (false, true)
        }
        if asks { Task { await askForKeyFrame() } }
        return isOfUse ? opened : nil
    }
}
