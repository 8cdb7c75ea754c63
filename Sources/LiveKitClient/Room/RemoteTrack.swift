public import RTCEngine
package import RTCNetwork

/// A track that we receive, until its subscription ends. Coded frames come out as they were sent.
public final class RemoteTrack: Sendable {
    /// What the server told of the track, as it was when the subscription began.
    public let publication: RemoteTrackPublication
    /// Who publishes the track, as the server told of them when the subscription began.
    public let participant: RemoteParticipant

    /// What the server calls the track.
    public var sid: TrackSID { publication.sid }
    /// Audio or video.
    public var kind: MediaKind { publication.kind }

    /// Its frames come as they can be decoded: it is not encrypted, or we have keys (`ConnectOptions.encryption`). With
    /// other keys than its publisher's none come, and with keys none of a track that is not encrypted.
    public let isReadable: Bool

    /// The server may give the transceiver to the next one.
    private let received: TrackFrames
    private let askForKeyFrame: @Sendable () async -> Void

    init(
        publication: RemoteTrackPublication, participant: RemoteParticipant, receiver: RTPReceiver,
        opener: TrackOpener? = nil, askForKeyFrame: @escaping @Sendable () async -> Void
    ) {
        self.publication = publication
        self.participant = participant
        isReadable = !publication.isEncrypted || opener != nil
        var listeners: (@Sendable () -> @Sendable (EncodedFrame) -> EncodedFrame?)?
        if let opener { listeners = { opener.listener(askForKeyFrame) } }
        received = TrackFrames(of: receiver, transform: listeners)
        self.askForKeyFrame = askForKeyFrame
    }

    /// The frames from now on, complete and in decoding order; each access is a stream of its own. It ends with the
    /// subscription. A reader that falls more than 1,024 frames or 8 MiB behind continues at a later key frame, which
    /// the publisher is asked for if none waits.
    public var frames: AsyncStream<EncodedFrame> { received.stream() }

    /// As `frames`, with what ends the stream before the subscription does, and what counts those that its reader does
    /// not take in time.
    package func listen() -> (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames) {
        received.listen()
    }

    /// Asks the publisher for a key frame, at which a decoder can begin; for video alone.
    public func requestKeyFrame() async { await askForKeyFrame() }

    func end() { received.end() }
}
