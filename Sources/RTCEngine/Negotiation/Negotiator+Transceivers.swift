internal import RTCWire

extension Negotiator {
    /// Adds a transceiver, which the next offer gives a media section of its own (W3C: addTransceiver).
    ///
    /// - Parameters:
    ///   - streamIDs: the media streams that our track belongs to; the peer plays the tracks of one stream in step.
    ///   - trackID: nil for a random one.
    ///   - encodings: the layers in which the picture is sent; empty for one without a name.
    public mutating func addTransceiver(
        _ kind: MediaKind, direction: TransceiverDirection = .sendrecv, streamIDs: [String] = [],
        trackID: String? = nil, encodings: [SendEncoding] = []
    ) throws(NegotiationError) -> TransceiverID {
        guard signalingState != .closed else { throw .closed }
        guard encodings.isEmpty || kind == .video, encodings.count <= SendEncoding.maximumCount,
            encodings.allSatisfy(\.isValid), Set(encodings.map(\.rid)).count == encodings.count
        else { throw .invalidEncodings }
        let streamIDs = try described(streamIDs, trackID)
        let id = try makeTransceiver(
            kind, origin: .transceiver, direction: direction, streamIDs: streamIDs, trackID: trackID)
        guard let place = transceivers.firstIndex(where: { $0.id == id }) else { return id }
        for (index, encoding) in encodings.enumerated() {
            let ssrc = index == 0 ? transceivers[place].ssrc : makeSSRC(except: 0)
            let rtx = index == 0 ? transceivers[place].rtxSSRC : makeSSRC(except: ssrc)
            transceivers[place].layers.append(LayerSources(encoding: encoding, ssrc: ssrc, rtxSSRC: rtx))
        }
        return id
    }

    /// Switches a layer on or off without negotiation.
    ///
    /// - Returns: whether it was on before; nil when there is no such layer.
    public mutating func setEncoding(_ rid: String, isActive: Bool, of id: TransceiverID) -> Bool? {
        guard let place = transceivers.firstIndex(where: { $0.id == id }),
            let layer = transceivers[place].layers.firstIndex(where: { $0.encoding.rid == rid })
        else { return nil }
        defer { transceivers[place].layers[layer].encoding.isActive = isActive }
        return transceivers[place].layers[layer].encoding.isActive
    }

    /// Adds a track to send: on a transceiver that has room for it, or on a new one, which an incoming offer's section
    /// may take over (W3C: addTrack).
    public mutating func addTrack(
        _ kind: MediaKind, streamIDs: [String] = [], trackID: String? = nil
    ) throws(NegotiationError) -> TransceiverID {
        guard signalingState != .closed else { throw .closed }
        let streamIDs = try described(streamIDs, trackID)
        let free = transceivers.firstIndex {
            $0.kind == kind && $0.phase == .active && !$0.wantedDirection.sends && !$0.hasSent
        }
        guard let free else {
            return try makeTransceiver(
                kind, origin: .track, direction: .sendrecv, streamIDs: streamIDs, trackID: trackID)
        }
        let direction: TransceiverDirection = transceivers[free].wantedDirection.receives ? .sendrecv : .sendonly
        transceivers[free].wantedDirection = direction
        transceivers[free].streamIDs = streamIDs
        if let trackID { transceivers[free].trackID = trackID }
        // A rollback of the offer that made it must not take the track away (RFC 8829 §4.1.10.2).
        if transceivers[free].origin == .remoteOffer { transceivers[free].origin = .track }
        return transceivers[free].id
    }

    /// What the next negotiation should make of a transceiver; `.stopped` is `stop(_:)`.
    @discardableResult
    public mutating func setDirection(
        _ direction: TransceiverDirection, of id: TransceiverID
    ) throws(NegotiationError) -> [NegotiationAction] {
        guard direction != .stopped else { return try stop(id) }
        return try change { next throws(NegotiationError) in
            let index = try next.activeIndex(of: id)
            next.transceivers[index].wantedDirection = direction
        }
    }

    /// Ends a transceiver for good: its streams end now, its section with our next offer; who only ever answers keeps
    /// it, inactive. Doing it twice is fine.
    @discardableResult
    public mutating func stop(_ id: TransceiverID) throws(NegotiationError) -> [NegotiationAction] {
        try change { next throws(NegotiationError) in
            guard let index = next.transceivers.firstIndex(where: { $0.id == id }) else {
                // It may have ended by itself meanwhile.
                guard id.rawValue < next.nextTransceiver else { throw .unknownTransceiver }
                return
            }
            guard next.transceivers[index].phase == .active else { return }
            next.transceivers[index].endStreams()
            let isOffered =
                next.created?.plan.contains { if case .transceiver(id, _) = $0 { true } else { false } } == true
            if next.transceivers[index].mid == nil, !isOffered {
                // The peer has never heard of it.
                next.transceivers.remove(at: index)
            } else {
                // An offer that was made before may still be set, and has a section for it.
                next.transceivers[index].phase = .stopping
            }
        }
    }

    /// Which codecs of the configuration the transceiver's next negotiation uses, and in which order; empty for all of
    /// them, the one in use first (W3C: setCodecPreferences).
    public mutating func setCodecPreferences(
        _ codecs: [CodecParameters], of id: TransceiverID
    ) throws(NegotiationError) {
        guard signalingState != .closed else { throw .closed }
        let index = try activeIndex(of: id)
        let known = configuration.codecs(for: transceivers[index].kind)
        guard codecs.allSatisfy({ codec in known.contains { $0.matches(codec) } }) else { throw .unknownCodec }
        // W3C WebRTC §5.4: of those that come twice the first counts, and something is always left to send.
        var preferred: [CodecParameters] = []
        for codec in codecs where !preferred.contains(where: { $0.matches(codec) }) { preferred.append(codec) }
        guard preferred.isEmpty || preferred.carryMedia else { throw .noMediaCodec }
        transceivers[index].preferredCodecs = preferred.isEmpty ? nil : preferred
    }

