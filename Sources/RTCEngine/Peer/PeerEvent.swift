public import RTCWire

/// What a `PeerMachine` has to tell, oldest first. None comes after the connection state `closed`.
public enum PeerEvent: Sendable {
    case signalingStateChanged(SignalingState)
    /// The reasons are for a log: they name no address and no secret.
    case iceConnectionStateChanged(ICEConnectionState, because: String)
    case iceGatheringStateChanged(ICEGatheringState)
    case connectionStateChanged(PeerConnectionState, because: String)
    /// A candidate for the peer, with the m-line it belongs to.
    case localCandidate(ICECandidate, mid: String, mLineIndex: Int)
    /// No more of them follow for this generation (RFC 8838 §13). The peer is to be told of which: what is told of
    /// another one may come late.
    case endOfLocalCandidates(CandidatePlace)
    /// A candidate of the peer's shows this name: look it up by multicast DNS, and tell `PeerMachine.nameResolved`.
    case nameToResolve(String)
    /// A TURN server gave no candidate, or its address is lost. Everything else goes on.
    case iceCandidateError(ICEServerError)
    case negotiationNeeded
    /// The peer sends on this transceiver from now on, or what it sends is in other streams.
    case trackAdded(TransceiverID)
    /// The peer has stopped sending on this transceiver, or our answer does not take what it sends.
    case trackRemoved(TransceiverID)
    /// A complete frame, in decoding order.
    case frame(TransceiverID, EncodedFrame)
    /// The peer pressed a telephone key, or let it go.
    case tone(TransceiverID, ReceivedTone)
    /// The peer, or we ourselves after the transport came up, want a frame that decoding can begin at.
    case keyFrameRequested(TransceiverID)
    /// The peer misses a packet that was forwarded on this transceiver, with this number.
    case packetRequested(TransceiverID, UInt16)
    /// What the encoders should make from now on. Files are sent as they are, whatever this says.
    case targetBitrateChanged(TargetBitrate)
    /// What happens on a data channel.
    case dataChannel(DataChannelID, DataChannelEvent)
}

/// A datagram to send.
public struct Transmit: Sendable {
    public var bytes: [UInt8]
    /// The bound address of the socket to send on; without meaning on a stream.
    public var from: TransportAddress
    public var to: TransportAddress
    /// To be written before the bytes (RFC 8656 §12.4): whoever sends copies them anyway, so the packet need not be
    /// moved.
    public var channel: ChannelDataHeader?
    /// To a TURN server over this stream, channel data with padding, instead of from a socket.
    public var stream: RelayStreamID?

    package init(
        bytes: [UInt8], from: TransportAddress, to: TransportAddress, channel: ChannelDataHeader? = nil,
        stream: RelayStreamID? = nil
    ) {
        self.bytes = bytes
        self.from = from
        self.to = to
        self.channel = channel
        self.stream = stream
    }
}
