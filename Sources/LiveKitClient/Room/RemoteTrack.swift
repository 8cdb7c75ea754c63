public import RTCEngine
internal import RTCNetwork
internal import Synchronization

/// A track that we receive, until its subscription ends. Coded frames come out as they were sent.
public final class RemoteTrack: Sendable {
    public let publication: RemoteTrackPublication
    public let participant: RemoteParticipant

    public var sid: TrackSID { publication.sid }
    public var kind: MediaKind { publication.kind }

    private let receiver: RTPReceiver
    private let askForKeyFrame: @Sendable () async -> Void

    /// What ends the streams that are read. A transceiver outlives a track: the server may give it to the next one.
    private struct State {
        var ends: [FrameStreamEnd] = []
        var isEnded = false
    }

    private let state = Mutex(State())

    init(
        publication: RemoteTrackPublication, participant: RemoteParticipant, receiver: RTPReceiver,
        askForKeyFrame: @escaping @Sendable () async -> Void
    ) {
        self.publication = publication
        self.participant = participant
        self.receiver = receiver
        self.askForKeyFrame = askForKeyFrame
    }

    /// The frames from now on, complete and in decoding order; each access is a stream of its own. It ends with the
    /// subscription. Whoever falls more than 1,024 frames or 8 MiB behind goes on at a later key frame, which the
    /// publisher is asked for if none waits.
    public var frames: AsyncStream<EncodedFrame> {
        state.withLock { state -> AsyncStream<EncodedFrame> in
            // What the transceiver carries by now is somebody else's.
            guard !state.isEnded else { return AsyncStream { $0.finish() } }
            state.ends.removeAll(where: \.isOver)
            let (frames, end) = receiver.listen()
            state.ends.append(end)
            return frames
        }
    }

    /// Asks for a picture that a decoder can begin at.
    public func requestKeyFrame() async { await askForKeyFrame() }

    func end() {
        let ends = state.withLock { state in
            state.isEnded = true
            defer { state.ends = [] }
            return state.ends
        }
        for end in ends { end() }
    }
}
