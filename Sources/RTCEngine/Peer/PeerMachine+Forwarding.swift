public import RTCWire

/// A media packet as it came (`MediaUnit.packets`). Its bytes are in the datagram that `PeerMachine.receive` was given,
/// decrypted where they lay.
public struct ReceivedPacket: Sendable, Equatable {
    public var transceiver: TransceiverID
    /// The layer's place among `ReceiveParameters.layers`; 0 without simulcast.
    public var layer: Int
    /// As it came, but for retransmissions: those have the source, payload type and number of what they repeat.
    public var header: RTPHeader
    /// The number unwrapped: it grows without end, until the source starts over.
    public var sequence: Int64
    /// Where the media's bytes are; empty for a packet that only pads.
    public var payload: Range<Int>
    /// It was lost, and has come on our request.
    public var isRetransmission: Bool

    init(transceiver: TransceiverID, layer: Int, _ packet: PassedPacket) {
        self.transceiver = transceiver
        self.layer = layer
        header = packet.header
        sequence = packet.sequence
        payload = packet.payload
        isRetransmission = packet.isRetransmission
    }
}

/// Packets in and out, where no frames are made of them: what an SFU does.
extension PeerMachine {
    // MARK: In

    /// The media packet of the datagram that `receive` was given last; nil when it was something else, had come before, or
    /// was not to be believed. To be asked after each datagram.
    public mutating func takePacket() -> ReceivedPacket? { received.take() }

    /// The identifiers of the header extensions of what comes in.
    public var receivedExtensions: HeaderExtensionIDs { extensionIDs }

    /// Asks for a key frame of one layer; throttled by the stream.
    public mutating func requestKeyFrame(ofLayer layer: Int, on id: TransceiverID, at now: Instant) {
        if simulcasts[id] == nil {
            receivers[id]?.stream?.requestKeyFrame(into: &packets, at: now)
        } else {
            requestKeyFrames(ofLayersOn: id, at: now, where: { $0 == layer })
        }
        sendPackets(at: now)
    }

    /// What the peer's reports say of a source's clock: the wall clock's time of a moment, and the media's; nil before
    /// the first report.
    public func senderClock(ofLayer layer: Int, on id: TransceiverID) -> (ntp: NTPTimestamp, timestamp: UInt32)? {
        let stream = simulcasts[id].map { $0.layers.indices.contains(layer) ? $0.layers[layer].stream : nil }
        return (stream ?? receivers[id]?.stream)?.remote.clock
    }

    // MARK: Out

    /// Queues a packet that another connection has received; `sendForwarded` lets it leave. Before the transport is up, and
    /// while nothing may be sent on the transceiver, it is passed over.
    ///
    /// - Parameters:
    ///   - payload: the media's bytes.
    ///   - source: the header that the packet came with, `packet` its bytes, and `ids` its connection's
    ///     `receivedExtensions`.
    /// - Returns: whether it was queued: only then is its number used.
    @discardableResult
    public mutating func forward(
        _ head: ForwardedHead, payload: RawSpan, from source: RTPHeader, _ packet: RawSpan, _ ids: HeaderExtensionIDs,
        on id: TransceiverID, at now: Instant
    ) -> Bool {
        guard secure.isProtected, ice.hasConsent, let place = senders.place(of: id),
            senders.entries[place].value?.admitPacket() == true
        else { return false }
        senders.entries[place].value?.stream.forward(
            head, payload: payload, from: source, packet, ids, into: &packets, at: now)
        return true
    }

    /// Sends what `forward` has queued since the last time, as far as the pacer lets it.
    public mutating func sendForwarded(at now: Instant) { sendPackets(at: now) }

    /// The media of this time were captured at that moment; see `SendStream.relate`.
    public mutating func relate(timestamp: UInt32, to moment: Instant, on id: TransceiverID) {
        senders[id]?.stream.relate(timestamp: timestamp, to: moment)
    }

    /// What is forwarded comes from another source from now on.
    public mutating func forgetRelation(on id: TransceiverID) { senders[id]?.stream.forgetRelation() }
}
