public import RTCEngine
public import RTCWire

extension PeerConnection {
    /// Adds an m-line to what the next offer describes (W3C: addTransceiver).
    ///
    /// - Parameters:
    ///   - kind: sound or pictures; which codecs is the configuration's.
    ///   - direction: what we want; an answer may allow less.
    ///   - streams: ids of the media streams that the track belongs to; the peer plays tracks of one stream in step.
    ///   - sendEncodings: the layers of a simulcast, for a picture that is encoded several times; frames then name
    ///     theirs.
    public func addTransceiver(
        _ kind: MediaKind, direction: TransceiverDirection = .sendrecv, streams: [String] = [],
        sendEncodings: [SendEncoding] = []
    ) throws(PeerConnectionError) -> RTPTransceiver {
        defer { flush() }
        let id = try refusing { () throws(PeerError) in
            try machine.addTransceiver(kind, direction: direction, streamIDs: streams, encodings: sendEncodings)
        }
        return handle(id, kind: kind)
    }

    /// Adds a track to send (W3C: addTrack): on a transceiver with room for it, or on a new one that an offer of the
    /// peer's may take over. This is how the answering side sends as well.
    public func addTrack(_ kind: MediaKind, streams: [String] = []) throws(PeerConnectionError) -> RTPTransceiver {
        defer { flush() }
        let id = try refusing { () throws(PeerError) in try machine.addTrack(kind, streamIDs: streams) }
        return handle(id, kind: kind)
    }

    /// All transceivers that have not ended, in the order in which they were made.
    public var transceivers: [RTPTransceiver] {
        machine.transceivers.map { handle($0.id, kind: $0.kind) }
    }

    /// What the next negotiation should make of a transceiver. `stopped` ends it for good.
    public func setDirection(_ direction: TransceiverDirection, of transceiver: RTPTransceiver)
        throws(PeerConnectionError)
    {
        defer { flushAndEndLostReceivers() }
        try refusing { () throws(PeerError) in
            try machine.setDirection(direction, of: transceiver.id, at: NetworkLoop.now)
        }
    }

    /// Ends a transceiver for good (W3C: stop). Its streams end now; its media section ends with our next offer. A side
    /// that never offers keeps the section, inactive. Stopping twice is harmless.
    public func stop(_ transceiver: RTPTransceiver) throws(PeerConnectionError) {
        try setDirection(.stopped, of: transceiver)
    }

    /// Sends another track on a transceiver on which nothing is sent any more: with sources and a name of its own. Else
    /// descriptions would have a section for each track that there ever was.
    ///
    /// - Returns: false when the peer may still take it for the track before.
    package func sendAnother(on transceiver: RTPTransceiver) throws(PeerConnectionError) -> Bool {
        guard let known = machine.transceivers.first(where: { $0.id == transceiver.id }),
            known.direction == .inactive, known.currentDirection == .inactive
        else { return false }
        defer { flush() }
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        try refusing { () throws(PeerError) in
            try machine.renewSources(of: transceiver.id)
            try machine.setStreams(known.streamIDs, trackID: name, of: transceiver.id)
            try machine.setDirection(.sendonly, of: transceiver.id, at: NetworkLoop.now)
        }
        return true
    }

