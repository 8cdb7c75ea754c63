internal import RTCWire

/// The state cookie (RFC 9260 §5.1.3): all that we need to know when the peer brings it back, so that an INIT costs us
/// nothing that lasts. Only we read it.
struct SCTPCookie: Hashable, Sendable {
    /// What our INIT ACK said.
    var localTag: UInt32
    var localInitialTSN: UInt32
    /// What the peer's INIT said.
    var peer: SCTPPeer
    var madeAt: Instant
    /// §5.2.2: the tags of the association that existed; 0 when there was none.
    var localTieTag: UInt32
    var peerTieTag: UInt32

    private static let codeSize = 20

    /// The cookie with its code behind it.
    func sealed(with key: HMACSHA1) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(uint32: localTag)
        bytes.append(uint32: localInitialTSN)
        bytes.append(uint32: peer.tag)
        bytes.append(uint32: peer.initialTSN)
        bytes.append(uint32: peer.window)
        bytes.append(uint16: peer.outboundStreams)
        bytes.append(uint16: peer.inboundStreams)
        bytes.append(uint32: UInt32(peer.features.rawValue))
        bytes.append(uint64: UInt64(bitPattern: madeAt.nanoseconds))
        bytes.append(uint32: localTieTag)
        bytes.append(uint32: peerTieTag)
        return bytes + key.authenticate(bytes.span.bytes)
    }

    /// Nil when we have not made it, or somebody has changed it (§5.1.5).
    init?(opening sealed: RawSpan, with key: HMACSHA1) {
        guard sealed.byteCount > Self.codeSize else { return nil }
        let split = sealed.byteCount - Self.codeSize
        let body = sealed.extracting(0..<split)
        guard key.verifies(sealed.extracting(split..<sealed.byteCount), of: body) else { return nil }
        var reader = ByteReader(body)
        guard let localTag = reader.readUInt32(), let localTSN = reader.readUInt32(), let peerTag = reader.readUInt32(),
            let peerTSN = reader.readUInt32(), let window = reader.readUInt32(), let outbound = reader.readUInt16(),
            let inbound = reader.readUInt16(), let features = reader.readUInt32(), let madeAt = reader.readUInt64(),
            let localTieTag = reader.readUInt32(), let peerTieTag = reader.readUInt32()
        else { return nil }
        self.init(
            localTag: localTag, localInitialTSN: localTSN,
            peer: SCTPPeer(
                tag: peerTag, initialTSN: peerTSN, window: window, outboundStreams: outbound, inboundStreams: inbound,
                features: .init(rawValue: UInt8(truncatingIfNeeded: features))),
            madeAt: Instant(nanoseconds: Int64(bitPattern: madeAt)), localTieTag: localTieTag, peerTieTag: peerTieTag)
    }

    init(
        localTag: UInt32, localInitialTSN: UInt32, peer: SCTPPeer, madeAt: Instant, localTieTag: UInt32,
        peerTieTag: UInt32
    ) {
        self.localTag = localTag
        self.localInitialTSN = localInitialTSN
        self.peer = peer
        self.madeAt = madeAt
        self.localTieTag = localTieTag
        self.peerTieTag = peerTieTag
    }

    /// What a cookie says of its age, against what `existing` tags know (§5.2.4).
    enum Match: Sendable {
        /// A: the peer has restarted.
        case restart
        /// B: both began at once, and the peer's tag is not known yet or is another.
        case collision
        /// C: it comes late.
        case late
        /// D: the association that there is.
        case same
        /// No row of the table: to be discarded.
        case stranger
    }

    /// Table 12 of §5.2.4. `peerTag` is nil while the peer's tag is not known.
    func match(localTag existing: UInt32, peerTag: UInt32?) -> Match {
        let peerMatches = peer.tag == peerTag
        switch (localTag == existing, peerMatches) {
        case (true, true): return .same
        case (true, false): return .collision
        case (false, true): return localTieTag == 0 && peerTieTag == 0 ? .late : .stranger
        case (false, false):
            return localTieTag == existing && peerTieTag != 0 && peerTieTag == peerTag ? .restart : .stranger
        }
    }
}
