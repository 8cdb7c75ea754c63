public import RTCWire

/// What the packets carry: frames and feedback, between the streams and SRTP.
extension PeerMachine {
    // MARK: Streams come and go

    mutating func configureSender(_ id: TransceiverID, _ parameters: SendParameters?, at now: Instant) {
        guard let parameters, let format = parameters.codec.payloadFormat else {
            senders[id] = nil
            return
        }
        var configuration = SendStreamConfiguration(
            ssrc: parameters.ssrc, payloadType: parameters.codec.payloadType, format: format,
            clockRate: parameters.codec.clockRate, cname: parameters.cname, mid: parameters.mid,
            extensions: HeaderExtensionIDs(parameters.extensions))
        if let ssrc = parameters.rtxSSRC, let payloadType = parameters.codec.rtxPayloadType {
            configuration.retransmission = .init(ssrc: ssrc, payloadType: payloadType)
        }
        if !parameters.codec.feedback.contains("nack") { configuration.historyCount = 0 }
        if configuration.retransmission == nil, configuration.historyCount > 0 { keepsSentPackets = true }
        cname = parameters.cname
        allowsReducedSizeRTCP = parameters.allowsReducedSizeRTCP
        senders[id] = SendStream(configuration: configuration, clock: clock, random: random.split())
        // A new stream begins with a key frame.
        if secure.isProtected, format.isVideo { events.append(.keyFrameRequested(id)) }
    }

    mutating func configureReceiver(_ id: TransceiverID, _ parameters: ReceiveParameters?, at now: Instant) {
        defer { demultiplexer.update(negotiator.routes) }
        guard let parameters else {
            receivers[id] = nil
            return
        }
        extensionIDs = HeaderExtensionIDs(parameters.extensions)
        if extensionIDs.transportSequence != nil, feedbackGenerator == nil {
            feedbackGenerator = TransportFeedbackGenerator()
        }
        var receiver = receivers[id] ?? Receiver(parameters: parameters)
        receiver.parameters = parameters
        // The same source with other codecs or another source: a stream of its own.
        receiver.stream = parameters.sources.map { makeReceiveStream(parameters, ssrc: $0.primary, rtx: $0.rtx) }
        receivers[id] = receiver
    }

    private func makeReceiveStream(_ parameters: ReceiveParameters, ssrc: UInt32, rtx: UInt32?) -> ReceiveStream {
        var codecs: [UInt8: ReceiveCodec] = [:]
        for codec in parameters.codecs {
            guard let format = codec.payloadFormat else { continue }
            codecs[codec.payloadType] = .media(format, clockRate: codec.clockRate)
            if let rtx = codec.rtxPayloadType { codecs[rtx] = .retransmission(of: codec.payloadType) }
        }
        var configuration = ReceiveStreamConfiguration(
            ssrc: ssrc, retransmissionSSRC: rtx, localSSRC: feedbackSSRC, cname: cname, codecs: codecs)
        let feedback = Set(parameters.codecs.flatMap(\.feedback))
        configuration.usesNACK = feedback.contains("nack")
        configuration.usesPLI = feedback.contains("nack pli")
        configuration.usesFIR = feedback.contains("ccm fir")
        configuration.allowsReducedSizeRTCP = allowsReducedSizeRTCP
        return ReceiveStream(configuration: configuration)
    }

    /// Our feedback is from a source that we send; a peer that sends nothing is heard as 1, as browsers do.
    private var feedbackSSRC: UInt32 { senders.values.first?.ssrc ?? 1 }

    // MARK: Frames out

