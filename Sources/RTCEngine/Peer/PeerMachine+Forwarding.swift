public import RTCWire

/// A media packet as it came, where packets are handed out: what it is and where it belongs. Its bytes are beside it:
/// those that `RTPReceiver.setPacketHandler`'s handler gets, or the datagram that `PeerMachine.receive` was given,
/// decrypted where they lay. The header's ranges are places in them.
public struct ReceivedPacket: Sendable, Equatable {
    public var transceiver: TransceiverID
    /// The layer's place among `ReceiveParameters.layers`; 0 without simulcast.
    public var layer: Int
    public var header: RTPHeader
    /// How the media are packed, by the payload type; nil for redundancy (RFC 2198) and telephone events (RFC 4733).
    public var format: PayloadFormat?
    /// The number unwrapped: it grows without end, until the source starts over.
    public var sequence: Int64
    /// It was lost, and has come on our request.
    public var isRetransmission: Bool
}

/// Packets in (`MediaUnit.packets`, `PeerMachineConfiguration.receivesPackets`) and out (`MediaUnit.packets`), where no
/// frames are made of them: what an SFU does.
extension PeerMachine {
    // MARK: In

    /// The media packet of the datagram that `receive` was given last; nil when it was something else, had come before,
    /// or was not to be believed. To be asked after each datagram.
    ///
    /// - Parameter datagram: the same one. A retransmission is made the packet that it repeats: afterwards it is a
    ///   plain RTP packet of the source in any case.
    public mutating func takePacket(_ datagram: inout [UInt8]) -> ReceivedPacket? {
        guard let (id, layer, passed) = received.take() else { return nil }
        var header = passed.header
        if passed.isRetransmission {
            // RFC 4588 §4: the header is the original's but for three fields, and two bytes stand before the payload.
            let payload = header.headerSize
            datagram.removeSubrange(payload..<payload + 2)
            datagram[1] = datagram[1] & 0x80 | header.payloadType
            datagram.set(uint16: header.sequenceNumber, at: 2)
            datagram.set(uint32: header.ssrc, at: 8)
            guard let original = try? RTPHeader(parsing: datagram.span.bytes) else { return nil }
            header = original
        }
        return ReceivedPacket(
            transceiver: id, layer: layer, header: header, format: passed.format, sequence: passed.sequence,
            isRetransmission: passed.isRetransmission)
    }

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

    /// Queues a packet that another connection has received; `sendForwarded` lets it leave. Before the transport is up,
    /// and while nothing may be sent on the transceiver, it is passed over.
    ///
    /// - Parameters:
    ///   - extensions: appends the header extensions that speak of the media, under the identifiers that it is given.
    ///   - payload: appends the media's bytes.
    /// - Returns: whether it was queued: only then is its number used.
    @discardableResult
    public mutating func forward(
        _ head: ForwardedHead, on id: TransceiverID, at now: Instant,
        extensions: (HeaderExtensionIDs, HeaderExtensionWriter, inout [UInt8]) -> Void,
        payload: (inout [UInt8]) -> Void
    ) -> Bool {
        guard canForward(on: id), let place = senders.place(of: id) else { return false }
        senders.entries[place].value?.beginForwarding()
        senders.entries[place].value?.stream.forward(
            head, extensions: extensions, payload: payload, into: &packets, at: now)
        return true
    }

    /// Whether `forward` would queue a packet now.
    public func canForward(on id: TransceiverID) -> Bool {
        guard secure.isProtected, ice.hasConsent, let place = senders.place(of: id) else { return false }
        return senders.entries[place].value?.phase != .held
    }

    /// How long a packet and its answer take, as the peer's reports on this stream have it; nil before the first.
    public func roundTrip(on id: TransceiverID) -> Interval? { senders[id]?.stream.remote.roundTripTime }

    /// Sends what `forward` has queued since the last time, as far as the pacer lets it.
    public mutating func sendForwarded(at now: Instant) { sendPackets(at: now) }

    /// The media of this time were captured at that moment; see `SendStream.relate`.
    public mutating func relate(timestamp: UInt32, to moment: Instant, on id: TransceiverID) {
        senders[id]?.stream.relate(timestamp: timestamp, to: moment)
    }

    /// What is forwarded comes from another source from now on.
    public mutating func forgetRelation(on id: TransceiverID) { senders[id]?.stream.forgetRelation() }
}
