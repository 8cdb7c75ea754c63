import RTCEngine
import RTCWire

/// Security that hides and proves nothing: what a fuzzer makes up gets as far as what only the peer can protect. The
/// checksum of what comes for data channels is made right, which no fuzzer would guess.
struct BareSecurity: SecurityProvider {
    let localFingerprint: Fingerprint

    init(seed: UInt64) {
        var random = EngineRandom.seeded(seed)
        localFingerprint = Fingerprint(algorithm: "sha-256", value: random.bytes(32))
    }

    func makeDTLS() -> any DTLSPort { BareDTLS() }
    func makeSRTP(_ keys: SRTPKeyingMaterial) throws(SRTPError) -> any SRTPPort { BareSRTP() }
}

/// The record's type, as in DTLS, and then its content. One hello each way is the handshake.
final class BareDTLS: DTLSPort {
    static let hello: UInt8 = 22
    static let alert: UInt8 = 21
    static let applicationData: UInt8 = 23
    private static let keys = SRTPKeyingMaterial(
        profile: .aeadAES128GCM, localKey: [], localSalt: [], remoteKey: [], remoteSalt: [])

    private var outputs: [DTLSOutput] = []
    private var isConnected = false
    private var isClosed = false
    private(set) var nextWake: Instant?

    func start(role: DTLSRole, remoteFingerprints: [Fingerprint], needsSRTP: Bool, at now: Instant) {
        guard role == .client else { return }
        sayHello(at: now)
    }

    private func sayHello(at now: Instant) {
        outputs.append(.send([Self.hello]))
        nextWake = now + .seconds(Int64(1))
    }

    func receive(_ datagram: RawSpan, at now: Instant) {
        guard !isClosed, let type = datagram.byte(at: 0) else { return }
        switch type {
        case Self.hello:
            nextWake = nil
            guard !isConnected else { return }
            isConnected = true
            outputs.append(.send([Self.hello]))
            outputs.append(.connected(Self.keys))
        case Self.applicationData where isConnected && datagram.byteCount > 12:
            var packet = datagram.extracting(droppingFirst: 1).withUnsafeBytes { [UInt8]($0) }
            SCTPChecksum.seal(&packet)
            outputs.append(.applicationData(packet))
        case Self.alert: end(because: .remote)
        default: return
        }
    }

    func tick(at now: Instant) {
        if let nextWake, now >= nextWake { sayHello(at: now) }
    }

    func send(applicationData: RawSpan, at now: Instant) {
        guard isConnected, !isClosed else { return }
        outputs.append(.send([Self.applicationData] + applicationData.withUnsafeBytes { [UInt8]($0) }))
    }

    func close(at now: Instant) {
        guard !isClosed else { return }
        outputs.append(.send([Self.alert]))
        end(because: .local)
    }

    private func end(because reason: DTLSCloseReason) {
        isClosed = true
        nextWake = nil
        outputs.append(.closed(reason))
    }

    func pollOutput() -> DTLSOutput? { outputs.isEmpty ? nil : outputs.removeFirst() }
}

/// Nothing is hidden. As long as a tag, so that a packet that was sent can be told from another.
private final class BareSRTP: SRTPPort {
    private static let tag = 8

    func protectRTP(_ bytes: inout [UInt8], from start: Int) throws(SRTPError) {
        bytes.append(contentsOf: repeatElement(0, count: Self.tag))
    }

    func repeatRTP(_ packet: inout [UInt8], seal: UInt64) throws(SRTPError) { try protectRTP(&packet) }
    func protectRTCP(_ packet: inout [UInt8]) throws(SRTPError) {}
    func forgetSource(_ ssrc: UInt32) {}

    func unprotectRTP(_ packet: inout [UInt8]) throws(SRTPError) {
        guard packet.count >= 12 + Self.tag else { throw .malformed }
        packet.removeLast(Self.tag)
    }

    func unprotectRTCP(_ packet: inout [UInt8]) throws(SRTPError) {
        guard packet.count >= 8 else { throw .malformed }
    }
}
