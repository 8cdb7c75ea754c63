package import RTCEngine
internal import Synchronization

/// The frames of one track, as streams that end with it. A transceiver outlives a track: what it carries by then is
/// another one's.
package final class TrackFrames: Sendable {
    private struct State {
        var ends: [FrameStreamEnd] = []
        var isEnded = false
    }

    private let receiver: RTPReceiver
    private let transform: (@Sendable () -> @Sendable (EncodedFrame) -> EncodedFrame?)?
    private let state = Mutex(State())

    /// - Parameter transform: makes for each listener what says what it gets of each frame, or nothing.
    package init(
        of receiver: RTPReceiver, transform: (@Sendable () -> @Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) {
        self.receiver = receiver
        self.transform = transform
    }

    /// As `RTPReceiver.frames`, until `end` at the latest.
    package func stream() -> AsyncStream<EncodedFrame> { listen().frames }

    /// The same, with what ends it alone, and what counts the frames that its reader does not take in time.
    package func listen() -> (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames) {
        state.withLock { state -> (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames) in
            guard !state.isEnded else {
                let nothing = AsyncStream<EncodedFrame> { $0.finish() }
                return (nothing, .nothing, MissedFrames())
            }
            state.ends.removeAll(where: \.isOver)
            let (frames, end, missed) = receiver.listen(transform: transform?())
            state.ends.append(end)
            return (frames, end, missed)
        }
    }

    /// What waits is still taken.
    package func end() {
        let ends = state.withLock { state in
            state.isEnded = true
            defer { state.ends = [] }
            return state.ends
        }
        for end in ends { end() }
    }
}
