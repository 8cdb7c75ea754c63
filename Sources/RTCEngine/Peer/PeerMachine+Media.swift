public import RTCWire

/// What the packets carry: frames and feedback, between the streams and SRTP.
extension PeerMachine {
    // MARK: Frames out

    /// Packs a frame and sends its packets. Before the transport is up, and while the peer's consent is missing, frames
    /// are passed over; afterwards video goes on with the next key frame, which the connection asks for.
    public mutating func send(_ frame: EncodedFrame, on id: TransceiverID, at now: Instant) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard let place = senders.place(of: id), let format = senders.entries[place].value?.format() else {
            throw negotiator.transceiver(id) == nil ? .unknownTransceiver : .notSending
        }
        guard format == frame.format else { throw .notSending }
        // A frame without a layer's name is of the first.
        if let first = firstLayer(of: id) { return try send(frame, layer: first, on: id, at: now) }
        // The peer took no layers: the one stream is the first's.
        guard negotiator.sendsFirstEncoding(of: id) else { return }
        guard secure.isProtected, ice.hasConsent else {
            senders.entries[place].value?.beginAnew()
            return
        }
        guard senders.entries[place].value?.admits(frame) == true else { return }
        // A frame that holds nothing to pack is no frame.
        guard senders.entries[place].value?.stream.send(frame, into: &packets, at: now) == true else { return }
        sendPackets(at: now)
    }

    /// The format that `send` takes; nil when nothing may be sent.
    public func sendingFormat(of id: TransceiverID) -> PayloadFormat? {
        guard let sender = senders[id] else { return nil }
        switch sender.phase {
        case .held: return nil
        case .awaitingKeyFrame, .flowing: return sender.stream.configuration.format
        }
    }

    /// Sends telephone keys in the place of sound.
    public mutating func dial(_ keys: DialedKeys, on id: TransceiverID, at now: Instant) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard negotiator.transceiver(id) != nil else { throw .unknownTransceiver }
        guard sendingFormat(of: id) != nil, secure.isProtected,
            senders[id]?.stream.dial(keys, into: &packets, at: now) == true
        else { throw .notSending }
        sendPackets(at: now)
    }

    /// Asks the peer for a key frame; throttled by the stream.
    public mutating func requestKeyFrame(on id: TransceiverID, at now: Instant) {
        receivers[id]?.stream?.requestKeyFrame(into: &packets, at: now)
        requestKeyFrames(ofLayersOn: id, at: now)
        sendPackets(at: now)
    }

    /// Protects what is queued and addresses it to the selected pair. Without a pair, or without consent to send
    /// (RFC 7675 §5.1), it is dropped.
    mutating func sendPackets(at now: Instant) {
        let route = ice.hasConsent ? ice.route : nil
        if congestion.isPacing, !packets.isEmpty || congestion.isBusy {
            pacePackets(canSend: route != nil, at: now)
        }
        while var packet = packets.popFirst() {
            guard let route, let srtp = secure.srtp else {
                packets.recycle(packet.takeBytes())
                continue
            }
            do throws(SRTPError) {
                switch packet.kind {
                case .rtp:
                    if packet.isRepeat {
                        // One that is no longer kept cannot be protected: it gets no transport-wide number, of which
                        // the peer would report that it is lost.
                        guard let seal = sentPackets.restore(&packet.bytes) else {
                            packets.recycle(packet.takeBytes())
                            continue
                        }
                        try srtp.repeatRTP(&packet.bytes, seal: seal)
                    } else {
                        number(&packet.bytes, packet.places, probe: packet.probe, at: now)
                        try srtp.protectRTP(&packet.bytes)
                        sentPackets.insert(packet.bytes.span.bytes, at: now)
                    }
                case .rtcp: try srtp.protectRTCP(&packet.bytes)
                }
            } catch {
                counters.protectFailures += 1
                packets.recycle(packet.takeBytes())
                continue
            }
            transmit(packet.takeBytes(), from: route.base, to: route.remote, at: now)
        }
    }

    /// Fills in what a packet says of its own way.
    ///
    /// - Parameter start: where it begins in `bytes`, which end with it.
    /// - Returns: whether `nextWake` may be earlier now.
    @discardableResult
    mutating func number(
        _ bytes: inout [UInt8], from start: Int = 0, _ places: PacketPlaces, probe: Int32 = 0, at now: Instant
    ) -> Bool {
        if places.absoluteSendTime != nil {
            places.write(absoluteSendTime: AbsoluteSendTime(clock.ntp(at: now)), into: &bytes, from: start)
        }
        guard places.write(transportSequence: transportSequence, into: &bytes, from: start) else { return false }
        let size = bytes.count - start
        feedbackTracker.sent(transportSequence, size: size, probe: probe, at: now)
        transportSequence &+= 1
        return congestion.sent(size, at: now)
    }

    // MARK: Packets in

    /// - Returns: whether it was the peer's.
    mutating func receiveRTP(_ packet: inout [UInt8], at now: Instant) -> Bool {
        guard let srtp = secure.srtp else {
            counters.dropped += 1
            return false
        }
        do throws(SRTPError) {
            try srtp.unprotectRTP(&packet)
        } catch {
            counters.unprotectFailures += 1
            return false
        }
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else {
            counters.dropped += 1
            return true
        }
        if let sequence = header.transportSequence(extensionIDs.transportSequence, in: packet.span.bytes) {
            feedbackGenerator?.received(sequence, ssrc: header.ssrc, size: packet.count, at: now)
        }
        guard let id = route(header, packet) else {
            counters.dropped += 1
            return true
        }
        receive(packet, header, on: id, at: now)
        return true
    }

    private mutating func route(_ header: RTPHeader, _ packet: [UInt8]) -> TransceiverID? {
        let bytes = packet.span.bytes
        guard let range = header.extensionElement(extensionIDs.mid, in: bytes) else {
            return demultiplexer.route(ssrc: header.ssrc, payloadType: header.payloadType, mid: nil)
        }
        return demultiplexer.route(
            ssrc: header.ssrc, payloadType: header.payloadType, mid: bytes.extracting(range))
    }

    private mutating func receive(_ packet: [UInt8], _ header: RTPHeader, on id: TransceiverID, at now: Instant) {
        if !simulcasts.entries.isEmpty, receiveLayer(packet, header, on: id, at: now) { return }
        guard let place = receivers.place(of: id),
            let reception = receivers.entries[place].value?.reception(
                of: header.ssrc, payloadType: header.payloadType, at: now)
        else {
            counters.dropped += 1
            return
        }
        switch reception {
        case .known: break
        // A source that no description named: its first packet of media names it.
        case .newSource: startStream(of: header.ssrc, on: id, at: now)
        case .stale:
            counters.dropped += 1
            return
        }
        receivers.entries[place].value?.stream?.receive(header, packet.span.bytes, into: &packets, at: now)
        // Taken: a look would copy the receiver.
        if let isOpen = receivers.entries[place].value?.stream?.isAmidPicture.take() { isAmidPicture = isOpen }
        if configuration.receivedUnit == .packets, let passed = receivers.entries[place].value?.stream?.passing.take() {
            received = (id, 0, passed)
            if passed.followsConfirmed, let before = receivers.entries[place].value?.stream?.confirmed.take() {
                confirmed = (id, 0, before)
            }
        }
        drainReceiver(at: place)
        sendPackets(at: now)
    }

    private mutating func startStream(of ssrc: UInt32, on id: TransceiverID, at now: Instant) {
        guard let parameters = receivers[id]?.parameters else { return }
        receivers[id]?.noteTakeover(at: now)
        remember(receivers[id]?.stream?.counted, on: id)
        let rtx = receivers[id]?.retransmissionSSRC(of: ssrc)
        let configuration = streamConfiguration(parameters, ssrc: ssrc, rtx: rtx)
        let stream = makeStream(configuration, on: id)
        receivers[id]?.begin(stream)
    }

    private mutating func drainReceiver(at place: Int) {
        let id = receivers.entries[place].id
        while let output = receivers.entries[place].value?.stream?.pollOutput() {
            switch output {
            case .frame(let frame): events.append(.frame(id, frame))
            case .tone(let tone): events.append(.tone(id, tone))
            case .skipped, .codecChanged: continue
            case .ended:
                remember(receivers.entries[place].value?.stream?.counted, on: id)
                receivers.entries[place].value?.stream = nil
            }
        }
    }

    /// Of one datagram. Each may speak of thousands of packets in twenty bytes; honest peers send one or two.
    private static let maximumTransportFeedbacks = 16

    /// - Returns: whether it was the peer's.
    mutating func receiveRTCP(_ packet: inout [UInt8], at now: Instant) -> Bool {
        guard let srtp = secure.srtp else {
            counters.dropped += 1
            return false
        }
        do throws(SRTPError) {
            try srtp.unprotectRTCP(&packet)
        } catch {
            counters.unprotectFailures += 1
            return false
        }
        var reader = RTCPReader(packet.span.bytes)
        var transportFeedbacks = 0
        while let element = reader.next() {
            switch element {
            case .packet(.transportFeedback) where transportFeedbacks == Self.maximumTransportFeedbacks:
                counters.dropped += 1
            case .packet(let packet):
                if case .transportFeedback = packet { transportFeedbacks += 1 }
                receive(packet, at: now)
            case .skipped: continue
            case .dropped: counters.dropped += 1
            }
        }
        tellTargetBitrate(at: now)
        sendPackets(at: now)
        return true
    }

    private mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        receiveCongestion(packet, at: now)
        // The most frequent one says nothing to streams.
        if case .transportFeedback = packet { return }
        var repeatLimit = Int.max
        if case .nack = packet { repeatLimit = congestion.repeatLimit(at: now) }
        for place in senders.entries.indices {
            senders.entries[place].value?.stream.receive(packet, repeatLimit: repeatLimit, into: &packets, at: now)
            drainSender(at: place)
        }
        for place in receivers.entries.indices {
            receivers.entries[place].value?.stream?.receive(packet, at: now)
            drainReceiver(at: place)
        }
        forEachLayerSender { $0.receive(packet, repeatLimit: repeatLimit, into: &$1, at: now) }
        // Which section a source is of is known also after its goodbye: it may come back.
        forEachLayerStream { stream, _ in stream.receive(packet, at: now) }
    }

    private mutating func drainSender(at place: Int) {
        let id = senders.entries[place].id
        while let output = senders.entries[place].value?.stream.pollOutput() {
            switch output {
            case .keyFrameRequested: events.append(.keyFrameRequested(id))
            case .packetRequested(let number): events.append(.packetRequested(id, number))
            }
        }
    }

    // MARK: Time

    mutating func tickMedia(at now: Instant) {
        for place in receivers.entries.indices {
            receivers.entries[place].value?.stream?.tick(into: &packets, at: now)
            drainReceiver(at: place)
        }
        for place in senders.entries.indices {
            senders.entries[place].value?.stream.tick(into: &packets, at: now)
            drainSender(at: place)
        }
        forEachLayerStream { $0.tick(into: &$1, at: now) }
        forEachLayerSender { $0.tick(into: &$1, at: now) }
        let ssrc = feedbackSSRC
        let name = allowsReducedSizeRTCP ? nil : cname
        feedbackGenerator?.tick(into: &packets, senderSSRC: ssrc, cname: name, at: now)
        if reports.isDue(at: now) { sendReports(at: now) }
        tickCongestion(at: now)
        sendPackets(at: now)
    }

    /// The peer's clock is part of the measurement: a wrong one must not make us ask for what is lost a minute later.
    private static let longestRoundTrip = Interval.milliseconds(1_000)

    private mutating func sendReports(at now: Instant) {
        writeReports(goodbyes: [], at: now)
        // What our senders measured tells our receivers how long a retransmission takes.
        guard let roundTrip = shortestRoundTrip ?? ice.currentRoundTripTime else { return }
        let believable = min(roundTrip, Self.longestRoundTrip)
        for place in receivers.entries.indices { receivers.entries[place].value?.stream?.roundTripTime = believable }
        forEachLayerStream { stream, _ in stream.roundTripTime = believable }
    }

    /// Until `end` nothing that is lost is asked for a second time. To be called while it is this side that loses
    /// packets, since it cannot read them in time: what is asked for again and again only adds to them.
    public mutating func askOnce(until end: Instant) {
        for id in receivers.ids { receivers[id]?.stream?.asksOnceUntil = end }
        forEachLayerStream { stream, _ in stream.asksOnceUntil = end }
    }

    private var shortestRoundTrip: Interval? {
        mutating get {
            var shortest: Interval?
            for place in senders.entries.indices {
                guard let time = senders.entries[place].value?.stream.roundTrip() else { continue }
                shortest = min(shortest ?? time, time)
            }
            return shortest
        }
    }

    private mutating func writeReports(goodbyes: [UInt32], at now: Instant) {
        var builder = ReportBuilder(localSSRC: feedbackSSRC, cname: cname)
        for place in senders.entries.indices {
            // RFC 3550 §6.4: who sends nothing makes receiver reports.
            guard senders.entries[place].value?.mayForward() == true else { continue }
            builder.add(senders.entries[place].value?.stream.senderReport(at: now))
        }
        for place in receivers.entries.indices {
            builder.add(receivers.entries[place].value?.stream?.reportBlock(at: now))
        }
        for id in layerSenders.ids {
            for place in layerSenders[id]?.indices ?? 0..<0 {
                guard layerSenders[id]?[place].mayForward() == true else { continue }
                builder.add(layerSenders[id]?[place].stream.senderReport(at: now))
            }
        }
        forEachLayerStream { stream, _ in builder.add(stream.reportBlock(at: now)) }
        for ssrc in goodbyes { builder.add(goodbyeOf: ssrc) }
        builder.write(into: &packets)
    }

    /// RTCP BYE for sources that end (RFC 3550 §6.6).
    mutating func sayGoodbye(_ sources: [UInt32], at now: Instant) {
        writeReports(goodbyes: sources, at: now)
        sendPackets(at: now)
    }
}