    /// Packs a frame and queues its packets. Before the transport is up, frames are passed over: the connection asks
    /// for a key frame when it is.
    public mutating func send(_ frame: EncodedFrame, on id: TransceiverID, at now: Instant) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard senders[id] != nil else {
            throw negotiator.transceiver(id) == nil ? .unknownTransceiver : .notSending
        }
        guard secure.isProtected, ice.hasConsent else { return }
        guard senders[id]?.send(frame, into: &packets, at: now) == true else { throw .notSending }
        sendPackets(at: now)
    }

    /// The format that `send` takes; nil when nothing may be sent.
    public func sendingFormat(of id: TransceiverID) -> PayloadFormat? { senders[id]?.configuration.format }

    /// Asks the peer for a key frame; throttled by the stream.
    public mutating func requestKeyFrame(on id: TransceiverID, at now: Instant) {
        receivers[id]?.stream?.requestKeyFrame(into: &packets, at: now)
        sendPackets(at: now)
    }

    /// Protects what is queued and addresses it to the selected pair. Without a pair, or without consent to send
    /// (RFC 7675 §5.1), it is dropped.
    private mutating func sendPackets(at now: Instant) {
        let route = ice.hasConsent ? ice.route : nil
        while var packet = packets.popFirst() {
            guard let route, let srtp = secure.srtp else {
                packets.recycle(packet.bytes)
                continue
            }
            if packet.absoluteSendTimeOffset != nil {
                packet.write(absoluteSendTime: AbsoluteSendTime(clock.ntp(at: now)))
            }
            if packet.transportSequenceOffset != nil {
                packet.write(transportSequence: transportSequence)
                feedbackTracker.sent(transportSequence, size: packet.bytes.count, at: now)
                transportSequence &+= 1
            }
            do throws(SRTPError) {
                switch packet.kind {
                case .rtp: try srtp.protectRTP(&packet.bytes)
                case .rtcp: try srtp.protectRTCP(&packet.bytes)
                }
            } catch {
                // `replayed`: a packet without RTX that is asked for again goes out as it did before.
                if error == .replayed, let sent = sentPackets.packet(like: packet.bytes) {
                    transmit(sent, from: route.base, to: route.remote)
                } else {
                    counters.protectFailures += 1
                }
                packets.recycle(packet.bytes)
                continue
            }
            if packet.kind == .rtp, keepsSentPackets { sentPackets.insert(packet.bytes) }
            transmit(packet.bytes, from: route.base, to: route.remote)
        }
    }

    // MARK: Packets in

    mutating func receiveRTP(_ packet: inout [UInt8], at now: Instant) {
        guard let srtp = secure.srtp else {
            counters.dropped += 1
            return
        }
        do throws(SRTPError) {
            try srtp.unprotectRTP(&packet)
        } catch {
            counters.unprotectFailures += 1
            return
        }
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else {
            counters.dropped += 1
            return
        }
        if let sequence = header.transportSequence(extensionIDs.transportSequence, in: packet.span.bytes) {
            feedbackGenerator?.received(sequence, ssrc: header.ssrc, at: now)
        }
        guard let id = route(header, packet) else {
            counters.dropped += 1
            return
        }
        receive(packet, header, on: id, at: now)
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
        guard let receiver = receivers[id] else {
            counters.dropped += 1
            return
        }
        // A source that no description named: its first packet of media names it.
        if receiver.stream?.ssrc != header.ssrc, receiver.isMedia(header.payloadType) {
            let stream = makeReceiveStream(receiver.parameters, ssrc: header.ssrc, rtx: nil)
            receivers[id]?.stream = stream
        }
        receivers[id]?.stream?.receive(header, packet.span.bytes, into: &packets, at: now)
        drainReceiver(id)
        sendPackets(at: now)
    }

    private mutating func drainReceiver(_ id: TransceiverID) {
        while let output = receivers[id]?.stream?.pollOutput() {
            switch output {
            case .frame(let frame): events.append(.frame(id, frame))
            case .skipped, .codecChanged: continue
            case .ended:
                receivers[id]?.stream = nil
            }
        }
    }

    mutating func receiveRTCP(_ packet: inout [UInt8], at now: Instant) {
        guard let srtp = secure.srtp else {
            counters.dropped += 1
            return
        }
        do throws(SRTPError) {
            try srtp.unprotectRTCP(&packet)
        } catch {
            counters.unprotectFailures += 1
            return
        }
        var elements: [RTCPPacket] = []
        var reader = RTCPReader(packet.span.bytes)
        while let element = reader.next() {
            switch element {
            case .packet(let packet): elements.append(packet)
            case .skipped: continue
            case .dropped: counters.dropped += 1
            }
        }
        for element in elements { receive(element, at: now) }
        sendPackets(at: now)
    }

    private mutating func receive(_ packet: RTCPPacket, at now: Instant) {
        if case .transportFeedback(let feedback) = packet { feedbackTracker.receive(feedback, at: now) }
        for id in senders.keys {
            senders[id]?.receive(packet, into: &packets, at: now)
            drainSender(id)
        }
        for id in receivers.keys {
            receivers[id]?.stream?.receive(packet, at: now)
            drainReceiver(id)
        }
        if case .goodbye(let goodbye) = packet { for ssrc in goodbye.ssrcs { demultiplexer.forget(ssrc: ssrc) } }
    }

    private mutating func drainSender(_ id: TransceiverID) {
        while let output = senders[id]?.pollOutput() {
            switch output {
            case .keyFrameRequested: events.append(.keyFrameRequested(id))
            }
        }
    }

    // MARK: Time

    mutating func tickMedia(at now: Instant) {
        for id in receivers.keys {
            receivers[id]?.stream?.tick(into: &packets, at: now)
            drainReceiver(id)
        }
        for id in senders.keys {
            senders[id]?.tick(at: now)
            drainSender(id)
        }
        let ssrc = feedbackSSRC
        feedbackGenerator?.tick(into: &packets, senderSSRC: ssrc, at: now)
        if reports.isDue(at: now) { sendReports(at: now) }
        sendPackets(at: now)
    }

    private mutating func sendReports(at now: Instant) {
        writeReports(goodbyes: [], at: now)
        // What our senders measured tells our receivers how long a retransmission takes.
        guard
            let roundTrip = senders.values.compactMap(\.remote.roundTripTime).min()
                ?? ice.statistics.currentRoundTripTime
        else { return }
        for id in receivers.keys { receivers[id]?.stream?.roundTripTime = roundTrip }
    }

    private mutating func writeReports(goodbyes: [UInt32], at now: Instant) {
        var builder = ReportBuilder(localSSRC: feedbackSSRC, cname: cname)
        for id in senders.keys { builder.add(senders[id]?.senderReport(at: now)) }
        for id in receivers.keys { builder.add(receivers[id]?.stream?.reportBlock(at: now)) }
        for ssrc in goodbyes { builder.add(goodbyeOf: ssrc) }
        builder.write(into: &packets)
    }

    /// RTCP BYE for what we send (RFC 3550 §6.6).
    mutating func sayGoodbye(at now: Instant) {
        writeReports(goodbyes: senders.values.map(\.ssrc), at: now)
        sendPackets(at: now)
    }
}
