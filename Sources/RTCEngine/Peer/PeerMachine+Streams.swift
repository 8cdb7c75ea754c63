internal import RTCWire

/// Streams come, change and go with the descriptions.
extension PeerMachine {
    // MARK: Senders

    /// - Parameter parameters: nil holds the stream, for the same source may be sent again.
    mutating func configureSender(_ id: TransceiverID, _ parameters: SendParameters?, at now: Instant) {
        configureLayers(id, parameters)
        guard let parameters, var configuration = SendStreamConfiguration(parameters) else {
            // W3C WebRTC §5.4: who stops a transceiver says goodbye at once; its section ends with the next offer.
            if negotiator.transceiver(id)?.direction == .stopped { return endSender(id, at: now) }
            senders[id]?.hold()
            congestion.tellAgain()
            return
        }
        configuration.redundancy?.depth = self.configuration.redundancyDepth
        configuration.unit = self.configuration.unit
        if configuration.retransmission == nil, configuration.historyCount > 0 {
            sentPackets.keep(configuration.ssrc)
        }
        if senders[id]?.stream.ssrc == configuration.ssrc {
            let mustBeginAnew = senders[id]?.phase == .held
            let isOtherCodec = senders[id]?.stream.reconfigure(configuration, random: random.split()) == true
            guard isOtherCodec || mustBeginAnew else { return }
            if mustBeginAnew { congestion.tellAgain() }
            senders[id]?.beginAnew()
        } else {
            congestion.tellAgain()
            if let renewed = senders[id]?.stream { end(renewed, at: now) }
            let stream = SendStream(configuration: configuration, clock: clock, random: random.split())
            senders[id] = Sender(stream: stream)
        }
        if secure.isProtected { wantKeyFrame(id) }
    }

    /// The transceiver has ended, and its source with it.
    mutating func endSender(_ id: TransceiverID, at now: Instant) {
        endLayers(id, at: now)
        guard let sender = senders[id] else { return }
        end(sender.stream, at: now)
        senders[id] = nil
        congestion.tellAgain()
    }

    private mutating func end(_ stream: SendStream, at now: Instant) {
        // W3C WebRTC §5.4: stopping a sender says goodbye for its source.
        if secure.isProtected { sayGoodbye([stream.ssrc], at: now) }
        forget(stream)
    }

    /// Nothing of the stream leaves any more, and nothing is remembered of its sources.
    mutating func forget(_ stream: SendStream) {
        let sources = [stream.ssrc, stream.configuration.retransmission?.ssrc].compactMap { $0 }
        dropPaced(from: sources)
        sentPackets.forget(stream.ssrc)
        for source in sources { secure.srtp?.forgetSource(source) }
    }

    /// Asks the application for the key frame that a stream of video has to begin with.
    private mutating func wantKeyFrame(_ id: TransceiverID) {
        switch senders[id]?.phase {
        case .awaitingKeyFrame: events.append(.keyFrameRequested(id))
        case .held, .flowing, nil: return
        }
    }

    /// The way to the peer is open, for the first time or again.
    mutating func wantKeyFrames() {
        guard secure.isProtected, ice.hasConsent else { return }
        for id in senders.ids { wantKeyFrame(id) }
    }

    // MARK: Receivers

    mutating func configureReceiver(_ id: TransceiverID, _ parameters: ReceiveParameters?, at now: Instant) {
        defer {
            demultiplexer.update(negotiator.routes)
            noteExtensions()
        }
        guard let parameters else { return holdReceiver(id) }
        guard parameters.layers.isEmpty else { return configureLayers(parameters, on: id) }
        dropLayers(id)
        var receiver = receivers.take(id) ?? Receiver(parameters: parameters)
        receiver.parameters = parameters
        if let ssrc = parameters.sources?.primary ?? receiver.stream?.ssrc {
            let configuration = streamConfiguration(
                parameters, ssrc: ssrc, rtx: receiver.retransmissionSSRC(of: ssrc))
            // A source that goes on keeps what is in its jitter buffer.
            if receiver.stream?.reconfigure(configuration) != true {
                if receiver.stream?.ssrc != ssrc { receiver.noteTakeover(at: now) }
                remember(receiver.stream?.counted, on: id)
                receiver.begin(makeStream(configuration, on: id))
            }
        }
        receivers[id] = receiver
    }

    /// The streams go, with what they hold.
    private mutating func holdReceiver(_ id: TransceiverID) {
        dropLayers(id)
        remember(receivers[id]?.stream?.counted, on: id)
        receivers[id] = nil
    }

    private mutating func dropLayers(_ id: TransceiverID) {
        for layer in simulcasts[id]?.layers ?? [] { remember(layer.stream?.counted, on: id) }
        simulcasts[id] = nil
    }

    /// Of one transceiver: a peer may send every packet as another source.
    private static let maximumFormerReceptions = 8

