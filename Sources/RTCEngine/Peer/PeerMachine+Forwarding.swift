public import RTCWire

/// A media packet as it came, where packets are handed out: what it is and where it belongs. Its bytes are beside it:
/// those that `RTPReceiver.setPacketHandler`'s handler gets, or the datagram that `PeerMachine.receive` was given,
/// decrypted where they lay, or a copy that was kept (`PeerMachine.takeConfirmedPacket`). The header's ranges are
/// places in them.
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
    /// What a packet of redundancy carries; nil for any other, and for one that nobody can be sent.
    public var redundancy: RedundantSound?
    /// The source has started over, and numbers its packets anew from this one on (RFC 3550 §A.1).
    public var startsAnew: Bool
}

/// What has become of a packet to forward. But for `refused`, its number is used.
public enum Forwarding: Sendable {
    /// Nothing may be sent; or not again, for without a stream of retransmissions only what left a short while ago can.
    case refused
    /// It is in the outbox, and there is nothing else to do.
    case sent
    /// It is in the outbox, and its answer is waited for: `nextWake` may be earlier than it was.
    case sentAndWatched
    /// It leaves with `sendForwarded`, or later.
    case queued
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
        return ReceivedPacket(id, layer, passed, header)
    }

    /// A packet of an earlier datagram that goes before that of the last one, which has confirmed it: the first of
    /// those that a source numbers anew is not believed alone (RFC 3550 §A.1). To be asked for before `takePacket`,
    /// after each datagram; whoever does not ask loses that one packet.
    public mutating func takeConfirmedPacket() -> (packet: ReceivedPacket, bytes: [UInt8])? {
        guard let (id, layer, packet) = confirmed.take() else { return nil }
        return (ReceivedPacket(id, layer, packet.passed, packet.passed.header), packet.bytes)
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

    /// What the peer's reports say of a source's clock; nil before the first report.
    public func senderClock(ofLayer layer: Int, on id: TransceiverID) -> SenderClock? {
        let stream = simulcasts[id].map { $0.layers.indices.contains(layer) ? $0.layers[layer].stream : nil }
        return (stream ?? receivers[id]?.stream)?.remote.clock
    }

    // MARK: Out

    /// Sends on a packet that another connection has received. Before the transport is up, and while nothing may be
    /// sent on the transceiver, it is passed over.
    ///
    /// Where nothing is ahead of it, queued or still to be taken by `pollTransmit`, the packet is written, numbered and
    /// protected in the outbox, once and for all; where that has a batch, it may be sealed later
    /// (`DatagramOutbox.seal`). Else it is queued: repeats, what the pacer holds back or probes with,
    /// what goes through a relay.
    ///
    /// - Parameters:
    ///   - room: how many bytes `extensions` and `payload` append at most, together; more than that is a fault of the
    ///     caller's, and stops the program.
    ///   - extensions: appends the header extensions that speak of the media, under the identifiers that it is given.
    ///   - payload: appends the media's bytes.
    public mutating func forward(
        _ head: ForwardedHead, on id: TransceiverID, room: Int, into outbox: inout DatagramOutbox, at now: Instant,
        extensions: (HeaderExtensionIDs, HeaderExtensionWriter, inout OutputSpan<UInt8>) -> Void,
        payload: (inout OutputSpan<UInt8>) -> Void
    ) -> Forwarding {
        guard let route = ice.route, let srtp = secure.srtp, let place = senders.place(of: id),
            let outlook = senders.entries[place].value?.beginForwarding(head)
        else {
            return .refused
        }
        guard !head.isRepeat, packets.isEmpty, transmits.isEmpty, relays.isEmpty,
            congestion.mayPass(outlook, batch: head.batch, at: now)
        else {
            if head.isRepeat, let source = senders.entries[place].value?.stream.repeatedSource(),
                !sentPackets.holds(head.sequenceNumber, of: source)
            {
                return .refused
            }
            senders.entries[place].value?.stream.forward(
                head, room: room, extensions: extensions, payload: payload, into: &packets, at: now)
            return .queued
        }
        let start = outbox.buffer.count
        guard
            let places = senders.entries[place].value?.stream.write(
                head, room: room, extensions: extensions, payload: payload, into: &outbox.buffer, at: now)
        else { return .refused }
        congestion.passed(outbox.buffer.count - start, outlook.priority, at: now)
        let isWatched = number(&outbox.buffer, from: start, places, at: now)
        let isSealed: Bool
        do throws(SRTPError) {
            isSealed = try outbox.protect(from: start, by: srtp)
        } catch {
            counters.protectFailures += 1
            outbox.buffer.removeLast(outbox.buffer.count - start)
            // Its number is used, and it never leaves: lost, as on the path, and repeated when it is asked for.
            return .queued
        }
        if isSealed { sentPackets.insert(outbox.buffer.span.bytes.extracting(droppingFirst: start), at: now) }
        let size = outbox.buffer.count - start
        paths.sent(size, on: route, at: now)
        counters.bytesSent += UInt64(size)
        counters.packetsSent += 1
        outbox.end(start, isSealed: isSealed, on: route, after: &outboxPlace)
        return isWatched ? .sentAndWatched : .sent
    }

    /// The outbox that `forward` wrote into has been sealed (`DatagramOutbox.seal`): keeps what it takes to send those
    /// packets again. To be called before the outbox is emptied; nothing is done where all of them were sealed at once.
    public mutating func sealed(in outbox: borrowing DatagramOutbox, at now: Instant) {
        guard !sentPackets.isEmpty else { return }
        outbox.forEachSealed(of: &outboxPlace) { sentPackets.insert($0, at: now) }
    }

    /// A packet is about to be forwarded: asks for the memory to which the machine's own leads (`Prefetch`).
    package mutating func prefetchForwarding() {
        Prefetch.element(0, of: senders.entries)
        feedbackTracker.prefetchSlot(of: transportSequence)
        sentPackets.prefetchSources()
        withUnsafePointer(to: &ice.route) { Prefetch.bytes($0, lines: 2) }
        if let srtp = secure.srtpAddress { Prefetch.bytes(srtp, lines: 6) }
    }

    /// That has come: asks for the memory to which it leads.
    package mutating func prefetchSending(on id: TransceiverID) {
        guard let place = senders.place(of: id) else { return }
        Prefetch.element(place, of: senders.entries, lines: 8)
        sentPackets.prefetchPlaces()
        secure.srtp?.prefetchSealing()
    }

    /// Whether `forward` would take a packet now.
    public mutating func canForward(on id: TransceiverID) -> Bool {
        guard secure.isProtected, ice.hasConsent, let place = senders.place(of: id) else { return false }
        return senders.entries[place].value?.mayForward() ?? false
    }

    /// How long a packet and its answer take, as the peer's reports on this stream have it; nil before the first.
    public func roundTrip(on id: TransceiverID) -> Interval? { senders[id]?.stream.remote.roundTripTime }

    /// Whether packets tell by dependency descriptors (AV1 RTP specification, appendix A) which others they need.
    public func sendsDependencyDescriptors(on id: TransceiverID) -> Bool {
        senders[id]?.stream.configuration.extensions.dependencyDescriptor != nil
    }

    /// The payload types of redundancy (RFC 2198) and of the sound in it, as they are sent; nil where the peer has not
    /// agreed on redundancy, or prefers the sound alone.
    public mutating func redundancy(on id: TransceiverID) -> (payloadType: UInt8, primary: UInt8)? {
        senders.place(of: id).flatMap { senders.entries[$0].value?.stream.redundancyTypes() }
    }

    /// Sends what `forward` has queued since the last time, as far as the pacer lets it.
    public mutating func sendForwarded(at now: Instant) { sendPackets(at: now) }

    /// The media of this time were captured at that moment; see `SendStream.relate`.
    public mutating func relate(timestamp: UInt32, to moment: Instant, on id: TransceiverID) {
        guard let place = senders.place(of: id) else { return }
        senders.entries[place].value?.stream.relate(timestamp: timestamp, to: moment)
    }

    /// When what is forwarded was captured is not known, or not any more.
    public mutating func forgetRelation(on id: TransceiverID) {
        guard let place = senders.place(of: id) else { return }
        senders.entries[place].value?.stream.forgetRelation()
    }
}

extension ReceivedPacket {
    fileprivate init(_ transceiver: TransceiverID, _ layer: Int, _ passed: PassedPacket, _ header: RTPHeader) {
        self.init(
            transceiver: transceiver, layer: layer, header: header, format: passed.format, sequence: passed.sequence,
            isRetransmission: passed.isRetransmission, redundancy: passed.redundancy, startsAnew: passed.startsAnew)
    }
}
