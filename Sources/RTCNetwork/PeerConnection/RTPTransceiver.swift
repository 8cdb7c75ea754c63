public import RTCEngine
internal import Synchronization

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

    /// Hands a frame to the connection without waiting for its thread: for an encoder's callback. While that thread
    /// sleeps, the frame is packed and sent on the caller's, which takes some microseconds a packet and spares waking
    /// the other; else it is left there. Frames leave in the order in which they were handed over. One that `send`
    /// would refuse is passed over.
    ///
    /// - Parameter rid: the simulcast layer, where there are some.
    /// - Returns: false when the frame was not taken: the connection is gone, or its thread is 256 frames or 8 MiB
    ///   behind. The next pictures refer to the missing one, so continue with a key frame.
    @discardableResult
    public func enqueue(_ frame: EncodedFrame, rid: String? = nil) -> Bool {
        guard let connection, !connection.isOver.load(ordering: .relaxed) else { return false }
        return connection.frameOutbox.append(
            FrameOutbox.Entry(frame: frame, rid: rid, transceiver: transceiver), for: connection)
    }

    /// Switches a simulcast layer on or off, at once (W3C: setParameters). One that is switched on begins at a key
    /// frame, which the connection asks for.
    public func setLayer(_ rid: String, isActive: Bool) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.setLayer(rid, isActive: isActive, on: transceiver)
    }

    /// Presses telephone keys (W3C: RTCDTMFSender.insertDTMF). They go in the place of sound; keys that still waited
    /// are dropped.
    ///
    /// - Throws: `PeerConnectionError.peer(.notSending)` while the connection is not up, or when the peer takes no
    ///   telephone events beside the codec in use.
    public func dial(_ keys: DialedKeys) async throws(PeerConnectionError) {
        guard let connection else { throw .peer(.closed) }
        try await connection.dial(keys, on: transceiver)
    }
}

/// Receives coded frames, or their packets, on one transceiver (W3C: RTCRtpReceiver).
public final class RTPReceiver: Sendable {
    /// Sound or pictures.
    public let kind: MediaKind
    let frameBroadcast = FrameBroadcast()
    /// The telephone keys that the peer presses and lets go, for one reader; the newest 64 wait for it.
    public let tones: AsyncStream<ReceivedTone>
    let toneSource: AsyncStream<ReceivedTone>.Continuation
    private let packets = Mutex(PacketReader())

    /// In a structure: a function that is read out of a `Mutex` by itself is wrapped anew each time.
    private struct PacketReader {
        var handler: PacketHandler?
        var isFinished = false
    }

    init(kind: MediaKind) {
        self.kind = kind
        (tones, toneSource) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    }

    /// Nothing more will come. What the handler keeps alive is let go.
    func finish() {
        frameBroadcast.finish()
        toneSource.finish()
        replaceHandler(with: nil, isFinished: true)
    }

    /// The old handler goes outside of the lock: it may be the last to hold on to the connection, and so to this.
    private func replaceHandler(with handler: PacketHandler?, isFinished: Bool = false) {
        let old = packets.withLock { packets in
            let old = packets
            packets.handler = packets.isFinished ? nil : handler
            packets.isFinished = packets.isFinished || isFinished
            return old
        }
        withExtendedLifetime(old) {}
    }

    func hand(_ packet: ReceivedPacket, _ bytes: RawSpan) {
        // Called outside the lock: a handler may put another one in its place.
        packets.withLock { $0.handler }?(packet, bytes)
    }

    /// The frames from now on, complete and in decoding order; each access is a stream of its own, and the first one
    /// has what came before it. A listener that falls more than 1,024 frames or 8 MiB behind goes on at a later key
    /// frame, which the peer is asked for if none waits; what it missed counts as `framesDropped` in the statistics.
    public var frames: AsyncStream<EncodedFrame> { frameBroadcast.stream() }

    /// As `frames`, for a caller that may end the stream before the receiver ends: a transceiver may go on with another
    /// track. With what counts the frames that its listener does not take in time.
    ///
    /// - Parameter transform: what the listener gets of each frame, or nothing (W3C: RTCRtpScriptTransform).
    package func listen(
        transform: (@Sendable (EncodedFrame) -> EncodedFrame?)? = nil
    ) -> (frames: AsyncStream<EncodedFrame>, end: FrameStreamEnd, missed: MissedFrames) {
        frameBroadcast.listen(transform: transform)
    }

    // MARK: Packets

    /// Takes one RTP packet: what it is, and its bytes as the peer's packetizer wrote them, header and all.
    public typealias PacketHandler = @Sendable (_ packet: ReceivedPacket, _ bytes: RawSpan) -> Void

    /// Calls `handler` with every packet that comes from now on, where the connection was configured with
    /// `receives = .packets`; otherwise never. There is one handler; nil takes none. Packets that come while there is
    /// none are lost, so it is set when `PeerConnectionEvent.track` comes, before the answer is made.
    ///
    /// Packets come each once, in the order of their arrival, decrypted, and retransmissions as the packets that they
    /// repeat. Losses have been asked for; key frames are asked for by `PeerConnection.requestKeyFrame`.
    ///
    /// The handler is called on the connection's `loop`, between reading a datagram and the next one, and other
    /// connections wait for it too: it does what takes microseconds, does not block, and hands on the rest. The bytes
    /// are only valid during the call; copy what you want to keep. In it the connection may be used
    /// by `assumeIsolated`, and closed; after that it is not called again.
    ///
    /// A handler that holds the connection strongly keeps it until it is closed, or until there is another handler.
    public func setPacketHandler(_ handler: PacketHandler?) { replaceHandler(with: handler) }
}