    /// A stream goes. Its source may come back, whose statistics have the same identifier, and is then counted on.
    mutating func remember(_ counted: CountedReception?, on id: TransceiverID) {
        guard let counted else { return }
        var former = formerReceptions[id] ?? []
        former.removeAll { $0.ssrc == counted.ssrc }
        if former.count == Self.maximumFormerReceptions { former.removeFirst() }
        former.append(counted)
        formerReceptions[id] = former
    }

    /// A stream for a source that may have had one before.
    mutating func makeStream(_ configuration: ReceiveStreamConfiguration, on id: TransceiverID) -> ReceiveStream {
        var stream = ReceiveStream(configuration: configuration)
        let place = formerReceptions[id]?.firstIndex { $0.ssrc == configuration.ssrc }
        if let place, let counted = formerReceptions[id]?.remove(at: place) { stream.goOn(with: counted) }
        return stream
    }

    /// The identifiers of header extensions are the same in all bundled sections (RFC 9143 §12), but not every
    /// section has every extension.
    private mutating func noteExtensions() {
        var all: [String: UInt8] = [:]
        for receiver in receivers.values { all.merge(receiver.parameters.extensions) { first, _ in first } }
        extensionIDs = HeaderExtensionIDs(all)
        if extensionIDs.transportSequence != nil, feedbackGenerator == nil {
            feedbackGenerator = TransportFeedbackGenerator()
        }
    }

    mutating func streamConfiguration(
        _ parameters: ReceiveParameters, ssrc: UInt32, rtx: UInt32?
    ) -> ReceiveStreamConfiguration {
        var codecs: [UInt8: ReceiveCodec] = [:]
        for codec in parameters.codecs {
            switch codec.role {
            case .media(let format): codecs[codec.payloadType] = .media(format, clockRate: codec.clockRate)
            case .redundancy: codecs[codec.payloadType] = .redundancy
            case .telephoneEvent: codecs[codec.payloadType] = .telephoneEvent(clockRate: codec.clockRate)
            case .unknown: continue
            }
            if let rtx = codec.rtxPayloadType { codecs[rtx] = .retransmission(of: codec.payloadType) }
        }
        var configuration = ReceiveStreamConfiguration(
            ssrc: ssrc, retransmissionSSRC: rtx, localSSRC: feedbackSSRC, cname: cname, codecs: codecs)
        configuration.extensions = HeaderExtensionIDs(parameters.extensions)
        let feedback = Set(parameters.codecs.flatMap(\.feedback))
        configuration.usesNACK = feedback.contains("nack")
        configuration.usesPLI = feedback.contains("nack pli")
        configuration.usesFIR = feedback.contains("ccm fir")
        configuration.allowsReducedSizeRTCP = allowsReducedSizeRTCP
        configuration.unit = self.configuration.receivedUnit
        // Nothing is held where packets are passed on.
        if configuration.unit == .packets { configuration.maximumPackets = 1 }
        return configuration
    }

    // MARK: Feedback

    /// Our canonical name, as the descriptions give it.
    var cname: String { negotiator.cname }

    /// Our feedback is from a source that we send; a peer that sends nothing is heard as 1, as browsers do.
    var feedbackSSRC: UInt32 {
        // `mutating`: a look through the optional in which a sender lies would copy it.
        mutating get { senders.entries.isEmpty ? 1 : senders.entries[0].value?.ssrc() ?? 1 }
    }

    /// Receivers are configured before senders, so they learn here whom their feedback is from.
    mutating func noteFeedbackSource() {
        let ssrc = feedbackSSRC
        for id in receivers.ids {
            receivers[id]?.stream?.noteFeedbackSource(ssrc, allowsReducedSize: allowsReducedSizeRTCP)
        }
        let allowsReducedSize = allowsReducedSizeRTCP
        forEachLayerStream { stream, _ in stream.noteFeedbackSource(ssrc, allowsReducedSize: allowsReducedSize) }
    }
}

extension SendStreamConfiguration {
    /// Nil for a codec that is only passed on.
    init?(_ parameters: SendParameters) {
        guard let format = parameters.codec.payloadFormat else { return nil }
        self.init(
            ssrc: parameters.ssrc, payloadType: parameters.codec.payloadType, format: format,
            clockRate: parameters.codec.clockRate, cname: parameters.cname, mid: parameters.mid,
            extensions: HeaderExtensionIDs(parameters.extensions))
        if let ssrc = parameters.rtxSSRC, let payloadType = parameters.codec.rtxPayloadType {
            retransmission = Retransmission(ssrc: ssrc, payloadType: payloadType)
        }
        if !parameters.codec.feedback.contains("nack") { historyCount = 0 }
        if let redundancy = parameters.codecs.redundancy(for: parameters.codec) {
            self.redundancy = Redundancy(payloadType: redundancy.payloadType, depth: 1)
        }
        allowsMixedExtensions = parameters.allowsMixedExtensions
        telephoneEventType = parameters.codecs.telephoneEvent(for: parameters.codec)?.payloadType
    }
}
