public import RTCWire

/// The part of a forwarded packet's header that whoever forwards it decides.
public struct ForwardedHead: Sendable, Hashable {
    public var sequenceNumber: UInt16
    public var timestamp: UInt32
    public var marker: Bool
    /// Nil for the stream's own; another one for telephone events and redundancy.
    public var payloadType: UInt8?
    /// The packet was sent before, and the peer has missed it.
    public var isRepeat: Bool
    /// An element of the header extension has more bytes than the one-byte form holds (RFC 8285 §4.2): the other form
    /// is used if it was negotiated, or the element is left out.
    public var hasLongElements = false
    /// A key frame begins: it answers what the peer has asked for so far.
    public var startsKeyFrame = false
    /// No media but padding, to fill a place in the sequence: the payload's last byte counts it (RFC 3550 §5.1).
    public var isPadding = false
    /// How many packets are forwarded together, itself among them: with enough of them a probe begins where there is no
    /// padding to begin it with.
    public var batch = 1

    public init(
        sequenceNumber: UInt16, timestamp: UInt32, marker: Bool, payloadType: UInt8? = nil, isRepeat: Bool = false
    ) {
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.marker = marker
        self.payloadType = payloadType
        self.isRepeat = isRepeat
    }
}

/// Packets that another connection has received, sent on under this stream's names.
extension SendStream {
    /// Queues a packet. The stream gives it its source, payload type, section and times, the caller the rest.
    ///
    /// Numbers and times must be those of one stream, which is the caller's business: each number once, but for
    /// repeats.
    ///
    /// - Parameters:
    ///   - room: how many bytes `extensions` and `payload` append at most, together.
    ///   - extensions: appends the elements that speak of the media, under the identifiers that it is given.
    ///   - payload: appends the media's bytes.
    public mutating func forward(
        _ head: ForwardedHead, room: Int,
        extensions: (HeaderExtensionIDs, HeaderExtensionWriter, inout OutputSpan<UInt8>) -> Void,
        payload: (inout OutputSpan<UInt8>) -> Void, into queue: inout PacketQueue, at now: Instant
    ) {
        var packet = QueuedPacket(kind: .rtp, bytes: queue.makeBuffer())
        packet.places = write(
            head, room: room, extensions: extensions, payload: payload, into: &packet.bytes, at: now)
        packet.priority = priority(of: head)
        packet.isRepeat = head.isRepeat && configuration.retransmission == nil
        queue.append(packet)
    }

    /// The source whose packets are repeated as they were, without a stream of retransmissions; nil with one.
    mutating func repeatedSource() -> UInt32? { configuration.retransmission == nil ? configuration.ssrc : nil }

    /// The payload types of redundancy and of the sound in it; `mutating`, for a look through an optional would copy
    /// the stream.
    mutating func redundancyTypes() -> (payloadType: UInt8, primary: UInt8)? {
        configuration.redundancy.map { ($0.payloadType, configuration.payloadType) }
    }

    func priority(of head: ForwardedHead) -> PacketPriority {
        switch (head.isRepeat, configuration.format.isVideo) {
        case (_, false): .audio
        case (false, true): .video
        case (true, true): .retransmission
        }
    }

    /// As `forward`, but appends the packet to `bytes`, whatever they hold already.
    ///
    /// - Returns: places in the packet, not in `bytes`.
    mutating func write(
        _ head: ForwardedHead, room: Int,
        extensions: (HeaderExtensionIDs, HeaderExtensionWriter, inout OutputSpan<UInt8>) -> Void,
        payload: (inout OutputSpan<UInt8>) -> Void, into bytes: inout [UInt8], at now: Instant
    ) -> PacketPlaces {
        // RFC 4588: a repeat travels on the stream of retransmissions, where there is one.
        let retransmission = head.isRepeat ? configuration.retransmission : nil
        let header = RTPHeader(
            marker: head.marker,
            payloadType: retransmission?.payloadType ?? head.payloadType ?? configuration.payloadType,
            sequenceNumber: retransmission == nil ? head.sequenceNumber : retransmissionSequenceNumber,
            timestamp: head.timestamp, ssrc: retransmission?.ssrc ?? configuration.ssrc)
        let form = head.hasLongElements && configuration.allowsMixedExtensions ? .twoByte : self.form
        var places = PacketPlaces()
        var (headerSize, size) = (0, 0)
        bytes.append(addingCapacity: headerRoom + room) { packet in
            header.write(into: &packet)
            places = writeExtensions(form, into: &packet, media: extensions)
            if head.isPadding { packet[0] |= 0x20 }
            if retransmission != nil { packet.append(uint16: head.sequenceNumber) }
            headerSize = packet.count
            payload(&packet)
            size = packet.count
        }
        // RFC 3550 §6.4.1: padding is none of the payload.
        if head.isPadding { headerSize = size }
        if head.isRepeat {
            if retransmission != nil { retransmissionSequenceNumber &+= 1 }
            counters.packetResent(
                header: headerSize, payload: size - headerSize, countsAsMedia: retransmission == nil)
        } else {
            counters.packetSent(header: headerSize, payload: size - headerSize)
            if head.marker { counters.framesSent += 1 }
            if head.startsKeyFrame {
                counters.keyFramesSent += 1
                keyFrameRequestLimiter.keyFrameSent()
            }
            noteClock(head.timestamp, at: now)
        }
        return places
    }

    /// The time of the newest picture is that of its arrival, and what sender reports tell, unless the owner knows
    /// better: `relate`.
    private mutating func noteClock(_ timestamp: UInt32, at now: Instant) {
        if let lastFrame, Int32(bitPattern: timestamp &- lastFrame.timestamp) <= 0 { return }
        lastFrame = (timestamp, now)
    }

    /// The media of this time were captured at that moment, as their sender's reports have it: what is told in our own
    /// reports, so that sound and pictures of one person stay together.
    public mutating func relate(timestamp: UInt32, to moment: Instant) { captured = (timestamp, moment) }

    /// Until `relate` is called again, reports go by arrival.
    public mutating func forgetRelation() { captured = nil }
}
