public import RTCEngine

/// Security without cryptography, that takes as many bytes and round trips as the real one would: the simulation is
/// about the path, and has to repeat to the bit.
public struct NullSecurity: SecurityProvider {
    public let localFingerprint: Fingerprint

    public init(seed: UInt64) {
        var random = EngineRandom.seeded(seed)
        localFingerprint = Fingerprint(algorithm: "sha-256", value: random.bytes(32))
    }

    public func makeDTLS() -> any DTLSPort { NullDTLS() }
    public func makeSRTP(_ keys: SRTPKeyingMaterial) throws(SRTPError) -> any SRTPPort { NullSRTP() }
    public func makeSealingBatch() -> (any SealingBatch)? { NullBatch() }
}

/// One datagram there and one back.
private final class NullDTLS: DTLSPort {
    private static let hello: UInt8 = 20
    private static let answer: UInt8 = 21
    private static let keys = SRTPKeyingMaterial(
        profile: .aeadAES128GCM, localKey: [], localSalt: [], remoteKey: [], remoteSalt: [])

    private var outputs: [DTLSOutput] = []
    private var isConnected = false
    private(set) var nextWake: Instant?

    func start(role: DTLSRole, remoteFingerprints: [Fingerprint], needsSRTP: Bool, at now: Instant) {
        guard role == .client else { return }
        sayHello(at: now)
    }

    private func sayHello(at now: Instant) {
        outputs.append(.send([Self.hello] + [UInt8](repeating: 0, count: 199)))
        nextWake = now + .milliseconds(500)
    }

    func receive(_ datagram: RawSpan, at now: Instant) {
        guard datagram.byteCount > 0 else { return }
        switch datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self) {
        case Self.hello:
            outputs.append(.send([Self.answer] + [UInt8](repeating: 0, count: 799)))
            connect()
        case Self.answer: connect()
        default: return
        }
    }

    private func connect() {
        nextWake = nil
        guard !isConnected else { return }
        isConnected = true
        outputs.append(.connected(Self.keys))
    }

    func tick(at now: Instant) {
        if let nextWake, now >= nextWake { sayHello(at: now) }
    }

    func send(applicationData: RawSpan, at now: Instant) {}
    func close(at now: Instant) { nextWake = nil }
    func pollOutput() -> DTLSOutput? { outputs.isEmpty ? nil : outputs.removeFirst() }
}

/// A tag of sixteen bytes, of which RTP's last eight tell one packet from another; RTCP has four bytes of index beside
/// it.
private final class NullSRTP: SRTPPort {
    fileprivate static let tag = 16

    func protectRTP(_ bytes: inout [UInt8], from start: Int) throws(SRTPError) {
        let seal = Self.seal(bytes.span.bytes.extracting(droppingFirst: start))
        add(Self.tag - 8, to: &bytes)
        Swift.withUnsafeBytes(of: seal.bigEndian) { bytes.append(contentsOf: $0) }
    }

    func protectRTP(
        _ bytes: inout [UInt8], from start: Int, in batch: any SealingBatch
    ) throws(SRTPError) -> Bool {
        guard let batch = batch as? NullBatch else {
            try protectRTP(&bytes, from: start)
            return true
        }
        add(Self.tag, to: &bytes)
        batch.packets.append(start..<bytes.count)
        return false
    }

    func repeatRTP(_ packet: inout [UInt8], seal: UInt64) throws(SRTPError) {
        precondition(Self.seal(packet.span.bytes) == seal, "another packet under a number that was used")
        try protectRTP(&packet)
    }

    /// Of the length and the first bytes: headers, and what is rewritten of payloads.
    fileprivate static func seal(_ packet: RawSpan) -> UInt64 {
        var sum = UInt64(packet.byteCount)
        for place in stride(from: 0, to: min(packet.byteCount, 96) - 7, by: 8) {
            let word = packet.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
            sum = (sum ^ word) &* 0x100_0000_01b3
        }
        return sum
    }

    func protectRTCP(_ packet: inout [UInt8]) throws(SRTPError) { add(Self.tag + 4, to: &packet) }
    func forgetSource(_ ssrc: UInt32) {}
    func unprotectRTP(_ packet: inout [UInt8]) throws(SRTPError) { try take(Self.tag, from: &packet) }
    func unprotectRTCP(_ packet: inout [UInt8]) throws(SRTPError) { try take(Self.tag + 4, from: &packet) }

    private func add(_ count: Int, to packet: inout [UInt8]) {
        packet.append(contentsOf: repeatElement(0, count: count))
    }

    private func take(_ count: Int, from packet: inout [UInt8]) throws(SRTPError) {
        guard packet.count > count else { throw .malformed }
        packet.removeLast(count)
    }
}

/// Packets whose last eight bytes are still to be written.
private final class NullBatch: SealingBatch {
    var packets: [Range<Int>] = []

    func seal(_ buffer: inout [UInt8]) {
        for place in packets {
            let seal = NullSRTP.seal(buffer.span.bytes.extracting(place.lowerBound..<place.upperBound - NullSRTP.tag))
            Swift.withUnsafeBytes(of: seal.bigEndian) {
                buffer.replaceSubrange(place.upperBound - 8..<place.upperBound, with: $0)
            }
        }
        packets = []
    }
}