    /// The media streams that our track belongs to from the next negotiation on (W3C: setStreams).
    ///
    /// - Parameter trackID: nil when it is the same track.
    public mutating func setStreams(
        _ streamIDs: [String], trackID: String? = nil, of id: TransceiverID
    ) throws(NegotiationError) {
        guard signalingState != .closed else { throw .closed }
        let index = try activeIndex(of: id)
        transceivers[index].streamIDs = try described(streamIDs, trackID)
        if let trackID { transceivers[index].trackID = trackID }
    }

    /// Gives a transceiver that has sent before to another track: from the next negotiation on it sends with new
    /// sources, so that nothing of the track before is mistaken for the new one's.
    public mutating func renewSources(of id: TransceiverID) throws(NegotiationError) {
        guard signalingState != .closed else { throw .closed }
        let index = try activeIndex(of: id)
        let ssrc = makeSSRC(except: 0)
        transceivers[index].ssrc = ssrc
        transceivers[index].rtxSSRC = makeSSRC(except: ssrc)
        for layer in transceivers[index].layers.indices {
            let isFirst = layer == 0
            let source = isFirst ? ssrc : makeSSRC(except: 0)
            transceivers[index].layers[layer].ssrc = source
            transceivers[index].layers[layer].rtxSSRC =
                isFirst ? transceivers[index].rtxSSRC : makeSSRC(except: source)
        }
    }

    /// The transceiver of an id; nil once it has ended.
    public func transceiver(_ id: TransceiverID) -> Transceiver? {
        transceivers.first { $0.id == id }
    }

    /// Whether the first encoding of a transceiver is sent. Asked for each frame: the transceiver is not copied for it.
    func sendsFirstEncoding(of id: TransceiverID) -> Bool {
        for index in transceivers.indices where transceivers[index].id == id {
            return transceivers[index].layers.isEmpty || transceivers[index].layers[0].encoding.isActive
        }
        return true
    }

    /// The transceiver whose media section has a name.
    public func transceiver(mid: String) -> Transceiver? {
        transceivers.first { $0.mid == mid }
    }

    /// Streams as a description can name them: each once, by tokens (RFC 8830 §2); "-" means none.
    private func described(_ streamIDs: [String], _ trackID: String?) throws(NegotiationError) -> [String] {
        guard trackID?.isSDPToken ?? true, streamIDs.allSatisfy({ $0.isSDPToken && $0 != "-" }) else {
            throw .invalidStreamID
        }
        var distinct: [String] = []
        for id in streamIDs where !distinct.contains(id) { distinct.append(id) }
        return distinct
    }

    private func activeIndex(of id: TransceiverID) throws(NegotiationError) -> Int {
        guard let index = transceivers.firstIndex(where: { $0.id == id }) else { throw .unknownTransceiver }
        guard transceivers[index].phase == .active else { throw .transceiverStopped }
        return index
    }

    mutating func makeTransceiver(
        _ kind: MediaKind, origin: Transceiver.Origin, direction: TransceiverDirection, streamIDs: [String],
        trackID: String?
    ) throws(NegotiationError) -> TransceiverID {
        guard transceivers.count < configuration.maximumTransceivers else { throw .tooManyTransceivers }
        guard direction != .stopped else { throw .transceiverStopped }
        let id = TransceiverID(rawValue: nextTransceiver)
        nextTransceiver += 1
        let ssrc = makeSSRC(except: 0)
        transceivers.append(
            Transceiver(
                id: id, kind: kind, ssrc: ssrc, rtxSSRC: makeSSRC(except: ssrc), origin: origin,
                direction: direction, streamIDs: streamIDs, trackID: trackID ?? makeTrackID()))
        return id
    }

    /// RFC 3550 §8.1: random, and not one that is in use. 0 is legal but looks like "none". None comes twice, for SRTP
    /// forgets a source that has ended (`SRTPPort.forgetSource`): from a random beginning, the same odd step each time
    /// goes through all of them.
    private mutating func makeSSRC(except other: UInt32) -> UInt32 {
        while true {
            let ssrc = nextSSRC
            nextSSRC &+= stepOfSSRCs
            let isTaken =
                ssrc == 0 || ssrc == other
                || transceivers.contains { transceiver in
                    transceiver.ssrc == ssrc || transceiver.rtxSSRC == ssrc
                        || transceiver.layers.contains { $0.ssrc == ssrc || $0.rtxSSRC == ssrc }
                }
            if !isTaken { return ssrc }
        }
    }

    /// 128 random bits in the form that browsers give their ids (RFC 4122 §4.4).
    private mutating func makeTrackID() -> String {
        let bytes = random.bytes(16)
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            let value = index == 6 ? byte & 0x0f | 0x40 : index == 8 ? byte & 0x3f | 0x80 : byte
            text += (value < 16 ? "0" : "") + String(value, radix: 16)
        }
        return text
    }
}

extension Transceiver {
    /// Nothing is sent or received on it any more.
    mutating func endStreams() {
        association.sending = nil
        association.receiving = nil
        association.receivesTrack = false
    }
}
