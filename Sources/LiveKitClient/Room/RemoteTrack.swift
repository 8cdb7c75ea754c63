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

    /// The streams that are being read, and the tasks that fill them. A transceiver outlives a track: the server may
    /// give it to the next one.
    private struct State {
        var readers: [Int: (AsyncStream<EncodedFrame>.Continuation, Task<Void, Never>)] = [:]
        var nextID = 0
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
    /// subscription. Whoever is 1,024 frames behind loses the oldest.
    public var frames: AsyncStream<EncodedFrame> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: EncodedFrame.self, bufferingPolicy: .bufferingNewest(1_024))
        state.withLock { state in
            guard !state.isEnded else { return continuation.finish() }
            let incoming = receiver.frames
            let task = Task {
                for await frame in incoming { continuation.yield(frame) }
                continuation.finish()
            }
            let id = state.nextID
            state.nextID += 1
            state.readers[id] = (continuation, task)
            continuation.onTermination = { [weak self] _ in
                task.cancel()
                self?.state.withLock { state in _ = state.readers.removeValue(forKey: id) }
            }
        }
        return stream
    }

    /// Asks for a picture that a decoder can begin at.
    public func requestKeyFrame() async { await askForKeyFrame() }

    func end() {
        let readers = state.withLock { state in
            state.isEnded = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for (continuation, task) in readers {
            task.cancel()
            continuation.finish()
        }
    }
}