    /// Which codecs the next negotiation uses on a transceiver, and in which order (W3C: setCodecPreferences). It
    /// changes what is offered, and what is answered to the peer's offers.
    ///
    /// - Parameter codecs: of those in the configuration; retransmissions go with their codec. Empty for all of them
    ///   again: the one in use stays first, the others follow in the configuration's order.
    /// - Throws: `.peer(.negotiation(.unknownCodec))` for one that the configuration has not, and `.noMediaCodec` where
    ///   there is only redundancy or telephone events.
    public func setCodecPreferences(
        _ codecs: [CodecParameters], of transceiver: RTPTransceiver
    ) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in try machine.setCodecPreferences(codecs, of: transceiver.id) }
    }

    /// Which media streams our track belongs to from the next negotiation on (W3C: RTCRtpSender.setStreams); the peer
    /// plays tracks of one stream in step.
    public func setStreams(_ streams: [String], of transceiver: RTPTransceiver) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in try machine.setStreams(streams, of: transceiver.id) }
    }

    /// The name of a transceiver's media section in the descriptions (W3C: mid); nil before it has one.
    public func mid(of transceiver: RTPTransceiver) -> String? {
        machine.transceivers.first { $0.id == transceiver.id }?.mid
    }

    /// The id under which the peer knows the track that we send on a transceiver (W3C: MediaStreamTrack.id); the second
    /// part of `a=msid`.
    public func trackID(of transceiver: RTPTransceiver) -> String? {
        machine.transceivers.first { $0.id == transceiver.id }?.trackID
    }

    /// The id that the track which the peer sends has over there, by its last description that sent one; nil when it
    /// has not said.
    public func remoteTrackID(of transceiver: RTPTransceiver) -> String? {
        machine.transceivers.first { $0.id == transceiver.id }?.remoteTrackID
    }

    /// The media streams that this track belongs to (W3C: RTCTrackEvent.streams).
    public func remoteStreams(of transceiver: RTPTransceiver) -> [String] {
        machine.transceivers.first { $0.id == transceiver.id }?.remoteStreamIDs ?? []
    }

    /// What the next negotiation is to make of a transceiver (W3C: direction).
    public func direction(of transceiver: RTPTransceiver) -> TransceiverDirection {
        machine.transceivers.first { $0.id == transceiver.id }?.direction ?? .stopped
    }

    /// The direction in force after the last answer; nil before, and once the transceiver has ended.
    public func currentDirection(of transceiver: RTPTransceiver) -> TransceiverDirection? {
        machine.transceivers.first { $0.id == transceiver.id }?.currentDirection
    }

    /// The payload format that was negotiated for sending; nil when nothing may be sent.
    public func sendingFormat(of transceiver: RTPTransceiver) -> PayloadFormat? {
        machine.sendingFormat(of: transceiver.id)
    }

    /// Asks the peer for a key frame (RTCP PLI, or FIR where only that was agreed on), at most every 300 ms: what is
    /// asked for in between waits for its time. Before the peer sends anything there is nothing to ask of.
    public func requestKeyFrame(on transceiver: RTPTransceiver) {
        machine.requestKeyFrame(on: transceiver.id, at: NetworkLoop.now)
        flush()
    }

    /// Statistics as they stand now (W3C: getStats). Counters begin with the connection and only grow, also those of a
    /// source that says goodbye and comes back, as a layer of simulcast may (of the last eight of a transceiver), or
    /// that numbers its packets anew; but `packetsLost` falls when late packets come (RFC 3550 §A.3). Rates are the
    /// caller's to make from two reports.
    public func getStats() -> StatsReport {
        var report = machine.stats(at: NetworkLoop.now)
        // What arrived and was not taken in time counts beside what could not be used.
        for transceiver in machine.transceivers {
            guard let dropped = receivers[transceiver.id]?.frameBroadcast.dropped, dropped > 0,
                let mid = transceiver.mid, var stats = report.inboundRTP.first(where: { $0.mid == mid })
            else { continue }
            stats.framesDropped += dropped
            report.add(.inboundRTP(stats))
        }
        return report
    }

    func send(_ frame: EncodedFrame, on transceiver: TransceiverID) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in try machine.send(frame, on: transceiver, at: NetworkLoop.now) }
    }

    func send(
        _ frame: EncodedFrame, layer rid: String, on transceiver: TransceiverID
    ) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in
            try machine.send(frame, layer: rid, on: transceiver, at: NetworkLoop.now)
        }
    }

    /// Sends what encoders have handed over. Errors are ignored: no caller waits for them.
    func send(_ entries: [FrameOutbox.Entry]) {
        let now = NetworkLoop.now
        for entry in entries {
            if let rid = entry.rid {
                try? machine.send(entry.frame, layer: rid, on: entry.transceiver, at: now)
            } else {
                try? machine.send(entry.frame, on: entry.transceiver, at: now)
            }
        }
        flush()
    }

    func setLayer(_ rid: String, isActive: Bool, on transceiver: TransceiverID) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in try machine.setLayer(rid, isActive: isActive, on: transceiver) }
    }

    func dial(_ keys: DialedKeys, on transceiver: TransceiverID) throws(PeerConnectionError) {
        defer { flush() }
        try refusing { () throws(PeerError) in try machine.dial(keys, on: transceiver, at: NetworkLoop.now) }
    }

    /// The handle of a transceiver, also for a moment after its end: the application is told of that too.
    func transceiver(_ id: TransceiverID) -> RTPTransceiver? {
        if let receiver = receivers[id] { return handle(id, kind: receiver.kind) }
        return machine.transceivers.first { $0.id == id }.map { handle(id, kind: $0.kind) }
    }

    /// Tells what has happened, and then ends the streams of transceivers that a description has ended or that went
    /// with an offer: nothing will ever come out of them.
    func flushAndEndLostReceivers() {
        flush()
        for id in receivers.keys where !machine.transceivers.contains(where: { $0.id == id }) {
            receivers.removeValue(forKey: id)?.finish()
        }
    }

    /// Calls the packet handlers: first with a packet that waited until the machine confirmed it, then with the packet
    /// in the datagram that the machine was given last.
    func handOutPacket(_ datagram: inout [UInt8]) {
        guard configuration.receives == .packets else { return }
        if let (packet, bytes) = machine.takeConfirmedPacket() {
            receivers[packet.transceiver]?.hand(packet, bytes.span.bytes)
        }
        guard let packet = machine.takePacket(&datagram) else { return }
        receivers[packet.transceiver]?.hand(packet, datagram.span.bytes)
    }

    private func handle(_ id: TransceiverID, kind: MediaKind) -> RTPTransceiver {
        let receiver = receivers[id] ?? RTPReceiver(kind: kind)
        receivers[id] = receiver
        if gathering == .closed { receiver.finish() }
        return RTPTransceiver(
            id: id, kind: kind, sender: RTPSender(transceiver: id, connection: self), receiver: receiver)
    }
}
