public import RTCEngine

/// One m-line: a way to send and a way to receive (W3C: RTCRtpTransceiver). A handle: it may be kept and passed around,
/// and does nothing once its connection is closed.
public struct RTPTransceiver: Sendable, Hashable, Identifiable {
    /// Unique in its connection.
    public let id: TransceiverID
    /// Sound or pictures.
    public let kind: MediaKind
    /// What goes to the peer.
    public let sender: RTPSender
    /// What comes from the peer.
    public let receiver: RTPReceiver

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.receiver === rhs.receiver }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(receiver)) }
}

/// Sends coded frames on one transceiver (W3C: RTCRtpSender, with the frames of RTCRtpScriptTransform).
public struct RTPSender: Sendable {
    let transceiver: TransceiverID
    weak let connection: PeerConnection?

    /// Packs and sends one frame now; a file's player or an encoder sets the pace, and `frame.timestamp` tells the peer
    /// when it belongs. Nothing is queued: until the connection is up, and while the peer does not answer, frames are
    /// passed over without an error, and video goes on at the next key frame.
    ///
    /// - Throws: `PeerConnectionError.peer(.notSending)` when nothing is negotiated yet, or another format is;
    ///   `.peer(.closed)` once the connection is closed or gone.
    public func send(_ frame: EncodedFrame) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.send(frame, on: transceiver)
    }

    /// Sends a frame of one simulcast layer, as `send(_:)` does. A layer that is not active, or that the peer did not
    /// take, passes it over.
    ///
    /// - Throws: `.peer(.unknownLayer)` for a name that the transceiver was not made with.
    public func send(_ frame: EncodedFrame, rid: String) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.send(frame, layer: rid, on: transceiver)
    }

    /// Switches a simulcast layer on or off, at once (W3C: setParameters). One that is switched on begins at a key frame,
    /// which the connection asks for.
    public func setLayer(_ rid: String, isActive: Bool) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.setLayer(rid, isActive: isActive, on: transceiver)
    }

    /// Presses telephone keys (W3C: RTCDTMFSender.insertDTMF). They go in the place of sound; keys that still waited are
    /// dropped.
    ///
    /// - Throws: `PeerConnectionError.peer(.notSending)` while the connection is not up, or when the peer takes no
    ///   telephone events beside the codec in use.
    public func dial(_ keys: DialedKeys) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.dial(keys, on: transceiver)
    }
}

/// Receives coded frames on one transceiver (W3C: RTCRtpReceiver).
public final class RTPReceiver: Sendable {
    /// Sound or pictures.
    public let kind: MediaKind
    let frameBroadcast = FrameBroadcast()
    /// The telephone keys that the peer presses and lets go, for one reader; the newest 64 wait for it.
    public let tones: AsyncStream<ReceivedTone>
    let toneSource: AsyncStream<ReceivedTone>.Continuation

    init(kind: MediaKind) {
        self.kind = kind
        (tones, toneSource) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    }

    /// Nothing more will come.
    func finish() {
        frameBroadcast.finish()
        toneSource.finish()
    }

    /// The frames from now on, complete and in decoding order; each access is a stream of its own, and the first one has
    /// what came before it. A listener that falls more than 1,024 frames or 8 MiB behind goes on at a later key frame,
    /// which the peer is asked for if none waits; what it missed counts as `framesDropped` in the statistics.
    public var frames: AsyncStream<EncodedFrame> { frameBroadcast.stream() }
}
