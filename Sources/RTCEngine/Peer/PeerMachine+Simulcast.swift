internal import RTCWire

/// Layers of a picture: each way a stream for each, beside the one stream that other transceivers have.
extension PeerMachine {
    // MARK: Sending

    /// Packs a frame of one layer; see `send(_:on:at:)`. A layer that is not active, or that the peer did not take,
    /// passes it over; of a peer that takes one stream that is every layer but the first.
    public mutating func send(
        _ frame: EncodedFrame, layer rid: String, on id: TransceiverID, at now: Instant
    ) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard let transceiver = negotiator.transceiver(id) else { throw .unknownTransceiver }
        guard let encoding = transceiver.encodings.first(where: { $0.rid == rid }) else { throw .unknownLayer }
        guard let format = sendingFormat(of: id), format == frame.format else { throw .notSending }
        guard encoding.isActive else { return }
        guard layerSenders.place(of: id) != nil else {
            guard rid == transceiver.encodings.first?.rid else { return }
            return try send(frame, on: id, at: now)
        }
        guard let place = place(ofLayer: rid, on: id), layerSenders[id]?[place].phase != .held else { return }
        guard secure.isProtected, ice.hasConsent else {
            layerSenders[id]?[place].beginAnew()
            return
        }
        guard layerSenders[id]?[place].admits(frame) == true,
            layerSenders[id]?[place].stream.send(frame, into: &packets, at: now) == true
        else { return }
        sendPackets(at: now)
    }

    /// Switches a layer on or off, at once and without negotiation (W3C: setParameters). One that is switched on begins
    /// at a key frame, which the application is asked for.
    public mutating func setLayer(_ rid: String, isActive: Bool, on id: TransceiverID) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard negotiator.transceiver(id) != nil else { throw .unknownTransceiver }
        guard let wasActive = negotiator.setEncoding(rid, isActive: isActive, of: id) else { throw .unknownLayer }
        guard isActive, !wasActive, beginAnew(layer: rid, on: id) else { return }
        if secure.isProtected { events.append(.keyFrameRequested(id)) }
    }

    /// - Returns: whether the layer is being sent; of a peer that takes one stream the first is.
    private mutating func beginAnew(layer rid: String, on id: TransceiverID) -> Bool {
        guard layerSenders.place(of: id) != nil else {
            guard rid == negotiator.transceiver(id)?.encodings.first?.rid, sendingFormat(of: id) != nil else {
                return false
            }
            senders[id]?.beginAnew()
            return true
        }
        guard let place = place(ofLayer: rid, on: id), layerSenders[id]?[place].phase != .held else { return false }
        layerSenders[id]?[place].beginAnew()
        return true
    }

    /// The layer that frames without a name are of; nil where there are no streams of layers.
    func firstLayer(of id: TransceiverID) -> String? {
        guard layerSenders.place(of: id) != nil else { return nil }
        return layerSenders[id]?.first?.stream.configuration.rid ?? negotiator.transceiver(id)?.encodings.first?.rid
    }

    /// The stream of a layer. One without a name is the first layer's: the peer takes one stream.
    private func place(ofLayer rid: String, on id: TransceiverID) -> Int? {
        let first = negotiator.transceiver(id)?.encodings.first?.rid
        return layerSenders[id]?.firstIndex { ($0.stream.configuration.rid ?? first) == rid }
    }

    /// The layers of a sender as the descriptions have them; none without simulcast.
    mutating func configureLayers(_ id: TransceiverID, _ parameters: SendParameters?) {
        guard let parameters, let whole = SendStreamConfiguration(parameters) else {
            for place in layerSenders[id]?.indices ?? 0..<0 { layerSenders[id]?[place].hold() }
            return
        }
        var wanted = Self.configurations(of: parameters.layers, whole)
        let old = layerSenders.take(id) ?? []
        guard !wanted.isEmpty || !old.isEmpty else { return }
        // RFC 8853 §5.3.4: the peer does not want layers any more. What goes on is the first one's source, which counts
        // on where its stream stopped.
        if wanted.isEmpty { wanted = [whole] }
        var next: [Sender] = []
        for configuration in wanted {
            if configuration.retransmission == nil, configuration.historyCount > 0 {
                sentPackets.keep(configuration.ssrc)
            }
            var known = old.first { $0.stream.ssrc == configuration.ssrc }
            // RFC 3711 §9.1: SRTP must never see a number of a source twice. Before there were layers, the one stream
            // had the first one's source.
            if known == nil, senders[id]?.stream.ssrc == configuration.ssrc { known = senders.take(id) }
            guard var sender = known else {
                next.append(
                    Sender(stream: SendStream(configuration: configuration, clock: clock, random: random.split())))
                continue
            }
            // Another name is another layer, which the receiver follows at a key frame alone.
            let mustBeginAnew = sender.phase == .held || sender.stream.configuration.rid != configuration.rid
            let isOtherCodec = sender.stream.reconfigure(configuration, random: random.split())
            if isOtherCodec || mustBeginAnew { sender.beginAnew() }
            next.append(sender)
        }
        keepLayers(of: old, besides: &next, id)
        layerSenders[id] = next
        if secure.isProtected { events.append(.keyFrameRequested(id)) }
    }

    /// How to send each layer, where one stream would be sent like this.
    private static func configurations(
        of layers: [SendLayer], _ whole: SendStreamConfiguration
    ) -> [SendStreamConfiguration] {
        layers.map { layer in
            var configuration = whole
            configuration.ssrc = layer.ssrc
            configuration.rid = layer.rid
            configuration.retransmission?.ssrc = layer.rtxSSRC ?? 0
            if layer.rtxSSRC == nil { configuration.retransmission = nil }
            return configuration
        }
    }

    /// Layers that are not wanted now may be again, and then count on where they stopped. Sources that were given up
    /// never come again.
    private mutating func keepLayers(of old: [Sender], besides next: inout [Sender], _ id: TransceiverID) {
        let sources = negotiator.transceiver(id)?.layers.map(\.ssrc) ?? []
        for var sender in old {
            let ssrc = sender.stream.ssrc
            if next.contains(where: { $0.stream.ssrc == ssrc }) { continue }
            guard sources.contains(ssrc) else {
                forget(sender.stream)
                continue
            }
            sender.hold()
            next.append(sender)
        }
    }

    mutating func endLayers(_ id: TransceiverID, at now: Instant) {
        guard let layers = layerSenders[id], !layers.isEmpty else { return }
        if secure.isProtected { sayGoodbye(layers.map(\.stream.ssrc), at: now) }
        for layer in layers { forget(layer.stream) }
        layerSenders[id] = nil
    }

    /// Every layer's stream of every sender, changed in place, with the queue for what it sends.
    mutating func forEachLayerSender(_ body: (inout SendStream, inout PacketQueue) -> Void) {
        for id in layerSenders.ids {
            var packets = PacketQueue()
            swap(&packets, &self.packets)
            for place in layerSenders[id]?.indices ?? 0..<0 {
                layerSenders[id]?[place].stream.change { body(&$0, &packets) }
                while let output = layerSenders[id]?[place].stream.pollOutput() {
                    switch output {
                    case .keyFrameRequested: events.append(.keyFrameRequested(id))
                    case .packetRequested(let number): events.append(.packetRequested(id, number))
                    }
                }
            }
            swap(&packets, &self.packets)
        }
    }

    /// The streams of layers that are being sent.
    var flowingLayers: [SendStream] {
        layerSenders.values.flatMap { senders in
            senders.filter { sender in
                switch sender.phase {
                case .awaitingKeyFrame, .flowing: true
                case .held: false
                }
            }.map(\.stream)
        }
    }

    // MARK: Receiving

    /// - Returns: false when the transceiver has no layers, and the packet is for its one stream.
    mutating func receiveLayer(
        _ packet: [UInt8], _ header: RTPHeader, on id: TransceiverID, at now: Instant
    ) -> Bool {
        guard simulcasts[id] != nil, let parameters = receivers[id]?.parameters else { return false }
        let isMedia = parameters.codecs.contains { $0.payloadType == header.payloadType }
        let bytes = packet.span.bytes
        let name = header.extensionElement(isMedia ? extensionIDs.rid : extensionIDs.repairedRID, in: bytes)
        var place: Int?
        // RFC 8852 §3: what a packet says of itself goes before what was learned of its source.
        if let name { place = simulcasts[id]?.place(ofName: bytes.extracting(name)) }
        if place == nil, name == nil { place = simulcasts[id]?.place(ofSSRC: header.ssrc) }
        guard let place else {
            counters.dropped += 1
            return true
        }
        // Looked at in place: a copy of the stream would make the first change copy its buffers.
        let current = simulcasts[id]?.layers[place].stream?.ssrc
        if !isMedia {
            // Retransmissions of a stream that has not begun repair nothing.
            guard current != nil, simulcasts[id]?.layers[place].stream?.formerRetransmissionSSRC != header.ssrc else {
                return true
            }
            _ = simulcasts[id]?.withLayer(place) { $0.rtxSSRC = header.ssrc }
        } else if current != header.ssrc {
            guard let layer = simulcasts[id]?.layers[place].layer,
                simulcasts[id]?.layers[place].mayBegin(at: now) == true
            else {
                counters.dropped += 1
                return true
            }
            var configuration = streamConfiguration(
                parameters, ssrc: header.ssrc, rtx: layer.sources?.primary == header.ssrc ? layer.sources?.rtx : nil)
            configuration.rid = layer.rid
            remember(simulcasts[id]?.layers[place].stream?.counted, on: id)
            let stream = makeStream(configuration, on: id)
            _ = simulcasts[id]?.withLayer(place) {
                $0.begin(stream)
                $0.begunAt = now
            }
        }
        var packets = PacketQueue()
        var passedOn: PassedPacket?
        var before: ConfirmedPacket?
        swap(&packets, &self.packets)
        _ = simulcasts[id]?.withLayer(place) {
            $0.stream?.receive(header, packet.span.bytes, into: &packets, at: now)
            if let passed = $0.stream?.passing.take() {
                passedOn = passed
                if passed.followsConfirmed { before = $0.stream?.confirmed.take() }
            }
        }
        swap(&packets, &self.packets)
        if let passedOn { received = (id, place, passedOn) }
        if let before { confirmed = (id, place, before) }
        drainLayers(id)
        sendPackets(at: now)
        return true
    }

    /// The layers of a receiver as the descriptions have them. Streams begin with their first packets.
    mutating func configureLayers(_ parameters: ReceiveParameters, on id: TransceiverID) {
        var receiver = receivers.take(id) ?? Receiver(parameters: parameters)
        receiver.parameters = parameters
        remember(receiver.stream?.counted, on: id)
        receiver.stream = nil
        receivers[id] = receiver
        if simulcasts[id] == nil { simulcasts[id] = SimulcastReceiver(parameters.layers) }
        let gone = simulcasts[id]?.update(parameters.layers) ?? []
        for layer in gone { remember(layer.stream?.counted, on: id) }
        // Layers that go on learn the codecs and extensions that were agreed now.
        for place in simulcasts[id]?.layers.indices ?? 0..<0 {
            guard let layer = simulcasts[id]?.layers[place], let stream = layer.stream else { continue }
            var configuration = streamConfiguration(
                parameters, ssrc: stream.ssrc, rtx: stream.configuration.retransmissionSSRC)
            configuration.rid = layer.layer.rid
            _ = simulcasts[id]?.withLayer(place) {
                if $0.stream?.reconfigure(configuration) != true {
                    $0.begin(ReceiveStream(configuration: configuration))
                }
            }
        }
    }

    /// Asks for a key frame of each layer.
    mutating func requestKeyFrames(
        ofLayersOn id: TransceiverID, at now: Instant, where isWanted: (Int) -> Bool = { _ in true }
    ) {
        for place in simulcasts[id]?.layers.indices ?? 0..<0 where isWanted(place) {
            var packets = PacketQueue()
            swap(&packets, &self.packets)
            _ = simulcasts[id]?.withLayer(place) { $0.stream?.requestKeyFrame(into: &packets, at: now) }
            swap(&packets, &self.packets)
        }
    }

    /// Every stream of every layer, changed in place, with the queue for its feedback.
    mutating func forEachLayerStream(_ body: (inout ReceiveStream, inout PacketQueue) -> Void) {
        for id in simulcasts.ids {
            for place in simulcasts[id]?.layers.indices ?? 0..<0 {
                var packets = PacketQueue()
                swap(&packets, &self.packets)
                _ = simulcasts[id]?.withLayer(place) { layer in
                    layer.stream?.change { body(&$0, &packets) }
                }
                swap(&packets, &self.packets)
            }
            drainLayers(id)
        }
    }

    private mutating func drainLayers(_ id: TransceiverID) {
        for place in simulcasts[id]?.layers.indices ?? 0..<0 {
            while let output = simulcasts[id]?.withLayer(place, { $0.stream?.pollOutput() }) ?? nil {
                switch output {
                case .frame(let frame): events.append(.frame(id, frame))
                case .tone, .skipped, .codecChanged: continue
                case .ended:
                    remember(simulcasts[id]?.layers[place].stream?.counted, on: id)
                    _ = simulcasts[id]?.withLayer(place) { $0.stream = nil }
                }
            }
        }
    }
}

extension SendStream {
    /// Lets the stream of an optional be changed in place.
    fileprivate mutating func change(_ body: (inout SendStream) -> Void) { body(&self) }
}

extension ReceiveStream {
    /// Lets the stream of an optional be changed in place.
    fileprivate mutating func change(_ body: (inout ReceiveStream) -> Void) { body(&self) }
}
